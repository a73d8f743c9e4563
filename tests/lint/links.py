# SPDX-License-Identifier: MIT
"""links.py ROOT ARCHIVE...: what a room's objects need is defined in a room below it.

It goes by what the linker sees, not by #include: a function that is declared by hand, in <rye/rye.h> or
in a header of a lower room, is needed all the same. Rooms stand bottom up in engine/LAYERS and fs/LAYERS,
fs above engine, so where nothing needs what is above it there is no circle either. The front needs of
the engine what <rye/...> promises, and engine/common. Exceptions, `ROOM:symbol reason`, are in
scripts/link-exceptions; `ROOM:word_*` stands for all symbols that begin so.
"""

import pathlib
import re
import sys

import cscan
from waits import objects, run

GENERATED = "meson-generated_.._"
NM = re.compile(r"(\S+): (\S+) ([A-Za-z])( |$)")


class House:
    """Which room an object belongs to, and where that room stands."""

    def __init__(self, root):
        self.root, self.floor, self.files = pathlib.Path(root), {}, {}
        for top in ("engine", "fs"):
            for line in cscan.read(root, f"{top}/LAYERS").splitlines():
                if line.strip() and not line.startswith("#"):
                    room = f"{top}/" + line.partition(":")[0].strip().rstrip("*")
                    self.floor[room.removesuffix("/.")] = len(self.floor)

    def room(self, path):
        """build/engine/libx.a.p/run_call.c.o -> engine/run; None: no room has such a source."""
        where = path.parent.parent.parts
        at = max((i for i, part in enumerate(where) if part in ("engine", "fs")), default=0)
        top = "/".join(where[at:])
        if top not in self.files:
            below = self.root / top
            names = ((source, source.relative_to(below)) for source in below.rglob("*.c"))
            self.files[top] = {str(name).replace("/", "_") + ".o": source.parent for source, name in names}
        source = self.files[top].get(path.name)
        if source:
            return source.relative_to(self.root).as_posix()
        name = top.replace("/", "_") + "_" + path.name.removeprefix(GENERATED)
        return max((room for room in self.floor if name.startswith(room.replace("/", "_") + "_")), key=len, default=None)


def symbols(house, archives):
    """Where each one is defined, {symbol: room}, and what needs it, [(symbol, room, object)]."""
    defined, needed = {}, []
    paths = [path for archive in archives for path in objects(archive)]
    for line in run("nm", "-A", "-P", *map(str, paths)).splitlines():
        m = NM.match(line)
        path = pathlib.Path(m[1])
        if m[3] in "Uvw":
            needed.append((m[2], path))
        elif m[3].isupper():
            defined[m[2]] = house.room(path)
    return defined, [(symbol, house.room(path), path.name) for symbol, path in needed]


def excused(exceptions, room, symbol):
    words = symbol.split("_")
    names = [symbol] + ["_".join(words[:n]) + "_*" for n in range(1, len(words))]
    return any([exceptions.excuse(room, name) for name in names])


def fault(house, symbol, here, there):
    """Why this room may not need that one's symbol, or None."""
    if house.floor[there] > house.floor[here]:
        return f"{here} needs {symbol} of {there}, a higher room"
    if here.startswith("fs") and not there.startswith("fs") and there != "engine/common" and symbol[:4] != "rye_":
        return f"{here} needs {symbol} of {there}, which <rye/...> does not promise"
    return None


def check(root, archives):
    house = House(root)
    exceptions = cscan.Exceptions(root, "scripts/link-exceptions")
    defined, needed = symbols(house, archives)
    for symbol, here, obj in sorted(needed):
        there = defined.get(symbol)
        why = there and fault(house, symbol, here, there)
        if why and not excused(exceptions, here, symbol):
            yield f"{obj}: {why}"
    yield from exceptions.faults()


if __name__ == "__main__":
    sys.exit(cscan.finish(list(check(sys.argv[1], sys.argv[2:]))))
