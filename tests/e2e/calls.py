# SPDX-License-Identifier: MIT
# calls.py ITEM LOG: what programs with file tools alone do to save calls/NAME/request.json of the
# item whose directory ITEM is, a tool that answers with its parameters and adds a line to LOG at
# each run: one run for each save, its reply under its name, the request's bytes read back.
import errno
import json
import os
import sys
import threading
import time

item, log = sys.argv[1:]
made = 0


def runs():
    try:
        with open(log) as f:
            return len(f.readlines())
    except FileNotFoundError:
        return 0


def name(what):
    global made
    made += 1
    return "%s-%d" % (what, made)


def request(call):
    return "%s/calls/%s/request.json" % (item, call)


def reply(call):
    with open("%s/replies/%s/output" % (item, call)) as f:
        return f.read()


def said(call):
    """What the tool was given."""
    text = reply(call)
    return json.loads(text[4:])["who"] if text.startswith("got ") else text


def code(work, *args):
    """0, or the errno's name."""
    try:
        work(*args)
    except OSError as e:
        return errno.errorcode[e.errno]
    return 0


def put(path, data, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC, piece=1 << 19, mode=0o666):
    fd = os.open(path, flags, mode)
    try:
        for at in range(0, len(data), piece):
            os.write(fd, data[at : at + piece])
    finally:
        os.close(fd)


# ---- how clients save ----


def in_place(path, data):
    put(path, data)


def in_pieces(path, data):
    put(path, data, piece=7)


def by_replace(path, data):
    """A temporary name beside it, flushed, with its mode, renamed; then the size is compared."""
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644
    temporary = "%s.tmp.%d.%d" % (path, os.getpid(), time.time_ns())
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    os.write(fd, data)
    os.fchmod(fd, mode)
    os.fsync(fd)
    os.close(fd)
    assert os.stat(temporary).st_mode & 0o777 == mode
    os.chmod(temporary, mode)
    try:
        os.rename(temporary, path)
    except OSError as e:
        if e.errno not in (errno.EXDEV, errno.EPERM, errno.EEXIST, errno.EBUSY):
            os.unlink(temporary)
            raise
        put(path, data)
    assert os.stat(path).st_size == len(data)
    assert not os.path.exists(temporary)


