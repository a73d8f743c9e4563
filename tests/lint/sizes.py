# SPDX-License-Identifier: MIT
"""sizes.py ROOT: functions, files, headers, parameters, nesting and includes keep
to their budgets. Exceptions: scripts/size-exceptions."""

import os
import sys

import cscan

FUNCTION_LINES = 60
FILE_LINES = 800
HEADER_LINES = 150
ROOM_HEADER_LINES = 320  # what other rooms see of one; ROOM_inner.h has the limit of a file
PUBLIC_HEADER_LINES = 250
PARAMETERS = 6
NESTING = 4  # the function's own block counts: three levels inside it
INCLUDES = 12


def file_limit(path):
    if path.startswith("engine/include/"):
        return PUBLIC_HEADER_LINES
    room = os.path.basename(os.path.dirname(path))
    if path.endswith(f"/{room}/{room}_inner.h"):
        return FILE_LINES
    if path.endswith(f"/{room}/{room}.h"):
        return ROOM_HEADER_LINES
    return HEADER_LINES if path.endswith(".h") else FILE_LINES


def check_function(path, f):
    where = f"{path}:{f.first}: {f.name}"
    if f.lines > FUNCTION_LINES:
        yield f"{where} has {f.lines} lines, wanted at most {FUNCTION_LINES}"
    if f.params > PARAMETERS:
        yield f"{where} has {f.params} parameters, wanted at most {PARAMETERS}"
    deep = cscan.nesting(f.body)
    if deep > NESTING:
        yield f"{where} nests {deep} blocks, wanted at most {NESTING}"


def check_file(path, text):
    lines = text.count("\n")
    limit = file_limit(path)
    if lines > limit:
        yield f"{path}: {lines} lines, wanted at most {limit}"
    n = len(cscan.includes(text))
    if n > INCLUDES:
        yield f"{path}: {n} includes, wanted at most {INCLUDES}"


def main(root):
    excused = cscan.Exceptions(root, "scripts/size-exceptions")
    faults = []
    for path in cscan.sources(root):
        text = cscan.read(root, path)
        found = list(check_file(path, text))
        if found and not excused.excuse(path):
            faults += found
        for kind, *what in cscan.declarations(cscan.blank(text)):
            if kind != "function":
                continue
            found = list(check_function(path, what[0]))
            if found and not excused.excuse(path, what[0].name):
                faults += found
    return cscan.finish(faults + excused.faults())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
