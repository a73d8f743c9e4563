#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ringbench.py RUNBENCH ROUNDS CALLS FREE-CLASSIC FREE-RING ONE-CLASSIC ONE-RING

The same calls through mounts with and without io_uring, in one run: two that may run on all processors,
measured by a caller that may, too, and two that were begun on processor 0, measured from there. Told are
medians over the rounds with their spread, and each round's ratio of ring and classic; beside them what
io_uring, free, is to classic on one processor, which is what wake-ups across processors cost no more."""

import statistics
import subprocess
import sys

SAMPLES = {
    "control": "stat of a control file",
    "found": "stat below search/",
    "held": "message and reply, held",
    "open": "open+write+close",
    "mcp": "call of an MCP tool",
}


def once(runbench, number, calls, mounts, pin):
    command = ["taskset", "-c", "0"] if pin else []
    command += [runbench, "-r", str(number), "-n", calls, "-o", ",".join(SAMPLES)]
    said = subprocess.run(command + mounts, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    rows = [line.split() for line in said.splitlines()]
    return {(sample, name): float(us) for sample, name, us in rows if sample in SAMPLES}


def told(values):
    return f"{statistics.median(values):7.1f} [{min(values):.1f}-{max(values):.1f}]"


def main(runbench, rounds, calls, *mounts):
    all_free = [f"classic={mounts[0]}", f"ring={mounts[1]}"]
    all_one = [f"classic={mounts[2]}", f"ring={mounts[3]}"]
    taken = []
    for number in range(int(rounds)):
        free = once(runbench, number, calls, all_free, False)
        taken.append((free, once(runbench, number, calls, all_one, True)))
    print(f"{'':26}{'classic us':>24}{'ring us':>24}  ring/classic")
    for sample, text in SAMPLES.items():
        for which, where in enumerate(["free", "one processor"]):
            classic = [r[which][sample, "classic"] for r in taken]
            ring = [r[which][sample, "ring"] for r in taken]
            ratio = [b / a for a, b in zip(classic, ring)]
            print(f"{text if not which else '':26}{told(classic):>24}{told(ring):>24}  {statistics.median(ratio):.2f}  {where}")
        goal = statistics.median(r[0][sample, "ring"] / r[1][sample, "classic"] for r in taken)
        print(f"{'':26}ring, free, of classic on one processor: {goal:.2f} (<= 1.15)")


if __name__ == "__main__":
    main(*sys.argv[1:])
