# SPDX-License-Identifier: MIT
"""names.py ROOT [files|tags|functions] [--list]: in engine/ and fs/ a file's name, a struct's tag
and the name of a function that other files see are there once, so that ctags, cscope and gdb lead
to one place. A static function may be called as one elsewhere is: its file tells them apart, and
a name made longer only to be the only one tells nothing. --list prints the offenders alone, as
file:name."""

import os
import re
import sys

import cscan

TAG = re.compile(r"\b(?:struct|union|enum)\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?([A-Za-z_]\w*)\s*\{")


def stem(path):
    """A header and its source are one name, as long as they stand together; a public header may
    be called as what implements it."""
    if path.startswith("engine/include/"):
        return os.path.basename(path) + " in public"
    return os.path.splitext(os.path.basename(path))[0]


def files(root, path):
    yield stem(path), os.path.dirname(path)


def tags(root, path):
    for name in TAG.findall(cscan.blank(cscan.read(root, path))):
        yield name, path


def functions(root, path):
    for kind, *what in cscan.declarations(cscan.blank(cscan.read(root, path))):
        if kind != "function" or what[0].name.isupper():  # DEFINE_… makes one of another name
            continue
        if not what[0].is_static or path.endswith(".h"):  # a header's own is seen by all who include it
            yield what[0].name, path


CHECKS = {
    "files": (files, "a file of this name is in {} too"),
    "tags": (tags, "its tag is defined in {} too"),
    "functions": (functions, "a function of this name is in {} too"),
}


def offenders(root, find, why):
    """(path, name, why) of each name that is found at two places."""
    at = {}
    for path in cscan.sources(root, ("engine", "fs")):
        for name, place in find(root, path):
            at.setdefault(name, {}).setdefault(place, path)
    for name, places in sorted(at.items()):
        for place, path in sorted(places.items()) if len(places) > 1 else ():
            others = sorted(set(places) - {place})
            yield path, name, why.format(" ".join(others))


def main(root, *words):
    listing = "--list" in words
    faults = []
    for check in [w for w in words if w != "--list"] or CHECKS:
        for path, name, text in offenders(root, *CHECKS[check]):
            faults.append(f"{path}:{name}" if listing else f"{path}: {name}: {text}")
    return cscan.finish(faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
