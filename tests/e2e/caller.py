# SPDX-License-Identifier: MIT
"""caller.py FILE HOW [MESSAGE]: confines itself as HOW says, then asks for FILE's mode and writes
MESSAGE to it. Prints "MODE ERRNO" (OK when the write succeeded), or "cannot ERRNO" when it may
not confine itself so. `held` opens the file first and confines itself then."""

import ctypes
import errno
import os
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
NAMESPACES = {
    "mount": 0x00020000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "cgroup": 0x02000000,
}
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38


def check(result):
    if result:
        raise OSError(ctypes.get_errno(), "confine")


def seccomp():
    """A filter that allows everything: it is their number that counts."""
    code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))

    class Program(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    program = Program(1, ctypes.addressof(code))
    check(libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0))


def landlock():
    """A ruleset that forbids to write to devices, say: only that it is there matters."""
    rules = struct.pack("Q", 1 << 9)
    fd = libc.syscall(444, rules, len(rules), 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "landlock")
    check(libc.syscall(446, fd, 0))


def confine(how):
    if how in NAMESPACES:
        check(libc.unshare(NAMESPACES[how]))
        if how == "pid" and os.fork():
            os.wait()
            os._exit(0)
    elif how == "nnp":
        check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    elif how == "seccomp":
        seccomp()
    elif how == "landlock":
        landlock()
    elif how == "powers":
        check(libc.capset(struct.pack("Ii", 0x20080522, 0), bytes(24)))
    elif how.startswith("within="):
        os.chroot(how[7:])
    elif how.startswith("chroot="):
        os.chroot(how[7:])
        os.chdir("/")
    elif how.startswith("uid="):
        os.setgroups([])
        os.setgid(int(how[4:]))
        os.setuid(int(how[4:]))


def spoken(name, how, message):
    """A writer that has just been answered, confines itself and writes again: is it heard?"""
    fd = os.open(name, os.O_RDWR)
    os.write(fd, message)
    os.pread(fd, 65536, 0)
    confine(how)
    try:
        os.write(fd, message)
    except PermissionError:
        os._exit(0)
    os._exit(1)


def spoken_often(name, how, message):
    heard = 0
    for _ in range(10):
        if not os.fork():
            spoken(name, how, message)
        heard += os.wait()[1] != 0
    print("%d of 10" % heard, flush=True)


def main():
    name, how = sys.argv[1:3]
    message = (sys.argv[3] if len(sys.argv) > 3 else "{}").encode() + b"\n"
    fd = -1
    if how.startswith("spoken="):
        return spoken_often(name, how[7:], message)
    try:
        if how.startswith("held="):
            fd = os.open(name, os.O_RDWR)
            how = how[5:]
        if how.startswith("within="):
            # the working directory is still reached from there
            os.chdir(os.path.dirname(name))
            name = os.path.basename(name)
        confine(how)
        if how.startswith("chroot="):
            name = name[len(how[7:].rstrip("/")) :]
    except OSError as e:
        print("cannot", errno.errorcode[e.errno], flush=True)
        return
    try:
        mode = "%04o" % (os.stat(name).st_mode & 0o7777)
    except OSError as e:
        mode = errno.errorcode[e.errno]
    try:
        if fd < 0:
            fd = os.open(name, os.O_WRONLY)
        os.write(fd, message)
        print(mode, "OK", flush=True)
    except OSError as e:
        print(mode, errno.errorcode[e.errno], flush=True)


main()
