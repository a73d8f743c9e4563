# SPDX-License-Identifier: MIT
"""What a process of a tool tries against its sandbox: attacks_inside.sh has it run, and in a thread,
against that as well, attacks_thread.sh.

intruder.py FACTS: one line for each attack, "NAME held" or "NAME DONE why". FACTS is JSON: pids of
the daemon, of a process outside and of another run, paths, names of sockets. Nothing that succeeds
does harm: it changes a thing to what it was, or hands over what cannot be valid.
"""
import ctypes
import errno
import fcntl
import json
import os
import platform
import socket
import struct
import subprocess
import sys

facts = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == "aarch64"
outside, project, mount, user = (facts[k] for k in ("outside", "project", "mount", "user"))
HELD = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EROFS}
# x86-64 and aarch64
NUMBERS = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224),
    "swapoff": (168, 225), "kexec_load": (246, 104), "pivot_root": (155, 41), "acct": (163, 89),
    "open_by_handle_at": (304, 265), "move_pages": (279, 239), "migrate_pages": (256, 238),
    "sched_setattr": (314, 274), "mount": (165, 40), "umount2": (166, 39), "setns": (308, 268),
    "unshare": (272, 97), "clone": (56, 220), "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "clone3": (435, 435), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fspick": (433, 433),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "mount_setattr": (442, 442), "openat2": (437, 437), "fchmodat2": (452, 452), "process_madvise": (440, 440),
}


def call(name, *words):
    """A system call: its answer, or the OSError it is."""
    ctypes.set_errno(0)
    wide = [ctypes.c_long(w) if isinstance(w, int) else w for w in words]
    got = libc.syscall(ctypes.c_long(NUMBERS[name][arm]), *wide)
    if got < 0:
        raise OSError(ctypes.get_errno(), name)
    return got


def attempt(name, attack, *words):
    """Held: refused for want of permission, or because there is no such thing here."""
    try:
        got = attack(*words)
    except OSError as error:
        code = error.errno
        print(name, "held" if code in HELD else "DONE " + errno.errorcode.get(code, str(code)))
        return
    print(name, "held" if got is None else "DONE %.60r" % (got,))


def absent(name, attack, *words):
    """As attempt; what is not there cannot be reached, either."""
    try:
        got = attack(*words)
    except OSError:
        got = None
    print(name, "held" if got is None else "DONE %.60r" % (got,))


def read(path, n=64):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(fd, n)
    finally:
        os.close(fd)


def write(path, flags=0):
    os.close(os.open(path, os.O_WRONLY | flags))
    return "opened for writing"


def say(path, text):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text)
        return "written"
    finally:
        os.close(fd)


def processes():
    """Others' memory, descriptors, signals, limits: of the daemon, of a stranger, of another run."""
    page = ctypes.create_string_buffer(8)
    vec = struct.pack("QQ", ctypes.addressof(page), 8)
    for who in "daemon", "victim", "sibling":
        pid = facts[who]
        attempt(who + "-ptrace", call, "ptrace", 0x4206, pid, 0, 0)
        attempt(who + "-vm-read", call, "process_vm_readv", pid, vec, 1, vec, 1, 0)
        attempt(who + "-vm-write", call, "process_vm_writev", pid, vec, 0, vec, 0, 0)
        for entry in "mem", "environ", "maps", "auxv", "fd/0", "root/etc/passwd", "cwd/x":
            attempt("%s-proc-%s" % (who, entry.replace("/", "-")), read, "/proc/%d/%s" % (pid, entry))
        for entry in "oom_score_adj", "coredump_filter", "comm":
            attempt("%s-set-%s" % (who, entry), write, "/proc/%d/%s" % (pid, entry))
        attempt(who + "-kcmp", call, "kcmp", os.getpid(), pid, 0, 0, 0)
        attempt(who + "-move-pages", call, "move_pages", pid, 0, 0, 0, 0, 0)
        attempt(who + "-prlimit", call, "prlimit64", pid, 7, 0, page)
        attempt(who + "-affinity", call, "sched_setaffinity", pid, 0, 0)
        attempt(who + "-priority", call, "setpriority", 0, pid, os.getpriority(0, pid))
        attempt(who + "-io-priority", call, "ioprio_set", 1, pid, 0)
        attempt(who + "-sched", call, "sched_setattr", pid, 0, 0)
        fd = call("pidfd_open", pid, 0)
        attempt(who + "-pidfd-getfd", call, "pidfd_getfd", fd, 0, 0)
        attempt(who + "-setns", call, "setns", fd, 0x20000)
        attempt(who + "-madvise", call, "process_madvise", fd, vec, 1, 20, 0)
        if facts["signals"]:
            attempt(who + "-signal", lambda: os.kill(pid, 0) or "signalled")
            attempt(who + "-pidfd-signal", call, "pidfd_send_signal", fd, 0, 0, 0)
            attempt(who + "-signal-group", lambda: os.killpg(os.getpgid(pid), 0) or "signalled")
        os.close(fd)


