# SPDX-License-Identifier: MIT
"""layers.py ROOT: every #include keeps to engine/LAYERS and fs/LAYERS.

A line is "room: rooms it may include"; rooms stand bottom up, so a line may name only rooms above
it and nothing can point up. Of another room only its public header ROOM/ROOM.h may be included; a
room marked with * is a box of tools, one header for each. A room has 5 to 20 C files. The front
and the verbs see of the engine only <rye/...> (the verbs base/ too); engine/common/, which both
use, sees the C library and <rye/rye.h> only."""

import collections
import os
import re
import sys

import cscan

# third-party headers of each side: the front knows no formats, the engine no FUSE
FRONT_FOREIGN = re.compile(r"^(jansson|sqlite3|yaml|expat|sodium|pcre2|zstd|openssl/.*|curl/.*)(\.h)?$")
ENGINE_FOREIGN = re.compile(r"^(fuse.*|linux/fuse\.h)$")
FEWEST, MOST = 5, 20


class Side:
    """engine/ or fs/: its rooms in order, and what each may include."""

    def __init__(self, root, top):
        self.root, self.top = root, top
        self.allowed, self.boxes, self.faults, self.used = {}, set(), [], set()
        for n, line in enumerate(cscan.read(root, f"{top}/LAYERS").splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                self.add(n, line)

    def add(self, n, line):
        name, colon, rooms = line.partition(":")
        if not colon:
            sys.exit(f'{self.top}/LAYERS:{n}: wanted "room: rooms it may include"')
        bare = name.strip().rstrip("*")
        if name.strip().endswith("*"):
            self.boxes.add(bare)
        for room in rooms.split():
            if room not in self.allowed:
                self.faults.append(f"{self.top}/LAYERS:{n}: {bare} names {room}, which does not stand above it")
        self.allowed[bare] = set(rooms.split())

    def room(self, path):
        """engine/item/x.c -> item, engine/process/warm/x.c -> process/warm, fs/ops.c -> ."""
        return os.path.relpath(os.path.dirname(path), self.top)

    def public(self, room):
        return f"{room}/{os.path.basename(room)}.h"

    def quoted(self, path, name):
        """Why this file may not include "name", or None."""
        here, full = self.room(path), f"{self.top}/{name}"
        if ".." in name.split("/"):
            return "goes up with .."
        if os.path.exists(os.path.join(self.root, "engine/common", name)):
            return None
        if not os.path.exists(os.path.join(self.root, full)):
            return f"is not a path below {self.top}/"
        there = self.room(full)
        if there == here:
            return None
        self.used.add((here, there))
        if there not in self.allowed[here]:
            return f"{here} may include only: {' '.join(sorted(self.allowed[here])) or 'nothing'} ({self.top}/LAYERS)"
        if there not in self.boxes and there != "." and name != self.public(there):
            return f"of {there} other rooms see {self.public(there)} only"
        return None


def check_common(path, text):
    """Neither side's headers: what both use must not carry one over to the other."""
    for line, quoted, name in cscan.includes(text):
        own = quoted and "/" not in name
        if not own and (quoted or (name.startswith("rye/") and name != "rye/rye.h") or foreign(name)):
            yield f"{path}:{line}: includes {name}: engine/common/ sees the C library only"


def foreign(name):
    return FRONT_FOREIGN.match(name) or ENGINE_FOREIGN.match(name)


def angled(path, name):
    """Why this file may not include <name>, or None."""
    if path.startswith("engine/"):
        return "the engine knows nothing of FUSE" if ENGINE_FOREIGN.match(name) else None
    if name.startswith("rye/") and name != "rye/rye.h":
        return None if name == "rye/ryefs.h" and path == "fs/main.c" else "the front sees <rye/rye.h> only"
    return "the front knows no item format, no JSON, no SQL" if FRONT_FOREIGN.match(name) else None


def check_file(side, path, text):
    room = side.room(path)
    if room not in side.allowed:
        yield f"{path}: {side.top}/LAYERS has no line for {room}"
        return
    for line, quoted, name in cscan.includes(text):
        why = side.quoted(path, name) if quoted else angled(path, name)
        if why:
            yield f"{path}:{line}: includes {name}: {why}"


def check_public(path, text):
    for line, quoted, name in cscan.includes(text):
        if quoted:
            yield f"{path}:{line}: includes {name}: a public header includes only <...>"


def check_sizes(side, counts):
    for room, n in sorted(counts.items()):
        if room != "." and not (0 if room in side.boxes else FEWEST) <= n <= MOST:
            yield f"{side.top}/{room}: has {n} files, wanted {FEWEST} to {MOST}"


def check_lines(side, counts):
    """A room that a line allows and no file of the room includes is a fault."""
    for room, allowed in side.allowed.items():
        for other in sorted(allowed):
            if counts[room] and (room, other) not in side.used:
                yield f"{side.top}/LAYERS: {room} does not include {other}"


def check_side(root, top):
    side = Side(root, top)
    counts = collections.Counter()
    found = []
    for path in cscan.sources(root, (top,)):
        text = cscan.read(root, path)
        if path.startswith("engine/include/"):
            found += check_public(path, text)
            continue
        counts[side.room(path)] += 1
        found += check_common(path, text) if path.startswith("engine/common/") else check_file(side, path, text)
    return side.faults + found + list(check_sizes(side, counts)) + list(check_lines(side, counts))


def main(root):
    return cscan.finish(check_side(root, "engine") + check_side(root, "fs"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
