#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# evicted.sh: the kernel forgets the pages of conversations between their messages, as it does when
# memory is short. Then a writer holds its page locked until its message is answered, and what drops
# the page waits for that. Many at once: each read has the whole reply, never nothing and never
# other bytes.
. "$(dirname "$0")/fixture.sh"
fx_spaces
# whose process costs a tenth of what the bundle's own shell does, which is Python's
# shellcheck disable=SC2016
fx_tool "$P" says '# parameters: [{name: command, type: string, required: true}]' \
  "IFS='\"' read -r _ _ _ command _" '$command'
fx_sign "$P" tool:says
fx_mount

talks() {
  (cd "$M/tools/says" && timeout 60 "$PY" - "$@") <<'PYTHON'
import json, os, random, sys, threading
together, messages = int(sys.argv[1]), int(sys.argv[2])
wrong = []

def talk(number):
    chance = random.Random(number)
    fd = os.open("run", os.O_RDWR)
    for i in range(messages):
        word = "m%d-%d" % (number, i)
        # often enough that some are locked while others are there
        if chance.random() < 0.4:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.write(fd, json.dumps({"command": "echo " + word}).encode() + b"\n")
        got = os.read(fd, 65536)
        if b'"stdout":"%s' % word.encode() not in got or not got.endswith(b"}\n"):
            wrong.append((word, got[:80]))
            os.lseek(fd, 0, os.SEEK_END)
    os.close(fd)

threads = [threading.Thread(target=talk, args=(n,)) for n in range(together)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit("%d of %d: %s" % (len(wrong), together * messages, wrong[:3]) if wrong else 0)
PYTHON
}

ok "one conversation, pages evicted" talks 1 30
ok "twelve at once" talks 12 15
ok "forty at once" talks 40 5

# the kernel holds what drops a page of theirs until they end, if it is asked before
long_runs() {
  (cd "$M/tools/says" && timeout 60 "$PY" -) <<'PYTHON'
import json, os, subprocess, sys, threading, time

def say(fd, command):
    os.write(fd, json.dumps({"command": command}).encode() + b"\n")
    return os.read(fd, 65536)

slow = [os.open("run", os.O_RDWR) for _ in range(2)]
fds = [os.open("run", os.O_RDWR) for _ in range(4)]
for fd in slow + fds:
    say(fd, "echo first")
for fd in slow:
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
nap = "sleep 3.%d" % os.getpid()
threads = [threading.Thread(target=say, args=(fd, nap)) for fd in slow]
for thread in threads:
    thread.start()
for _ in range(200):
    if subprocess.run(["pgrep", "-cf", "^%s$" % nap.replace(".", "\\.")], stdout=subprocess.PIPE).stdout == b"%d\n" % len(slow):
        break
    time.sleep(0.01)
got = [say(fd, "echo again") for fd in fds]
assert threads[0].is_alive()
for thread in threads:
    thread.join()
assert all(b'"stdout":"again' in g for g in got), got
PYTHON
}
ok "long runs hold no other conversation" long_runs
finish
