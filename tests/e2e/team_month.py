# SPDX-License-Identifier: MIT
"""Two people and a maintainer through a month of one repository: knowledge, tools, directives and skills are
edited, renamed, reverted and merged, with and without conflicts, at random, 20 times or RYE_ROUNDS. After each:
no signed file has conflict marks, each text that verifies is one that its signer has said yes to, and what is
refused says why in a line, and what mends it."""

import json
import os
import random
import re
import shutil
import subprocess
import sys

from page import RYEFS, harness

ROUNDS = int(os.environ.get("RYE_ROUNDS") or 20)
MARKS = ("<<<<<<<", "=======", ">>>>>>>")
LINES = "".join("line %d\n\n" % i for i in range(12))
KNOWLEDGE = '# %s\n\n```yaml\nname: %s\ntitle: Lines\nversion: "1.0.0"\nentry_type: reference\ncategory: notes\n```\n\n' + LINES
TOOL = ('__version__ = "1.0.0"\n__tool_type__ = "python"\n__category__ = "my"\n__tool_description__ = "%s, %s"\n'
        '__executor_id__ = "rye/core/runtimes/python/function"\n\n\ndef execute(params, project_path):\n    return {}\n\n\n'
        'LINES = """\n' + LINES + '"""\n')
DIRECTIVE = ('# %s\n\n```xml\n<directive name="%s" version="1.0.0">\n<metadata><description>Lines</description>'
             '<category>my</category><author>us</author></metadata>\n</directive>\n```\n\n' + LINES)
SKILL = "---\nname: %s\ndescription: What %s is for.\n---\n\n" + LINES
# kind: directory below .ai, names, end of the file's name, text, what says the name in it
KINDS = {
    "knowledge": ("knowledge/notes", "entry-%d", ".md", KNOWLEDGE, r"(?m)^(name: ).*()$"),
    "tool": ("tools/my", "tool-%d", ".py", TOOL, None),
    "directive": ("directives/my", "task_%d", ".md", DIRECTIVE, r'(?m)^(<directive name=")[^"]*(".*)$'),
    "skill": ("skills", "skill-%d", "/SKILL.md", SKILL, r"(?m)^(name: ).*()$"),
}
HEADER = re.compile(r"^(<!--|#) rye:")

if not shutil.which("git"):
    print("1..0 # SKIP git is not installed")
    sys.exit(0)


def body_of(text):
    """What is signed: the text without the header lines."""
    return "".join(line for line in text.splitlines(True) if not HEADER.match(line))


def has_header(text):
    return any(HEADER.match(line) for line in text.splitlines())


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


class Item:
    """One item of a person's clone; of a skill its text is SKILL.md, and its signature stands in the manifest."""

    def __init__(self, clone, kind, name):
        self.kind, self.name = kind, name
        place, _, end, self.skeleton, self.says_name = KINDS[kind]
        below = place.partition("/")[2]
        self.id = below + "/" + name if below else name
        self.ref = kind + ":" + self.id
        self.file = ".ai/%s/%s%s" % (place, name, end)
        self.path = os.path.join(clone, self.file)
        self.signed = os.path.join(clone, ".ai/skills/%s.yaml" % name) if kind == "skill" else self.path

    def text(self):
        return read(self.path)

    def write(self, text):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "w", encoding="utf-8") as stream:
            stream.write(text)

    def marked(self):
        """Those of its files that have conflict marks."""
        return [path for path in dict.fromkeys((self.path, self.signed))
                if os.path.exists(path) and any(line.startswith(MARKS) for line in read(path).splitlines())]

    def key(self):
        return read(self.signed).splitlines()[0].split(":")[-1].split()[0]

    def content(self):
        return self.ref + "\n" + body_of(self.text())


