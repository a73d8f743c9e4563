# SPDX-License-Identifier: MIT
"""killer.py SEED ROUNDS: threads of the directive lane_work (fork_kills.sh) whose processes are
killed. In each round some are started, by the mount and by the command line; then runners, tools,
launchers and, now and then, the daemon get SIGKILL at moments that SEED gives. Each round then wants:

  - every row ends, within 35 seconds of its runner's end, in every third round without anyone asking;
  - a thread whose runner was left alone, and those of all above it, has completed and has its result;
  - row, result.json, thread.json, transcript and knowledge entry tell the same end, and the files verify
    (thread_verifier.py);
  - the ledger holds what the transcripts log, and at most one request more of a runner that was killed;
  - no process is left, and the mount answers."""

import functools
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import thread_verifier

RYEFS, WORK, PROJECT, MOUNT = (os.environ[name] for name in ("RYEFS", "WORK", "PROJECT", "MOUNT"))
USER, SYSTEM = os.environ["USER_SPACE"], os.environ["SYSTEM"]
AI = f"{PROJECT}/.ai"
THREADS = f"{AI}/state/threads"
TERMINAL = ("completed", "error", "cancelled", "killed", "continued")
MOST_EACH = 5.0  # that a request is estimated at
LOST_S = 35
# what the transcript has when a runner is killed; "": it has only begun
MOMENTS = ("", "cognition_in", "cognition_out", "tool_call_start", "tool_call_result", "checkpoint", "thread_completed")
PRICE = 10 * 1000 / 1e6 + 5 * 5000 / 1e6  # of one answer of the script
MOST_S = 60  # for what has to end by itself


class Broken(Exception):
    pass


def want(what, *detail):
    if not what:
        raise Broken(" ".join(map(str, detail)))


def command(*words, seconds=20):
    """Its exit status; None: it hung."""
    try:
        return subprocess.run(words, timeout=seconds, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    except subprocess.TimeoutExpired:
        return None


# ---- what is there ----


def rows(file, sql):
    path = f"{THREADS}/{file}"
    if not os.path.exists(path):
        return []
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(sql)]


def threads(above=0):
    return {row["thread_id"]: row for row in rows("registry.db", f"select rowid, * from threads where rowid > {above}")}


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def tools():
    """pid → words, of this test's processes that belong to a thread, but for runners: they wipe what they were started with."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        env = read(f"/proc/{pid}/environ").split(b"\0")
        words = read(f"/proc/{pid}/cmdline").split(b"\0")
        # one that has just been started has not wiped it yet
        if f"TMPDIR={WORK}".encode() not in env or b"thread-run" in words:
            continue
        if any(part.startswith(b"RYE_THREAD_ID=") for part in env):
            found[int(pid)] = words
    return found


def started(pid):
    """Its start time, in the kernel's ticks; None: it has ended."""
    fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return int(fields[19]) if fields and fields[0] not in b"ZX" else None


def runners(idents):
    """thread → pid of its runner that lives."""
    alive = {}
    for ident in idents:
        try:
            runner = json.loads(read(f"{THREADS}/{ident}/runner.json"))
            if started(runner["pid"]) == runner["start"]:
                alive[ident] = runner["pid"]
        except (ValueError, KeyError):
            continue
    return alive


def processes(above=0):
    """pid → words or thread, of all that belong to a thread."""
    return {**tools(), **{pid: ident for ident, pid in runners(threads(above)).items()}}


# ---- the mount ----


class Mount:
    def __init__(self):
        self.daemon = None
        self.log = open(f"{WORK}/daemon.log", "ab")

    def begin(self):
        words = [RYEFS, PROJECT, MOUNT, "-f", "-o", f"userspace={USER},system={SYSTEM}"]
        self.daemon = subprocess.Popen(words, stdout=self.log, stderr=self.log)
        end = time.monotonic() + MOST_S
        while command("cat", f"{MOUNT}/.ryefs/version") != 0:
            want(time.monotonic() < end and self.daemon.poll() is None, "the mount does not come up")
            time.sleep(0.02)

    def kill(self):
        self.daemon.kill()
        self.daemon.wait()

    def again(self):
        want(command("stat", f"{MOUNT}/.ryefs/version") is not None, "the mount of a killed daemon hangs")
        end = time.monotonic() + MOST_S
        while command("fusermount3", "-u", MOUNT) != 0 and f" {MOUNT} ".encode() in read("/proc/self/mounts"):
            want(time.monotonic() < end, "the mount of a killed daemon stays busy")
            time.sleep(0.05)
        self.begin()

    def end(self):
        command("fusermount3", "-u", "-z", MOUNT)
        if self.daemon and self.daemon.poll() is None:
            try:
                self.daemon.wait(20)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
                raise Broken("the daemon does not end")


