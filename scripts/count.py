# SPDX-License-Identifier: MIT
"""count.py STATUS TESTLOG.JSON...: counts the test cases of meson test runs of which one ended
with STATUS, or all with 0, and prints "N passed, N failed[, N skipped]" as its last line; before it, the failed cases
with what they said.

A program that wrote TAP counts case by case, any other as one. A "# skipped:" line
before a case (test_skip of tests/rye_test.h) makes that case a skipped one. A test
that ended badly without naming a failed case counts as one failed besides."""

import json
import re
import sys

CASE = re.compile(r"^(?:(not ok)|ok)\b\s+\d+(.*)$|^# skipped:")
GOOD = ("OK", "EXPECTEDFAIL")
# how much of a failure is shown again at the end: who sees only the last lines knows what broke
SHOWN_CASES, SHOWN_LINES, SHOWN_WIDTH = 4, 8, 300


def count_tap(text):
    """[passed, failed, skipped] of one program's TAP lines."""
    n = [0, 0, 0]
    skipping = False
    for line in text.splitlines():
        m = CASE.match(line)
        if not m:
            continue
        if line.startswith("#"):
            skipping = True
            continue
        bad = m[1] is not None
        if re.search(r"#\s*skip", m[2], re.I) or (skipping and not bad):
            n[2] += 1
        else:
            n[bad] += 1
        skipping = False
    return n


def count_test(entry):
    if entry["result"] == "SKIP":
        return [0, 0, 1]
    n = count_tap(entry.get("stdout") or "")
    good = entry["result"] in GOOD
    if sum(n) == 0:
        return [1, 0, 0] if good else [0, 1, 0]
    if not good and n[1] == 0:
        n[1] = 1
    return n


def tell_failure(entry):
    """Lines that name the failed cases of one program, each with the remarks before and after it;
    of a program that names none, the last lines that it wrote."""
    lines = (entry.get("stdout") or "").splitlines()
    bad = [at for at, line in enumerate(lines) if line.startswith("not ok")]
    told = []
    for at in bad[:SHOWN_CASES]:
        first = at
        while first > 0 and lines[first - 1].startswith("#") and at - first < SHOWN_LINES:
            first -= 1
        last = at + 1
        while last < len(lines) and lines[last].startswith("#") and last - at <= SHOWN_LINES:
            last += 1
        told += lines[first:last]
    if not bad:
        told = lines[-SHOWN_LINES:]
    told += (entry.get("stderr") or "").splitlines()[-SHOWN_LINES:]
    return ["  " + line[:SHOWN_WIDTH] for line in told]


def read_log(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return [json.loads(line) for line in f if line.strip()]
    except OSError:
        return []


def main(status, paths):
    total = [0, 0, 0]
    for entry in (entry for path in paths for entry in read_log(path)):
        n = count_test(entry)
        total = [a + b for a, b in zip(total, n)]
        if n[1]:
            print(f"FAILED {entry['name']} ({entry['result'].lower()}, {n[1]} of {sum(n)})")
            print("\n".join(tell_failure(entry)))
        elif entry["result"] == "SKIP":
            print(f"skipped {entry['name']}")
    passed, failed, skipped = total
    if status and not failed:
        print(f"meson test ended with {status} and names no failure")
        failed = 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
