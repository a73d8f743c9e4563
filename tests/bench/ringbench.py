#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ringbench.py BENCHES ROUNDS CALLS SAVE FREE-CLASSIC FREE-RING ONE-CLASSIC ONE-RING [SDK-COMMAND...]

The same calls through mounts with and without io_uring, in one run: two that may run on all processors,
measured by a caller that may, too, and two that were begun on processor 0, measured from there. What a
figure is told in is measured in the same state: a bare LOOKUP, a spawn with the path's pause before it, the
same save in SAVE, the SDK's client and its server. Told are medians over the rounds with their spread, and
the table of README.md: without io_uring on one processor, in those units; with it, free, as a share of
that, which is what wake-ups across processors cost no more. Without a ring (its mounts are "-") its
columns are empty. BENCHES has runbench and fsbench."""

import os
import statistics
import subprocess
import sys

RUN = {
    "control": "stat of a control file",
    "found": "stat below `search/`",
    "held": "message and reply on a held descriptor",
    "open": "open+write+close of `run`",
    "mcp": "open+write+close, a tool of an MCP server",
    "mcp-held": "message and reply, a tool of an MCP server",
    "process": "a process tool",
    "python": "a Python function, warm",
}
SAVE = {"save": "an editor's save, by `.NAME`", "save-tmp": "an editor's save, by `NAME.tmp`"}
PATHS = {**RUN, **SAVE}
UNITS = {"trip": "a trip: a bare LOOKUP", "spawn": "posix_spawn of /bin/true",
         "spawn-rest": "the same after Python's pause", "sdk": "a call by the SDK's client"}

# what is told of it without a ring on one processor: unit, goal, value of (figure, the round's units)
CLASSIC = {
    "held": ("trips", 3.2, lambda us, of: us / of["trip"]),
    "open": ("trips", 4.0, lambda us, of: us / of["trip"]),
    "process": ("trips more than posix_spawn", 9, lambda us, of: (us - of["spawn"]) / of["trip"]),
    "python": ("× posix_spawn", 1.3, lambda us, of: us / of["spawn-rest"]),
    "save": ("trips more than native", 15, lambda us, of: (us - of["native save"]) / of["trip"]),
    "save-tmp": ("trips more than native", 15, lambda us, of: (us - of["native save-tmp"]) / of["trip"]),
    "mcp-held": ("× the SDK's client", 1.0, lambda us, of: us / of["sdk"]),
}
RING = ("control", "found", "held", "open", "mcp")
RING_GOAL = 1.15


def said_by(command, pin):
    command = ["taskset", "-c", "0", *command] if pin else command
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


class Bench:
    def __init__(self, words):
        self.benches, self.rounds, self.calls, self.save = words[0], int(words[1]), words[2], words[3]
        mounts = dict(zip(("free classic", "free ring", "one classic", "one ring"), words[4:8]))
        self.mounts = {name: path for name, path in mounts.items() if path != "-"}
        self.sdk = words[8:]

    def measure(self, number, where):
        """{name: us} of one round, free or on one processor: "classic held", "spawn", "native save"."""
        pin = where == "one"
        mounts = {name.split()[1]: path for name, path in self.mounts.items() if name.startswith(where)}
        run = [f"{self.benches}/runbench", "-r", str(number), "-n", self.calls,
               "-o", ",".join([*RUN, "spawn", "spawn-rest"])]
        save = [f"{self.benches}/fsbench", "-r", str(number), "-o", ",".join(SAVE), f"native={self.save}"]
        said = said_by(run + [f"{name}={path}" for name, path in mounts.items()], pin)
        said += said_by(save + [f"{name}={path}/spaces/user/knowledge/save" for name, path in mounts.items()], pin)
        found = {}
        for sample, name, us in (line.split() for line in said.splitlines() if line[0] != "#"):
            found.setdefault(f"{name} {sample}", []).append(float(us))
        ret = {name: statistics.median(values) for name, values in found.items()}
        ret.update(trip=ret["classic trip-lookup"], spawn=ret["native spawn"], **{"spawn-rest": ret["native spawn-rest"]})
        if self.sdk:
            ret["sdk"] = float(said_by(self.sdk, pin))
        return ret

    def all_rounds(self):
        return [{where: self.measure(number, where) for where in ("free", "one")}
                for number in range(self.rounds)]


def told(values, digits=1):
    return f"{statistics.median(values):.{digits}f} [{min(values):.{digits}f}-{max(values):.{digits}f}]"


def print_figures(taken):
    def column(where, name):
        values = [r[where][name] for r in taken if name in r[where]]
        return f"{told(values) if values else '-':>26}"

    sides = [(where, how) for where in ("free", "one") for how in ("classic", "ring")]
    print(f"{'':44}" + "".join(f"{f'{where}, {how}, us':>26}" for where, how in sides))
    for name, text in PATHS.items():
        print(f"{text:44}" + "".join(column(where, f"{how} {name}") for where, how in sides))
    print(f"\n{'':44}{'free, us':>26}{'one processor, us':>26}")
    for name, text in [*UNITS.items(), *((f"native {name}", f"native: {text}") for name, text in SAVE.items())]:
        print(f"{text:44}{column('free', name)}{column('one', name)}")


def cells(values, unit, goal):
    """A figure and its goal, for a table."""
    if not values:
        return "– | ", ""
    value = statistics.median(values)
    return (f"{value:.2f}" + (f" {unit}" if unit else "") + f" | ≤ {goal:g}",
            f"{told(values, 2)} <= {goal:g}: {'met' if value <= goal else 'MISSED'}")


def print_table(taken):
    rows, verdicts = [], []
    for name, text in PATHS.items():
        classic = ring = ("– | ", "")
        if name in CLASSIC:
            unit, goal, value = CLASSIC[name]
            classic = cells([value(r["one"][f"classic {name}"], r["one"]) for r in taken
                             if name != "mcp-held" or "sdk" in r["one"]], unit, goal)
        if name in RING:
            ring = cells([r["free"][f"ring {name}"] / r["one"][f"classic {name}"] for r in taken
                          if f"ring {name}" in r["free"]], "", RING_GOAL)
        rows.append(f"| {text} | {classic[0]} | {ring[0]} |")
        for what, (_, verdict) in (("classic, one processor", classic), ("ring, free, of that", ring)):
            if verdict:
                verdicts.append(f"{text:44}{what:24}{verdict}")
    print("\n" + "\n".join(verdicts))
    print("\n| | classic | goal | io_uring | goal |\n|---|---|---|---|---|\n" + "\n".join(rows))


def main(words):
    os.environ.pop("LD_PRELOAD", None)
    taken = Bench(words).all_rounds()
    print_figures(taken)
    print_table(taken)


if __name__ == "__main__":
    main(sys.argv[1:])