def launch(rng):
    """A process that starts a thread, and in half of the cases waits for its end."""
    way = rng.choice(("fork", "async", "command", "command"))
    words = ["bash", "-c", 'exec 3<>"$1"; printf "{}" >&3; exec cat <&3', "-", f"{MOUNT}/directives/lane_work/{way}"]
    if way == "command":
        words = [RYEFS, "execute", "directive:lane_work", "--fork", "--project", PROJECT, "--user", USER, "--system", SYSTEM]
        words += rng.choice(([], ["--async"]))
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


# ---- one round ----


class Round:
    def __init__(self, mount, rng, number):
        self.mount, self.rng, self.number = mount, rng, number
        self.asks = number % 3 != 0  # who waits for a thread makes the daemon look at it
        self.before = max((row["rowid"] for row in threads().values()), default=0)
        self.launchers, self.killed, self.started, self.funded = [], set(), True, 0

    def living(self):
        return [ident for ident, row in threads(self.before).items() if row["status"] not in TERMINAL]

    def kill_one(self):
        way = self.rng.choice(("runner", "runner", "runner", "tool", "launcher", "daemon"))
        if way == "runner":
            self.kill_runner(self.rng.choice(MOMENTS))
        elif way == "tool":
            alive = sorted(tools())
            if alive:
                self.shoot(self.rng.choice(alive))
        elif way == "launcher":
            self.started = False
            self.rng.choice(self.launchers).kill()
        elif way == "daemon" and self.rng.random() < 0.5:
            self.started = False
            self.mount.kill()
            self.mount.again()

    def kill_runner(self, moment):
        """The first whose transcript has that event, within a moment of it."""
        end = time.monotonic() + 3
        while time.monotonic() < end:
            for ident, pid in sorted(runners(self.living()).items()):
                if ident in self.killed or moment.encode() not in read(f"{THREADS}/{ident}/transcript.jsonl"):
                    continue
                time.sleep(self.rng.uniform(0, 0.01))
                self.killed.add(ident)
                return self.shoot(pid)
            time.sleep(0.001)

    @staticmethod
    def shoot(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def go(self):
        for _ in range(3):
            self.launchers.append(launch(self.rng))
            time.sleep(self.rng.uniform(0, 0.3))
        for _ in range(self.rng.randint(2, 4)):
            time.sleep(self.rng.uniform(0, 0.7))
            self.kill_one()
        self.wait()
        self.check()

    def wait(self):
        """Until all has ended; nothing stays behind its runner."""
        lost, end = {}, time.monotonic() + 2 * MOST_S
        while True:
            over = all(launcher.poll() is not None for launcher in self.launchers)
            living = self.living()
            if over and not living:
                return
            alive, now = runners(living), time.monotonic()
            lost = {ident: lost.get(ident, now) for ident in living if ident not in alive}
            for ident, since in lost.items():
                want(now - since < LOST_S, f"{ident} is still {threads()[ident]['status']}")
            want(now < end, "a launcher" if not living else living, "does not end")
            if self.asks and lost:
                command("cat", f"{MOUNT}/state/threads/{sorted(lost)[0]}/wait", seconds=MOST_S)
            time.sleep(0.1)

    # ---- what is wanted ----

    def untouched(self, row, all_rows):
        while row:
            if row["thread_id"] in self.killed:
                return False
            row = all_rows.get(row["parent_id"])
        return True

    def check(self):
        end = time.monotonic() + MOST_S  # a runner whose row has ended may still wait for room for its files
        while left := processes(self.before):
            want(time.monotonic() < end, "left behind:", left)
            time.sleep(0.1)
        all_rows = threads(self.before)
        costs = {}
        for ident, row in all_rows.items():
            try:
                costs[ident] = check_thread(ident, row)
            except (OSError, ValueError, KeyError, thread_verifier.Refused) as e:
                raise Broken(f"{ident}: {type(e).__name__} {e}") from e
            if self.untouched(row, all_rows) and (self.started or costs[ident]["turns"]):
                want(row["status"] == "completed", ident, "was left alone and is", row["status"], row["result"])
        self.funded = check_ledger(self.killed, costs)
        want(command("cat", f"{MOUNT}/.ryefs/version") == 0, "the mount does not answer")


@functools.cache
def keys():
    """Of the automatic pair; the first thread has made it."""
    return thread_verifier.read_keys([f"{USER}/.ai/config/keys/automatic"])


def check_thread(ident, row):
    """What its files say; what it has cost by its transcript."""
    where = f"{THREADS}/{ident}"
    if not os.path.exists(where) and os.path.isdir(f"{AI}/state/graphs/{ident}"):
        # a graph whose caller waits for it has a row alone
        want(json.loads(row["result"] or "{}").get("status") in ("success", "error"), ident, "has no result:", row["result"])
        return {"turns": 0, "spend": 0.0}
    result = json.loads(read(f"{where}/result.json") or "{}")
    want(row["result"] and json.loads(row["result"]) == result, ident, "row and result.json differ:", row["result"], result)
    if not os.path.exists(f"{where}/thread.json"):
        want(row["status"] != "completed", ident, "has no thread.json")
        return {"turns": 0, "spend": 0.0}
    for path, check in thread_verifier.files_of(AI, ident):
        if path.endswith("/capabilities.md") and not os.path.exists(path):
            continue  # the runner died at its start
        with open(path, "rb") as f:
            check(keys(), f.read())
    head = json.loads(read(f"{where}/thread.json"))
    want(head["status"] == row["status"], ident, "thread.json says", head["status"], "the row", row["status"])
    want(head.get("transcript_head"), ident, "thread.json names no checkpoint")
    story = read(f"{AI}/knowledge/agent/threads/{ident}.md").decode()
    want(f"status: {row['status']}\n" in story.replace('"', ""), ident, "the knowledge entry tells another end")
    return check_events(ident, row, head, read(f"{where}/transcript.jsonl"))


def check_events(ident, row, head, text):
    events = [json.loads(line) for line in text.splitlines()]
    ends = [e["event_type"] for e in events if e["event_type"][len("thread_") :] in TERMINAL]
    want(ends == [f"thread_{row['status']}"], ident, "is", row["status"], "its transcript says", ends)
    answers = [e["payload"] for e in events if e["event_type"] == "cognition_out" and not e["payload"].get("is_partial")]
    begun = [e["payload"]["call_id"] for e in events if e["event_type"] == "tool_call_start"]
    ended = [e["payload"]["call_id"] for e in events if e["event_type"] == "tool_call_result"]
    want(begun == ended, ident, "calls without result:", begun, ended)
    if row["status"] == "completed":
        want(answers[-1]["text"].endswith(" done"), ident, "has another result")
        want(json.loads(row["result"])["result"] == answers[-1]["text"], ident, "the result is not the last answer")
    logged = sum(answer["usage"]["spend"] for answer in answers)
    cost = next(e["payload"]["cost"] for e in events if e["event_type"][len("thread_") :] in TERMINAL)
    # an answer that a cancel breaks off is paid for, by an estimate, and not heard
    more = MOST_EACH if row["status"] == "cancelled" else 0
    want(near(logged, len(answers) * PRICE), ident, "logs", logged, "for", len(answers), "answers")
    want(near(cost["spend"], logged) or logged < cost["spend"] < logged + more, ident, "logs", logged, "and ends with", cost)
    want(head["cost"] == cost and cost["turns"] == len(answers), ident, "thread.json has the cost", head["cost"])
    want(near(row["spend"], cost["spend"]), ident, "the row has", row["spend"], "spent:", cost)
    return cost


def near(a, b):
    return abs(a - b) < 1e-9


def check_ledger(killed, costs):
    """A family is removed from it when another root starts."""
    ledger = {row["thread_id"]: row for row in rows("budget_ledger.db", "select * from budget_ledger")}
    for ident, row in ledger.items():
        want(row["status"] != "active", ident, "holds its budget")
        if ident not in costs:
            continue
        below = sum(r["actual_spend"] for r in ledger.values() if r["parent_thread_id"] == ident)
        own, logged = row["actual_spend"] - below, costs[ident]["spend"]
        # a request of a runner that was killed has cost what was estimated, or the price of its answer
        want(near(own, logged) or ident in killed and logged < own < logged + MOST_EACH, ident, "the ledger has", own, "logged is", logged)
    return sum(ident in costs for ident in ledger)


def main(seed, count):
    mount = Mount()
    mount.begin()
    killed = funded = 0
    try:
        for number in range(count):
            rng = random.Random(f"{seed}.{number}")
            this = Round(mount, rng, number)
            try:
                this.go()
            except Broken as e:
                raise Broken(f"round {number}: {e}") from e
            killed += len(this.killed)
            funded += this.funded
    finally:
        for pid in processes():
            Round.shoot(pid)
        mount.end()
    print(f"{count} rounds, {len(threads())} threads, {killed} runners killed, {funded} rows of the ledger")


if __name__ == "__main__":
    try:
        main(sys.argv[1], int(sys.argv[2]))
    except Broken as e:
        sys.exit(str(e))
