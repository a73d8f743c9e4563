#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lock_order.py: locks are taken in the order of the table in docs/locks.md.

Some tests are run once more with tests/fake/lock_pairs.c, which writes down what each thread of ryefs
holds when it takes one more lock. What was seen must stand in the table in that order, with no more
than two of its locks at once. At the end the table is shown to matter: with two rows exchanged, or
one left out, the same record is refused.
"""

import collections
import concurrent.futures
import copy
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "lint"))
import cscan  # noqa: E402
import lock_table  # noqa: E402

# what they do together: a scan, changes, searches, tools that call tools, threads and who waits for them
PROGRAMS = ("mixed", "changes", "fork_many", "run_nested", "index")
AT_ONCE = 2
RYEFS = os.environ["RYEFS"]
PRELOADED = os.environ["PRELOADED"]


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def record(place, name):
    """Runs the test; what it said if it failed."""
    # which locks are taken does not depend on how many callers there are
    env = dict(os.environ, RYEFS=str(place / "ryefs"), RYE_CALLERS="10", RYE_ROUNDS="2")
    done = subprocess.run(["bash", str(HERE / f"{name}.sh")], env=env, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    bad = done.returncode or re.search(r"^not ok", done.stdout, re.M)
    return f"{name} failed beside the recorder:\n{done.stdout}" if bad else ""


def record_all(place):
    """What stands for ryefs is a script, so that only ryefs is told to load the recorder."""
    (place / "seen").mkdir()
    script = place / "ryefs"
    script.write_text(f'#!/bin/sh\nLD_PRELOAD="{PRELOADED}/lock_pairs.so" LOCK_PAIRS="{place}/seen" '
                      f'LOCK_PAIRS_OF="{os.path.realpath(RYEFS)}" exec "{RYEFS}" "$@"\n')
    script.chmod(0o755)
    (place / "bundle").symlink_to(pathlib.Path(RYEFS).parent / "bundle")
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return [fault for fault in pool.map(lambda name: record(place, name), PROGRAMS) if fault]


def stacks_seen(place):
    """Each as [(made, taken), ...]: places in the program, hexadecimal."""
    lines = {line for path in (place / "seen").iterdir() for line in path.read_text().splitlines()}
    return [[step.split("@") for step in line.split()] for line in sorted(lines)]


def lines_of(places):
    """place -> (file below the root, line) of the code there; of inlined code the outermost that is no header."""
    asked = sorted(places)
    r = subprocess.run(["addr2line", "-ai", "-e", RYEFS], input="\n".join(asked), text=True,
                       stdout=subprocess.PIPE, check=True)
    found, now = {}, None
    for text in r.stdout.splitlines():
        if text.startswith("0x"):
            now = f"{int(text, 16):x}"
            continue
        m = re.match(r".*?((?:engine|fs)/.*\.c):(\d+)", text)
        if m and now not in found:
            found[now] = (os.path.normpath(m[1]), int(m[2]))
    return found


def of_ours(stacks, lines):
    """Without the locks of libraries that are linked into the program, which have no lines."""
    for stack in stacks:
        own = [step for step in stack if all(at in lines for at in step)]
        if len(own) > 1 and own[-1] == stack[-1]:
            yield own


def named(stacks, lines, made):
    """The stacks as [(Made, "file:line" where it was taken), ...]."""
    by_line = {(one.path, one.line): one for one in made}
    for stack in stacks:
        yield [(by_line[lines[made_at]], "{}:{}".format(*lines[taken_at])) for made_at, taken_at in stack]


def rank(one, rows):
    """Its place in the order, those that are held during I/O first; None: it has no row."""
    if one.kept():
        return (-1, lock_table.KEPT.index(one.member), 0)
    row = one.row(rows)
    if not row:
        return None
    name = row.names.index(one.owner) if one.owner in row.names else 0
    return (row.place, row.files.index(os.path.basename(one.path)), name)


def order_faults(stacks, rows):
    """What the table forbids of what was seen."""
    for stack in stacks:
        if sum(not one.kept() for one, _ in stack) > 2:
            yield "more than two at once: " + ", ".join(f"{one.expr} ({at})" for one, at in stack)
        (outer, outer_at), (inner, inner_at) = stack[-2:]
        ranks = rank(outer, rows), rank(inner, rows)
        if None in ranks:
            yield f"{inner if ranks[0] else outer} has no row"
        elif ranks[0] >= ranks[1]:
            yield f"{inner.expr} ({inner_at}) is taken under {outer.expr} ({outer_at}), against the order"


def exchanged(rows, a, b):
    """A copy of the table in which the two rows have each other's place."""
    rows = copy.deepcopy(rows)
    rows[a].place, rows[b].place = b, a
    return rows


def mutant_faults(stacks, rows):
    """A table that is wrong in one row that was seen, and is not refused."""
    pairs = {(outer.row(rows).place, inner.row(rows).place) for stack in stacks
             for (outer, _), (inner, _) in [stack[-2:]] if not outer.kept()}
    for a, b in sorted(pairs):
        if not list(order_faults(stacks, exchanged(rows, a, b))):
            yield f"rows {rows[a].names} and {rows[b].names} may be exchanged"
        if not list(order_faults(stacks, [row for row in rows if row.place != b])):
            yield f"row {rows[b].names} may be left out"


def main():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        skip("/dev/fuse cannot be used")
    if any(name in pathlib.Path(RYEFS).read_bytes() for name in (b"__asan_init", b"__tsan_init")):
        skip("a sanitizer has locks of its own, and is to be loaded first")
    rows = lock_table.read_table(cscan.read(ROOT, lock_table.TABLE))
    made = lock_table.all_made(ROOT)
    with tempfile.TemporaryDirectory(prefix="ryefs-lock_order.") as name:
        place = pathlib.Path(name)
        faults = collections.OrderedDict(ran=record_all(place))
        stacks = stacks_seen(place)
    lines = lines_of({at for stack in stacks for step in stack for at in step})
    if stacks and not lines:
        skip("ryefs was built without -g")
    stacks = list(named(of_ours(stacks, lines), lines, made))
    kinds = {(stack[-2][0].expr, stack[-1][0].expr) for stack in stacks}
    faults["ran the tests"] = faults.pop("ran") + ([] if len(kinds) >= 6 else [f"only {len(kinds)} pairs were seen"])
    faults["locks are taken in the order of the table"] = sorted(set(order_faults(stacks, rows)))
    faults["a table with a row exchanged or left out is refused"] = list(mutant_faults(stacks, rows))
    for n, (what, found) in enumerate(faults.items(), 1):
        print(f"{'not ok' if found else 'ok'} {n} - {what}")
        for text in found:
            print("#   " + text.replace("\n", "\n#   "))
    print(f"# {len(kinds)} pairs: " + "; ".join(f"{a}, {b}" for a, b in sorted(kinds)))
    print(f"1..{len(faults)}")
    return any(faults.values())


if __name__ == "__main__":
    sys.exit(main())
