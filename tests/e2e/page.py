# SPDX-License-Identifier: MIT
"""The code blocks of the tool format's own page, and a place to run them in.

The page is tests/vectors/signed/tool-format.md, byte for byte as it was signed. A block is named
by its section: "Async Support", or "CONFIG_RESOLVE/2" for the second one there. `sample` gives
a test its blocks; `left_over` is what no test has asked for.

Each test has a project, a user space with a key just made and a second system space of its own.
`Place.ask` runs a tool through `ryefs execute` and, where there is /dev/fuse, by writing to its
`run` file, and wants the same reply from both."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "bundle"))

import harness  # noqa: E402

RYEFS = os.environ["RYEFS"]
BUNDLE = os.path.join(os.path.dirname(RYEFS), "bundle")
PAGE = os.path.join(os.path.dirname(HERE), "vectors", "signed", "tool-format.md")
FUSE = os.access("/dev/fuse", os.R_OK | os.W_OK) and shutil.which("fusermount3")
# what two runs of one tool have in common
SAME = ("status", "error", "data", "chain", "declared_parameters")
SAME_METADATA = ("warnings", "cost_estimate", "attempts")


def blocks():
    found = {}
    section, inside, count = "", None, {}
    for line in harness.read(PAGE).splitlines(keepends=True):
        if line.startswith("```"):
            if inside is not None:
                count[section] = count.get(section, 0) + 1
                name = section if count[section] == 1 else "%s/%d" % (section, count[section])
                found[name] = "".join(inside)
            inside = [] if inside is None else None
        elif inside is not None:
            inside.append(line)
        elif re.match("##+ ", line):
            section = line.strip("# \n").replace("`", "")
    return found


BLOCKS = blocks()
ASKED = set()


def sample(*names):
    """The test gets these blocks as arguments."""
    ASKED.update(names)

    def wrap(test):
        @functools.wraps(test)
        def run(self):
            test(self, *[BLOCKS[name] for name in names])
        return run
    return wrap


def left_over():
    return set(BLOCKS) - ASKED


class Place(harness.Case):
    def setUp(self):
        super().setUp()
        self.user = os.path.join(self.place, "user")
        self.system = os.path.join(self.place, "system")
        self.bin = os.path.join(self.place, "bin")
        self.at = os.path.join(self.place, "mnt")
        for path in (self.user, self.system + "/.ai", self.bin, self.at):
            os.makedirs(path)
        self.env = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
        self.env.update(HOME=self.user, USER_SPACE=self.user, LANG="C.UTF-8",
                        PATH=self.bin + ":/usr/local/bin:/usr/bin:/bin")
        self.daemon = None
        self.rye("init", self.project)

    # ---- the command line ----

    def rye(self, *words, status=0):
        done = subprocess.run(
            [RYEFS, *words], env=self.env, cwd=self.project, capture_output=True, text=True,
            timeout=60, stdin=subprocess.DEVNULL)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def tool(self, name, text):
        """Put a tool into the project and sign it; what `ryefs sign` remarked."""
        self.put(".ai/tools/" + name, text)
        done = self.rye("sign", "tool:" + name.rpartition(".")[0])
        self.assertIn("signed tool:", done.stdout)
        return done.stderr

    def refused_at_signing(self, name, text, sentence):
        self.put(".ai/tools/" + name, text)
        done = self.rye("sign", "tool:" + name.rpartition(".")[0], status=1)
        self.assertIn(sentence, done.stderr)

    def execute(self, tool, params):
        done = self.rye("execute", "--system", BUNDLE + ":" + self.system, "tool:" + tool,
                        json.dumps(params), "--json", status=None)
        reply = json.loads(done.stdout)
        self.assertEqual(done.returncode == 0, reply["status"] != "error", done.stderr)
        return reply

    # ---- the mount ----

    def mount(self):
        if self.daemon:
            return
        options = "userspace=%s,system=%s:%s" % (self.user, BUNDLE, self.system)
        if os.environ.get("RYE_TEST_MOUNT_OPTIONS"):
            options += "," + os.environ["RYE_TEST_MOUNT_OPTIONS"]
        self.log = open(os.path.join(self.place, "log"), "w+", encoding="utf-8")
        self.addCleanup(self.log.close)
        self.daemon = subprocess.Popen([RYEFS, self.project, self.at, "-f", "-o", options],
                                       env=self.env, stdout=self.log, stderr=self.log)
        self.addCleanup(self.umount)
        until = time.monotonic() + 20
        while not os.path.exists(self.at + "/.ryefs/version"):
            self.assertLess(time.monotonic(), until, "the mount does not come up")
            self.assertIsNone(self.daemon.poll(), "the mount ended")
            time.sleep(0.01)

    def umount(self):
        subprocess.run(["fusermount3", "-u", "-z", self.at], check=True, timeout=20)
        self.assertEqual(self.daemon.wait(timeout=20), 0, "the mount ended badly")
        self.log.seek(0)
        self.assertNotRegex(self.log.read(), "Sanitizer|runtime error")

    def write_run(self, tool, params):
        """One message on one descriptor: its reply, and whether the write succeeded."""
        self.mount()
        fd = os.open("%s/tools/%s/run" % (self.at, tool), os.O_RDWR)
        try:
            try:
                os.write(fd, json.dumps(params).encode() + b"\n")
                ok = True
            except OSError:
                ok = False
            text = b""
            while not text.endswith(b"\n"):
                piece = os.read(fd, 65536)
                self.assertTrue(piece, "the reply ends before its newline")
                text += piece
        finally:
            os.close(fd)
        reply = json.loads(text)
        self.assertEqual(ok, reply["status"] != "error", text)
        return reply

    def facts(self, tool, name):
        """A JSON file of the item's directory."""
        self.mount()
        return json.loads(harness.read("%s/tools/%s/%s" % (self.at, tool, name)))

    # ---- both ----

    def ways(self):
        return (self.execute, self.write_run) if FUSE else (self.execute,)

    def ask(self, tool, params):
        replies = []
        for way in self.ways():
            reply = way(tool, params)
            same = {key: reply[key] for key in SAME if key in reply}
            same.update((key, reply["metadata"][key]) for key in SAME_METADATA
                        if key in reply["metadata"])
            replies.append(same)
        for reply in replies[1:]:
            self.assertEqual(reply, replies[0])
        return replies[0]

    def need_node(self, reply):
        """Skips where this machine lacks what such a tool runs with."""
        for text in ("interpreter node not found", "TypeScript needs Node"):
            if text in reply.get("error", ""):
                self.skipTest(text)

    def good(self, tool, params):
        reply = self.ask(tool, params)
        self.assertEqual(reply["status"], "success", reply)
        return reply["data"]

    def bad(self, tool, params, text):
        reply = self.ask(tool, params)
        self.assertEqual(reply["status"], "error")
        self.assertIn(text, reply["error"])
        return reply
