# SPDX-License-Identifier: MIT
"""count.py TESTLOG.JSON STATUS: counts the test cases of a meson test run that ended
with STATUS and prints "N passed, N failed[, N skipped]" as its last line.

A program that wrote TAP counts case by case, any other as one. A "# skipped:" line
before a case (test_skip of tests/rye_test.h) makes that case a skipped one. A test
that ended badly without naming a failed case counts as one failed besides."""

import json
import re
import sys

CASE = re.compile(r"^(?:(not ok)|ok)\b\s+\d+(.*)$|^# skipped:")
GOOD = ("OK", "EXPECTEDFAIL")


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


def read_log(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return [json.loads(line) for line in f if line.strip()]
    except OSError:
        return []


def main(path, status):
    total = [0, 0, 0]
    for entry in read_log(path):
        n = count_test(entry)
        total = [a + b for a, b in zip(total, n)]
        if n[1]:
            print(f"FAILED {entry['name']} ({entry['result'].lower()}, {n[1]} of {sum(n)})")
        elif entry["result"] == "SKIP":
            print(f"skipped {entry['name']}")
    passed, failed, skipped = total
    if status and not failed:
        print(f"meson test ended with {status} and names no failure")
        failed = 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
