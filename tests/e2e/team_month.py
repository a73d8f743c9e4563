# SPDX-License-Identifier: MIT
"""Two people and a maintainer through a month of one repository: edits, renames, reverts, merges with and
without conflicts, at random, 20 of them or RYE_ROUNDS. After each: no signed file has conflict marks, each text
that verifies is one that its signer has said yes to, and what is refused says why in a line, and what mends it."""

import json
import os
import random
import shutil
import subprocess
import sys

from page import RYEFS, harness

ROUNDS = int(os.environ.get("RYE_ROUNDS") or 20)
MARKS = ("<<<<<<<", "=======", ">>>>>>>")
ENTRY = "# %s\n\n```yaml\nname: %s\ntitle: Lines\nversion: \"1.0.0\"\nentry_type: reference\ncategory: notes\n```\n\n%s"

if not shutil.which("git"):
    print("1..0 # SKIP git is not installed")
    sys.exit(0)


def body_of(text):
    """What is signed: the text without the header lines."""
    return "".join(line for line in text.splitlines(True) if not line.startswith("<!-- rye:"))


class Person:
    def __init__(self, test, name):
        self.test, self.name = test, name
        self.home = os.path.join(test.place, name)
        self.clone = os.path.join(self.home, "work")
        os.makedirs(self.home)
        self.env = {"HOME": self.home, "USER_SPACE": self.home, "LANG": "C.UTF-8", "RYE_SYSTEM_SPACES": "",
                    "PATH": test.bin + ":/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}
        for side in ("AUTHOR", "COMMITTER"):
            self.env.update({"GIT_%s_NAME" % side: name, "GIT_%s_EMAIL" % side: name + "@example.org"})

    def call(self, *words, status=0, at=None):
        done = subprocess.run(words, env=self.env, cwd=at or self.clone, capture_output=True, text=True,
                              timeout=60, stdin=subprocess.DEVNULL)
        if status is not None:
            self.test.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        return done

    def git(self, *words, status=0):
        return self.call("git", *words, status=status)

    def join(self):
        self.call("git", "clone", "-q", self.test.origin, self.clone, at=self.home)
        self.call("ryefs", "init", "-q", "--hooks")
        rows = json.loads(self.call("ryefs", "keys", "--json").stdout)
        self.key = next(row["fingerprint"] for row in rows if row["status"] == "signing")

    def entries(self):
        return sorted(name[:-3] for name in os.listdir(self.clone + "/.ai/knowledge/notes"))

    def path(self, name):
        return "%s/.ai/knowledge/notes/%s.md" % (self.clone, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as stream:
            return stream.read()

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as stream:
            stream.write(text)

    def says_yes(self, name):
        self.call("ryefs", "sign", "-q", "notes/" + name)
        self.test.yes.add((self.key, body_of(self.read(name))))

    def refused(self):
        rows = json.loads(self.call("ryefs", "verify", "--json", "knowledge:*", status=None).stdout)
        return {row["ref"].rpartition("/")[2]: row for row in rows if not row["ok"]}

    def commit(self, what):
        self.git("add", "-A")
        if self.git("diff", "--cached", "--quiet", status=None).returncode:
            self.git("commit", "-qm", what)


class Month(harness.Case):
    def setUp(self):
        super().setUp()
        self.rng = random.Random(os.environ.get("RYE_SEED", "month"))
        self.yes, self.count = set(), {}
        self.bin, self.origin = self.place + "/bin", self.place + "/origin.git"
        os.makedirs(self.bin)
        os.symlink(RYEFS, self.bin + "/ryefs")
        self.people = [Person(self, name) for name in ("ann", "ben", "mia")]
        self.people[0].call("git", "init", "-q", "--bare", "-b", "main", self.origin, at=self.place)
        for person in self.people:
            person.join()
            if person is self.people[0]:
                for n in range(4):
                    name = "entry-%d" % n
                    person.write(name, ENTRY % (name, name, "".join("line %d\n\n" % i for i in range(12))))
                    person.says_yes(name)
            person.commit("join")
            person.git("push", "-q", "origin", "HEAD:main")
        for person in self.people:
            person.git("pull", "-q", "--no-rebase", "origin", "main")
            for other in self.people:
                if other is not person:
                    person.call("ryefs", "trust", "--yes", "-q", other.key)

    # ---- what they do ----

    def edit(self, person):
        name = self.rng.choice(person.entries())
        lines = person.read(name).splitlines(True)
        at = self.rng.choice([i for i, line in enumerate(lines) if line.startswith("line ")])
        lines[at] = "line %d, by %s\n" % (self.rng.randrange(1000), person.name)
        person.write(name, "".join(lines))
        person.git("add", "-A")
        if self.rng.random() < 0.3:  # the hook stops what nobody has signed
            self.assertIn("mend with: ryefs sign", person.git("commit", "-qm", "unsigned", status=1).stderr
                          + person.git("commit", "-qm", "unsigned", status=1).stdout)
        person.says_yes(name)
        person.commit("edit " + name)

    def rename(self, person):
        name = self.rng.choice(person.entries())
        new = "entry-%d" % self.rng.randrange(10, 10000)
        person.call("ryefs", "mv", "-q", "notes/" + name, "notes/" + new)
        self.yes.add((person.key, body_of(person.read(new))))
        person.commit("rename")

    def revert(self, person):
        commits = person.git("log", "--no-merges", "--format=%h", "-8").stdout.split()[:-1]
        if not commits:
            return
        if person.git("revert", "--no-edit", self.rng.choice(commits), status=None).returncode:
            self.conflicts(person)
            person.git("revert", "--abort", status=None)
            person.git("reset", "-q", "--hard")

    def merge(self, person):
        person.git("fetch", "-q", "origin")
        if person.git("merge", "-q", "--no-edit", "origin/main", status=None).returncode:
            self.conflicts(person)
            side = self.rng.choice(["--ours", "--theirs"])
            for path in person.git("diff", "--name-only", "--diff-filter=U").stdout.split():
                if person.git("checkout", side, "--", path, status=None).returncode:
                    person.git("rm", "-qf", "--", path)
            self.review(person)
            person.git("add", "-A")
            person.git("commit", "-qm", "merge, by hand", status=None)
        if self.review(person):
            person.commit("read and signed")
        if not person.git("status", "--porcelain").stdout:
            person.git("push", "-q", "origin", "HEAD:main", status=None)

    def conflicts(self, person):
        """A file with marks is refused by name, and by --all."""
        for name in person.entries():
            if "<<<<<<<" not in person.read(name):
                continue
            done = person.call("ryefs", "sign", "-q", "notes/" + name, status=None)
            self.assertNotEqual(done.returncode, 0, person.read(name))
            self.count["marks"] = self.count.get("marks", 0) + 1

    def review(self, person):
        """Says yes to what is refused here, each text on its own."""
        found = [name for name in person.refused() if os.path.exists(person.path(name))]
        for name in found:
            person.says_yes(name)
        return found

    # ---- what holds ----

    def check(self, person):
        refused = person.refused()
        for name in person.entries():
            text = person.read(name)
            if name in refused:
                message = refused[name]["message"]
                self.assertIn(name, message.splitlines()[0])
                self.assertIn("mend with: ryefs sign knowledge:notes/" + name, message)
                self.count["refused"] = self.count.get("refused", 0) + 1
                continue
            self.assertFalse(any(line.startswith(MARKS) for line in text.splitlines()), text)
            key = text.splitlines()[0].split(":")[-1].split()[0]
            self.assertIn((key, body_of(text)), self.yes, "%s: %s" % (person.name, name))

    def test_a_month(self):
        for _ in range(ROUNDS):
            person = self.rng.choice(self.people)
            what = self.rng.choice([self.edit, self.edit, self.rename, self.revert, self.merge, self.merge])
            what(person)
            self.count[what.__name__] = self.count.get(what.__name__, 0) + 1
            self.check(person)
        for person in self.people * 2:
            self.merge(person)
            self.check(person)
        print("#", self.count)


if __name__ == "__main__":
    harness.main()
