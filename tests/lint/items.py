# SPDX-License-Identifier: MIT
"""items.py ROOT: a struct rye_item means "verified", so engine/item/load.c alone makes one.
Elsewhere it is only pointed to: no variable or member of the type itself, no allocation, no
size of it, no cast to it, and nothing is written into one."""

import re
import sys

import cscan

MAKER = "engine/item/load.c"
HEADER = "engine/item/item.h"
TYPE = re.compile(r"\bstruct\s+rye_item\b\s*(?P<next>[^\s])")
CAST = re.compile(r"\(\s*struct\s+rye_item\s*\*+\s*\)")
ALLOCATED = re.compile(r"\bstruct\s+rye_item\s*\*\s*\w+\s*=\s*(\w*alloc|memdup)\s*\(")
NAMES = re.compile(r"\bstruct\s+rye_item\s*\*+\s*(\w+)")
FIELDS = "kind|space|id|ext|abspath|raw|shebang|body|st|meta|parsed|path|text|shape|verdict|parse|refs"


def writes(code):
    """Lines where a function sets a member of what it declares as a rye_item pointer."""
    lines = code.split("\n")
    for kind, *what in cscan.declarations(code):
        if kind != "function":
            continue
        whole = "\n".join(lines[what[0].first - 1 : what[0].last])
        names = "|".join(sorted(set(NAMES.findall(whole)))) or "-"
        one = rf"\b(?:{names})\s*\)?->(?:{FIELDS})\b[\w.]*(?:\[[^\]]*\])?\s*=(?!=)"
        for m in re.finditer(one, whole):
            yield what[0].first - 1 + cscan.line_of(whole, m.start())


def check(path, text):
    code = cscan.blank(text)

    def at(m, words):
        line = m if isinstance(m, int) else cscan.line_of(code, m.start())
        return f"{path}:{line}: {words}, which only {MAKER} may do"

    for m in TYPE.finditer(code):
        declared = m["next"] == ";" or (path == HEADER and m["next"] == "{")
        if m["next"] != "*" and not declared:
            yield at(m, "makes room for a struct rye_item")
    for m in CAST.finditer(code):
        yield at(m, "casts to struct rye_item")
    for m in ALLOCATED.finditer(code):
        yield at(m, "allocates a struct rye_item")
    for line in writes(code):
        yield at(line, "writes into a struct rye_item")


def main(root):
    faults = []
    for path in cscan.sources(root, ("engine", "fs")):
        if path != MAKER:
            faults += check(path, cscan.read(root, path))
    return cscan.finish(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
