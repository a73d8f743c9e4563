#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# spaces/: the sources, passed through. What POSIX says of files and directories must hold.
. "$(dirname "$0")/lib.sh"

mkdir -p "$S/.ai/tools/vec" "$U/.ai/config/keys/signing" "$P/.ai/state/threads" "$P/.ai/config/keys/trusted"
cp "$SRC/vectors/binding/b8.sh" "$S/.ai/tools/vec/"
echo secret >"$U/.ai/config/keys/signing/private_key.pem"
echo 'KEY=secret' >"$P/.ai/.env"
put tools/vec/old.sh 'old'
mount_rye
A=$M/spaces/project
B=$P/.ai

# ---- files ----
ok "create" sh -c "echo one > '$A/tools/vec/a.sh'"
is "it is on the disk" "$(<"$B/tools/vec/a.sh")" one
ok "append" sh -c "echo two >> '$A/tools/vec/a.sh'"
is "both lines" "$(cat "$B/tools/vec/a.sh" | tr '\n' ' ')" "one two "
is "through the mount" "$(cat "$A/tools/vec/a.sh" | tr '\n' ' ')" "one two "
ok "truncate by >" sh -c "echo three > '$A/tools/vec/a.sh'"
is "only the new bytes" "$(<"$B/tools/vec/a.sh")" three
ok "truncate(2)" truncate -s 100000 "$A/tools/vec/a.sh"
is "a hole reads as zeros" "$(tail -c +7 "$A/tools/vec/a.sh" | tr -d '\0' | wc -c)" 0
is "st_size" "$(stat -c %s "$A/tools/vec/a.sh")" 100000
ok "mode" chmod 640 "$A/tools/vec/a.sh"
is "on the disk" "$(stat -c %a "$B/tools/vec/a.sh")" 640
ok "times" touch -d '2020-01-02 03:04:05.123456789' "$A/tools/vec/a.sh"
is "to the nanosecond" "$(stat -c %y "$B/tools/vec/a.sh" | cut -c1-29)" "2020-01-02 03:04:05.123456789"
ok "rename over" mv "$A/tools/vec/a.sh" "$A/tools/vec/old.sh"
not_ok "the old name is gone" test -e "$A/tools/vec/a.sh"
is "the new one has the size" "$(stat -c %s "$B/tools/vec/old.sh")" 100000
ok "unlink" rm "$A/tools/vec/old.sh"
not_ok "gone" test -e "$B/tools/vec/old.sh"
errno "unlink again" ENOENT rm "$A/tools/vec/old.sh"
errno "O_EXCL of what is there" EEXIST python3 -c "
import os,sys
p=sys.argv[1]; os.close(os.open(p,os.O_CREAT|os.O_EXCL)); os.open(p,os.O_CREAT|os.O_EXCL)" "$A/tools/x"
rm "$B/tools/x"

cat >"$T/posix.py" <<'PY'
import errno, fcntl, mmap, os, stat, sys, threading
A, B = sys.argv[1], sys.argv[2]
def raises(code, f, *a, **k):
    try:
        f(*a, **k)
    except OSError as e:
        assert e.errno == code, (e, errno.errorcode[code])
    else:
        assert False, "no " + errno.errorcode[code]
def t_mode_0444():
    fd = os.open(A + "/m", os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o444)
    os.write(fd, b"hello"); os.lseek(fd, 0, 0)
    assert os.read(fd, 10) == b"hello"
    os.ftruncate(fd, 2); os.close(fd)
    assert open(B + "/m").read() == "he" and os.stat(B + "/m").st_mode & 0o777 == 0o444
    os.unlink(A + "/m")
def t_mode_dropped_while_open():
    fd = os.open(A + "/m", os.O_CREAT | os.O_RDWR, 0o644)
    os.close(fd)
    fd = os.open(A + "/m", os.O_RDWR)
    os.fchmod(fd, 0)
    os.write(fd, b"x" * 10000); os.close(fd)
    assert os.stat(B + "/m").st_size == 10000 and os.stat(B + "/m").st_mode & 0o777 == 0
    os.unlink(A + "/m")
def t_umask():
    old = os.umask(0o027)
    os.close(os.open(A + "/m", os.O_CREAT | os.O_WRONLY, 0o777)); os.mkdir(A + "/d", 0o777)
    os.umask(old)
    assert os.stat(B + "/m").st_mode & 0o777 == 0o750 and os.stat(B + "/d").st_mode & 0o777 == 0o750
    os.unlink(A + "/m"); os.rmdir(A + "/d")