def machine():
    """New namespaces, mounts, and what looks into the kernel."""
    here = os.path.join(os.environ["TMPDIR"], "m").encode()
    os.mkdir(here)
    attempt("mount-bind", call, "mount", here, here, 0, 0x1000, 0)
    attempt("mount-tmpfs", call, "mount", b"x", here, b"tmpfs", 0, 0)
    attempt("remount-root", call, "mount", 0, b"/", 0, 0x1020, 0)
    attempt("umount", call, "umount2", b"/dev/shm", 2)
    for name, flags in (("user", 0x10000000), ("mount", 0x20000), ("pid", 0x20000000),
                        ("net", 0x40000000), ("ipc", 0x8000000), ("cgroup", 0x2000000)):
        attempt("unshare-" + name, call, "unshare", flags)
        attempt("clone-" + name, call, "clone", flags | 17, 0, 0, 0, 0)
    attempt("clone3", call, "clone3", struct.pack("Q", 0x10000000) + bytes(80), 88)
    attempt("pivot-root", call, "pivot_root", here, here)
    attempt("open-tree", call, "open_tree", -100, b"/", 1)
    attempt("move-mount", call, "move_mount", 0, b"", 0, b"", 4)
    attempt("fsopen", call, "fsopen", b"tmpfs", 0)
    attempt("fspick", call, "fspick", -100, b"/", 0)
    attempt("mount-setattr", call, "mount_setattr", -100, b"/", 0x8000, bytes(32), 32)
    for name in ("bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key",
                 "init_module", "finit_module", "delete_module", "reboot", "kexec_load", "swapon",
                 "swapoff", "io_uring_setup", "io_uring_enter", "io_uring_register", "acct"):
        attempt(name, call, name, 0, 0, 0, 0, 0)
    attempt("by-handle", call, "open_by_handle_at", -100, struct.pack("Ii", 8, 1) + bytes(8), 0)
    os.rmdir(here)
    # of root's powers none but chown, dac_override and fowner, and none for programs that it starts
    status = open("/proc/self/status").read()
    for which in "Eff", "Prm", "Bnd", "Inh", "Amb":
        powers = int(status.split("Cap%s:" % which)[1].split()[0], 16)
        # who was no root cannot shrink the bounding set, and gains nothing by it
        if which != "Bnd" or os.geteuid() == 0:
            print("powers-" + which, "held" if not powers & ~0b1011 else "DONE %x" % powers)
    print("no-new-privs", "held" if "NoNewPrivs:\t1" in status else "DONE")
    print("descriptors", "held" if sorted(os.listdir("/proc/self/fd"))[3:] == ["3"] else
          "DONE %s" % [(n, os.path.exists("/proc/self/fd/" + n)) for n in os.listdir("/proc/self/fd")])


