#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# talk_messages.sh: hundreds of messages on one descriptor, replies read in between in four
# patterns: every one runs exactly as it was sent, whatever the page cache holds; two nodes run
# side by side; one open file written by two processes; mmap; a bounded wait.
. "$(dirname "$0")/talk_lib.sh"
start_talks

here() {
  ok "$1" timeout 60 /usr/bin/python3 -c "$2"
}

here "300 messages in each pattern" '
import json, os

def lines(fd):
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(fd, 1)
        if not byte:
            break
        line += byte
    return line

def big(fd):
    return os.read(fd, 65536)

def to_the_end(fd):
    got = b""
    while True:
        piece = os.read(fd, 4096)
        if not piece:
            return got
        got += piece

def seek_back(fd):
    got = b""
    while b"\n" not in got:
        got += os.read(fd, 100)
    n = got.index(b"\n") + 1
    os.lseek(fd, n - len(got), os.SEEK_CUR)
    return got[:n]

for pattern in (lines, big, to_the_end, seek_back):
    open(os.environ["LOG"], "w").close()
    fd = os.open("run", os.O_RDWR)
    sent = []
    for i in range(300):
        message = json.dumps({"n": i, "pad": "x" * (i * 37 % 900)})
        sent.append(message)
        assert os.write(fd, (message + "\n").encode()) == len(message) + 1
        got = json.loads(pattern(fd))
        assert got["echo"] == message, (pattern, i, got)
    os.close(fd)
    assert open(os.environ["LOG"]).read().splitlines() == sent, pattern
'

here "messages ahead of the reader, replies in order" '
import json, os
fd = os.open("run", os.O_RDWR)
read, sent = b"", 0
for i in range(400):
    os.write(fd, json.dumps({"n": i}).encode() + b"\n")
    if i % 7 == 3:
        read += os.read(fd, 50 + i)
while True:
    piece = os.read(fd, 65536)
    if not piece:
        break
    read += piece
assert [json.loads(json.loads(l)["echo"])["n"] for l in read.splitlines()] == list(range(400))
'

here "the same while the page cache is dropped" '
import json, os, threading
stop = False
def drop():
    while not stop:
        try:
            open("/proc/sys/vm/drop_caches", "w").write("1")
        except OSError:
            return
if os.environ.get("RYE_TEST_DROP_CACHES"):
    threading.Thread(target=drop).start()
open(os.environ["LOG"], "w").close()
fd = os.open("run", os.O_RDWR)
sent = []
for i in range(100):
    message = json.dumps({"n": i})
    sent.append(message)
    os.write(fd, message.encode() + b"\n")
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    assert json.loads(os.read(fd, 4096))["echo"] == message
stop = True
assert open(os.environ["LOG"]).read().splitlines() == sent
'

here "a reader of the same node waits for the run" '
import os, threading, time
open(os.environ["LOG"], "w").close()
for i in range(10):
    fd = os.open("run", os.O_RDWR | (os.O_TRUNC if i % 2 else 0))
    got = []
    def read():
        while open(os.environ["LOG"]).read().count("sleep") == i:  # the run has not begun
            time.sleep(0.01)
        with open("/dev/fd/%d" % fd, "rb") as f:
            got.append(f.read())
    thread = threading.Thread(target=read)
    thread.start()
    os.write(fd, b"{\"command\":\"sleep 0.2; echo hi\"}\n")
    thread.join()
    os.close(fd)
    assert got[0].endswith(b"\"output\":\"hi\\n\"}\n"), (i, got)
'

begin=$(date +%s%N)
for i in $(seq 8); do
  echo '{"command":"sleep 0.5"}' >run &
done
wait $(jobs -p | grep -vx "$DAEMON")
took=$((($(date +%s%N) - begin) / 1000000))
ok "eight at once took $took ms" [ "$took" -lt 2000 ]
: >"$LOG"

here "one open file, two processes: one after the other, both answered" '
import os, time
fd = os.open("run", os.O_RDWR)
begin = time.time()
if os.fork() == 0:
    os.write(fd, b"{\"command\":\"sleep 0.2; echo a\"}\n")
    os._exit(0)
os.write(fd, b"{\"command\":\"sleep 0.2; echo b\"}\n")
assert os.wait()[1] == 0 and time.time() - begin > 0.39
got = b""
while got.count(b"\n") < 2:
    got += os.read(fd, 4096)
assert got.count(b"success") == 2
'

here "mmap for writing: EINVAL at msync, nothing runs" '
import errno, mmap, os
open(os.environ["LOG"], "w").close()
fd = os.open("run", os.O_RDWR)
m = mmap.mmap(fd, 0)
m[0:2] = b"{}"
try:
    m.flush()
    raise SystemExit("msync succeeded")
except OSError as e:
    assert e.errno in (errno.EINVAL, errno.EIO), e
assert open(os.environ["LOG"]).read() == ""
'

here "O_DIRECT" '
import mmap, os
open(os.environ["LOG"], "w").close()
fd = os.open("run", os.O_WRONLY | os.O_DIRECT)
b = mmap.mmap(-1, 4096)
b.write(b"{\"direct\":" + b" " * 4000 + b"1}")
os.write(fd, memoryview(b)[:4012])
assert open(os.environ["LOG"]).read().count("direct") == 1
'

here "sendfile and copy" '
import os, tempfile
open(os.environ["LOG"], "w").close()
with tempfile.TemporaryFile() as f:
    f.write(b"{\"sent\":1}")
    f.flush()
    out = os.open("run", os.O_WRONLY)
    os.sendfile(out, f.fileno(), 0, 10)
assert open(os.environ["LOG"]).read() == "{\"sent\":1}\n"
'

stop_talks
start_talks 1
here "a bounded wait: EINPROGRESS, running, then the reply" '
import errno, os, time
fd = os.open("run", os.O_RDWR)
begin = time.time()
try:
    os.write(fd, b"{\"command\":\"sleep 1.6; echo late\"}\n")
    raise SystemExit("the write succeeded")
except OSError as e:
    assert e.errno == errno.EINPROGRESS, e
assert 0.9 < time.time() - begin < 1.5
assert open("run").read() == "{\"status\":\"running\",\"thread_id\":\"fake-thread\"}\n"
try:
    os.write(fd, b"{\"command\":\"sleep 1.6; echo late\"}\n")
    raise SystemExit("ran again")
except OSError as e:
    assert e.errno == errno.EINPROGRESS, e
assert os.read(fd, 4096) == b"{\"status\":\"success\",\"output\":\"late\\n\"}\n"
assert open("output").read() == "late\n"
assert open(os.environ["LOG"]).read().count("late") == 1
'

here "a reader who waited is told, and then waits for the end" '
import os
fd = os.open("run", os.O_RDWR)
try:
    os.write(fd, b"{\"command\":\"sleep 2.5; echo late\"}\n")
except OSError:
    pass
got = os.read(fd, 65536)
assert got.startswith(b"{\"status\":\"running\"") and got.endswith(b"}\n") is False, got
assert os.read(fd, 65536) == b"{\"status\":\"success\",\"output\":\"late\\n\"}\n"
'
end_talks
