#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""remote.py RYEFS [-n FILES] [-m MB] [-r ROUNDS] [--delay MS] [--big MB] [PART...]: remotes beside their peers.

push: the same seeded tree by `ryefs remote push` and by rsync through the same relay (relay.py), which counts bytes and
changes of direction and can be a long line: the first time, after one file in a hundred was edited, moved or
removed, after nothing, and over a line of --delay ms; and 100 bytes put into the middle of a big file.
run: a tool that does nothing, there over `command:` and here. look: find and grep over a mount with ten remotes that
cannot be reached, beside the same without any.
Figures are ratios of one run; times are medians of ROUNDS rounds taken in turn. Exit status 1: one is beyond its bound.
"""
import argparse
import json
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RELAY = os.path.join(HERE, "relay.py")
PYTHON = shutil.which("python3")
SEED = 20000


def words(rng):
    return ["".join(rng.choices("etaoinshrdlucmfw", k=rng.randint(2, 11))) for _ in range(3000)]


def content(rng, vocabulary, size, text):
    if not text:
        return rng.randbytes(size)
    out = " ".join(rng.choices(vocabulary, k=size // 6 + 1))
    return out.encode()[:size]


def make_tree(top, files, mb):
    """One byte in eight cannot be compressed, as in pictures and archives; the others are words."""
    rng = random.Random(SEED)
    vocabulary = words(rng)
    mean = mb * 1000000 / files
    for i in range(files):
        size = max(1, int(rng.expovariate(1 / mean)))
        path = os.path.join(top, f"d{i % 97:02}", f"e{i % 11}", f"f{i}.txt")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(content(rng, vocabulary, size, i % 8))


def change_tree(top, files, turn):
    """One in a hundred: half are edited, a quarter moved, a quarter removed."""
    rng = random.Random(SEED + turn)
    for k, i in enumerate(rng.sample(range(files), files // 100)):
        path = os.path.join(top, f"d{i % 97:02}", f"e{i % 11}", f"f{i}.txt")
        if not os.path.exists(path):
            continue
        if k % 4 < 2:
            with open(path, "r+b") as out:
                out.seek(os.path.getsize(path) // 2)
                out.write(f"edited {turn} {i}".encode())
        elif k % 4 == 2:
            os.rename(path, f"{path}.moved{turn}")
        else:
            os.remove(path)


class Bench:
    def __init__(self, args, work):
        self.args = args
        self.work = work
        self.log = os.path.join(work, "log")
        self.project = os.path.join(work, "project")
        self.env = dict(os.environ, USER_SPACE=os.path.join(work, "user"), HOME=os.path.join(work, "home"))
        self.env.pop("RYE_NODE", None)
        os.makedirs(os.path.join(self.project, ".ai"))
        os.makedirs(self.env["USER_SPACE"])
        os.makedirs(self.env["HOME"])

    def rye(self, *words, quiet=True):
        done = subprocess.run([self.args.ryefs, *words], cwd=self.project, env=self.env, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode and quiet:
            sys.exit(f"remote: ryefs {' '.join(words)}: {done.stdout}")
        return done.stdout

    def remote(self, name, delay):
        """A node of its own, behind a line of that length; None: behind none."""
        node = os.path.join(self.work, "node-" + name)
        way = os.path.join(self.work, "way-" + name)
        self.rye("node", "init", node)
        line = "" if delay is None else f"{PYTHON} {RELAY} {self.log} {delay} "
        with open(way, "w", encoding="utf-8") as out:
            out.write(f"#!/bin/sh\nexec {line}{self.args.ryefs} node --stdio {node}\n")
        os.chmod(way, 0o755)
        self.rye("remote", "add", "--yes", name, f"command:{way}", "demo")
        for key in os.listdir(os.path.join(node, "asked")):
            self.rye("node", "admit", "--dir", node, key.removesuffix(".pem"))
        return node

    def end_workers(self, node):
        for pid in os.listdir("/proc"):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as words:
                    if os.fsencode(node) in words.read().split(b"\0"):
                        os.kill(int(pid), signal.SIGTERM)
            except (OSError, ValueError):
                continue

    def counted(self, argv):
        """Runs it; seconds, and what the relay has counted."""
        if os.path.exists(self.log):
            os.remove(self.log)
        began = time.monotonic()
        done = subprocess.run(argv, cwd=self.project, env=self.env, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        seconds = time.monotonic() - began
        if done.returncode:
            sys.exit(f"remote: {' '.join(argv)}: {done.stdout}")
        with open(self.log, encoding="utf-8") as log:
            counts = [json.loads(row) for row in log]
        peak = max(row["peak_mb"] for row in counts)
        return {"s": seconds, "bytes": sum(row["sent"] + row["received"] for row in counts),
                "turns": sum(row["turns"] for row in counts), "peak_mb": peak, "text": done.stdout}

    def push(self, name):
        return self.counted([self.args.ryefs, "remote", "push", "--json", name])

    def rsync(self, target, delay):
        shell = f"{PYTHON} {RELAY} {self.log} {delay} --skip 1"
        return self.counted(["rsync", "-a", "--delete", "--exclude", "/.ai", "-e", shell, self.project + "/",
                             f"there:{target}/"])


ROWS = []


def row(name, value, bound, unit=""):
    ROWS.append(value <= bound)
    print(f"{name:58} {value:9.3f}{unit} bound {bound:g}{unit} {'' if value <= bound else 'BEYOND'}", flush=True)


def disk(top):
    files = [os.path.join(d, f) for d, _, names in os.walk(top) for f in names if not f.startswith("index.db")]
    return len(files), sum(os.path.getsize(f) for f in files)


def first(bench):
    """Rounds in turn, each to a place that has nothing."""
    ours, theirs = [], []
    for i in range(bench.args.rounds):
        node = bench.remote(f"r{i}", 0)
        target = os.path.join(bench.work, f"rsync{i}")
        sides = [(ours, lambda: bench.push(f"r{i}")), (theirs, lambda: bench.rsync(target, 0))]
        for side, run in sides if i % 2 else sides[::-1]:
            side.append(run())
        if i:
            shutil.rmtree(node)
            shutil.rmtree(target)
    tar = subprocess.run(f"tar c --exclude=./.ai -C {bench.project} . | zstd -3 | wc -c", shell=True, check=True,
                         stdout=subprocess.PIPE)
    row("1  first push: bytes / rsync -a", ours[0]["bytes"] / theirs[0]["bytes"], 0.55)
    row("1  first push: bytes / tar | zstd -3", ours[0]["bytes"] / int(tar.stdout), 1.20)
    row("1  first push: time / rsync -a, median", statistics.median(r["s"] for r in ours) /
        statistics.median(r["s"] for r in theirs), 1.5)
    tree = int(json.loads(ours[0]["text"])["bytes"])
    files, size = disk(os.path.join(bench.work, "node-r0", "store"))
    row("4  files of the node", files, tree / (8 << 20) + 10)
    row("4  disk of the node / tree", size / tree, 0.6)
    row("5  peak of the node", max(r["peak_mb"] for r in ours), 128, " MB")


def again(bench):
    change_tree(bench.project, bench.args.files, 1)
    ours, theirs = bench.push("r0"), bench.rsync(os.path.join(bench.work, "rsync0"), 0)
    row("2  after 1 %: bytes / rsync -a", ours["bytes"] / theirs["bytes"], 2.2)
    row("2  after 1 %: changes of direction / rsync -a", ours["turns"] / theirs["turns"], 0.5)
    time.sleep(1.1)  # reason: times that are younger than this are not believed
    bench.push("r0")
    nothing, began = bench.push("r0"), bench.counted([bench.args.ryefs, "remote", "status", "r0"])
    row("3  of nothing: KB above a connection", (nothing["bytes"] - began["bytes"]) / 1024, 8)
    row("3  of nothing: round trips above a connection", (nothing["turns"] - began["turns"]) / 2, 2)
    row("3  of nothing: files read", json.loads(nothing["text"])["hashed"], 0)


def far(bench):
    """The same trees at the end of a long line."""
    delay = bench.args.delay / 2
    node = bench.remote("far", delay)
    target = os.path.join(bench.work, "rsync-far")
    shutil.rmtree(os.path.join(node, "store"), ignore_errors=True)
    bench.push("far")
    bench.rsync(target, 0)
    ours, theirs = [], []
    for turn in range(2, 2 + max(1, bench.args.rounds)):
        change_tree(bench.project, bench.args.files, turn)
        ours.append(bench.push("far"))
        theirs.append(bench.rsync(target, delay))
    row(f"2  after 1 %, {bench.args.delay} ms: time / rsync -a, median",
        statistics.median(r["s"] for r in ours) / statistics.median(r["s"] for r in theirs), 0.6)


def big(bench):
    path = os.path.join(bench.project, "big.bin")
    rng = random.Random(SEED)
    with open(path, "wb") as out:
        for _ in range(bench.args.big):
            out.write(rng.randbytes(1000000))
    bench.push("r0")
    with open(path, "r+b") as out:
        out.seek(bench.args.big * 500000)
        rest = out.read()
        out.seek(bench.args.big * 500000)
        out.write(b"x" * 100 + rest)
    del rest
    row("5  100 bytes into a file of %d MB: MB sent" % bench.args.big, bench.push("r0")["bytes"] / 1e6, 5)


# ---- a tool that does nothing ----


NOOP = """version: "1.0.0"
tool_type: shell
category: bench
description: runs /bin/true
executor_id: rye/core/primitives/execute
requires: [shell.execute]
config:
  command: /bin/true
