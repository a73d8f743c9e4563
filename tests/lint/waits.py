#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""waits.py SOURCE ARCHIVE...: does any way lead from a thread that reads the device to a call that waits?

It goes by what the compiler made, not by #include: over the objects of the front and of the engine,
from function to function by calls and by addresses that are taken, beginning with the table that
libfuse calls (ops_table) and every `struct node_class` (fs/core/class.h). An indirect call is not
followed; what it may call is what some table or function on the way holds the address of, so each
node's class is a beginning of its own, whatever makes the node.

It ends at tables named NAME_aside: their functions are reached through aside_run alone, for which
the thread is no FUSE thread any more (fs/loop/loop.h); and at the `wake` of a parked request, which
the parking thread calls. Exceptions, `function reason`, are in scripts/wait-exceptions: it is not
looked into, because what it opens never waits (/proc), or another thread runs it.
"""

import pathlib
import re
import subprocess
import sys

WAITS = re.compile(
    r"(connect|accept4?|fork|vfork|clone3?|posix_spawnp?|exec[lv]\w*|wait|wait3|wait4|waitpid|waitid|usleep|"
    r"nanosleep|clock_nanosleep|sleep|p?poll|p?select|epoll_p?wait|recv(from|msg|mmsg)?|send(to|msg|mmsg)?|"
    r"getaddrinfo|flock|lockf|f(data)?sync|syncfs|sync|pthread_cond_(timed|clock)?wait|pthread_join|"
    r"sem_(timed|clock)?wait|dlopen|sqlite3_\w+|curl_\w+|open(at)?(64)?|__open(at)?64_2|f?opendir|fdopendir|"
    r"readdir(64)?|scandir\w*|[fl]?stat(64)?|fstatat(64)?|statx|f?statvfs(64)?|f?statfs(64)?|access|faccessat|"
    r"readlink(at)?|realpath|f?truncate(64)?|unlink(at)?|rename(at2?)?|link(at)?|symlink(at)?|mkdir(at)?|rmdir|"
    r"f?chmod(at)?|f?chown(at)?|utimensat|futimens|fopen(64)?|syscall)$")
RELOCATION = re.compile(r"([0-9a-f]{16}) (R_X86_64_\w+)\s+(\S+?)(?:([+-])0x([0-9a-f]+))?$")
CALL = re.compile(r"\t(?:call|jmp|j\w+)\s+[0-9a-f]+ <([^>+]+)(?:\+0x[0-9a-f]+)?>$")
ROOT = "ops_table"


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def dumped(what, paths, *more):
    """(name of the object, line) of what objdump says of them."""
    obj = None
    with subprocess.Popen(["objdump", what, *more, *paths], stdout=subprocess.PIPE, text=True) as out:
        for line in out.stdout:
            if line.endswith("file format elf64-x86-64\n"):
                obj = line.partition(":")[0].rpartition("/")[2]
            elif len(line) > 1:
                yield obj, line[:-1]
    if out.returncode:
        sys.exit(f"waits: objdump {what} ends with {out.returncode}")


def base(name):
    """A function's own statics have a number behind a dot, the parts of one a word."""
    return name.split(".")[0]


