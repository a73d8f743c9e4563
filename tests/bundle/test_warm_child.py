# SPDX-License-Identifier: MIT
"""The program of warm interpreters (engine/warm/warm_child.py), without the engine: the test
plays the engine's side of the sockets."""

import array
import os
import py_compile
import socket
import subprocess
import sys
import tempfile
import unittest

import harness

PROGRAM = os.path.join(harness.ROOT, "engine", "warm", "warm_child.py")
BOOTSTRAP = "import os; exec(os.read(3, 1 << 17))"
# As much of a loader as these tests need: a text by descriptor, or compiled before.
LOADER = """
import os, sys
if "compiled" not in globals():
    with open(int(os.environ["RYE_TOOL_FD"]), "rb") as stream:
        compiled = compile(stream.read(), sys.argv[1], "exec")
exec(compiled, {"__name__": "tool"})
"""


def send(sock, data, fds=()):
    extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sock.sendmsg([data], extra)


class Child:
    """One child that waits for a job."""

    def __init__(self, parent, kind):
        inner = os.pipe(), os.pipe(), os.pipe()
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(20)
        given = [inner[0][0], inner[1][1], inner[2][1], theirs.fileno()]
        send(parent, kind, given)
        self.pid = int(parent.recv(32))
        theirs.close()
        for fd in given[:3]:
            os.close(fd)
        os.close(inner[0][1])
        self.out, self.err = inner[1][0], inner[2][0]

    def run(self, source, number="", words=()):
        """(what it says on its control socket, stdout, stderr)"""
        with tempfile.TemporaryFile() as text:
            text.write(source.encode())
            text.seek(0)
            job = "\0".join(("/", "1.1", "", number, "-c", "/t.py") + tuple(words)).encode()
            send(self.control, job, [] if number else [text.fileno()])
            told = self.control.recv(32)
        self.control.close()
        with open(self.out, "rb") as out, open(self.err, "rb") as err:
            return told, out.read().decode(), err.read().decode()


class WarmChild(unittest.TestCase):
    def setUp(self):
        self.parent, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.parent.settimeout(20)

        def third():
            os.dup2(theirs.fileno(), 3)

        self.process = subprocess.Popen(
            [sys.executable, "-c", BOOTSTRAP], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=third, close_fds=False,
            env={**os.environ, "RYE_MODULE_lent": "x = 7", "RYE_MODULE_more": "from lent import x"})
        theirs.close()
        self.addCleanup(self.end)
        self.parent.send(harness.read(PROGRAM).encode("ascii"))
        self.parent.send(b"L" + LOADER[:40].encode())
        self.parent.send(b"L" + LOADER[40:].encode())
        self.parent.send(b'M[446, 4, ["json", "no_such_module"]]')

    def end(self):
        self.parent.close()
        out, err = self.process.communicate(timeout=20)
        self.assertEqual((self.process.returncode, out, err), (0, b"", b""))

    def test_compiles(self):
        with tempfile.TemporaryDirectory() as place:
            py_compile.compile(PROGRAM, cfile=os.path.join(place, "x"), doraise=True)

    def test_one_call(self):
        told, out, err = Child(self.parent, b"F").run("print('hi')")
        self.assertEqual((told, out, err), (b"D0\n", "hi\n", ""))

    def test_rehearsed_call_sees_nothing_of_the_sample(self):
        told, out, err = Child(self.parent, b"R").run(
            "import os, sys; print(sys.argv[2:], 'X' in globals(), os.environ['RYE_RUN'])",
            words=("a", "b"))
        self.assertEqual((told, out, err), (b"D0\n", "['a', 'b'] False 1.1\n", ""))

    def test_lent_modules(self):
        told, out, err = Child(self.parent, b"R").run(
            "import os, more; print(more.x, 'RYE_MODULE_lent' in os.environ)")
        self.assertEqual((told, out, err), (b"D0\n", "7 False\n", ""))

    def test_exit_status(self):
        self.assertEqual(Child(self.parent, b"F").run("raise SystemExit(7)")[0], b"D7\n")
        told, out, err = Child(self.parent, b"F").run("raise SystemExit('why')")
        self.assertEqual((told, out, err), (b"D1\n", "", "why\n"))
        told, out, err = Child(self.parent, b"F").run("1 / 0")
        self.assertEqual(told, b"D1\n")
        self.assertIn("ZeroDivisionError", err)

    def test_death_is_told_by_the_parent(self):
        told = Child(self.parent, b"F").run("import os; os.kill(os.getpid(), 9)")[0]
        self.assertEqual(told, b"X9\n")

    def test_taught_text(self):
        with tempfile.TemporaryFile() as text:
            text.write(b"print('learnt')")
            text.seek(0)
            send(self.parent, b"T1\0/t.py", [text.fileno()])
            self.assertEqual(self.parent.recv(32), b"1")
        self.assertEqual(Child(self.parent, b"F").run("", number="1")[1], "learnt\n")

    def test_text_that_does_not_compile_is_not_learnt(self):
        with tempfile.TemporaryFile() as text:
            text.write(b"def (")
            text.seek(0)
            send(self.parent, b"T1\0/t.py", [text.fileno()])
            self.assertEqual(self.parent.recv(32), b"0")

    def test_children_know_nothing_of_each_other(self):
        one, two = Child(self.parent, b"F"), Child(self.parent, b"F")
        one.run("import os, json; os.environ['A'] = 'x'; json.spoilt = 1")
        self.assertEqual(
            two.run("import os, json; print('A' in os.environ, hasattr(json, 'spoilt'))")[1],
            "False False\n")

    def test_a_child_that_gets_no_job_goes(self):
        Child(self.parent, b"F").control.close()


if __name__ == "__main__":
    harness.main()