config_schema: {type: object, properties: {}}
"""


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def took(bench, words):
    began = time.monotonic()
    bench.rye(*words)
    return time.monotonic() - began


def run(bench):
    """The files of a project are not a part of it: this one has the tool alone."""
    bench.project = os.path.join(bench.work, "small")
    put(os.path.join(bench.project, ".ai/tools/bench/true.yaml"), NOOP)
    bench.rye("sign", "tool:bench/true")
    bench.env["RYE_NODE_IDLE_MS"] = "600000"
    node = bench.remote("near", None)
    here, there = ["execute", "-q", "tool:bench/true"], ["execute", "-q", "--target", "remote:near", "tool:bench/true"]
    try:
        bench.rye(*there)  # begins the worker
        rounds = [(took(bench, here), took(bench, there)) for _ in range(4 * bench.args.rounds + 3)]
    finally:
        bench.end_workers(node)
    row("28 a tool that does nothing, there / here, median", statistics.median(b / a for a, b in rounds), 5)


# ---- looks ----


def mounted(bench, project):
    mount = os.path.join(bench.work, "mnt-" + os.path.basename(project))
    os.makedirs(mount)
    bench.rye(project, mount)
    return mount


def look_s(bench, mount):
    """Processor time of the programs that look and of the daemon: what others do to the machine is not in it."""
    with open(f"{mount}/.ryefs/stats.json", encoding="utf-8") as text:
        pid = json.load(text)["pid"]

    def daemon():
        total = 0
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as text:
                total += int(text.read().split()[0])
        return total / 1e9

    def children():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = daemon() + children()
    subprocess.run(["find", mount], stdout=subprocess.DEVNULL, check=False)
    subprocess.run(["grep", "-r", "no such text", f"{mount}/knowledge", f"{mount}/tools", f"{mount}/directives"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return daemon() + children() - before


def look(bench):
    projects = [os.path.join(bench.work, name) for name in ("without", "with")]
    called = os.path.join(bench.work, "called")
    for project in projects:
        for i in range(max(400, bench.args.files // 5)):
            put(f"{project}/.ai/knowledge/bench/n{i}.md", f'```yaml\nname: n{i}\ntitle: Looked at\nversion: "1.0.0"\n'
                'entry_type: reference\ncategory: bench\n```\n\ntext\n')
    put(f"{projects[1]}/.ai/config/remotes/remotes.yaml", 'version: "1.0.0"\ncategory: remotes\nremotes:\n' + "".join(
        f'  far{i}: {{url: "command:touch {called}", project_path: demo}}\n' for i in range(10)))
    mounts = []
    try:
        for bench.project in projects:
            bench.rye("sign", "--all")
            mounts.append(mounted(bench, bench.project))
        for mount in mounts:
            look_s(bench, mount)
        rounds = [[look_s(bench, mount) for mount in (mounts if i % 2 else mounts[::-1])][::1 if i % 2 else -1]
                  for i in range(2 * bench.args.rounds + 3)]
    finally:
        for mount in mounts:
            subprocess.run(["fusermount3", "-u", "-z", mount], check=False)
    row("28 find and grep, ten remotes / none, median", statistics.median(b / a for a, b in rounds), 1.05)
    row("28 connections that were begun by it", os.path.exists(called), 0)


def push(bench):
    lacks = [name for name in ("rsync", "zstd", "tar") if not shutil.which(name)]
    if lacks:
        print(f"push: nothing to compare with: {', '.join(lacks)} is not installed (scripts/deps --test)")
        return
    make_tree(bench.project, bench.args.files, bench.args.mb)
    for part in (first, again, far, big):
        part(bench)


PARTS = {"push": push, "run": run, "look": look}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ryefs", type=os.path.abspath)
    parser.add_argument("-n", "--files", type=int, default=20000)
    parser.add_argument("-m", "--mb", type=int)
    parser.add_argument("-r", "--rounds", type=int, default=1)
    parser.add_argument("--delay", type=int, default=40)
    parser.add_argument("--big", type=int, default=200)
    parser.add_argument("parts", nargs="*", metavar="PART", help="push run look; all without any")
    args = parser.parse_intermixed_args()
    args.mb = args.mb or max(1, args.files * 15 // 1000)
    if set(args.parts) - set(PARTS):
        parser.error(f"parts are {' '.join(PARTS)}")
    with tempfile.TemporaryDirectory(prefix="ryefs-push.", dir=os.environ.get("BENCH_DIR", "/var/tmp")) as work:
        bench = Bench(args, work)
        bench.rye("keygen")
        for name in args.parts or PARTS:
            PARTS[name](bench)
    sys.exit(0 if all(ROWS) else 1)


main()
