#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""firm.py NAME PROGRAM BUNDLE PLACE SERVER SLOW: what others do to a mount, seen by one who does something else.

Each load has a mount of its own, in which nobody has looked at 1 000 items of the person's own space:
one lstat of each is measured while the load is on, and told beside the same of a mount without load.
PLACE is an empty directory, SERVER tests/fake/provider_server.py, SLOW tests/fake/slow_disk.so.
Prints a line for each load: 50th and 99th percentile and the longest, in milliseconds.
"""
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

NAME, PROGRAM, BUNDLE, PLACE, SERVER, SLOW = sys.argv[1:7]
GOAL_MS = 50
ITEMS = 1000
APART_S = 0.005 # so that the looks meet all that a load does
WORDS = 24
READERS = 3
TRANSCRIPT = 200 << 20
ROWS = 100_000
SLOW_READERS = 40
PROJECT, USER, MOUNT = (f"{PLACE}/{name}" for name in ("project", "user", "mnt"))
THREADS, SHOWN = f"{PROJECT}/.ai/state/threads", f"{MOUNT}/state/threads"
SLEEPS = f"{PLACE}/sleeps"
ENV = dict(os.environ, HOME=USER, USER_SPACE=USER, XDG_RUNTIME_DIR=PLACE, TMPDIR=PLACE)
SPACES = ["--user", USER, "--project", PROJECT, "--system", BUNDLE]


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def ryefs(*words):
    subprocess.run([PROGRAM, *words, *SPACES, "-q"], env=ENV, check=True, stdout=subprocess.DEVNULL)


def until(what, seconds=60):
    end = time.monotonic() + seconds
    while not (got := what()):
        if time.monotonic() > end:
            raise SystemExit(f"firm: {what.__name__} took more than {seconds} seconds")
        time.sleep(0.02)
    return got


def knowledge(space, name):
    put(f"{space}/.ai/knowledge/firm/{name}.md",
        f'```yaml\nname: {name}\ntitle: Looked at\nversion: "1.0.0"\nentry_type: reference\ncategory: firm\n```\n\n'
        "text\n")


def directive(name):
    put(f"{PROJECT}/.ai/directives/firm/{name}.md",
        f'```xml\n<directive name="{name}" version="1.0.0"><metadata><description>A thread</description>'
        f"<category>firm</category><author>bench</author></metadata></directive>\n```\n\nlane_{name}\n")


def make(port):
    ryefs("keygen")
    for i in range(ITEMS):
        knowledge(USER, f"n{i}")
    for i in range(SLOW_READERS):
        knowledge(PROJECT, f"s{i}")
    directive("silent")
    directive("said")
    put(f"{PROJECT}/.ai/tools/rye/agent/providers/firm.yaml", "\n".join((
        "tool_id: firm", "tool_type: http", 'version: "1.0.0"', "category: rye/agent/providers", "description: a model",
        "executor_id: rye/core/primitives/http_client", "wire: openai_chat", f'base_url: "http://127.0.0.1:{port}/"',
        "context_window: 100000", "tier_mapping: {fast: m, general: m, high: m, max: m}", "")))
    put(f"{PROJECT}/.ai/config/agent/agent.yaml",
        'category: agent\nversion: "1.0.0"\nprovider: {default: firm}\n')
    ryefs("sign", "--all", "--space", "user")
    ryefs("sign", "--all")


@contextlib.contextmanager
def model():
    """Answers one lane at once and the other never; its port."""
    put(f"{PLACE}/script", json.dumps({"by": "turn", "lanes": {
        "lane_silent": [{"text": "late", "delay": 3600}], "lane_said": [{"text": "said"}]}}))
    server = subprocess.Popen(["/usr/bin/python3", SERVER, f"{PLACE}/script", f"{PLACE}/port", f"{PLACE}/asked"])

    def port():
        return os.path.exists(f"{PLACE}/port") and open(f"{PLACE}/port", encoding="ascii").read().strip()

    try:
        yield until(port)
    finally:
        server.terminate()
        server.wait()


def stats():
    with open(f"{MOUNT}/.ryefs/stats.json", encoding="utf-8") as file:
        return json.load(file)


@contextlib.contextmanager
def mounted(env=ENV):
    with open(f"{PLACE}/mount.log", "ab") as log:
        subprocess.run([PROGRAM, PROJECT, MOUNT, "-o", f"userspace={USER},system={BUNDLE}"], env=env, stderr=log,
                       check=True)

    def scanned():
        return stats()["items"]["scanned"]

    try:
        until(scanned)
        pid = stats()["pid"]
        yield
    finally:
        subprocess.run(["fusermount3", "-u", "-z", MOUNT], check=False)

    def over():
        return not os.path.exists(f"/proc/{pid}")

    until(over)


@contextlib.contextmanager
def beside(commands):
    """Shell commands, each in a session of its own, that end with the load."""
    running = [subprocess.Popen(["sh", "-c", text, "sh", *rest], start_new_session=True,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for text, *rest in commands]
    try:
        yield running
    finally:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in running:
            process.wait()


def waiting(running, least):
    """So many of them wait for the daemon."""
    def wait():
        found = 0
        for pid in running() if callable(running) else [process.pid for process in running]:
            with contextlib.suppress(OSError), open(f"/proc/{pid}/wchan", encoding="ascii") as file:
                found += "request_wait_answer" in file.read()
        return found >= least
    until(wait)


def children(running):
    """What the shells have started just now."""
    def now():
        for process in running:
            with contextlib.suppress(OSError), open(f"/proc/{process.pid}/task/{process.pid}/children",
                                                    encoding="ascii") as file:
                yield from file.read().split()
    return now


def begin(name):
    """A thread of a directive; its id."""
    control = os.open(f"{MOUNT}/execute", os.O_RDWR)
    os.write(control, json.dumps({"item_id": f"directive:firm/{name}", "thread": "fork", "async": True}).encode())
    reply = json.loads(os.read(control, 1 << 16))
    os.close(control)
    return reply["thread_id"]


def runner(ident):
    path = f"{THREADS}/{ident}/runner.json"

    def named():
        return os.path.exists(path) and os.path.getsize(path)

    until(named)
    with open(path, encoding="utf-8") as file:
        return json.load(file)["pid"]


def end(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def asked(lane):
    def request():
        with open(f"{PLACE}/asked", encoding="utf-8") as file:
            return f"lane_{lane}" in file.read()
    until(request)


# ---- the loads ----


@contextlib.contextmanager
def nothing():
    with mounted():
        yield


@contextlib.contextmanager
def stopped():
    with mounted():
        ident = begin("silent")
        pid = runner(ident)
        asked("silent")
        os.kill(pid, signal.SIGSTOP)
        try:
            with beside([('exec 3>"$1"; exec /usr/bin/printf "say %s" "$2" >&3', f"{SHOWN}/{ident}/ctl", str(i))
                         for i in range(WORDS)]) as running:
                waiting(running, WORDS)
                yield
        finally:
            end(pid)


@contextlib.contextmanager
def transcript():
    with mounted():
        ident = begin("said")
        with open(f"{SHOWN}/{ident}/wait", encoding="ascii") as file:
            file.read()
        path = f"{THREADS}/{ident}/transcript.jsonl"
        with open(path, "rb") as file:
            text = file.read()
        with open(path, "ab") as file:
            for _ in range(TRANSCRIPT // len(text)):
                file.write(text)
        look = 'while :; do cat "$1/transcript.md" "$1/messages.json" "$1/integrity"; echo >>"$2"; done'
        with beside([(look, f"{SHOWN}/{ident}", path)] * READERS) as running:
            waiting(children(running), 1)
            yield
    shutil.rmtree(f"{THREADS}/{ident}")


@contextlib.contextmanager
def registry():
    # foreign: of threads that have no directory here
    with contextlib.closing(sqlite3.connect(f"{THREADS}/registry.db")) as db:
        db.executemany("insert into threads (thread_id, directive, status, created_at, updated_at, pid) values (?, "
                       "'tool:t/x', 'running', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 4194305)",
                       ((f"t-{i:06}",) for i in range(ROWS)))
        db.commit()
    began = time.monotonic()
    ryefs("threads")
    took = time.monotonic() - began
    print(f"{NAME:6} ryefs threads of {ROWS} foreign rows: {took:.2f} s (<= 1: {'met' if took <= 1 else 'MISSED'})")
    with mounted(), beside([('while :; do ls "$1"; ls "$1/by-status/"*; done', SHOWN)] * READERS) as running:
        waiting(children(running), 1)
        yield
    with contextlib.closing(sqlite3.connect(f"{THREADS}/registry.db")) as db:
        db.execute("delete from threads where directive = 'tool:t/x'")
        db.commit()


@contextlib.contextmanager
def silent():
    with mounted():
        idents = [begin("silent") for _ in range(2)]
        pids = [runner(ident) for ident in idents]
        asked("silent")
        try:
            with beside([('exec cat "$1/wait"', f"{SHOWN}/{ident}") for ident in idents * (WORDS // 2)]) as running:
                waiting(running, WORDS)
                yield
        finally:
            for pid in pids:
                end(pid)


@contextlib.contextmanager
def slow_disk():
    with mounted(dict(ENV, SLOW_DISK=SLEEPS, LD_PRELOAD=SLOW)):
        put(SLEEPS, "")
        try:
            with beside([('exec cat "$1"', f"{MOUNT}/spaces/project/knowledge/firm/s{i}.md")
                         for i in range(SLOW_READERS)]) as running:
                waiting(running, SLOW_READERS // 2)
                yield
        finally:
            os.unlink(SLEEPS)


LOADS = (
    ("no load", nothing),
    (f"{WORDS} words to a stopped runner", stopped),
    (f"a transcript of {TRANSCRIPT >> 20} MB, {READERS} readers", transcript),
    (f"a registry of {ROWS} foreign rows, {READERS} readers", registry),
    (f"a provider that never answers, {WORDS} that wait", silent),
    (f"a project on a slow disk, {SLOW_READERS} readers", slow_disk),
)


def looks():
    took = []
    for i in range(ITEMS):
        began = time.monotonic()
        os.lstat(f"{MOUNT}/knowledge/firm/n{i}.md")
        took.append((time.monotonic() - began) * 1000)
        time.sleep(APART_S)
    return sorted(took)


def main():
    # so that the mount goes and what was stopped ends
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("firm: ended by a signal"))
    for directory in (PROJECT, USER, MOUNT):
        os.makedirs(f"{directory}/.ai" if directory != MOUNT else MOUNT)
    quiet = 0.0
    with model() as port:
        make(port)
        for what, load in LOADS:
            with load():
                took = looks()
            most = took[ITEMS * 99 // 100]
            quiet = quiet or most
            met = "met" if most <= GOAL_MS else "MISSED"
            print(f"{NAME:6} {what}: 99 % within {most:.2f} ms (<= {GOAL_MS}: {met}), "
                  f"{most / quiet:.1f} times that without; half within {took[ITEMS // 2]:.2f}, "
                  f"the longest {took[-1]:.1f}", flush=True)


main()
