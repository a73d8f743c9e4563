# SPDX-License-Identifier: MIT
"""The schemas for editors, by a public validator: they take every item of the bundle and every skeleton,
and refuse what signing refuses. Mutations of them are made at random, 150 or RYE_ROUNDS."""

import copy
import fnmatch
import json
import os
import random
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError:
    print("1..0 # SKIP python3-jsonschema or python3-yaml is not installed")
    sys.exit(0)

from page import BUNDLE, Place, harness

# What SARIF 2.1.0 lets stand where we say something, and wants there ("!").
SARIF = {
    "": "version! runs! $schema",
    "runs": "tool! results columnKind", "runs.tool": "driver!", "runs.tool.driver": "name! version rules",
    "runs.tool.driver.rules": "id! shortDescription", "runs.tool.driver.rules.shortDescription": "text!",
    "runs.results": "message! ruleId level locations", "runs.results.message": "text!",
    "runs.results.locations": "physicalLocation!",
    "runs.results.locations.physicalLocation": "artifactLocation!",
    "runs.results.locations.physicalLocation.artifactLocation": "uri! uriBaseId",
}

ROUNDS = int(os.environ.get("RYE_ROUNDS") or 150)
WRONG = [None, 5, 1.5, True, "", "x", "no name", [], {}, [5], {"type": "nonsense"}]
# what depends on where a file lies, or on what its texts mean
ELSEWHERE = ("must match", "not a valid regular expression", "enum value")


def yaml_files(top):
    for at, _, names in os.walk(top):
        for name in names:
            if name.endswith((".yaml", ".yml")):
                yield os.path.join(at, name)


def document(path):
    with open(path, encoding="utf-8") as stream:
        return yaml.safe_load(stream)


class Schemas(Place):
    def setUp(self):
        super().setUp()
        rows = json.loads(self.rye("schema", "--json").stdout)
        self.forms = {row["name"]: (row["files"].split(), self.validator(row["name"])) for row in rows}

    def validator(self, name):
        schema = json.loads(self.rye("schema", name).stdout)
        jsonschema.Draft7Validator.check_schema(schema)
        return jsonschema.Draft7Validator(schema)

    def faults(self, path, doc):
        """By every schema that an editor would take for a file of that path below the workspace."""
        told, asked = [], 0
        for globs, validator in self.forms.values():
            if any(fnmatch.fnmatch(path, glob.replace("**/", "*")) for glob in globs):
                asked += 1
                told += [error.message for error in validator.iter_errors(doc)]
        self.assertTrue(asked, path)
        return told

    def good(self):
        """{path: document} of the bundle and of what `ryefs new` begins."""
        found = {}
        for path in yaml_files(BUNDLE + "/.ai"):
            below = os.path.relpath(path, BUNDLE)
            if not below.startswith(".ai/config/keys"):
                found[below] = document(path)
        for kind, item in (("tool", "my/a"), ("graph", "my/b"), ("http", "my/c"), ("mcp", "d")):
            words = ["--lang", "yaml"] if kind == "tool" else []
            for made in json.loads(self.rye("new", "-n", "--json", kind, item, *words).stdout)["would_make"]:
                found[os.path.relpath(made["path"], self.project)] = yaml.safe_load(made["text"])
        return found

    def test_good_ones(self):
        good = self.good()
        self.assertGreater(len(good), 30)
        for path, doc in good.items():
            self.assertEqual(self.faults(path, doc), [], path)

    def test_what_is_refused(self):
        rng = random.Random(os.environ.get("RYE_SEED", "schemas"))
        good = [(path, doc) for path, doc in sorted(self.good().items())
                if path.startswith((".ai/tools", ".ai/config"))]
        made = {}
        for n in range(ROUNDS):
            path, doc = rng.choice(good)
            doc, key = copy.deepcopy(doc), None
            kind, place = path.split("/")[1], "m%d" % n
            doc["category"] = place
            key = rng.choice(sorted(doc) + ["parameters", "config_schema", "requires", "executor_id"])
            if rng.random() < 0.3:
                doc.pop(key, None)
            else:
                doc[key] = rng.choice(WRONG)
            file = ".ai/%s/%s/%s" % (kind, place, os.path.basename(path))
            self.put(file, yaml.safe_dump(doc, allow_unicode=True))
            made["%s:%s/%s" % (kind.rstrip("s"), place, os.path.basename(path)[:-5])] = (file, doc, key)
        done = subprocess.run([os.environ["RYEFS"], "sign", "--all", "--json"], env=self.env, cwd=self.project,
                              capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
        refused = 0
        rows = [row for rows in json.loads(done.stdout).values() if isinstance(rows, list) for row in rows]
        for row in rows:
            if row["ref"] not in made or row["ok"]:
                continue
            file, doc, key = made[row["ref"]]
            issues = row["message"].removeprefix("Validation failed: ").split("; ")
            if all(any(word in issue for word in ELSEWHERE) for issue in issues):
                continue
            refused += 1
            self.assertNotEqual(self.faults(file, doc), [], (row["message"], key, doc.get(key)))
        self.assertGreater(refused, ROUNDS / 8)

    def sarif(self, doc, at=""):
        """As the official schema (draft-07, closed objects) has it."""
        if isinstance(doc, list):
            for one in doc:
                self.sarif(one, at)
        elif isinstance(doc, dict):
            members = SARIF[at].split()
            self.assertLessEqual(set(doc), {name.rstrip("!") for name in members}, at)
            self.assertGreaterEqual(set(doc), {name[:-1] for name in members if name.endswith("!")}, at)
            for name, value in doc.items():
                self.sarif(value, (at + "." + name).lstrip("."))
        else:
            self.assertTrue(isinstance(doc, str) and doc, at)

    def test_sarif(self):
        for name in ("one", "two"):
            self.rye("new", "-q", "knowledge", "my/" + name)
        self.put(".ai/knowledge/my/one.md", "changed")
        self.put(".ai/tools/my/three.py", "print(1)")
        done = json.loads(self.rye("verify", "--sarif", status=1).stdout)
        self.sarif(done)
        self.assertEqual(done["version"], "2.1.0")
        self.assertEqual(done["runs"][0]["columnKind"], "unicodeCodePoints")
        self.assertEqual({row["level"] for row in done["runs"][0]["results"]}, {"error"})
        self.assertEqual(len(done["runs"][0]["results"]), 2)

    def test_an_editor_is_told_of_files_that_are_there(self):
        self.assertEqual(self.rye("init", "--vscode").stderr,
                         "made .vscode/settings.json and .vscode/extensions.json; "
                         "the schemas' places in it are this machine's\n")
        with open(self.project + "/.vscode/settings.json", encoding="utf-8") as stream:
            told = json.load(stream)["yaml.schemas"]
        for url, globs in told.items():
            with open(url.removeprefix("file://"), encoding="utf-8") as stream:
                self.assertIn("$schema", json.load(stream))
            self.assertTrue(globs)
        self.assertEqual(self.rye("init", "--vscode").stderr,
                         "there already: .vscode/settings.json and .vscode/extensions.json\n")
        self.put(".vscode/settings.json", "{}")
        self.assertEqual(self.rye("init", "--vscode").stderr,
                         "left as it is: .vscode/settings.json; what it takes: ryefs schema --editor vscode\n")


if __name__ == "__main__":
    harness.main()