def sockets():
    """Ways out of the process that are no files."""
    net = facts.get("net")
    for name in "PACKET", "VSOCK", "ALG", "BLUETOOTH", "TIPC", "CAN", "RDS", "QIPCRTR":
        if hasattr(socket, "AF_" + name):
            attempt("socket-" + name, socket.socket, getattr(socket, "AF_" + name), socket.SOCK_DGRAM)
            attempt("pair-" + name, socket.socketpair, getattr(socket, "AF_" + name), socket.SOCK_DGRAM)
    # by this older spelling the kernel makes a packet socket
    attempt("socket-packet-of-inet", socket.socket, socket.AF_INET, 10, 0x300)
    attempt("socket-packet-raw", socket.socket, 17, socket.SOCK_RAW, 0x300)
    for family in socket.AF_INET, socket.AF_INET6:
        attempt("socket-raw", socket.socket, family, socket.SOCK_RAW, 1)
    for protocol in 4, 9, 15, 16:
        attempt("netlink-%d" % protocol, socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    for name, family in ("INET", socket.AF_INET), ("INET6", socket.AF_INET6), ("ROUTE", socket.AF_NETLINK):
        if net:
            socket.socket(family, socket.SOCK_DGRAM).close()
            print("own-" + name, "held")
        else:
            attempt("socket-" + name, socket.socket, family, socket.SOCK_DGRAM)

    def connect(to):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(2)
            s.connect(to)
            return "connected"

    if net:
        return
    if facts["abstract"]:
        attempt("abstract-socket", connect, "\0" + facts["abstract"])
    for path in facts["sockets"]:
        absent("socket " + path, connect, path)
    absent("shared-memory", lambda: libc.shmget(facts["victim"], 0, 0) + 1 or None)
    # its own are its own
    own = os.path.join(os.environ["TMPDIR"], "own")
    with socket.socket(socket.AF_UNIX) as mine:
        mine.bind(own)
        mine.listen()
        print("own-socket", "held" if connect(own) else "DONE")
    os.remove(own)
    with socket.socket(socket.AF_UNIX) as mine:
        mine.bind("\0ryefs-own-%d" % os.getpid())
        mine.listen()
        print("own-abstract", "held" if connect(mine.getsockname().decode()) else "DONE")
    # characters pushed into a terminal are typed by its owner
    head, tail = os.openpty()
    attempt("tiocsti", fcntl.ioctl, tail, 0x5412, b"x")
    for name in sorted(os.listdir("/dev/pts")):
        if name.isdigit() and os.ttyname(tail) != "/dev/pts/" + name:
            absent("terminal-read", lambda n: os.open("/dev/pts/" + n, os.O_RDONLY | os.O_NOCTTY), name)
            absent("terminal-write", lambda n: os.open("/dev/pts/" + n, os.O_WRONLY | os.O_NOCTTY), name)


def files():
    """Outside the project, and what of it is the engine's."""
    inside = os.path.join(project, "inside")
    st = os.stat(outside)
    attempt("write", write, outside)
    attempt("append", write, outside, os.O_APPEND)
    attempt("truncate", lambda: os.truncate(outside, st.st_size) or "truncated")
    attempt("remove", lambda: os.rename(outside, outside + ".new") or "renamed")
    attempt("create", write, outside + ".more", os.O_CREAT)
    attempt("mkdir", lambda: os.mkdir(outside + ".dir") or "made")
    attempt("chmod", lambda: os.chmod(outside, st.st_mode & 0o7777) or "changed")
    attempt("chown", lambda: os.chown(outside, st.st_uid, st.st_gid) or "changed")
    attempt("utime", lambda: os.utime(outside) or "changed")
    attempt("xattr", lambda: os.setxattr(outside, "user.rye", b"x") or "changed")
    fd = os.open(outside, os.O_RDONLY)
    attempt("fchmod", lambda: os.fchmod(fd, st.st_mode & 0o7777) or "changed")
    attempt("file-attributes", fcntl.ioctl, fd, 0x40086602, struct.pack("l", 0))
    attempt("reopen", write, "/proc/self/fd/%d" % fd)
    attempt("by-root", write, "/proc/self/root" + outside)
    attempt("by-thread", write, "/proc/thread-self/root" + outside)
    os.symlink(outside, inside)
    attempt("by-symlink", write, inside)
    attempt("chmod-by-symlink", lambda: os.chmod(inside, st.st_mode & 0o7777) or "changed")
    os.remove(inside)
    absent("hard-link", lambda: os.link(outside, inside) or "linked")
    attempt("device", os.mknod, inside, 0o20600, os.makedev(1, 1))
    absent("disk", read, facts["disk"])
    absent("memory", read, "/dev/mem")
    absent("kernel", read, "/proc/kcore")
    keys = os.path.join(user, ".ai/config/keys")
    absent("key", lambda: os.listdir(facts["keys"]) or None)
    absent("key-by-root", lambda: os.listdir("/proc/self/root" + facts["keys"]) or None)
    attempt("trust", write, keys + "/trusted/0000000000000000.toml", os.O_CREAT)
    absent("trust-dir", lambda: os.rename(keys, keys + "2") or "renamed")
    attempt("state", lambda: os.mkdir(project + "/.ai/state/forged") or "made")
    attempt("state-chmod", lambda: os.chmod(project + "/.ai/state", 0o700) or "changed")
    attempt("sign", say, mount + "/sign", b"tool:t/allowed\n")
    attempt("spaces", write, mount + "/spaces/project/knowledge/planted.md", os.O_CREAT)
    attempt("spaces-write", say, mount + "/spaces/project/tools/t/allowed.sh", b"#")
    attempt("spaces-chmod", lambda: os.chmod(mount + "/spaces/project/tools", 0o755) or "changed")
    attempt("spaces-remove", lambda: os.remove(mount + "/spaces/project/tools/t/allowed.sh") or "removed")
    attempt("run", say, mount + "/tools/t/allowed/run", b"{}\n")
    print("shm", "held" if not os.listdir("/dev/shm") else "DONE")
    for path in project + "/own", os.environ["TMPDIR"] + "/own", "/dev/shm/own":
        open(path, "w").close()
        os.chmod(path, 0o600)
        os.utime(path)
        os.remove(path)


def set_ids():
    """Files that lend their owner's rights to whoever starts them, by all that gives a file its mode."""
    here = os.path.join(project, "lent")
    os.mkdir(here)
    file = os.path.join(here, "file")
    fd = os.open(file, os.O_RDWR | os.O_CREAT, 0o755)
    at = os.open(here, os.O_RDONLY)
    how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_WRONLY | os.O_CREAT, 0o4755, 0))
    for bits in 0o4755, 0o2755, 0o6755, 0o4000:
        name = oct(bits) + "-"
        new = os.path.join(here, name).encode()
        attempt(name + "chmod", lambda: os.chmod(file, bits) or "changed")
        attempt(name + "fchmod", lambda: os.fchmod(fd, bits) or "changed")
        attempt(name + "fchmodat", lambda: os.chmod("file", bits, dir_fd=at) or "changed")
        attempt(name + "fchmodat2", call, "fchmodat2", at, b"file", bits, 0)
        attempt(name + "open", lambda: os.open(new + b"o", os.O_WRONLY | os.O_CREAT, bits))
        attempt(name + "open-excl", lambda: os.open(new + b"x", os.O_CREAT | os.O_EXCL, bits))
        attempt(name + "openat", lambda: os.open(b"a", os.O_WRONLY | os.O_CREAT, bits, dir_fd=at))
        attempt(name + "tmpfile", lambda: os.open(here, os.O_WRONLY | os.O_TMPFILE, bits))
        attempt(name + "mkdir", lambda: os.mkdir(new + b"d", bits) or "made")
        attempt(name + "mknod", lambda: os.mknod(new + b"n", 0o100000 | bits) or "made")
        attempt(name + "mknodat", lambda: os.mknod(b"m", 0o100000 | bits, dir_fd=at) or "made")
        for old, number in () if arm else (("creat", 85), ("open", 2), ("mknod", 133), ("chmod", 90)):
            words = {"open": (65, bits), "mknod": (0o100000 | bits, 0)}.get(old, (bits, 0))
            NUMBERS["old-" + old] = number, 0
            attempt(name + "old-" + old, call, "old-" + old, file.encode() if old == "chmod" else new + b"y", *words)
    attempt("openat2", call, "openat2", -100, os.path.join(here, "2").encode(), how, 24)
    left = [n for n in os.listdir(here) if os.stat(os.path.join(here, n)).st_mode & 0o6000]
    print("none is left", "held" if not left else "DONE %r" % left)
    # what is no such bit is the tool's own
    for bits in 0o755, 0o1777, 0o600:
        os.chmod(file, bits)
    os.mkdir(os.path.join(here, "d"), 0o1777)
    os.close(fd)
    os.close(at)
    subprocess.run(["rm", "-r", here], check=True)