class Graph:
    def __init__(self):
        # node -> set of (node, offset in a table); a local name's node is (object, name)
        self.edges = {}
        self.known = set()
        self.locals = {}

    def add(self, paths):
        """One objdump for all objects: to start it for each would take longer than what it does."""
        paths = [str(path) for path in paths]
        symbols = self.add_symbols(paths)
        self.add_relocations(paths, symbols)
        self.add_calls(paths)

    def add_symbols(self, paths):
        """(object, section) -> [(start, end, node)]"""
        symbols = {}
        for obj, line in dumped("-tw", paths):
            m = re.match(r"([0-9a-f]{16}) (.{7}) (\S+)\s+([0-9a-f]{16})\s+(?:\.hidden )?(\S+)$", line)
            if not m or m[3].startswith("*") or "d" in m[2]:
                continue
            node = m[5] if "g" in m[2] or "w" in m[2] else (obj, m[5])
            start = int(m[1], 16)
            symbols.setdefault((obj, m[3]), []).append((start, start + max(int(m[4], 16), 1), node))
            self.known.add(node)
            self.locals[(obj, m[5])] = node
        for rows in symbols.values():
            rows.sort(key=lambda row: row[0])
        return symbols

    def add_relocations(self, paths, symbols):
        def at(obj, section, offset):
            return next((row for row in symbols.get((obj, section), ()) if row[0] <= offset < row[1]), None)

        section = None
        for obj, line in dumped("-rw", paths):
            if line.startswith("RELOCATION RECORDS FOR ["):
                section = line[len("RELOCATION RECORDS FOR ["):-2]
                left_out = section.startswith((".debug", ".eh_frame"))
                continue
            m = None if section is None or left_out else RELOCATION.match(line)
            if not m:
                continue
            offset, add = int(m[1], 16), int(m[5] or "0", 16) * (-1 if m[4] == "-" else 1)
            source = at(obj, section, offset)
            if m[3].startswith("."):
                # behind a place that ends its instruction
                there = at(obj, m[3], add if m[2] == "R_X86_64_64" else add + 4)
                target = there and there[2]
            else:
                target = self.locals.get((obj, m[3]), m[3])
            if source and target and source[2] != target:
                self.edge(source[2], target, None if section.startswith(".text") else offset - source[0])

    def add_calls(self, paths):
        inside = None
        for obj, line in dumped("-dw", paths, "--no-show-raw-insn"):
            if line.startswith("0"):
                m = re.match(r"[0-9a-f]{16} <(\S+)>:$", line)
                if m:
                    inside = self.locals.get((obj, m[1]), (obj, m[1]))
                continue
            m = CALL.search(line) if "\tcall" in line or "\tj" in line else None
            if m and inside:
                target = self.locals.get((obj, m[1]))
                if target and target != inside:
                    self.edge(inside, target, None)

    def edge(self, source, target, offset):
        self.edges.setdefault(source, set()).add((target, offset))


def name_of(node):
    return node if isinstance(node, str) else node[1]


def declared(source, struct):
    """The names of its objects in each file: {"views_content.c.o": {"content_dir", …}}."""
    found = {}
    for path in sorted((source / "fs").rglob("*.c")):
        names = set(re.findall(rf"\bconst struct {struct} (\w+)\s*=", path.read_text()))
        if names:
            found[str(path.relative_to(source / "fs")).replace("/", "_") + ".o"] = names
    return found


def objects(archive):
    """Its members, as meson lays them beside it."""
    path = pathlib.Path(archive)
    names = {pathlib.PurePath(line).name for line in run("ar", "t", archive).splitlines()}
    return sorted(path.parent / (path.name + ".p") / name for name in names)


def exceptions(source):
    path = source / "scripts" / "wait-exceptions"
    lines = path.read_text().splitlines() if path.exists() else []
    return {line.split(None, 1)[0] for line in lines if line.strip() and not line.startswith("#")}


def beginnings(graph, classes):
    roots = [ROOT]
    for obj, names in classes.items():
        for node in graph.known:
            where = node[0] if isinstance(node, tuple) else None
            if base(name_of(node)) in names and where in (obj, None) and not is_aside(node):
                roots.append(node)
    return roots


def is_aside(node):
    return base(name_of(node)).endswith("_aside")


def ways(graph, roots, allowed, parked):
    """Each call that waits, with the shortest way to it."""
    came, todo, used = dict.fromkeys(roots), list(roots), set()
    while todo:
        node = todo.pop(0)
        for target, offset in sorted(graph.edges.get(node, ()), key=str):
            if target in came or is_aside(target):
                continue
            wakes = isinstance(node, tuple) and base(node[1]) in parked.get(node[0], ()) and offset == 0
            if wakes:
                continue
            if name_of(target) in allowed:
                used.add(name_of(target))
                continue
            came[target] = node
            if isinstance(target, str) and target not in graph.known:
                if WAITS.match(target):
                    way = [target]
                    while came[way[-1]] is not None:
                        way.append(came[way[-1]])
                    yield " <- ".join(name_of(step) for step in way)
                    del came[target]
                continue
            todo.append(target)
    for name in sorted(allowed - used):
        yield f"scripts/wait-exceptions: {name} is not needed"


def main():
    source = pathlib.Path(sys.argv[1])
    graph = Graph()
    for archive in sys.argv[2:]:
        graph.add(objects(archive))
    if ROOT not in graph.known:
        sys.exit("waits: ops_table is in no object: build first")
    roots = beginnings(graph, declared(source, "node_class"))
    bad = list(ways(graph, roots, exceptions(source), declared(source, "parked_class")))
    print("\n".join(bad))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
