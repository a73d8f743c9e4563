# SPDX-License-Identifier: MIT
"""locks.py ROOT: no file is touched and nothing waits under a lock of docs/locks.md: what
stands behind a GUARD calls none of the functions below, nor a function that does, in whatever
file, and nothing by a pointer. Locks that exist for long work (lock_table.KEPT) are left out.
Exceptions ("path:function reason"): scripts/lock-exceptions. Each lock has a row in the table there;
whether its order is kept is seen by tests/e2e/lock_order.py."""

import re
import sys

import cscan
import lock_table

# a name; of a member, that libcurl's functions are called by: curl->multi_poll
CALL = re.compile(r"(?<![\w.>])((?:curl->)?[A-Za-z_]\w*)\s*\(")
POINTER = re.compile(r"(?:->|\.)([A-Za-z_]\w*)\s*\(|\(\*\w+\)\s*\(")
# what reads, writes, names or waits for something outside of this process's memory
SLOW = re.compile(
    r"^(open|openat|fopen|opendir|fdopendir|readdir|getline|stat|lstat|fstatat|statx|access|faccessat|"
    r"readlink|readlinkat|realpath|mkdir|mkdirat|mkdtemp|mkstemp|memfd_create|rename|renameat2?|unlink|"
    r"unlinkat|rmdir|symlink|symlinkat|link|linkat|read|pread|write|pwrite|fsync|ftruncate|"
    r"inotify_\w+|posix_spawnp?|v?fork|clone|waitid|waitpid|poll|p?select|usleep|nanosleep|sleep|"
    r"connect|accept4?|send|sendto|sendmsg|recv|recvfrom|recvmsg|getaddrinfo|kill|pidfd_send_signal|"
    r"dlopen|sqlite3_\w+|curl(_|->)\w+|fuse_(reply|lowlevel_notify)_\w+|pthread_join|flock|lockf|fdatasync|"
    r"io_(?!_)\w+|proc_(?!_)\w+|mountinfo_(?!_)\w+)$"
)
KEPT = re.compile(r"\b(" + "|".join(lock_table.KEPT) + ")$")
LOCK = re.compile(r"\bGUARD\s*\(")


def block_end(code, start):
    """Offset of the bracket that ends the block in which start lies."""
    i = start
    while i < len(code) and code[i] != "}":
        if code[i] in "([{":
            i = cscan.match(code, i)
        i += 1
    return i


def locked(body):
    """(offset, text) of what runs under a lock that forbids it."""
    for m in LOCK.finditer(body):
        close = cscan.match(body, m.end() - 1)
        if not KEPT.search(body[m.end() : close].strip()):
            yield close + 1, body[close + 1 : block_end(body, close + 1)]


def slow_functions(functions):
    """name → the slow function that it reaches; no name stands twice in the tree (names.py)."""
    slow = {}
    grown = True
    while grown:
        grown = False
        for f in functions:
            if f.name in slow:
                continue
            for m in CALL.finditer(f.body):
                if SLOW.match(m[1]) or m[1] in slow:
                    slow[f.name] = slow.get(m[1], m[1])
                    grown = True
                    break
    return slow


def check(path, functions, slow, excused):
    for f in functions:
        for offset, text in locked(f.body):
            for m in POINTER.finditer(text):
                if not excused.excuse(path, f.name):
                    line = f.last - f.body.count("\n") + f.body[: offset + m.start()].count("\n")
                    yield f"{path}:{line}: {f.name} calls by a pointer under a lock: {m[0]}"
            for m in CALL.finditer(text):
                reached = m[1] if SLOW.match(m[1]) else slow.get(m[1])
                if reached and not excused.excuse(path, f.name):
                    line = f.last - f.body.count("\n") + f.body[: offset + m.start()].count("\n")
                    yield f"{path}:{line}: {f.name} calls {m[1]} under a lock ({reached})"


def main(root):
    excused = cscan.Exceptions(root, "scripts/lock-exceptions")
    faults = []
    files = {}
    for path in cscan.sources(root, ("engine", "fs"), (".c",)):
        code = cscan.blank(cscan.read(root, path))
        files[path] = [what[0] for kind, *what in cscan.declarations(code) if kind == "function"]
    slow = slow_functions([f for functions in files.values() for f in functions])
    for path, functions in files.items():
        faults += check(path, functions, slow, excused)
    rows = lock_table.read_table(cscan.read(root, lock_table.TABLE))
    faults += lock_table.table_faults(rows, lock_table.all_made(root))
    return cscan.finish(faults + excused.faults())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