def thread():
    """The thread that the tool works for: its records, its runner's ear, its money, others to start."""
    state = project + "/.ai/state/threads"
    lane = os.path.join(state, facts["thread"])
    name = facts["thread"] + "/" + max(os.listdir(lane), key=lambda n: os.stat(os.path.join(lane, n)).st_mtime)
    own, seen = os.path.join(state, name), os.path.join(mount, "state/threads", name)
    for entry in ("thread.json", "request.json", "transcript.jsonl", "live", "spawn.log", "capabilities.md",
                  "../../registry.db", "../../budget_ledger.db"):
        attempt("own-" + entry, write, os.path.join(own, entry))
    attempt("own-replace", lambda: os.rename(own + "/thread.json", own + "/old.json") or "renamed")
    attempt("own-mark", write, own + "/.cancel", os.O_CREAT)
    attempt("own-remove", lambda: os.rmdir(own) or "removed")
    for words in b"limit spend=9", b"say do more", b"cancel", b"kill", b"resume again", b"delete":
        attempt("ctl-" + words.split()[0].decode(), say, seen + "/ctl", words + b"\n")
    attempt("ctl-all", say, mount + "/state/threads/ctl", b"cancel-all\n")
    attempt("new", say, mount + "/state/threads/new", b"directive:" + facts["thread"].encode() + b"\n")
    for path in facts["may"]:
        attempt("run " + path, say, mount + "/" + path, b"{}\n")
    attempt("execute", say, mount + "/execute", b'{"item_id": "tool:t/allowed"}\n')
    attempt("resume", say, mount + "/execute", json.dumps({"resume_thread_id": name, "message": "x"}).encode() + b"\n")
    attempt("call", write, mount + "/tools/t/allowed/calls/x/request.json", os.O_CREAT)
    for runtime in facts["runtime"]:
        absent("ears " + runtime, lambda: os.listdir(runtime) or None)
    for verb in (("sign", "tool:t/allowed"), ("threads", "cancel", name), ("threads", "resume", name, "x"),
                 ("trust", "self"), ("keygen", "--force")):
        done = subprocess.run([facts["ryefs"], *verb, "--project", project, "--user", user], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        print("ryefs-" + "-".join(verb[:2]), "held" if done.returncode else "DONE %.200r" % done.stdout)
    print("key-of-the-model", "held" if not [v for v in os.environ.values() if facts["secret"] in v] else "DONE")


for part in processes, machine, sockets, set_ids, files, *([thread] if "thread" in facts else []):
    part()
print("tried it all")
