# SPDX-License-Identifier: MIT
"""What a process of a tool tries, to no longer be known as one: attacks.sh has it run.

escape.py MOUNT RESULT WAY: leaves its tool in that way, then signs and runs what it may not,
and writes to RESULT what came of it.
"""
import ctypes
import os
import sys
import time

mount, result, way = sys.argv[1:4]
libc = ctypes.CDLL(None, use_errno=True)


def rename_to(name):
    libc.prctl(15, name.encode(), 0, 0, 0)


def leave_parent(wait):
    """Goes on in a child; the parent waits for it, or ends and makes it an orphan."""
    pid = os.fork()
    if pid:
        if wait:
            os.waitpid(pid, 0)
        os._exit(0)


def nested(depth):
    for _ in range(depth):
        leave_parent(True)


def orphan():
    os.setsid()
    parent = os.getpid()
    leave_parent(False)
    # until the parent has ended it is known by that one
    while os.getppid() == parent:
        time.sleep(0.001)


def attempt(name, path, text):
    try:
        fd = os.open(os.path.join(mount, path), os.O_WRONLY)
        try:
            os.write(fd, text.encode() + b"\n")
        finally:
            os.close(fd)
        return name + "=DONE"
    except OSError as error:
        return "%s=%s" % (name, os.strerror(error.errno).replace(" ", "_"))


if way == "name":
    leave_parent(True)
    os.setsid()
    rename_to("systemd")
elif way == "names":
    for name in "sshd", "systemd", "tmux: server", "cron":
        leave_parent(True)
        os.setsid()
        rename_to(name)
elif way.startswith("nested"):
    nested(int(way[6:]))
    os.setsid()
elif way == "orphan":
    leave_parent(True)
    orphan()
    rename_to("systemd")
elif way == "confined":
    leave_parent(True)
    os.setsid()
    libc.prctl(38, 1, 0, 0, 0)
    program = (ctypes.c_uint64 * 1)(0x7FFF000000000006)

    class Program(ctypes.Structure):
        _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    filters = Program(1, ctypes.cast(program, ctypes.c_void_p))
    if libc.prctl(22, 2, ctypes.byref(filters), 0, 0):
        sys.exit("no filter")
said = [
    attempt("sign", "sign", "tool:t/victim"),
    attempt("other", "tools/t/other/run", "{}"),
    attempt("allowed", "tools/t/allowed/run", "{}"),
]
with open(result + ".new", "w") as file:
    file.write(" ".join(said) + "\n")
os.rename(result + ".new", result)