class Person:
    def __init__(self, test, name):
        self.test, self.name = test, name
        self.home = os.path.join(test.place, name)
        self.clone = os.path.join(self.home, "work")
        os.makedirs(self.home)
        self.env = {"HOME": self.home, "USER_SPACE": self.home, "LANG": "C.UTF-8", "RYE_SYSTEM_SPACES": "",
                    "PATH": test.bin + ":/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}
        for side in ("AUTHOR", "COMMITTER"):
            self.env.update({"GIT_%s_NAME" % side: name, "GIT_%s_EMAIL" % side: name + "@example.org"})

    def call(self, *words, status=0, at=None):
        done = subprocess.run(words, env=self.env, cwd=at or self.clone, capture_output=True, text=True,
                              timeout=60, stdin=subprocess.DEVNULL)
        if status is not None:
            self.test.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        return done

    def git(self, *words, status=0):
        return self.call("git", *words, status=status)

    def join(self):
        self.call("git", "clone", "-q", self.test.origin, self.clone, at=self.home)
        self.call("ryefs", "init", "-q", "--hooks")
        rows = json.loads(self.call("ryefs", "keys", "--json").stdout)
        self.key = next(row["fingerprint"] for row in rows if row["status"] == "signing")

    def items(self):
        found = []
        for kind, (place, _, end, _, _) in KINDS.items():
            top = os.path.join(self.clone, ".ai", place)
            for name in sorted(os.listdir(top) if os.path.isdir(top) else []):
                if kind == "skill" and os.path.exists("%s/%s.yaml" % (top, name)):
                    found.append(Item(self.clone, kind, name))
                elif kind != "skill" and name.endswith(end):
                    found.append(Item(self.clone, kind, name[:-len(end)]))
        return [item for item in found if os.path.exists(item.path)]

    def item(self, kind, n):
        return Item(self.clone, kind, KINDS[kind][1] % n)

    def says_yes(self, item):
        """Looks at it and signs it; its name is the file's, whatever git has merged."""
        if item.says_name:
            text = item.text()
            named = re.sub(item.says_name, lambda found: found[1] + item.name + found[2], text, count=1)
            if named != text:
                item.write(named)
        if item.kind == "skill":
            shown = self.call("ryefs", "skill", "add", item.name, "--signer", self.key, status=None)
            digest = re.search(r"(?m)^sha256:\S+$", shown.stdout)
            self.test.assertIsNotNone(digest, shown)
            self.call("ryefs", "skill", "add", "-q", "--expect", digest[0], "--signer", self.key, item.name)
        else:
            self.call("ryefs", "sign", "-q", item.ref)
        self.test.yes.add((self.key, item.content()))

    def refused(self):
        rows = json.loads(self.call("ryefs", "verify", "--json", status=None).stdout)
        return {row["ref"]: row for row in rows if not row["ok"]}

    def commit(self, what):
        self.git("add", "-A")
        if self.git("diff", "--cached", "--quiet", status=None).returncode:
            self.git("commit", "-qm", what)

    def tidy(self):
        """Halves of skills, as git leaves them where one side has renamed and the other changed."""
        top = os.path.join(self.clone, ".ai/skills")
        for name in sorted(os.listdir(top) if os.path.isdir(top) else []):
            whole = os.path.exists("%s/%s/SKILL.md" % (top, name.removesuffix(".yaml")))
            if name.endswith(".yaml") and not whole:
                os.unlink(os.path.join(top, name))
            elif os.path.isdir(os.path.join(top, name)) and not os.path.exists("%s/%s.yaml" % (top, name)):
                shutil.rmtree(os.path.join(top, name))


class Month(harness.Case):
    def setUp(self):
        super().setUp()
        self.rng = random.Random(os.environ.get("RYE_SEED", "month"))
        self.yes, self.count = set(), {}
        self.bin, self.origin = self.place + "/bin", self.place + "/origin.git"
        os.makedirs(self.bin)
        os.symlink(RYEFS, self.bin + "/ryefs")
        self.people = [Person(self, name) for name in ("ann", "ben", "mia")]
        self.people[0].call("git", "init", "-q", "--bare", "-b", "main", self.origin, at=self.place)
        for person in self.people:
            person.join()
            if person is self.people[0]:
                for n in range(8):
                    item = person.item(list(KINDS)[n % 4], n)
                    item.write(item.skeleton % (item.name, item.name))
                    person.says_yes(item)
            person.commit("join")
            person.git("push", "-q", "origin", "HEAD:main")
        for person in self.people:
            person.git("pull", "-q", "--no-rebase", "origin", "main")
            for other in self.people:
                if other is not person:
                    person.call("ryefs", "trust", "--yes", "-q", other.key)

    # ---- what they do ----

    def change(self, person, item, put, any_line=True):
        lines = item.text().splitlines(True)
        found = [i for i, line in enumerate(lines) if line.startswith("line ")]
        lines[self.rng.choice(found) if any_line else found[0]] = "line %d, %s\n" % (self.rng.randrange(100000), put)
        item.write("".join(lines))
        self.count[item.kind] = self.count.get(item.kind, 0) + 1

    def edit(self, person):
        item = self.rng.choice(person.items())
        self.change(person, item, "by " + person.name)
        person.git("add", "-A")
        if self.rng.random() < 0.3:  # the hook stops what has no signature
            said = person.git("commit", "-qm", "unsigned", status=1)
            self.assertRegex(said.stdout + said.stderr, "mend with: ryefs (sign|skill diff) ")
        person.says_yes(item)
        person.commit("edit " + item.ref)

    def rename(self, person):
        item = self.rng.choice(person.items())
        new = person.item(item.kind, self.rng.randrange(10, 100000))
        person.call("ryefs", "mv", "-q", item.ref, new.id)
        self.assertFalse(os.path.exists(item.signed), item.ref)
        self.yes.add((person.key, new.content()))
        person.commit("rename " + item.ref)

    def revert(self, person):
        commits = person.git("log", "--no-merges", "--format=%h", "-8").stdout.split()[:-1]
        if not commits:
            return
        if person.git("revert", "--no-edit", self.rng.choice(commits), status=None).returncode:
            self.conflicts(person)
            person.git("revert", "--abort", status=None)
            person.git("reset", "-q", "--hard")

    def merge(self, person):
        person.git("fetch", "-q", "origin")
        if person.git("merge", "-q", "--no-edit", "origin/main", status=None).returncode:
            self.conflicts(person)
            for path in person.git("diff", "--name-only", "--diff-filter=U").stdout.split():
                self.settle(person, path)
            person.tidy()
            self.review(person)
            person.git("add", "-A")
            person.git("commit", "-qm", "merge, by hand", status=None)
        self.check(person)
        person.tidy()
        if self.review(person):
            person.commit("read and signed")
        if not person.git("status", "--porcelain").stdout:
            person.git("push", "-q", "origin", "HEAD:main", status=None)

    def clash(self, person):
        """Two change one line, each on a branch of its own: what comes second is a conflict of git's."""
        other = self.rng.choice([one for one in self.people if one is not person])
        for one in (person, other):
            self.merge(one)
            one.git("fetch", "-q", "origin")
            one.git("merge", "-q", "--ff-only", "origin/main", status=None)
        names = {item.ref for item in other.items()}
        found = self.rng.choice([item for item in person.items() if item.ref in names])
        for one in (other, person):
            item = Item(one.clone, found.kind, found.name)
            self.change(one, item, "as %s has it" % one.name, any_line=False)
            one.says_yes(item)
            one.commit("the first line of " + item.ref)
        other.git("push", "-q", "origin", "HEAD:main", status=None)
        self.merge(person)
        self.check(other)

    def conflicts(self, person):
        """A file with marks is signed by no way, and each says why in a line; no commit takes it."""
        self.check(person)
        for item in person.items():
            marked = item.marked()
            for path in marked:
                self.assertFalse(has_header(read(path)), read(path))
            if not marked:
                continue
            if marked == [item.signed] and item.kind == "skill":  # its text is settled, and what is signed is made of it
                continue
            before = [read(path) for path in marked]
            one = ["skill", "add", "--yes", item.name] if item.kind == "skill" else ["sign", "-q", item.ref]
            many = self.rng.choice((["--all"], ["--all", "--take-over"], [item.kind + ":*"]))
            for words in (one, ["sign", "-q", *many]):
                done = person.call("ryefs", *words, status=None)
                told = [line for line in done.stderr.splitlines() if "<<<<<<<" in line and (item.ref in line or item.file in line)]
                self.assertNotEqual(done.returncode, 0, (words, before))
                self.assertEqual(len(told), 1, (words, done.stderr))
                self.assertIn("has conflict marks of a merge", told[0])
                self.assertEqual([read(path) for path in marked], before)
            self.remember(person)
            self.count["marks"] = self.count.get("marks", 0) + 1

    def remember(self, person):
        """`sign --all` is a yes to what it signs beside the files that it refuses."""
        refused = person.refused()
        for item in person.items():
            if item.ref not in refused and item.key() == person.key:
                self.yes.add((person.key, item.content()))

    def settle(self, person, path):
        """One side, or both: the lines of each between the marks stay."""
        side = self.rng.choice(["--ours", "--theirs", "both"])
        full = os.path.join(person.clone, path)
        if side == "both" and not path.endswith(".yaml") and os.path.exists(full):
            lines = read(full).splitlines(True)
            with open(full, "w", encoding="utf-8") as stream:
                stream.write("".join(line for line in lines if not line.startswith(MARKS)))
        elif person.git("checkout", "--ours" if side == "both" else side, "--", path, status=None).returncode:
            person.git("rm", "-qf", "--", path)

    def review(self, person):
        """Says yes to what is refused here, each text on its own."""
        refused = person.refused()
        found = [item for item in person.items() if item.ref in refused]
        for item in found:
            person.says_yes(item)
        return found

    # ---- what holds ----

    def check(self, person):
        refused = person.refused()
        for item in person.items():
            if item.ref in refused:
                message = refused[item.ref]["message"]
                ways = {"skill": r"ryefs skill (diff|add) %s" % item.name}
                self.assertIn(item.name, message)
                self.assertRegex(message, r"mend with: (\S+ \S+ && )?%s(\n|$)" % ways.get(item.kind, "ryefs sign " + item.ref))
                self.count["refused"] = self.count.get("refused", 0) + 1
                continue
            self.assertEqual(item.marked(), [], item.ref)
            self.assertIn((item.key(), item.content()), self.yes, "%s: %s" % (person.name, item.ref))

    def test_a_month(self):
        for _ in range(ROUNDS):
            person = self.rng.choice(self.people)
            what = self.rng.choice([self.edit, self.edit, self.rename, self.revert, self.merge, self.clash])
            what(person)
            self.count[what.__name__] = self.count.get(what.__name__, 0) + 1
            self.check(person)
        for person in self.people * 2:
            self.merge(person)
            self.check(person)
        print("#", self.count)
        self.assertGreaterEqual(self.count.get("marks", 0), ROUNDS // 10)
        self.assertEqual([kind for kind in KINDS if not self.count.get(kind)], [])


if __name__ == "__main__":
    harness.main()
