"""Run the tests that a project has written for its tools.

A file .ai/tests/NAME.test.yaml (or .test.json) holds {tool, tests: [{name, params, assert, tags}]}.
assert is a map: "data.count": 3 wants that value, "data.count >= 3" that relation; the operators are
== != >= <= > < contains regex exists in. The result that is looked at is the tool's own, with
success, error and duration_ms. Nobody signs such a file, so it runs the project's own tools; what it
would say to one of the person's or a bundle's runs when the caller says any_tool."""

import json
import os
import re
import time

import rye_files
import rye_tool

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/dev"
__tool_description__ = "Run the tests that a project has written for its tools"
__requires__ = ["fs.read", "fs.write", "net.call", "shell.execute", "rye.execute.tool.*"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "tool": {"type": "string", "description": "Only the tests of this tool"},
        "spec": {
            "type": "string",
            "description": "Only this file, relative to the project",
        },
        "include_tags": {
            "type": "array",
            "description": "Only tests that have one of these tags",
            "items": {"type": "string", "description": "One tag"},
        },
        "exclude_tags": {
            "type": "array",
            "description": "No tests that have one of these tags",
            "items": {"type": "string", "description": "One tag"},
        },
        "validate_only": {
            "type": "boolean",
            "description": "Read the files and check the tools, their parameters too; run nothing",
            "default": False,
        },
        "any_tool": {
            "type": "boolean",
            "description": "Run tests of tools of the user and system spaces, too",
            "default": False,
        },
    },
}

NONE = object()
ENDS = (".test.yaml", ".test.yml", ".test.json")
TESTS_MAX = 1000


def parse(path):
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    if path.endswith(".json"):
        return json.loads(text)
    try:
        import yaml
    except ImportError:
        raise rye_tool.Failure("%s: the system's Python has no PyYAML; write it as .test.json, or "
                               "install python3-yaml" % path) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise rye_tool.Failure("%s: %s" % (path, error)) from None


def spec_files(params, project_path):
    if params.get("spec"):
        return [rye_files.locate(project_path, params["spec"])[1]]
    found = []
    for where, names, files in os.walk(os.path.join(project_path, ".ai/tests")):
        names.sort()
        found += [os.path.join(where, name) for name in sorted(files) if name.endswith(ENDS)]
    return found


def read_spec(path):
    spec = parse(path)
    if not isinstance(spec, dict) or not isinstance(spec.get("tool"), str) or spec["tool"][:1] == "-":
        raise rye_tool.Failure("%s: wants tool and tests" % path)
    tests = spec.get("tests")
    if not isinstance(tests, list) or not all(
            isinstance(test, dict) and isinstance(test.get("name"), str) for test in tests):
        raise rye_tool.Failure("%s: tests wants a list of {name, params, assert}" % path)
    for test in tests:
        for rule in test.get("assert") or {}:
            split_rule(rule)
    return spec


# ---- what a test wants ----

RULE = re.compile(r"^(\S+)\s+(==|!=|>=|<=|>|<|contains|regex|exists|in)(?:\s+(.*))?$", re.S)


def split_rule(rule):
    """(path, operator, literal); no operator is equality with the value beside it."""
    found = RULE.match(rule)
    if not found:
        if not re.fullmatch(r"\S+", rule):
            raise rye_tool.Failure("assert: not PATH or PATH OPERATOR VALUE: " + rule)
        return rule, None, None
    if found[3] is None and found[2] != "exists":
        raise rye_tool.Failure("assert: %s wants a value: %s" % (found[2], rule))
    try:
        return found[1], found[2], json.loads(found[3] or "null")
    except ValueError:
        return found[1], found[2], found[3]


def look(document, path):
    for part in path.replace("[", ".").replace("]", "").split("."):
        if isinstance(document, dict):
            document = document.get(part, NONE)
        elif isinstance(document, list) and re.fullmatch(r"-?\d+", part):
            document = document[int(part)] if -len(document) <= int(part) < len(document) else NONE
        else:
            return NONE
    return document


def holds(got, operator, want):
    if operator == "exists":
        return got is not NONE
    if got is NONE:
        return operator == "!="
    try:
        return {
            "==": lambda: got == want,
            "!=": lambda: got != want,
            ">=": lambda: got >= want,
            "<=": lambda: got <= want,
            ">": lambda: got > want,
            "<": lambda: got < want,
            "contains": lambda: want in got,
            "in": lambda: got in want,
            "regex": lambda: re.search(str(want), str(got)) is not None,
        }[operator]()
    except TypeError:
        return False


