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
            for path in person.git("diff", "--name-only", "--diff-filter=U").stdout.split():
                self.settle(person, path)
            self.review(person)
            person.git("add", "-A")
            person.git("commit", "-qm", "merge, by hand", status=None)
        self.check(person)
        if self.review(person):
            person.commit("read and signed")
        if not person.git("status", "--porcelain").stdout:
            person.git("push", "-q", "origin", "HEAD:main", status=None)

    def clash(self, person):
        """Two change one line, each on a branch of its own: what comes second is a conflict of git's."""
        other = self.rng.choice([one for one in self.people if one is not person])
        for one in (person, other):
            self.merge(one)
            one.git("fetch", "-q", "origin")
            one.git("merge", "-q", "--ff-only", "origin/main", status=None)
        both = sorted(set(person.entries()) & set(other.entries()))
        name = self.rng.choice(both)
        for one in (other, person):
            lines = one.read(name).splitlines(True)
            at = next(i for i, line in enumerate(lines) if line.startswith("line "))
            lines[at] = "line %d, as %s has it\n" % (self.rng.randrange(1000, 100000), one.name)
            one.write(name, "".join(lines))
            one.says_yes(name)
            one.commit("the first line of " + name)
        other.git("push", "-q", "origin", "HEAD:main", status=None)
        self.merge(person)
        self.check(other)

    def conflicts(self, person):
        """A file with marks is signed by no way, and each says why in a line; no commit takes it."""
        self.check(person)
        for name in person.entries():
            if "<<<<<<<" not in person.read(name):
                continue
            text = person.read(name)
            self.assertFalse(any(line.startswith("<!-- rye:") for line in text.splitlines()), text)
            many = self.rng.choice((["--all"], ["--all", "--take-over"], ["knowledge:notes/*"]))
            for words in (["notes/" + name], many):
                done = person.call("ryefs", "sign", "-q", *words, status=None)
                told = [line for line in done.stderr.splitlines() if "notes/%s:" % name in line]
                self.assertNotEqual(done.returncode, 0, (words, text))
                self.assertEqual(len(told), 1, (words, done.stderr))
                self.assertIn("has conflict marks of a merge", told[0])
                self.assertEqual(person.read(name), text)
            self.remember(person)
            self.count["marks"] = self.count.get("marks", 0) + 1

    def remember(self, person):
        """`sign --all` is a yes to what it signs beside the files that it refuses."""
        refused = person.refused()
        for name in set(person.entries()) - set(refused):
            if person.read(name).splitlines()[0].split(":")[-1].split()[0] == person.key:
                self.yes.add((person.key, body_of(person.read(name))))

    def settle(self, person, path):
        """One side, or both: the lines of each between the marks stay."""
        side = self.rng.choice(["--ours", "--theirs", "both"])
        if side == "both" and path.endswith(".md") and os.path.exists(os.path.join(person.clone, path)):
            name = os.path.basename(path)[:-3]
            lines = person.read(name).splitlines(True)
            person.write(name, "".join(line for line in lines if not line.startswith(MARKS)))
        elif person.git("checkout", "--ours" if side == "both" else side, "--", path, status=None).returncode:
            person.git("rm", "-qf", "--", path)

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
                self.assertRegex(message, r"mend with: (\S+ \S+ && )?ryefs sign knowledge:notes/%s(\n|$)" % name)
                self.count["refused"] = self.count.get("refused", 0) + 1
                continue
            self.assertFalse(any(line.startswith(MARKS) for line in text.splitlines()), text)
            key = text.splitlines()[0].split(":")[-1].split()[0]
            self.assertIn((key, body_of(text)), self.yes, "%s: %s" % (person.name, name))

    def test_a_month(self):
        for _ in range(ROUNDS):
            person = self.rng.choice(self.people)
            what = self.rng.choice([self.edit, self.edit, self.rename, self.revert, self.merge, self.clash])
            what(person)
            self.count[what.__name__] = self.count.get(what.__name__, 0) + 1
            self.check(person)
        for person in self.people * 2:
            self.merge(person)
            self.check(person)
        print("#", self.count)
        self.assertGreaterEqual(self.count.get("marks", 0), ROUNDS // 8)


if __name__ == "__main__":
    harness.main()
