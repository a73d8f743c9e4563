# SPDX-License-Identifier: MIT
"""check_items.py AI: every item below AI (a .ai directory) obeys the rules for signing.

The name is the file's stem, the category is its directory, the version is X.Y.Z, the required
fields are there, schemas and patterns are valid; text is UTF-8 with LF and no signature. What
the build signs has then nothing to complain about. Prints one line a fault."""

import ast
import os
import re
import sys
import xml.etree.ElementTree as tree

KINDS = {"directives": ".md", "tools": ".py .yaml .yml .js .mjs .cjs .ts .sh .pl .rb .awk .tcl",
         "knowledge": ".md", "config": ".yaml .yml .toml"}
NULL_EXECUTOR = ("primitive", "runtime", "library", "mcp_server", "http")
TYPES = ("string", "integer", "number", "boolean", "object", "array")
DUNDERS = ("version", "tool_type", "executor_id", "category", "tool_description")
SEMVER = re.compile(r"\d+\.\d+\.\d+")
SNAKE = re.compile(r"[a-z][a-z0-9_]*")


class Item:
    def __init__(self, root, path):
        self.path = path
        self.kind, _, rest = os.path.relpath(path, root).partition(os.sep)
        self.category = os.path.dirname(rest)
        self.stem, self.ext = os.path.splitext(os.path.basename(path))
        self.id = os.path.join(self.category, self.stem)
        with open(path, "rb") as stream:
            self.text = stream.read().decode("utf-8")


def scalar(text):
    text = re.sub(r"\s+#.*", "", text).strip()
    quoted = re.fullmatch(r'"(.*)"|\'(.*)\'', text)
    if quoted:
        return quoted[1] if quoted[1] is not None else quoted[2]
    return None if text in ("null", "~", "") else text


def flat_yaml(text):
    """The scalars at the top level; enough for the fields that every item has."""
    return {m[1]: scalar(m[2]) for m in re.finditer(r"(?m)^(\w+):[ \t]*(.*)$", text)}


def fence(item, language):
    found = re.search(r"(?ms)^```%s[ \t]*\n(.*?)^```[ \t]*$" % language, item.text)
    return (found[1], item.text[: found.start()]) if found else (None, "")


def check_fields(item, fields, required):
    for name in required:
        if not fields.get(name) and not (name == "category" and fields.get(name) == ""):
            yield "missing required field: " + name
    if not SEMVER.fullmatch(str(fields.get("version"))):
        yield "version must be X.Y.Z, is %r" % fields.get("version")
    if fields.get("category") is not None and fields["category"] != item.category:
        yield "category %r must be %r" % (fields["category"], item.category)
    if "name" in required and fields.get("name") != item.stem:
        yield "name %r must be %r" % (fields.get("name"), item.stem)


def check_schema(schema, where):
    kinds = schema.get("type", [])
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind not in TYPES:
            yield "%s: no such type: %r" % (where, kind)
    if "enum" in schema and not schema["enum"]:
        yield where + ": enum is empty"
    if "pattern" in schema:
        re.compile(schema["pattern"])
    for name in schema.get("required", []):
        if name not in schema.get("properties", {}):
            yield "%s: requires an unknown property: %s" % (where, name)
    for name, part in schema.get("properties", {}).items():
        if "description" not in part:
            yield "%s.%s: has no description" % (where, name)
        yield from check_schema(part, where + "." + name)
    if "items" in schema:
        yield from check_schema(schema["items"], where + "[]")


def check_executor(item, fields):
    executor = fields.get("executor_id")
    if executor is None and fields.get("tool_type") not in NULL_EXECUTOR:
        yield "only %s may lack an executor" % ", ".join(NULL_EXECUTOR)
    root = item.path[: -len(item.id + item.ext)]
    if executor and not os.path.isfile(os.path.join(root, executor + ".yaml")):
        yield "executor not found: " + executor


def check_python(item):
    values = {}
    for node in ast.parse(item.text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                values[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                pass
    for name in DUNDERS:
        if "__%s__" % name not in values:
            yield "missing __%s__" % name
    fields = {name: values.get("__%s__" % name) for name in DUNDERS}
    # a library names no executor; whether it may is the next rule's
    yield from check_fields(item, fields, [name for name in DUNDERS if name != "executor_id"])
    yield from check_executor(item, fields)
    if fields["executor_id"] is None:
        return
    if "CONFIG_SCHEMA" not in values:
        yield "CONFIG_SCHEMA is not a literal"
    if values.get("CONFIG_SCHEMA", {}).get("additionalProperties") is not False:
        yield "CONFIG_SCHEMA lets misspelt parameters through: additionalProperties must be False"
    yield from check_schema(values.get("CONFIG_SCHEMA", {}), "CONFIG_SCHEMA")
    for name in values.get("__requires__", [""]):
        if not re.fullmatch(r"[a-z_]+(\.[a-z_]+)+(\.\*)?", name):
            yield "__requires__ wants dotted names, has %r" % name


def check_tool(item):
    if item.ext == ".py":
        yield from check_python(item)
        return
    fields = flat_yaml(item.text)
    yield from check_fields(item, fields, ("tool_id", "category", "tool_type", "version", "description"))
    yield from check_executor(item, fields)
    if fields.get("tool_id", "").replace("-", "_") not in (item.stem.replace("-", "_"), item.id):
        yield "tool_id %r must be %r" % (fields.get("tool_id"), item.stem)


def check_directive(item):
    text, preamble = fence(item, "xml")
    if text is None:
        yield "no xml fence"
        return
    if "<directive" in preamble or not text.startswith("<directive "):
        yield "the directive must be the first thing that its fence holds"
    root = tree.fromstring(text.strip())
    fields = {**root.attrib, **{node.tag: node.text or "" for node in root.find("metadata")}}
    fields["description"] = fields.get("description") or root.findtext("description")
    yield from check_fields(item, fields, ("name", "version", "description", "category", "author"))
    if not SNAKE.fullmatch(item.stem):
        yield "a directive's name must be snake_case"
    declared = {node.get("name") for node in root.iter("input")}
    used = set(re.findall(r"\{input:([a-z_]\w*)", item.text))
    if used - declared:
        yield "undeclared inputs: " + ", ".join(sorted(used - declared))


def check_knowledge(item):
    text, _ = fence(item, "yaml")
    if text is None:
        yield "no yaml fence"
        return
    required = ("name", "title", "version", "entry_type", "category")
    yield from check_fields(item, flat_yaml(text), required)


def check_config(item):
    yield from check_fields(item, flat_yaml(item.text), ("version", "category"))


CHECKS = {"directives": check_directive, "tools": check_tool, "knowledge": check_knowledge,
          "config": check_config}


def check(item):
    if item.ext not in KINDS.get(item.kind, "").split():
        yield "no item can be here under this name"
        return
    if "\r" in item.text or "\ufeff" in item.text or not item.text.endswith("\n"):
        yield "wants LF line ends, no BOM, a newline at the end"
    if re.search(r"(?m)^(<!--|#|//) rye:(signed|full):", item.text):
        yield "is signed; the build does that"
    try:
        yield from CHECKS[item.kind](item)
    except (SyntaxError, ValueError, re.error, tree.ParseError) as error:
        yield str(error)


def main(root):
    faults = seen = 0
    for where, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name != "__pycache__")
        for name in sorted(files):
            item = Item(root, os.path.join(where, name))
            seen += 1
            for fault in check(item):
                faults += 1
                print("%s: %s" % (os.path.relpath(item.path, os.path.dirname(root)), fault))
    print("%d items, %d faults" % (seen, faults))
    return 1 if faults or not seen else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