def faults_of(document, rules):
    faults = []
    for rule, value in rules.items():
        path, operator, literal = split_rule(rule)
        got = look(document, path)
        if operator is None:
            good = holds(got, "==", value)
            wanted = "%s == %s" % (rule, json.dumps(value))
        else:
            good = holds(got, operator, literal) != (value is False)
            wanted = ("not " if value is False else "") + rule
        if not good:
            shown = "nothing" if got is NONE else json.dumps(got)
            faults.append("wanted %s, got %s" % (wanted, shown[:500]))
    return faults


# ---- running them ----

def document_of(reply, took):
    data = reply.get("data")
    document = dict(data) if isinstance(data, dict) else {"result": data}
    document.setdefault("success", reply.get("status") != "error")
    document["success"] = document["success"] and reply.get("status") != "error"
    if reply.get("error"):
        document["error"] = reply["error"]
    document["duration_ms"] = took
    return document


def is_chosen(test, params):
    tags = set(test.get("tags") or [])
    wanted, unwanted = params.get("include_tags"), params.get("exclude_tags") or []
    return (wanted is None or tags & set(wanted)) and not tags & set(unwanted)


def ref_of(spec):
    return spec["tool"] if ":" in spec["tool"] else "tool:" + spec["tool"]


def check_own(path, spec, project_path):
    """What nobody signed says nothing to a tool of a stronger space: some run commands."""
    status, out, err = rye_tool.engine(project_path, ["verify", ref_of(spec)])
    try:
        rows = json.loads(out)
    except ValueError:
        raise rye_tool.Failure(err.strip() or "ryefs verify ended with %d" % status) from None
    if not isinstance(rows, list):
        return  # there is no such tool: running it says so
    space = rows[0]["space"]
    if space != "project":
        raise rye_tool.Failure(
            "%s: tests %s of the space %s, and a file of tests has no signature: read it, then say "
            "any_tool=true" % (os.path.relpath(path, project_path), spec["tool"], space))


def run_test(spec, test, params, project_path):
    began = time.monotonic()
    ref = ref_of(spec)
    reply = rye_tool.call(project_path, ref, test.get("params") or {},
                          dry=params.get("validate_only", False))
    took = int((time.monotonic() - began) * 1000)
    row = {"name": test["name"], "tool": spec["tool"], "duration_ms": took}
    if params.get("validate_only"):
        faults = [] if reply["status"] != "error" else [reply["error"]]
    else:
        faults = faults_of(document_of(reply, took), test.get("assert") or {"success": True})
    row["status"] = "failed" if faults else "passed"
    return {**row, "faults": faults} if faults else row


@rye_tool.tool
def execute(params, project_path):
    began = time.monotonic()
    files = spec_files(params, project_path)
    specs = [(path, read_spec(path)) for path in files]
    if params.get("tool"):
        specs = [(path, spec) for path, spec in specs if spec["tool"] == params["tool"]]
    tests = [(spec, test) for _, spec in specs for test in spec["tests"]]
    if not tests:
        raise rye_tool.Failure("There are no tests: write .ai/tests/NAME.test.yaml with tool and tests")
    if len(tests) > TESTS_MAX:
        raise rye_tool.Failure("More than %d tests: choose some by tool or spec" % TESTS_MAX)
    if not params.get("any_tool") and not params.get("validate_only"):
        for path, spec in specs:
            check_own(path, spec, project_path)
    rows = [run_test(spec, test, params, project_path) if is_chosen(test, params)
            else {"name": test["name"], "tool": spec["tool"], "status": "skipped"}
            for spec, test in tests]
    summary = {status: sum(row["status"] == status for row in rows)
               for status in ("passed", "failed", "skipped")}
    told = {
        "tool": params.get("tool"), "results": rows,
        "spec_path": [os.path.relpath(path, project_path) for path, _ in specs],
        "summary": {"total": len(rows), **summary,
                    "duration_ms": int((time.monotonic() - began) * 1000)},
        "output": "\n".join("%s %s: %s" % (row["status"], row["tool"], row["name"]) +
                            "".join("\n  " + fault for fault in row.get("faults", [])) for row in rows),
    }
    if summary["failed"]:
        raise rye_tool.Failure("%d of %d tests failed" % (summary["failed"], len(rows)), **told)
    return told