def t_unlinked_open():
    fd = os.open(A + "/m", os.O_CREAT | os.O_RDWR, 0o644)
    os.write(fd, b"abc"); os.unlink(A + "/m"); os.write(fd, b"def")
    assert os.pread(fd, 10, 0) == b"abcdef" and os.fstat(fd).st_nlink == 0
    os.ftruncate(fd, 1); assert os.fstat(fd).st_size == 1
    os.fchmod(fd, 0o600); os.close(fd)
    assert not os.path.exists(B + "/m")
def t_links():
    open(A + "/m", "w").write("x")
    os.link(A + "/m", A + "/n")
    assert os.stat(A + "/m").st_nlink == 2 and os.stat(A + "/m").st_ino == os.stat(A + "/n").st_ino
    open(A + "/n", "a").write("y")
    assert open(A + "/m").read() == "xy"
    os.unlink(A + "/m"); assert os.stat(A + "/n").st_nlink == 1
    os.unlink(A + "/n")
    os.symlink("../some/where", A + "/s")
    assert os.readlink(A + "/s") == "../some/where" and os.readlink(B + "/s") == "../some/where"
    os.link(A + "/s", A + "/s2", follow_symlinks=False)
    assert os.readlink(B + "/s2") == "../some/where"
    os.utime(A + "/s", ns=(5, 7), follow_symlinks=False)
    assert os.lstat(B + "/s").st_mtime_ns == 7
    raises(errno.EEXIST, os.symlink, "x", A + "/s")
    raises(errno.EEXIST, os.link, A + "/s", A + "/s2", follow_symlinks=False)
    os.unlink(A + "/s"); os.unlink(A + "/s2")
def t_dirs():
    os.mkdir(A + "/d"); os.mkdir(A + "/d/e")
    raises(errno.ENOTEMPTY, os.rmdir, A + "/d")
    raises(errno.EEXIST, os.mkdir, A + "/d")
    raises(errno.EISDIR, os.unlink, A + "/d")
    open(A + "/f", "w").close()
    raises(errno.ENOTDIR, os.rmdir, A + "/f")
    raises(errno.ENOTDIR, os.mkdir, A + "/f/g")
    raises(errno.EINVAL, os.rename, A + "/d", A + "/d/e/x")
    raises(errno.ENOTEMPTY, os.rename, A + "/d/e", A + "/d") if False else None
    os.rename(A + "/d/e", A + "/e"); assert os.path.isdir(B + "/e")
    os.rmdir(A + "/e"); os.rmdir(A + "/d"); os.unlink(A + "/f")
    raises(errno.ENAMETOOLONG, os.mkdir, A + "/" + "x" * 256)
    os.mkdir(A + "/" + "x" * 255); os.rmdir(B + "/" + "x" * 255)
    os.mkdir(A + "/setgid"); os.chmod(A + "/setgid", 0o2775)
    assert os.stat(B + "/setgid").st_mode & 0o7777 == 0o2775
    os.rmdir(A + "/setgid")
def t_rename_flags():
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    def renameat2(a, b, flags):
        if libc.renameat2(-100, a.encode(), -100, b.encode(), flags):
            raise OSError(ctypes.get_errno(), "renameat2")
    open(A + "/a", "w").write("a"); open(A + "/b", "w").write("b")
    raises(errno.EEXIST, renameat2, A + "/a", A + "/b", 1)
    renameat2(A + "/a", A + "/b", 2)
    assert open(A + "/a").read() == "b" and open(B + "/b").read() == "a"
    renameat2(A + "/a", A + "/c", 1); assert open(A + "/c").read() == "b"
    os.unlink(A + "/b"); os.unlink(A + "/c")
def t_open_rename():
    fd = os.open(A + "/a", os.O_CREAT | os.O_RDWR, 0o644)
    os.rename(A + "/a", A + "/b"); os.write(fd, b"1")
    fd2 = os.open(A + "/a", os.O_CREAT | os.O_RDWR, 0o644); os.write(fd2, b"22")
    os.rename(A + "/a", A + "/b"); os.write(fd, b"3")
    assert os.pread(fd, 9, 0) == b"13" and os.pread(fd2, 9, 0) == b"22" and open(B + "/b").read() == "22"
    os.close(fd); os.close(fd2); os.unlink(A + "/b")
