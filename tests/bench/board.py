#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""board.py RYEFS ASK_NODE [-n ORDERS] [-w W,W...] [-k KEPT,KEPT...]: how far one PostgreSQL carries a fleet.

Orders of PRINCIPALS people are put on a board of PostgreSQL while W simulated workers (tests/fake/ask_node drone: a
claim, a line written, a settle) wait for them; then again with KEPT finished orders on it. A line for each: orders a
second, transactions, statements and rows an order, and how long an order waited for its claim. The database syncs as it
does by default. A server of its own, on a socket in a directory that goes.
"""
import argparse
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NOBODY = 65534
PRINCIPALS = 8
# workers that begin at once
TOGETHER = 20
SHA = "0" * 64
# how long an idle worker waits before it looks by itself (POLL_MS of engine/worker/worker.c)
LOOK_MS = "5000"


class Database:
    def __init__(self, work, workers):
        self.dir = os.path.join(work, "pg")
        self.bin = max(glob.glob("/usr/lib/postgresql/*/bin"), default=None)
        if not self.bin:
            sys.exit("board: PostgreSQL is not installed (scripts/deps --test)")
        os.mkdir(self.dir, 0o700)
        if os.geteuid() == 0:
            os.chown(self.dir, NOBODY, NOBODY)
        self.run(f"{self.bin}/initdb", "-A", "trust", "-U", "rye", "-E", "UTF8", "-D", f"{self.dir}/data")
        self.server = subprocess.Popen(
            [f"{self.bin}/postgres", "-D", f"{self.dir}/data", "-k", self.dir, "-c", "listen_addresses=",
             "-c", f"max_connections={3 * workers + 50}", "-c", "shared_buffers=256MB",
             "-c", "shared_preload_libraries=pg_stat_statements", "-c", "pg_stat_statements.track=top"],
            cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.who())
        while subprocess.run([f"{self.bin}/pg_isready", "-q", "-h", self.dir, "-U", "rye"], check=False).returncode:
            time.sleep(0.1)
        self.ask("create extension pg_stat_statements")

    def who(self):
        return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}

    def run(self, *argv):
        subprocess.run(argv, cwd="/", env=dict(os.environ, LC_ALL="C"), stdout=subprocess.DEVNULL, check=True,
                       **self.who())

    def ask(self, sql):
        done = subprocess.run(["psql", "-q", "-X", "-A", "-t", "-h", self.dir, "-U", "rye", "-d", "postgres", "-c", sql],
                              stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout.strip()

    def end(self):
        self.server.send_signal(signal.SIGINT)
        self.server.wait()


class Fleet:
    def __init__(self, args, work, most):
        self.args, self.work = args, work
        self.node = os.path.join(work, "node")
        self.db = Database(work, most)
        self.keys = []
        subprocess.run([args.ryefs, "node", "init", self.node, f"board=postgresql:host={self.db.dir} user=rye "
                        "dbname=postgres"], check=True, stdout=subprocess.DEVNULL)
        for i in range(PRINCIPALS):
            home = os.path.join(work, f"user{i}")
            os.makedirs(home)
            subprocess.run([args.ryefs, "keygen", "--user", home, "-q"], check=True, stdout=subprocess.DEVNULL,
                           cwd=home, env=dict(os.environ, HOME=home, USER_SPACE=home))
            self.keys.append(f"{home}/.ai/config/keys/signing/private_key.pem")
            self.node_ask("admit", i, "jobs=100")

    def node_ask(self, verb, who, *words, out=subprocess.DEVNULL):
        subprocess.run([self.args.ask_node, verb, self.node, self.keys[who], *words], check=True, stdout=out)

    def orders(self):
        """Signed beforehand: a file for each principal."""
        files = []
        for i in range(PRINCIPALS):
            files.append(os.path.join(self.work, f"orders{i}"))
            with open(files[-1], "w", encoding="ascii") as out:
                self.node_ask("sign", i, "tool:none", SHA, "demo", "{}", str(self.args.orders // PRINCIPALS), out=out)
        return files

    def keep(self, kept):
        """So many orders that have ended, of all principals, each as long as one that was."""
        have = int(self.db.ask("select count(*) from run"))
        self.db.ask("insert into run select gen_random_uuid()::text, principal, body, sha, labels, again, jobs, state, gen, "
                    "worker, lease, heard, cancel, made - 86400000 - n, ended - 86400000, sealed, receipt, late "
                    f"from (select * from run limit 1000) r, generate_series(1, {max(0, kept - have) // 1000 + 1}) n "
                    f"limit {max(0, kept - have)}")
        self.db.ask("vacuum analyze run")

    def left(self):
        return int(self.db.ask("select count(*) from run where state in ('queued', 'running', 'silent')"))

    def begin(self, drones, workers):
        """Some at a time: a database that all begin at once keeps them waiting for longer than they do."""
        for i in range(workers):
            drones.append(self.drone(i))
            while i % TOGETHER == TOGETHER - 1 or i == workers - 1:
                if int(self.db.ask("select count(*) from pg_stat_activity where query like 'LISTEN%'")) > i:
                    break
                for k, drone in enumerate(drones):
                    if drone.poll() is not None:
                        drones[k] = self.drone(k)
                time.sleep(0.2)

    def drone(self, i):
        return subprocess.Popen([self.args.ask_node, "drone", self.node, self.keys[0], f"drone-{i}",
                                 f"{self.work}/effects-{i}", LOOK_MS], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def measure(self, workers, kept):
        files = self.orders()
        began_at = int(self.db.ask("select (extract(epoch from clock_timestamp()) * 1000)::bigint"))
        drones = []
        try:
            self.begin(drones, workers)
            self.db.ask("select pg_stat_statements_reset()")
            began = time.monotonic()
            posters = [subprocess.Popen([self.args.ask_node, "post", self.node, self.keys[i], files[i]],
                                        stdout=subprocess.DEVNULL) for i in range(PRINCIPALS)]
            for poster in posters:
                poster.wait()
            posted = time.monotonic() - began
            while self.left():
                time.sleep(0.1)
            seconds = time.monotonic() - began
            calls, rows, updates = (int(n) for n in self.db.ask(
                "select sum(calls)::bigint, sum(rows)::bigint, sum(calls) filter (where query ilike '%update run%')::bigint "
                "from pg_stat_statements where query ilike '%run%'").split("|"))
        finally:
            for drone in drones:
                drone.kill()
            for drone in drones:
                drone.wait()
        p50, p99 = self.db.ask("select percentile_disc(0.5) within group (order by lease - 1000 - made), percentile_disc(0.99) "
                               f"within group (order by lease - 1000 - made) from run where made >= {began_at}").split("|")
        n = self.args.orders // PRINCIPALS * PRINCIPALS
        print(f"{workers:4} workers, {kept:7} kept: {n / seconds:7.0f} orders/s ({n / posted:.0f} put there/s), "
              f"{calls / n:6.1f} statements, {updates / n:5.1f} of them updates, {rows / n:5.1f} rows an order; "
              f"a claim is waited for {p50} ms, 99 % within {p99} ms", flush=True)


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ryefs", type=os.path.abspath)
    parser.add_argument("ask_node", type=os.path.abspath)
    parser.add_argument("-n", "--orders", type=int, default=4000)
    parser.add_argument("-w", "--workers", type=numbers, default=[10, 100, 400])
    parser.add_argument("-k", "--kept", type=numbers, default=[1000, 10000, 100000])
    args = parser.parse_args()
    # a socket's path is short
    work = tempfile.mkdtemp(prefix="rye-board.", dir="/tmp")
    os.chmod(work, 0o755)
    fleet = None
    try:
        fleet = Fleet(args, work, max(args.workers))
        for workers in args.workers:
            fleet.measure(workers, 0)
        for kept in args.kept:
            fleet.keep(kept)
            fleet.measure(args.workers[0], kept)
    finally:
        if fleet:
            fleet.db.end()
        shutil.rmtree(work, ignore_errors=True)


main()