def exclusive(path, data):
    """Made if it is not there, else replaced."""
    try:
        put(path, data, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        by_replace(path, data)


def by_link(path, data):
    temporary = path + ".link"
    put(temporary, data)
    if os.path.exists(path):
        os.unlink(path)
    os.link(temporary, path)
    os.unlink(temporary)


def over(path, data):
    """Written over what is there, cut afterwards."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    os.write(fd, data)
    os.ftruncate(fd, len(data))
    os.fsync(fd)
    os.close(fd)


def with_backup(path, data):
    """As vim does: tries the directory, renames the old one away, writes anew, drops the backup."""
    probe = os.path.dirname(path) + "/4913"
    put(probe, b"", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.chown(probe, os.getuid(), os.getgid())
    os.unlink(probe)
    if os.path.exists(path):
        os.rename(path, path + "~")
    put(path, data)
    if os.path.exists(path + "~"):
        os.unlink(path + "~")


def buffered(path, data):
    with open(path, "wb") as f:
        f.write(data)


def marked(path, data):
    put(path, b"\xef\xbb\xbf" + data)


# ---- each of them: one run, its own reply, the same bytes read back ----


def save(way, call, value):
    data = json.dumps({"who": value}, indent=2).encode() + b"\n"
    before = runs()
    way(request(call), data)
    assert runs() == before + 1, (way.__name__, runs() - before)
    assert said(call) == value, (way.__name__, reply(call))
    with open(request(call), "rb") as f:
        got = f.read()
    assert got == (b"\xef\xbb\xbf" if way is marked else b"") + data, (way.__name__, got)
    with open("%s/replies/%s/reply.json" % (item, call)) as f:
        assert json.load(f)["status"] == "success"


ways = [in_place, in_pieces, by_replace, exclusive, by_link, over, with_backup, buffered, marked]
for way in ways:
    call = name(way.__name__)
    assert code(os.stat, request(call)) == "ENOENT"
    assert code(reply, call) == "ENOENT"
    # anew, longer, shorter, the same again: each time it is saved it runs
    for value in ("one", "a longer one " * 50, "two", "two"):
        save(way, call, value)
    assert os.listdir("%s/calls/%s" % (item, call)) == ["request.json"], way.__name__
print("ok - %d ways to save run once each" % len(ways))

big = "big " * 300000
for way in (in_place, by_replace, in_pieces):
    if way is not in_pieces:
        save(way, name("big"), big)

# ---- what one open file does ----

call = name("again")
os.makedirs("%s/calls/%s" % (item, call), exist_ok=True)
before = runs()
fd = os.open(request(call), os.O_RDWR | os.O_CREAT | os.O_TRUNC)
os.write(fd, b'{"who": 1}')
os.pwrite(fd, b'{"who": 1}', 0)
os.ftruncate(fd, 0)
os.pwrite(fd, b'{"who": 1}\n', 0)
assert runs() == before + 1
os.pwrite(fd, b'{"who": 2}', 0)
assert runs() == before + 2
os.pwrite(fd, b"\n", 10)
assert runs() == before + 2
with open(request(call)) as f:
    assert f.read() == '{"who": 2}\n'
assert code(os.pwrite, fd, b'{"who": 3}', 11) == "EINVAL"
os.close(fd)
os.truncate(request(call), 0)
os.utime(request(call))
os.chmod(request(call), 0o600)
assert runs() == before + 2
print("ok - the same bytes through one open file run once, truncation runs nothing")

# ---- failures carry their verdict, once ----

for way in (in_place, by_replace, by_link):
    call = name("fails")
    before = runs()
    got = code(way, request(call), b'{"who": "nobody", "fail": true}')
    assert got == "EREMOTEIO", (way.__name__, got)
    assert runs() == before + 1, way.__name__
    assert '"status":"error"' in open("%s/replies/%s/reply.json" % (item, call)).read()
    save(way, call, "better")

# python writes again, from its destructor, what could not be written
call = name("destructor")
before = runs()
f = open(request(call), "wb")
f.write(b'{"fail": true}')
assert code(f.close) == "EREMOTEIO"
del f
assert runs() == before + 1

broken = {
    b"": "empty",
    b"command: ls\n": "one JSON object",
    b"{a: 1}\n": "JSON",
    b'{"who": 1} {"who": 2}': "more than one",
    b'{"who": ]': "broken",
    b'{"who": "x": 1}': "",
    b'{"status":"error","error":"x"}': "a reply",
    b'{"status":"success","metadata":{"duration_ms":1}}': "a reply",
    b'{"who": 1': "unfinished",
    b'{"who": "\0"}': "",
}
before = runs()
for text, why in broken.items():
    call = name("broken")
    temporary = request(call) + ".tmp"
    put(temporary, text)
    assert code(os.rename, temporary, request(call)) == "EINVAL", text
    assert why in reply(call), (text, reply(call))
    os.unlink(temporary)
    if text and why != "unfinished":
        assert code(in_place, request(call), text) == "EINVAL", text
assert runs() == before
print("ok - what is no message runs nothing and says why")

# 16 MiB is the most
huge = b'{"who": "' + b"x" * (16 << 20) + b'"}'
assert code(in_place, request(name("huge")), huge) == "EFBIG"
assert code(in_place, request(name("huge")) + ".tmp", huge) == "EFBIG"
assert runs() == before

# ---- no rename is answered with what makes a client write again ----

call = name("renames")
here = "%s/calls/%s/" % (item, call)
put(here + "a", b'{"who": 1}')
os.rename(here + "a", here + "b")
assert code(os.rename, here + "a", here + "request.json") == "ENOENT"
assert code(os.rename, here + "b", "%s/calls/%s/request.json" % (item, name("other"))) == "EINVAL"
assert code(os.symlink, "b", here + "c") == "EPERM"
assert code(os.mkdir, here + "d") == "EPERM"
assert code(os.rmdir, here[:-1]) in ("EROFS", "ENOTEMPTY")
assert code(os.mkdir, here[:-1]) == "EEXIST"
assert os.listdir(here) == ["b"], os.listdir(here)
os.rename(here + "b", here + "request.json")
os.rename(here + "request.json", here + "saved")
assert code(os.stat, here + "request.json") == "ENOENT"
os.unlink(here + "saved")
for bad in ("é", "a b", "x" * 65, "a:b", "a\\b"):
    assert code(os.mkdir, "%s/calls/%s" % (item, bad)) == "EINVAL", bad
    assert code(os.stat, "%s/calls/%s" % (item, bad)) == "ENOENT", bad
for good in ("..a", "A-b_c.9", "x" * 64, "execute"):
    assert code(os.mkdir, "%s/calls/%s" % (item, good)) == "EEXIST", good
# beside run itself nothing can be made
assert code(put, item + "/run.tmp", b"{}") == "EROFS"
print("ok - names")

# ---- six at a time ----

rounds = 25
faults = []


def task(n):
    for i in range(rounds):
        call = "task-%d" % n
        value = "task %d, round %d" % (n, i)
        ways[(n + i) % len(ways)](request(call), json.dumps({"who": value}).encode())
        if said(call) != value:
            faults.append((value, reply(call)))


before = runs()
tasks = [threading.Thread(target=task, args=(n,)) for n in range(6)]
for t in tasks:
    t.start()
for t in tasks:
    t.join()
assert not faults, faults[:3]
assert runs() == before + 6 * rounds, runs() - before
print("ok - six threads of one process, %d rounds each" % rounds)

# ---- the newest 64 are kept ----

for n in range(65):
    in_place(request("kept-%d" % n), b'{"who": %d}' % n)
assert code(os.stat, request("kept-0")) == "ENOENT"
assert code(reply, "kept-0") == "ENOENT"
for n in (1, 64):
    assert said("kept-%d" % n) == n
assert len(os.listdir(item + "/replies")) == 64
print("ok - the 65th name is the end of the oldest")
