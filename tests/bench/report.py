#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""report.py SAMPLES: the tables of scripts/bench.

SAMPLES has one figure a line: ROUND PART OPERATION ROOT VALUE. A part is one call of a measuring
program; figures that are set in relation are taken from the same round, so that noise of the
machine hits both. Printed are medians over the rounds, with the 10th and 90th percentile behind
them.

A round trip, the LOOKUP of a name that the kernel does not remember, is measured many times in every
round and its median taken: it costs 8 or 15 or 30 us, as the scheduler happens to wake the daemon on
the caller's processor or on another.
"""
import collections
import statistics
import sys

TRIP = "trip-"
IDLE = "idle-"
PER = "per-"
UNITS = (("pipe ping-pong, two hand-overs", "pingpong"), ("the same from idle", "pingpong-idle"),
         ("the same between two processors", "pingpong-apart"),
         ("posix_spawn of /bin/true", "spawn"), ("the same from idle", "spawn-idle"),
         ("posix_spawn of python3 -c pass", "python3"), ("posix_spawn of node -e 0", "nodejs"),
         ("a write and fdatasync", "sync"))

# label, part, operation, scale of the value, unit
PARTS = (
    ("time until mounted", "mount", "mount", 1e-3, "ms"),
    ("first read, verdicts prefetched", "first", "first", 1, "us"),
    ("first read, at once after mounting", "atonce", "first", 1, "us"),
    ("warm open+read+close", "read", "read", 1, "us"),
    ("the same of one file", "read", "one", 1, "us"),
    ("warm stat", "read", "stat", 1, "us"),
    ("warm find, per name", "read", "find", 1, "us"),
    ("warm ls -lR, per name", "read", "lsr", 1, "us"),
    ("warm grep -r, per name", "read", "grep", 1, "us"),
    ("read after drop_caches", "cold", "cold", 1, "us"),
    ("an editor's save, by .NAME", "save", "save", 1, "us"),
    ("an editor's save, by NAME.tmp", "save", "save-tmp", 1, "us"),
    ("an edit until it is read", "edit", "edit", 1, "us"),
    ("the same, 90th percentile", "edit", "edit-p90", 1, "us"),
    ("the same, 99th percentile", "edit", "edit-p99", 1, "us"),
    ("message+reply, held descriptor", "run", "held", 1, "us"),
    ("open+write+close of run", "run", "open", 1, "us"),
    ("process tool, /bin/true", "run", "process", 1, "us"),
    ("message+reply, from idle", "run", "held-idle", 1, "us"),
    ("open+write+close, from idle", "run", "open-idle", 1, "us"),
    ("process tool, from idle", "run", "process-idle", 1, "us"),
    ("Python function, warm", "run", "python", 1, "us"),
    ("JavaScript function, warm", "run", "node", 1, "us"),
    ("step of a graph, knowledge", "run", "graph", 1, "us"),
    ("step of a graph, /bin/true", "run", "graph-process", 1, "us"),
    ("a call of an MCP tool, warm", "calls", "mcp", 1, "us"),
    ("an HTTP request, warm", "calls", "http", 1, "us"),
    ("model's turn 5, less its tools", "turns", "turn-5", 1, "us"),
    ("model's turn 100, the same", "turns", "turn-100", 1, "us"),
    ("first search after mounting", "search", "search-first", 1e-3, "ms"),
    ("another search", "search", "search", 1e-3, "ms"),
    ("verify from the command line", "verify", "verify", 1e-6, "s"),
    ("memory without items", "memory", "empty", 1 / 1024, "MB"),
    ("memory after the scan", "memory", "scanned", 1 / 1024, "MB"),
    ("memory after reading all", "memory", "read", 1 / 1024, "MB"),
    ("memory after searching all", "memory", "searched", 1 / 1024, "MB"),
    ("memory of one item, all read", "memory", "item", 1, "KB"),
)
NATIVE = ("read", "one", "stat", "find", "lsr", "grep", "first", "cold", "save", "save-tmp")


def read_samples(path):
    """{(part, operation, root): {round: median of that round's figures}}"""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 5 and words[2] != "#":
                number, part, operation, root, value = words
                found[part, operation, root][int(number)].append(float(value))
    return {key: {number: statistics.median(values) for number, values in rounds.items()}
            for key, rounds in found.items()}


def quantile(values, share):
    values = sorted(values)
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def spread(values, digits=None):
    if not values:
        return "-"
    if digits is None:
        size = statistics.median(values)
        digits = 0 if size >= 300 else 1 if size >= 30 else 2
    return (f"{statistics.median(values):.{digits}f} "
            f"({quantile(values, .1):.{digits}f}..{quantile(values, .9):.{digits}f})")


def together(function, *series):
    """The function of figures of the same round, for each round that has all of them."""
    rounds = set.intersection(*(set(one) for one in series))
    return [function(*(one[number] for one in series)) for number in sorted(rounds)]


class Report:
    def __init__(self, samples):
        self.samples = samples
        roots = {root for _, _, root in samples}
        self.sides = [root for root in ("this", "other") if root in roots]
        self.peers = sorted(roots - {"this", "other", "native"})
        self.trip = self.choose_trip()

    def of(self, part, operation, root):
        return self.samples.get((part, operation, root), {})

    def all_of(self, operation, root):
        return [value for (_, name, where), rounds in self.samples.items()
                if name == operation and where == root for value in rounds.values()]

    def choose_trip(self):
        """A LOOKUP; the first of the others where the kernel remembers that name."""
        names = {name for _, name, _ in self.samples if name.startswith(TRIP)}
        usual = TRIP + "lookup"
        return usual if usual in names else min(names, default=None)

    def trips(self, side, prefix=TRIP):
        """{round: the median of what the parts of the round found}"""
        name = (self.trip or TRIP).replace(TRIP, prefix)
        found = collections.defaultdict(list)
        for (_, operation, root), rounds in self.samples.items():
            if operation == name and root == side:
                for number, value in rounds.items():
                    found[number].append(value)
        return {number: statistics.median(values) for number, values in found.items()}

    def goals(self):
        """(label, unit, goal, function of figures, series of a side)

        None: what wakes threads has its goal where the processors are given, in ringbench.py."""
        def run(name):
            return lambda side: self.of("run", name, side)

        def native(part, name):
            return lambda side: self.of(part, name, "native")

        over = (lambda ours, theirs, trip: (ours - theirs) / trip)
        for idle, kind, when in (("", TRIP, ""), ("-idle", IDLE, ", idle")):
            def trip(side, kind=kind):
                return self.trips(side, kind)

            yield ("message+reply, held" + when, "round trips", None, lambda us, trip: us / trip, (run("held" + idle), trip))
            yield ("open+write+close of run" + when, "round trips", None, lambda us, trip: us / trip, (run("open" + idle), trip))
            yield ("process tool - posix_spawn" + when, "round trips", None, over,
                   (run("process" + idle), native("run", "spawn" + idle), trip))
            yield ("Python function, warm" + when, "/ posix_spawn", None,
                   lambda us, theirs: us / theirs,
                   (run("python"), native("run", "spawn" + idle)))
        yield ("step of a graph - open+write+close of run", "us", 1000, lambda step, once: step - once,
               (run("graph"), run("open")))
        yield ("step of a graph - process tool", "us", 1000, lambda step, once: step - once,
               (run("graph-process"), run("process")))
        yield ("JavaScript function, warm", "/ node -e 0", .1, lambda us, theirs: us / theirs,
               (run("node"), native("run", "nodejs")))
        for label, unit, name, goal in (("MCP tool, warm", "/ SDK's client", "mcp", None),
                                        ("http_client, loopback", "/ curl", "http", .3)):
            yield (label, unit, goal, lambda us, theirs: us / theirs,
                   (lambda side, name=name: self.of("calls", name, side), native("calls", name)))
        for turn in (5, 100):
            yield (f"model's turn {turn}, less its tools", "us", 2000, lambda us: us,
                   (lambda side, turn=turn: self.of("turns", f"turn-{turn}", side),))
        apart = native("run", "pingpong-apart")
        for label, name in (("message+reply, held", "held"), ("open+write+close of run", "open")):
            yield (label, "/ pong apart", None, lambda us, pong: us / pong, (run(name), apart))
        for label, name, goal in (("editor's save - native", "save", None),
                                  ("read after drop_caches - native", "cold", 1.5),
                                  ("first read, prefetched - native", "first", None)):
            yield (label, "round trips", goal, over,
                   (lambda side, name=name: self.of(name, name, side), native(name, name),
                    self.trips))

    def print_requests(self, prefix, label):
        names = {name for _, name, _ in self.samples if name.startswith(prefix)}
        for name in sorted(names):
            count, kind = name.split("-")
            chosen = prefix != "requests" and TRIP + kind == self.trip
            text = label.format(count.removeprefix(prefix), kind)
            print(f"{text:34}" + "".join(
                f"{spread(self.all_of(name, side), 1):>26}" for side in self.sides)
                  + ("  <- a round trip" if chosen else ""))

    def print_units(self):
        print("\n## Units, us: median (p10..p90)")
        print(" " * 34 + "".join(f"{side:>26}" for side in self.sides))
        self.print_requests(TRIP, "one request, {1}")
        self.print_requests(IDLE, "one request, {1}, from idle")
        self.print_requests("requests", "{0} requests, stat of {1}")
        for label, name in UNITS:
            if self.all_of(name, "native"):
                print(f"{label:34}{spread(self.all_of(name, 'native'), 1):>26}")

    def print_goals(self):
        rows = []
        for label, unit, goal, function, series in self.goals():
            figures = [together(function, *(one(side) for one in series)) for side in self.sides]
            if any(figures):
                rows.append((label, unit, goal, figures))
        if not rows:
            return
        print("\n## Against units of the same round: median (p10..p90)")
        print(f"{'':34}{'':17}{'goal':>7}  {'':6}"
              + "".join(f"{side:>26}" for side in self.sides))
        for label, unit, goal, figures in rows:
            met = ""
            if goal is not None and figures[0]:
                met = "met" if statistics.median(figures[0]) <= goal else "MISSED"
            wanted = "" if goal is None else f"<= {goal:g}"
            print(f"{label:34}{unit:17}{wanted:>7}  {met:6}"
                  + "".join(f"{spread(values, 2):>26}" for values in figures))

    def print_per(self):
        rows = [(label, part, PER + name) for label, part, name, _, _ in PARTS]
        rows = [row for row in rows if any(self.of(*row[1:], side) for side in self.sides)]
        if not rows:
            return
        print("\n## Requests that the kernel waits for, of one operation: median (p10..p90)")
        print(" " * 36 + "".join(f"{side:>26}" for side in self.sides))
        for label, part, name in rows:
            print(f"{label:36}" + "".join(
                f"{spread(list(self.of(part, name, side).values()), 2):>26}"
                for side in self.sides))

    def print_native(self):
        roots = self.sides + self.peers
        rows = [(part, name) for _, part, name, _, _ in PARTS
                if name in NATIVE and self.of(part, name, "native")]
        if not rows:
            return
        print("\n## Speed as a share of native (1.00 = as fast): median (p10..p90)")
        print(f"{'':16}" + "".join(f"{root:>20}" for root in roots))
        for part, name in rows:
            label = name if part != "atonce" else "first, at once"
            native = self.of(part, name, "native")
            shares = (together(lambda us, theirs: theirs / us, self.of(part, name, root), native)
                      for root in roots)
            print(f"{label:16}" + "".join(f"{spread(values):>20}" for values in shares))

    def print_sides(self):
        print("\n## Side by side: median (p10..p90)")
        two = len(self.sides) > 1
        print(f"{'':36}{'':4}{'this':>26}" + f"{'other':>26}{'this/other':>22}" * two)
        for label, part, name, scale, unit in PARTS:
            figures = [self.of(part, name, side) for side in self.sides]
            if not any(figures):
                continue
            line = f"{label:36}{unit:4}" + "".join(
                f"{spread([value * scale for value in rounds.values()]):>26}"
                for rounds in figures)
            if two:
                line += f"{spread(together(lambda a, b: a / b, *figures), 2):>22}"
            print(line)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    report = Report(read_samples(sys.argv[1]))
    report.print_units()
    report.print_goals()
    report.print_per()
    report.print_native()
    report.print_sides()


if __name__ == "__main__":
    main()
