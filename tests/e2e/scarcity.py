# SPDX-License-Identifier: MIT
"""scarcity.py SEED ROUNDS: threads of the directive lane_work (fork_scarce.sh) whose runners, or whose
daemon, have no descriptors, no memory or no room on the disk for a moment that SEED gives. Each round
wants what killer.py wants of its rounds, but that a thread may have ended with an error; then:

  - its sentence says what there was too little of;
  - a thread that had all it needed has completed;
  - no temporary file stays, and with room again all works as before."""

import glob
import json
import os
import random
import re
import resource
import sys
import time

import killer
from killer import AI, THREADS, Broken, want

FILLER = f"{AI}/state/filler"
SENTENCES = re.compile(
    "No space left on device|disk is full|database or disk|Too many open files|too many files open|out of memory|[Oo]ut of memory"
    "|Cannot allocate memory|Resource temporarily unavailable|could not finish|unable to open database|Process died|busy"
)
WAYS = ("descriptors", "descriptors", "memory", "disk", "disk", "daemon")


def limit(pid, what, soft):
    """Sets the soft limit; what it was. None: the process is gone."""
    try:
        old = resource.prlimit(pid, what)
        resource.prlimit(pid, what, (soft, old[1]))
        return old
    except (ProcessLookupError, PermissionError):
        return None


def restore(pid, what, old):
    try:
        resource.prlimit(pid, what, old)
    except ProcessLookupError:
        pass


def size_of(pid):
    """Bytes of address space."""
    text = killer.read(f"/proc/{pid}/statm").split()
    return int(text[0]) * os.sysconf("SC_PAGESIZE") if text else 0


def fill():
    """Until nothing more fits."""
    fd = os.open(FILLER, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for size in (1 << 20, 1 << 12, 1):
            while True:
                try:
                    if os.write(fd, bytes(size)) < size:
                        break
                except OSError:
                    break
    finally:
        os.close(fd)


class Scarce(killer.Round):
    """killed: the threads that were short of something, here."""

    def __init__(self, mount, rng, number):
        super().__init__(mount, rng, number)
        self.short = False  # so was all, launchers too

    def kill_one(self):
        way = self.rng.choice(WAYS)
        print(f"# round {self.number}: {way}", file=sys.stderr, flush=True)
        if way == "disk":
            self.fill_disk()
        elif way == "daemon":
            self.starve(self.mount.daemon.pid, self.rng.choice((resource.RLIMIT_NOFILE, resource.RLIMIT_AS)))
            self.short = True
        else:
            self.starve_runner(resource.RLIMIT_NOFILE if way == "descriptors" else resource.RLIMIT_AS)

    def fill_disk(self):
        if not os.path.ismount(f"{AI}/state"):
            return
        self.short = True
        fill()
        time.sleep(self.rng.uniform(0, 2.5))  # how long it is so
        os.unlink(FILLER)

    def starve_runner(self, what):
        alive = sorted(killer.runners(self.living()).items())
        if alive:
            ident, pid = self.rng.choice(alive)
            self.killed.add(ident)
            self.starve(pid, what)

    def starve(self, pid, what):
        room = self.rng.randint(3, 40) if what == resource.RLIMIT_NOFILE else size_of(pid) + self.rng.randint(0, 1 << 20)
        old = limit(pid, what, room)
        time.sleep(self.rng.uniform(0, 1.5))  # the same
        if old:
            restore(pid, what, old)

    def untouched(self, row, all_rows):
        return not self.short and super().untouched(row, all_rows)

    def check(self):
        self.started = self.started and not self.short
        if self.short:
            self.killed.update(killer.threads(self.before))
        super().check()
        for ident, row in killer.threads(self.before).items():
            if row["status"] != "completed":
                error = json.loads(row["result"]).get("error", "")
                print(f"# {ident} {row['status']}: {error}", file=sys.stderr, flush=True)
                want(SENTENCES.search(error) or row["status"] == "cancelled", ident, "says:", error)
        left = glob.glob(f"{AI}/**/.rye-*", recursive=True)
        want(not left, "left behind:", left)


def main(seed, count):
    mount = killer.Mount()
    mount.begin()
    ended = {}
    try:
        for number in range(count):
            this = Scarce(mount, random.Random(f"{seed}.{number}"), number)
            try:
                this.go()
            except Broken as e:
                raise Broken(f"round {number}: {e}") from e
            for row in killer.threads(this.before).values():
                ended[row["status"]] = ended.get(row["status"], 0) + 1
    finally:
        for pid in killer.processes():
            Scarce.shoot(pid)
        mount.end()
    print(f"{count} rounds, threads that ended: {ended}")


if __name__ == "__main__":
    try:
        main(sys.argv[1], int(sys.argv[2]))
    except Broken as e:
        sys.exit(str(e))