def t_big():
    data = os.urandom(5 << 20)
    with open(A + "/big", "wb") as f: f.write(data)
    assert open(B + "/big", "rb").read() == data and open(A + "/big", "rb").read() == data
    with open(A + "/big", "r+b") as f:
        f.seek(12345); f.write(b"hello"); f.flush()
        assert os.pread(f.fileno(), 5, 12345) == b"hello"
    assert open(B + "/big", "rb").read() == data[:12345] + b"hello" + data[12350:]
    os.unlink(A + "/big")
def t_append():
    open(A + "/l", "w").write("1\n")
    fd = os.open(A + "/l", os.O_WRONLY | os.O_APPEND)
    os.write(fd, b"2\n")
    with open(B + "/l", "a") as f: f.write("outside\n")
    os.write(fd, b"3\n")
    assert open(B + "/l").read() == "1\n2\noutside\n3\n", open(B + "/l").read()
    with open(B + "/l", "a") as f: f.write("again\n")
    os.write(fd, b"4\n"); os.close(fd)
    want = "1\n2\noutside\n3\nagain\n4\n"
    assert open(B + "/l").read() == want
    assert open(A + "/l").read() == want, open(A + "/l").read()
    os.unlink(A + "/l")
def t_append_race():
    open(A + "/l", "w").close()
    def inside(k):
        fd = os.open(A + "/l", os.O_WRONLY | os.O_APPEND)
        for i in range(150): os.write(fd, b"in%d-%03d\n" % (k, i))
        os.close(fd)
    def outside():
        fd = os.open(B + "/l", os.O_WRONLY | os.O_APPEND)
        for i in range(300): os.write(fd, b"out-%03d\n" % i)
        os.close(fd)
    ts = [threading.Thread(target=inside, args=(k,)) for k in (1, 2)] + [threading.Thread(target=outside)]
    [t.start() for t in ts]; [t.join() for t in ts]
    lines = open(B + "/l").read().split("\n")[:-1]
    assert len(lines) == 600 and len(set(lines)) == 600, (len(lines), len(set(lines)))
    assert open(A + "/l").read().split("\n")[:-1] == lines
    os.unlink(A + "/l")
def t_mmap():
    open(A + "/mm", "wb").write(b"a" * 8192)
    with open(A + "/mm", "r+b") as f:
        m = mmap.mmap(f.fileno(), 0); m[4096:4101] = b"hello"; m.flush(); m.close()
    assert open(B + "/mm", "rb").read() == b"a" * 4096 + b"hello" + b"a" * 4091
    os.unlink(A + "/mm")
def t_fallocate():
    fd = os.open(A + "/fa", os.O_CREAT | os.O_RDWR, 0o644)
    os.posix_fallocate(fd, 0, 65536); assert os.fstat(fd).st_size == 65536 == os.stat(B + "/fa").st_size
    os.fsync(fd); os.fdatasync(fd); os.close(fd); os.unlink(A + "/fa")
def t_copy_file_range():
    open(A + "/c1", "wb").write(b"0123456789" * 1000)
    i, o = os.open(A + "/c1", os.O_RDONLY), os.open(A + "/c2", os.O_CREAT | os.O_RDWR, 0o644)
    n = os.copy_file_range(i, o, 10000); assert n == 10000
    assert open(B + "/c2", "rb").read() == b"0123456789" * 1000 == open(A + "/c2", "rb").read()
    os.unlink(A + "/c1"); os.unlink(A + "/c2")
def t_special():
    os.mkfifo(A + "/fifo", 0o600); assert stat.S_ISFIFO(os.stat(B + "/fifo").st_mode)
    got = []
    t = threading.Thread(target=lambda: got.append(open(A + "/fifo").read())); t.start()
    open(A + "/fifo", "w").write("through"); t.join(); assert got == ["through"]
    os.unlink(A + "/fifo")
    import socket
    s = socket.socket(socket.AF_UNIX); os.chdir(A); s.bind("sock"); s.listen(1)
    c = socket.socket(socket.AF_UNIX); c.connect("sock"); c.close(); s.close(); os.unlink("sock"); os.chdir("/")
