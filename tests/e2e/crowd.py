# SPDX-License-Identifier: MIT
"""crowd.py COUNT: so many threads of the directive lane_many at once (fork_many.sh). Wanted:

  - each is started, completes, and has taken ten turns and as many requests;
  - the model never sees more requests at once than the cap of a provider on loopback;
  - registry, thread.json and ledger have the same, true cost, and no file tells of a database;
  - no runner ever has more than 20 MB of its own (PSS; not asked of a sanitizer's)."""

import json
import os
import re
import sqlite3
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

RYEFS, PROJECT, MOUNT, PORT = (os.environ[name] for name in ("RYEFS", "PROJECT", "MOUNT", "PORT"))
THREADS = f"{PROJECT}/.ai/state/threads"
TURNS, CAP, PSS_KB = 10, 4, 20 << 10
PRICE = 10 * 1000 / 1e6 + 5 * 5000 / 1e6
WORDS = ("database", "SQL", "locked", "ledger:")


def want(what, *detail):
    if not what:
        sys.exit(" ".join(map(str, detail)))


def start(_):
    fd = os.open(f"{MOUNT}/directives/lane_many/async", os.O_RDWR)
    try:
        os.write(fd, b"{}")
        return json.loads(os.read(fd, 1 << 16))
    finally:
        os.close(fd)


def rows(file, sql):
    with closing(sqlite3.connect(f"file:{THREADS}/{file}.db?mode=ro", uri=True, timeout=30)) as db:
        db.row_factory = sqlite3.Row
        return {row["thread_id"]: dict(row) for row in db.execute(sql)}


def pss(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
            return next((int(line.split()[1]) for line in f if line.startswith("Pss:")), 0)
    except OSError:
        return 0


def look_on(pids, limit):
    """Until all have ended: the most PSS that each runner was seen with."""
    most, end = {}, time.monotonic() + limit
    while True:
        living = [row for row in rows("registry", "select * from threads").values() if row["status"] in ("created", "running")]
        if not living:
            return most
        want(time.monotonic() < end, len(living), "threads do not end")
        for row in living:
            pid = pids[row["thread_id"]]
            most[pid] = max(most.get(pid, 0), pss(pid))
        time.sleep(0.2)


def near(a, b):
    return abs(a - b) < 1e-9


def check_thread(ident, row):
    where = f"{THREADS}/{ident}"
    want(row["status"] == "completed", ident, "is", row["status"], row["result"])
    with open(f"{where}/thread.json", encoding="utf-8") as f:
        head = json.load(f)
    want(row["turns"] == TURNS and near(row["spend"], TURNS * PRICE), ident, "has the row", row)
    want(head["cost"]["turns"] == TURNS and near(head["cost"]["spend"], TURNS * PRICE), ident, "has the cost", head["cost"])
    for name in ("thread.json", "result.json", "spawn.log"):
        with open(f"{where}/{name}", encoding="utf-8") as f:
            text = re.sub(r'"_signature": *"[^"]*"', "", f.read())  # base64 has each word some day
        want(not any(word in text for word in WORDS), ident, name, text)


def main(count):
    with open(RYEFS, "rb") as program:
        sanitized = re.search(rb"__[at]san_init", program.read()) is not None
    begin = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(start, range(count)))
    for reply in replies:
        want(reply["status"] == "running", "not started:", reply)
    pids = {reply["thread_id"]: reply["pid"] for reply in replies}
    want(len(pids) == count, "only", len(pids), "ids for", count, "threads")
    started = time.monotonic()
    most = look_on(pids, 80 + 6 * count)
    ended = time.monotonic()
    all_rows = rows("registry", "select * from threads")
    want(set(all_rows) == set(pids), "the registry has other threads than were started")
    for ident, row in all_rows.items():
        check_thread(ident, row)
    ledger = rows("budget_ledger", "select * from budget_ledger")
    for ident, row in ledger.items():
        want(row["status"] == "completed" and near(row["actual_spend"], TURNS * PRICE), "the ledger has", row)
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/stats") as answer:
        stats = json.load(answer)
    want(stats["requests"] == count * TURNS, stats["requests"], "requests for", count, "threads")
    want(stats["most_open"] <= CAP, stats["most_open"], "requests at once")
    worst = max(most.values())
    want(sanitized or worst <= PSS_KB, "a runner had", worst, "kB")
    print(f"{count} threads: started in {started - begin:.1f} s, ended {ended - started:.1f} s later, at most "
          f"{stats['most_open']} requests at once, {worst} kB of PSS, {len(ledger)} rows of the ledger")


if __name__ == "__main__":
    main(int(sys.argv[1]))
