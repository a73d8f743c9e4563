# SPDX-License-Identifier: MIT
"""analyze.py ROOT BUILD cppcheck|clang: an analyzer over engine/ and fs/, as BUILD's compile_commands.json
compiles them; what it finds is a fault. What is known to be noise is suppressed here, with its
reason. Exit 77 when the analyzer is not installed. Sources that clang had nothing to say of are
remembered by what the preprocessor makes of them, for all trees of this user."""

import contextlib
import functools
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import cscan

JOBS = int(os.environ.get("JOBS") or min(os.cpu_count() or 1, 2))

# id[:file] -> why what cppcheck says of it is not so
CPPCHECK_NOISE = {
    "resourceLeak": "it does not know that the cleanup attribute closes",
    "memleak": "nor that it frees, or that steal() hands on; the leak checker runs in the asan job",
    "memleakOnRealloc": "the old array stays with its owner",
    "readdirCalled": "readdir() of a stream of one's own is safe in every C library that we build with",
    "internalAstError": "it cannot read steal() in an initialiser",
    "invalidFunctionArg": "it does not know -1 as the descriptor of anonymous memory",
    "uninitvar:*prim_fetch.c": "it forgets that a function which fails is followed by no use of its result",
}
# It sees none of the system's headers.
CPPCHECK_MACROS = {
    "LIST_FOREACH(v,h,l)": "while(list_next(h,&v))",
    "TAILQ_FOREACH(v,h,l)": "while(tailq_next(h,&v))",
    "json_array_foreach(a,i,v)": "while(json_next(a,&i,&v))",
    "json_object_foreach(o,k,v)": "while(json_next(o,&k,&v))",
    "json_object_foreach_safe(o,n,k,v)": "while(json_next(o,&k,&v))",
}

# Clang 14 does not see the cleanup attribute either: every auto_free is a leak to it, every auto_X
# that is only there to be released a dead store; and of counted references it takes each for the last.
CLANG_NOISE = ["unix.Malloc", "deadcode.DeadStores"]
CLANG_FLAGS = re.compile(r"-[IU]|-D(?!NDEBUG)|-std=|-pthread")  # assertions are read in every build
CLANG = ["clang", "--analyze", "-Xclang", "-analyzer-output=text", "-w", "-o", os.devnull]
for checker in CLANG_NOISE:
    CLANG += ["-Xclang", "-analyzer-disable-checker", "-Xclang", checker]
CLANG_WANT = 14  # versions say different things; any other is a skip

CLEAN = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ryefs-analyze")
CLEAN_DAYS = 30  # of no use, then it is forgotten


def commands(root, build):
    """The compile commands of engine/ and fs/, each source once."""
    found = {}
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        for row in json.load(f):
            path = os.path.relpath(os.path.join(row["directory"], row["file"]), root)
            if path.startswith(("engine/", "fs/")):
                found.setdefault(path, row)
    return list(found.values())


def relative(line, root, build):
    """A finding with its file as the tree has it."""
    path, colon, rest = line.partition(":")
    return os.path.relpath(os.path.join(build, path), root) + colon + rest


def in_rooms(rows, root, tmp):
    """For each directory a source that includes all of its own, compiled as the first of them: what they all
    include is read once, in a sixth of the time, and a function's callers in other files are seen, too."""
    rooms = {}
    for row in rows:
        path = os.path.realpath(os.path.join(row["directory"], row["file"]))
        rooms.setdefault(os.path.relpath(os.path.dirname(path), root), []).append((path, row))
    for room, sources in sorted(rooms.items()):
        whole = os.path.join(tmp, room.replace("/", "_") + ".c")
        with open(whole, "w", encoding="utf-8") as f:
            f.writelines(f'#include "{path}"\n' for path, _ in sources)
        yield dict(sources[0][1], file=whole)


def cppcheck(root, build):
    cmd = ["cppcheck", "-j", str(JOBS), "--quiet", "--library=posix", "--error-exitcode=0",
           "--enable=warning,performance,portability", "--template={file}:{line}: {message} [{id}]"]
    cmd += ["--suppress=" + noise for noise in CPPCHECK_NOISE]
    cmd += [f"-D{name}={value}" for name, value in CPPCHECK_MACROS.items()]
    with tempfile.TemporaryDirectory() as tmp:
        project = os.path.join(tmp, "project.json")
        with open(project, "w", encoding="utf-8") as f:
            json.dump(list(in_rooms(commands(root, build), os.path.realpath(root), tmp)), f)
        done = subprocess.run(cmd + ["--project=" + project], text=True, capture_output=True)
    return [relative(line, root, build) for line in (done.stdout + done.stderr).splitlines()]


@functools.cache
def clang_version():
    return subprocess.run(["clang", "--version"], text=True, capture_output=True).stdout


def clean_mark(row, kept):
    """The file that says: clang had nothing to say of this. None: it cannot be told what this is."""
    cmd = ["clang", "-E", "-P", "-w", "-D__clang_analyzer__", *kept, row["file"]]
    done = subprocess.run(cmd, cwd=row["directory"], capture_output=True)
    text = b"\n".join(line for line in done.stdout.splitlines() if line.strip())  # comments leave empty ones
    what = hashlib.sha256(repr([clang_version(), CLANG, kept]).encode() + text).hexdigest()
    return None if done.returncode else os.path.join(CLEAN, what)


def clean_note(mark):
    with contextlib.suppress(OSError):  # then it is looked at again next time
        os.makedirs(CLEAN, exist_ok=True)
        with open(mark, "w", encoding="utf-8"):
            pass


def clean_forget():
    """Drops the marks that no run has wanted for long."""
    with contextlib.suppress(OSError):
        for name in os.listdir(CLEAN):
            mark = os.path.join(CLEAN, name)
            if os.stat(mark).st_mtime < time.time() - CLEAN_DAYS * 86400:
                os.unlink(mark)


def clang_one(row):
    kept = [word for word in shlex.split(row["command"]) if CLANG_FLAGS.match(word)]
    mark = clean_mark(row, kept)
    if mark and os.path.exists(mark):
        clean_note(mark)
        return []
    done = subprocess.run(CLANG + kept + [row["file"]], cwd=row["directory"], text=True, capture_output=True)
    lines = [line for line in done.stderr.splitlines() if re.search(r": (warning|error|fatal error): ", line)]
    if mark and not lines and not done.returncode:
        clean_note(mark)
    return lines or ([row["file"] + ": clang failed"] if done.returncode else [])


def clang(root, build):
    clean_forget()
    with ThreadPoolExecutor(JOBS) as pool:
        found = {line for lines in pool.map(clang_one, commands(root, build)) for line in lines}
    return sorted(relative(line, root, build) for line in found)


def main(root, build, name):
    if not shutil.which(name):
        print(f"{name} is not installed")
        return 77
    if name == "clang" and f" version {CLANG_WANT}." not in clang_version():
        print(f"clang {CLANG_WANT} is not installed")
        return 77
    find = {"cppcheck": cppcheck, "clang": clang}[name]
    return cscan.finish(find(os.path.abspath(root), os.path.abspath(build)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