def t_locks():
    f, g = open(A + "/lock", "w"), open(A + "/lock", "w")
    fcntl.flock(f, fcntl.LOCK_EX); raises(errno.EAGAIN, fcntl.flock, g, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(f, fcntl.LOCK_UN); fcntl.flock(g, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.unlink(A + "/lock")
def t_outside_edit():
    open(A + "/e", "w").write("11111"); assert open(A + "/e").read() == "11111"
    for i in range(30):
        want = "%05d" % i
        with open(B + "/e", "r+") as f: f.write(want)
        fd = os.open(A + "/e", os.O_RDONLY)
        import time
        end = time.time() + 3
        while os.pread(fd, 10, 0).decode() != want and time.time() < end:
            os.close(fd); time.sleep(0.002); fd = os.open(A + "/e", os.O_RDONLY)
        assert os.pread(fd, 10, 0).decode() == want, (want, os.pread(fd, 10, 0)); os.close(fd)
    os.unlink(A + "/e")
def t_readdir():
    d = A + "/many"; os.mkdir(d)
    names = set("f%05d" % i for i in range(3000))
    for n in names: os.close(os.open(d + "/" + n, os.O_CREAT | os.O_WRONLY, 0o644))
    assert set(os.listdir(d)) == names and len(os.listdir(d)) == 3000
    import subprocess
    subprocess.check_call(["rm", "-rf", d]); assert not os.path.exists(B + "/many")
def t_access():
    open(A + "/x", "w").write("#!/bin/sh\nexit 7\n"); os.chmod(A + "/x", 0o755)
    import subprocess
    assert subprocess.call([A + "/x"]) == 7
    os.chmod(A + "/x", 0o644); raises(errno.EACCES, os.execv, A + "/x", ["x"])
    os.unlink(A + "/x")
def t_statvfs():
    a, b = os.statvfs(A), os.statvfs(B); assert a.f_blocks == b.f_blocks and a.f_namemax == 255
def t_nosuid():
    assert os.statvfs(A).f_flag & (os.ST_NOSUID | os.ST_NODEV) == os.ST_NOSUID | os.ST_NODEV
def t_chown():
    if os.geteuid(): return
    open(A + "/o", "w").close(); os.chown(A + "/o", 1, 2); st = os.stat(B + "/o")
    assert (st.st_uid, st.st_gid) == (1, 2); os.chown(A + "/o", -1, 3); assert os.stat(A + "/o").st_gid == 3
    os.unlink(A + "/o")
def t_sparse_write():
    fd = os.open(A + "/sp", os.O_CREAT | os.O_RDWR, 0o644); os.pwrite(fd, b"end", 1 << 20)
    assert os.lseek(fd, 0, os.SEEK_DATA) > 0 and os.pread(fd, 4, 100) == b"\0" * 4
    os.close(fd); os.unlink(A + "/sp")
def t_seekdir():
    d = A + "/sd"; os.mkdir(d)
    for i in range(500): os.close(os.open("%s/%d" % (d, i), os.O_CREAT | os.O_WRONLY, 0o644))
    import ctypes
    libc = ctypes.CDLL(None); libc.opendir.restype = ctypes.c_void_p; libc.telldir.restype = ctypes.c_long
    libc.readdir.restype = ctypes.c_void_p
    for f in (libc.readdir, libc.telldir, libc.closedir): f.argtypes = [ctypes.c_void_p]
    libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
    h = libc.opendir(d.encode()); seen = []
    while True:
        pos = libc.telldir(h); e = libc.readdir(h)
        if not e: break
        seen.append((pos, ctypes.string_at(e + 19)))
    assert len(seen) == 502 and len(set(n for _, n in seen)) == 502
    for pos, name in seen[::37]:
        libc.seekdir(h, pos); e = libc.readdir(h); assert ctypes.string_at(e + 19) == name
    libc.closedir(h)
    for i in range(500): os.unlink("%s/%d" % (d, i))
    os.rmdir(d)
name = sys.argv[3]
globals()[name]()
PY
for t in $(grep -o '^def t_[a-z_0-9]*' "$T/posix.py" | cut -c5-); do
  ok "posix: ${t#t_}" timeout 30 python3 "$T/posix.py" "$A/tools" "$B/tools" "$t"
done

# ---- editors and tools ----
put tools/ed.sh 'alpha
beta
'
ok "sed -i" sed -i s/alpha/gamma/ "$A/tools/ed.sh"
is "edited" "$(head -1 "$B/tools/ed.sh")" gamma
ok "cp -p, mv, tar" sh -c "cp -p '$A/tools/ed.sh' '$A/tools/ed2.sh' && tar -C '$A' -cf - tools | tar -tf - >/dev/null"
ok "git in a space" sh -c "cd '$A' && git init -q . && git add tools && git -c user.name=x -c user.email=x commit -qm x && git status --short && git fsck && rm -rf .git"
ok "a write through the mount shows in the merged tree" until_true test -L "$M/tools/ed2.sh"
ok "an unlink through the mount too" sh -c "rm '$A/tools/ed2.sh'; for i in 1 2 3 4 5 6 7 8 9 10; do test -L '$M/tools/ed2.sh' || exit 0; sleep 0.1; done; exit 1"

# ---- what is hidden or protected ----
not_ok "state is not there" test -e "$A/state"
not_ok "private keys are not there" test -e "$M/spaces/user/config/keys/signing"
not_ok ".env is not there" test -e "$A/.env"
is "nor listed" "$(ls -A "$A" | tr '\n' ' ')$(ls -A "$M/spaces/user/config/keys" | tr '\n' ' ')" \
  "config directives knowledge tools trusted "
errno "nor made" EACCES mkdir "$A/state"
errno "nor written" EACCES sh -c "echo x > '$A/.env'"
errno "trusted keys are read-only" "$NOWRITE" sh -c "echo x > '$M/spaces/user/config/keys/trusted/new.toml'"
errno "trusted keys stay" "$NOWRITE" rm -f "$M/spaces/user/config/keys/trusted/f0ff50dacf109dea.toml"
errno "config keeps its name" EACCES mv "$M/spaces/user/config" "$M/spaces/user/c2"
errno "keys keep theirs" EACCES mv "$M/spaces/user/config/keys" "$M/spaces/user/config/k2"
errno "nothing is renamed into a hidden name" EACCES mv "$A/tools/ed.sh" "$A/state"
errno "the system space is read-only" "$NOWRITE" rm -f "$M/spaces/system/system/tools/vec/b8.sh"
errno "also to new files" "$NOWRITE" sh -c "echo x > '$M/spaces/system/system/tools/x.sh'"
errno "also to existing ones" "$NOWRITE" sh -c "echo x > '$M/spaces/system/system/tools/vec/b8.sh'"
is "modes say so" "$(stat -c %A "$M/spaces/system/system/tools/vec/b8.sh" | tr -d -c w)" ""
ok "its bytes are exact" cmp "$M/spaces/system/system/tools/vec/b8.sh" "$S/.ai/tools/vec/b8.sh"
not_ok "from the merged tree nothing is renamed into a space" mv "$M/tools/vec/b8.sh" "$A/tools/"
errno "across spaces" EXDEV python3 -c "import os,sys; os.rename(sys.argv[1],sys.argv[2])" "$A/tools/ed.sh" "$M/spaces/user/ed.sh"
ok "mv across spaces copies" mv "$A/tools/ed.sh" "$M/spaces/user/ed.sh"
ok "cp from the merged tree" cp "$M/tools/vec/b8.sh" "$A/tools/copy.sh"
ok "the same bytes" cmp "$B/tools/copy.sh" "$S/.ai/tools/vec/b8.sh"

# ---- a root that goes and comes ----
mv "$S/.ai" "$S/away"
ok "a bundle whose root has gone is not there" until_true sh -c "! stat '$M/spaces/system/system'"
errno "and says that" ENOENT ls "$M/spaces/system/system/tools"
is "nor listed" "$(ls "$M/spaces/system" | grep -x system)" ""
mv "$S/away" "$S/.ai"
ok "it comes back" until_true cmp "$M/spaces/system/system/tools/vec/b8.sh" "$S/.ai/tools/vec/b8.sh"
mv "$U/.ai" "$U/away"
ok "a user space that has gone is not there" until_true sh -c "! stat '$M/spaces/user'"
is "nor listed" "$(ls "$M/spaces" | tr '\n' ' ')" "project system "
mv "$U/away" "$U/.ai"
ok "it comes back, too" until_true test -d "$M/spaces/user/config"

# ---- another uid ----
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  errno "another uid sees nothing without allow_other" EACCES setpriv --reuid 65534 --clear-groups ls "$M/"
fi
finish
