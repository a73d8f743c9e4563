# SPDX-License-Identifier: MIT
"""numbers.py ROOT: every conformance case of the formats that tests/numbers lists is a test
named by its number, one number a test. Counted are cmocka functions that are handed to a
runner (T05_words, P05_words, case_7_words, thread_T05_words, thread_F05_words), methods of Python
tests (test_case_7_words), groups of table tests under a comment "# T05: words" or "# thread T05:
words", checks of shell tests (is 'MCP01 words', is 'case 7 words', of threads is 'T05 words'), and of
the cases MCP01 … also rows of C tables ("MCP01 words"); each in a file that its meson.build knows."""

import os
import re
import sys

import cscan

LIST = "tests/numbers"
ROW = re.compile(r"^(items|tools|providers|mcp|threads|faults) (\S+)(?: - (.+))?$")
NUMBER = re.compile(r"^(?:T(?P<items>\d\d+)|thread_(?:T(?P<threads>\d\d)|F(?P<faults>\d\d))|P(?P<providers>\d\d+)|(?:MCP|mcp)(?P<mcp>\d\d)|case_(?P<tools>\d+))_(?!(?:to|and)_\d)[a-z]\w*$")
ALIKE = re.compile(r"^(?:[PT]\d|cases?_?T?\d|thread_[TF]\d)")
FUNCTION = re.compile(r"^static void (\w+)\(void \*\*", re.M)
METHOD = re.compile(r"^    def test_(\w+)\(self", re.M)
ROW_OF_C = re.compile(r'"(MCP\d\d) \w')
CHECK = re.compile(r"^\s*(?:has|is|lacks|like|not_ok|ok) ['\"](MCP\d\d|case \d+|[TF]\d\d) \S", re.M)
LABEL = re.compile(r"^# (T\d+|case \d+|thread [TF]\d\d): .*\n(?!\n|#|$)", re.M)


def spell(kind, number):
    return {"items": f"T{number:02}", "threads": f"T{number:02}", "faults": f"F{number:02}", "providers": f"P{number:02}", "mcp": f"MCP{number:02}", "tools": f"case {number}"}[kind]


def numbers_of(text):
    """"T01-T36" or "7" as numbers."""
    ends = [int(part.lstrip("CFMPT")) for part in text.split("-")]
    return range(ends[0], ends[-1] + 1)


def read_list(root):
    """(wanted, left out), both sets of (format, number); faults of the list itself."""
    wanted, without, faults = set(), set(), []
    for n, line in enumerate(cscan.read(root, LIST).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        row = ROW.match(line)
        if not row or not re.match(r"^(T\d+(-T\d+)?|F\d+(-F\d+)?|P\d+(-P\d+)?|MCP\d+(-MCP\d+)?|\d+(-\d+)?)$", row[2]):
            faults.append(f'{LIST}:{n}: wanted "items T01-T36", "mcp MCP01", "tools 7" or "tools 96 - reason"')
            continue
        rows = {(row[1], number) for number in numbers_of(row[2])}
        if row[3]:
            if not rows <= wanted:
                faults.append(f"{LIST}:{n}: is left out, but was not listed before")
            without |= rows
        else:
            wanted |= rows
    return wanted - without, without, faults


def is_built(root, path):
    """Does the directory's meson.build know the file?"""
    here, name = os.path.split(path)
    stem = re.sub(r"^(test|prop)_|\.\w+$", "", name)
    stem = re.sub(r"\.\w+$", "", stem)
    build = os.path.join(here, "meson.build")
    return os.path.exists(os.path.join(root, build)) and f"'{stem}'" in cscan.read(root, build)


def names_in(path, text):
    if path.endswith(".c"):
        names = [name for name in FUNCTION.findall(text) if len(re.findall(rf"\b{name}\b", text)) > 1]
        return names + [f"{row}_row" for row in ROW_OF_C.findall(text)]
    if path.endswith(".sh"):
        rows = [f"thread {row}" if row[0] in "TF" else row for row in CHECK.findall(text)]
        return [f"{row}_row".replace(" ", "_") for row in rows]
    if path.endswith(".py"):
        return METHOD.findall(text)
    return [f"{row}_row".replace(" ", "_") for row in LABEL.findall(text)]


def files(root):
    for name, end in (("unit", ".c"), ("prop", ".c"), ("bundle", ".py"), ("e2e", (".py", ".sh")), ("table", ".test")):
        here = os.path.join(root, "tests", name)
        for file in sorted(os.listdir(here)) if os.path.isdir(here) else []:
            if file.endswith(end):
                yield os.path.join("tests", name, file)


def read_tests(root):
    found, faults = {}, []
    for path in files(root):
        for name in names_in(path, cscan.read(root, path)):
            row = NUMBER.match(name)
            if not row and ALIKE.match(name):
                faults.append(f"{path}: {name}: wanted one number and words, as T05_words or case_7_words")
            elif row and not is_built(root, path):
                faults.append(f"{path}: {name} is never run: the directory's meson.build does not name the file")
            elif row:
                kind = next(kind for kind, number in row.groupdict().items() if number)
                found.setdefault((kind, int(row[kind])), f"{path}: {name}")
    return found, faults


def main(root):
    wanted, without, faults = read_list(root)
    found, more = read_tests(root)
    faults += more
    for kind, number in sorted(wanted - set(found)):
        faults.append(f"{LIST}: {spell(kind, number)} of {kind} has no test named by it")
    for kind, number in sorted(set(found) - wanted):
        why = f"is left out in {LIST}" if (kind, number) in without else f"is not in {LIST}"
        faults.append(f"{found[kind, number]}: {spell(kind, number)} of {kind} {why}")
    return cscan.finish(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
