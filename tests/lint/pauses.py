# SPDX-License-Identifier: MIT
"""pauses.py ROOT [--list]: a test that only lets time pass waits too long on one machine and not long
enough on another. A statement of tests/ that does (sleep, time.sleep, usleep at the beginning of a
line) stands in a loop that looks for what it waits for, or says behind it, or on the line before,
why there is nothing to look for, or waits for a limit of the program by its name. What tools of a test do is theirs: their texts are quoted, or stand
in fx_tool, fx_python, agent_tool. --list: those that say why."""

import os
import re
import sys

import cscan

PAUSE = {".sh": r"(?:\S+; )?sleep\s+[\"$\d.]", ".py": r"(?:[^#'\"]*; )?time\.sleep\(", ".c": r"usleep\([^A-Z]*$", ".h": r"usleep\([^A-Z]*$"}
BESIDE = re.compile(r"&$")
LOOP = re.compile(r"(?:\}\s*)?(?:while|until|for|do|async for)\b|.*\b(?:do|\$\(seq .*)$|\w+\(\)\s*\{.*\bwhile\b")
TOOL = re.compile(r"(?:fx_tool|fx_python|agent_tool|yaml|tool|both)\b|def execute\(")


def indent(line):
    return len(line.expandtabs(8)) - len(line.expandtabs(8).lstrip())


def around(lines, n):
    """The lines that the n-th one stands below, the nearest first."""
    depth = indent(lines[n])
    for line in reversed(lines[:n]):
        if line.strip() and indent(line) < depth:
            depth = indent(line)
            yield line.strip()


def excused(lines, n, mark):
    """In a loop, in a tool's text, or with a reason."""
    if mark in lines[n].partition("sleep")[2] or lines[n - 1].strip().startswith(mark):
        return "why"
    blocks = list(around(lines, n))
    if any(TOOL.match(line) for line in blocks):
        return "tool"
    looks = [line for line in blocks if not re.match(r"(?:if|else|elif|try|except|with)\b", line)]
    return "loop" if looks and LOOP.match(looks[0]) else None


def pauses(root):
    for here, subdirs, names in os.walk(os.path.join(root, "tests")):
        subdirs[:] = [d for d in subdirs if d not in ("corpus", "vectors", "bench", "lint")]
        for name in sorted(names):
            ext = ".sh" if name == "cmd" else os.path.splitext(name)[1]
            if ext not in PAUSE:
                continue
            path = os.path.relpath(os.path.join(here, name), root)
            lines = cscan.read(root, path).splitlines()
            ways = [PAUSE[ext]] if ext != ".sh" else [PAUSE[".sh"], PAUSE[".py"]]
            for n, line in enumerate(lines):
                if any(re.match(r"\s*" + way, line) for way in ways) and not BESIDE.search(line):
                    yield path, n + 1, line.strip(), excused(lines, n, "/*" if ext in (".c", ".h") else "#")


def main(root, *words):
    found = list(pauses(root))
    if words:
        for path, n, line, why in found:
            if why == "why":
                print(f"{path}:{n}: {line}")
        return 0
    return cscan.finish([f"{path}:{n}: waits for a time, wanted is a look for what it waits for, or why not: {line}"
                         for path, n, line, why in found if not why])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
