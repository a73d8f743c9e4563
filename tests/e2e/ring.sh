#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ring.sh: FUSE over io_uring (-o io_uring): used where the kernel offers it and /dev/fuse where not;
# big messages, many that wait, signals that were there before the request, kills and unmounts. The
# kernel's parameter is Y only while a mount begins. RYE_ROUNDS: how often the daemon is killed (4).
. "$(dirname "$0")/fixture.sh"
MAY=/sys/module/fuse/parameters/enable_uring
DENIED=/proc/sys/kernel/io_uring_disabled
ROUNDS=${RYE_ROUNDS:-4}
allow 'io_uring is not used|left over|killed'

fx_spaces
fx_python "$P" t/where <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {}}
def execute(params, project_path):
    import os
    return {"success": True, "data": sorted(os.sched_getaffinity(0))}
CODE
fx_put "$P" tools/mcp/servers/peer.yaml <<ITEM
version: "1.0.0"
tool_type: mcp_server
category: mcp/servers
description: a server
executor_id: null
config: {transport: stdio, command: $PY, args: ['$E2E/mcp_server.py', /dev/null, legacy]}
ITEM
fx_put "$P" tools/mcp/peer/slow.yaml <<'ITEM'
version: "1.0.0"
tool_type: mcp
category: mcp/peer
description: a tool
executor_id: rye/core/runtimes/mcp/stdio
config: {server: mcp/servers/peer, tool_name: slow}
input_schema: {type: object}
ITEM
fx_sign "$P" tool:t/where tool:mcp/servers/peer tool:mcp/peer/slow

# with FILE VALUE CMD...: the kernel's setting is so for as long as CMD runs; it is one test's at a time
with() {
  local file=$1 was rc lock
  exec {lock}<"$file"
  flock "$lock"
  read -r was <"$file"
  echo "$2" >"$file" || return
  AT_END="echo $was >$file; $AT_END"
  "${@:3}"
  rc=$?
  echo "$was" >"$file"
  AT_END=${AT_END#*; }
  # what CMD has started has the descriptor, too
  flock -u "$lock"
  exec {lock}<&-
  return "$rc"
}
told() { jq -r .io_uring "$M/.ryefs/stats.json"; }
# asks PROGRAM...: on each processor, in the time in which a mount answers
asks() {
  local cpu
  for cpu in $(seq 0 $(($(nproc --all) - 1))); do
    timeout 20 taskset -c "$cpu" "$@" || return
  done
}

# ---- where it cannot be had ----

if ! over_ring; then
  mount_rye
  is "it is off unless asked for" "$(told)" off
  umount_rye
fi
if [ ! -w "$MAY" ]; then
  mount_rye io_uring
  is "a kernel that has none: the mount answers" "$(told)" "this kernel does not offer it"
  without "over io_uring" "$MAY is not there, or not to be set"
  finish
fi
read -r WAS <"$MAY"
with "$MAY" N mount_rye io_uring
scanned
is "not offered: the mount answers, and says so" "$(told)" "fuse.enable_uring is N"
# when the first scan is summed up, which is looked for
until_true grep -q 'io_uring is not used' "$M/.ryefs/log"
is "the log says it once" "$(grep -c 'io_uring is not used' "$M/.ryefs/log")" 1
like "doctor says what root does" "$(cd "$P" && "$RYEFS" doctor 2>&1)" 'echo Y > /sys/module/fuse/parameters/enable_uring'
umount_rye
if [ -w "$DENIED" ]; then
  with "$DENIED" 2 with "$MAY" Y mount_rye io_uring
  is "not allowed: the mount answers" "$(told)" "io_uring is not allowed here"
  ok "and serves" grep -q . "$M/README.md"
  umount_rye
else
  without "io_uring_disabled" "$DENIED is not to be set"
fi

# ---- where it can ----

with "$MAY" Y mount_rye io_uring jobs=2
scanned
is "it is used" "$(told)" on
is "and the parameter is as it was" "$(<"$MAY")" "$WAS"
ok "each processor's queue answers" asks ls -R "$M/tools"
lacks "doctor has nothing to say of it" "$(cd "$P" && "$RYEFS" doctor 2>&1)" io_uring
like "a run of one starts where the daemon may" "$(converse "$M/tools/t/where/run")" "$(jq -cn --argjson n "$(nproc)" '[range($n)]')"

head -c 3000001 /dev/urandom >"$T/big"
ok "big writes" cp "$T/big" "$M/spaces/project/knowledge/big"
same_file "arrive" "$P/.ai/knowledge/big" "$T/big"
# by another name, so that the kernel has none of its pages
mv "$P/.ai/knowledge/big" "$P/.ai/knowledge/bigger"
same_file "and big reads" "$M/spaces/project/knowledge/bigger" "$T/big"
rm "$M/spaces/project/knowledge/bigger"
is "names of 255 bytes" "$(printf 'x%.0s' {1..255} | { read -r n; echo 1 >"$M/spaces/project/knowledge/$n" && cat "$P/.ai/knowledge/$n"; })" 1

# parked CPU N: so many writers of one processor wait, in one process
parked() {
  exec taskset -c "$1" "$PY" - "$M/tools/rye/bash/run" "$2" "sleep 60.$$" <<'CODE'
import json, os, sys, threading
path, n, command = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def write():
    fd = os.open(path, os.O_RDWR)
    try:
        os.write(fd, json.dumps({"command": command}).encode())
    except OSError:
        pass
for _ in range(n):
    threading.Thread(target=write, daemon=True).start()
threading.Event().wait()
CODE
}
# Of the daemon: how many calls wait.
waits() { [ "$(grep -l request_wait_answer "/proc/$1/task/"*/wchan | wc -l)" -ge "$2" ]; }
beside parked parked 0 200
crowd=$BESIDE
ok "200 requests of one processor wait, of a queue of 128" until_true waits "$crowd" 200
ok "and all processors are answered" asks cat "$M/.ryefs/version"
ok "by looks that wait for nothing" asks sh -c "ls '$M/tools/rye' && cat '$M/README.md'"
kill -9 $crowd
ok "killed, all are gone" until_true eval '! kill -0 $crowd'
ok "and the next ones answer" asks cat "$M/.ryefs/version"
like "calls, too" "$(converse "$M/tools/t/where/run")" success

# A signal while the daemon has not fetched the request yet: it is stopped meanwhile.
cat >"$T/early.py" <<'CODE'
import json, os, signal, subprocess, sys, time
daemon, path, command, rounds = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
writer = "import os, sys; fd = os.open(sys.argv[1], os.O_RDWR); print(flush=True); sys.stdin.readline(); os.write(fd, sys.argv[2].encode())"
def until(what):
    end = time.monotonic() + 20
    while not what():
        if time.monotonic() > end:
            sys.exit("waited in vain")
        time.sleep(0.005)
for i in range(rounds):
    with subprocess.Popen([sys.executable, "-c", writer, path, json.dumps({"command": command})], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        p.stdout.readline()
        os.kill(daemon, signal.SIGSTOP)
        until(lambda: all(open(f"/proc/{daemon}/task/{t}/stat").read().rpartition(")")[2].split()[0] == "T" for t in os.listdir(f"/proc/{daemon}/task")))
        p.stdin.write(b"\n")
        p.stdin.flush()
        until(lambda: open(f"/proc/{p.pid}/wchan").read() == "request_wait_answer")
        p.send_signal([signal.SIGTERM, signal.SIGINT, signal.SIGKILL][i % 3])
        os.kill(daemon, signal.SIGCONT)
        p.wait(20)
CODE
at_end 'kill -CONT $DAEMON 2>/dev/null'
ok "signals that came before the request end it" timeout 100 "$PY" "$T/early.py" "$DAEMON" "$M/tools/rye/bash/run" "sleep 61.$$" 6
timeout -s INT -k 20 1 bash -c "echo '{\"command\":\"sleep 62.$$\"}' >'$M/tools/rye/bash/run'; exit 0"
is "as do later ones" $? 124
ok "nothing is left of their runs" until_true sh -c "! pgrep -f 'sleep 6[0-2][.]$$'"
ok "FORGET comes" eval '[ "$(stat_of forget)" -gt 0 ] || { rm -r "$M/spaces/project/knowledge/"x*; until_true eval '\''[ "$(stat_of forget)" -gt 0 ]'\''; }'

# The kernel has the request in the ring already, so what asks cannot even be killed.
kill -STOP "$DAEMON"
like "a stopped daemon is silent, and what looks at it ends" "$(limit 60 "$RYEFS" list | cat)" "$M .* silent"
kill -CONT "$DAEMON"

# ---- ends ----

daemon=$DAEMON
ok "an unmount ends it" umount_rye
not_ok "and all of its threads" test -e "/proc/$daemon"

# Of a processor that is not there, or not for the daemon, another has the queue.
if [ "$(nproc)" -gt 1 ]; then
  taskset -pc 0 $$ >"$T/out"
  with "$MAY" Y mount_rye io_uring
  taskset -pc "0-$(($(nproc --all) - 1))" $$ >"$T/out"
  is "a daemon that may not run everywhere" "$(told)" on
  is "has none of its threads elsewhere" "$(cat "/proc/$DAEMON/task/"*/status | sed -n 's/^Cpus_allowed_list:\t//p' | sort -u)" 0
  ok "and answers everywhere" asks sh -c "ls -R '$M/tools' && echo '{\"command\":\"true\"}' >'$M/tools/rye/bash/run'"
  umount_rye
fi

killed() {
  local i
  for ((i = 0; i < ROUNDS; i++)); do
    with "$MAY" Y mount_rye io_uring
    [ "$(told)" = on ] || { echo "$i: $(told)"; return 1; }
    beside "writers$i" parked $((i % $(nproc))) 5
    until_true waits "$BESIDE" 5 || { echo "$i: they do not wait: $(cat "$T/writers$i.log")"; return 1; }
    kill -9 "$DAEMON"
    wait "$DAEMON" 2>/dev/null
    DAEMON=
    timeout 20 ls "$M" 2>&1 | grep -E 'not connected|connection abort|canceled' || { echo "$i: it is not seen to be dead"; return 1; }
    kill -9 "$BESIDE"
    until_true unmounted || { echo "$i: it stays"; return 1; }
  done
}
ok "kill -9 with requests in flight: none hangs, the next mount works ($ROUNDS)" killed

# ---- what waits is one thread's, and no other request's ----

mkdir -p "$P/.ai/knowledge/held"
for i in {1..40}; do echo "$i" >"$P/.ai/knowledge/held/$i"; done
held_mount() { SLOW_PATH=/knowledge/held preloaded slow_disk SLOW_DISK="$T/held" mount_rye io_uring; }
with "$MAY" Y held_mount
is "at last" "$(told)" on
scanned
ls "$M/spaces/project/knowledge/held" >/dev/null
touch "$T/held"
at_end 'rm -f "$T/held"'
# readers CPU N: so many of one processor ask for a file's attributes anew and read it, in one process
readers() {
  exec taskset -c "$1" "$PY" - "$M/spaces/project/knowledge/held" "$2" <<'CODE'
import concurrent.futures, ctypes, sys
libc = ctypes.CDLL(None)
FORCE_SYNC, BASIC = 0x2000, 0x7ff
def read(i):
    path = f"{sys.argv[1]}/{i}"
    if libc.statx(-100, path.encode(), FORCE_SYNC, BASIC, ctypes.create_string_buffer(256)):
        return False
    with open(path, encoding="ascii") as f:
        return f.read() == f"{i}\n"
n = int(sys.argv[2])
with concurrent.futures.ThreadPoolExecutor(n) as pool:
    print(sum(pool.map(read, range(1, n + 1))))
CODE
}
beside readers readers 0 40
slow=$BESIDE
ok "40 readers of one processor wait for a disk that hangs" until_true waits "$slow" 40
ok "and all processors are answered" asks cat "$M/.ryefs/version"
ok "by looks elsewhere" asks sh -c "ls '$M/tools/rye' && cat '$M/README.md' && stat '$M/tools/t/where/run'"
like "by runs" "$(timeout 20 taskset -c 0 cat "$M/.ryefs/version" && converse "$M/tools/t/where/run")" success
rm "$T/held"
ok "it wakes up: all have read" until_true eval '! kill -0 $slow'
is "each its own bytes" "$(cat "$T/readers.log")" 40

umount_rye

# ---- FORGET comes by another way than what needs the descriptors that it gives back ----

mkdir -p "$P/.ai/knowledge/many"
for i in {1..1500}; do echo "$i" >"$P/.ai/knowledge/many/$i"; done
few_mount() { ulimit -Sn 300; ulimit -Hn 300; with "$MAY" Y mount_rye io_uring; }
few_reads() { few_mount && (cd "$M/spaces/project/knowledge/many" && { ls -l 2>&1 >/dev/null; cat {1..1500} 2>&1; }) | sort -n | uniq | wc -l; unmounted; }
# in a shell of its own, whose limit it is
is "more files than descriptors are all read" "$(few_reads)" 1500

with "$MAY" Y mount_rye io_uring
# looks: 300 requests one after the other; prints how many threads the daemon has then
looks() {
  taskset -c 0 "$PY" -c 'import os, sys
for i in range(300):
    os.stat(sys.argv[1])' "$M/tools/t/where/run" && ls "/proc/$DAEMON/task" | wc -l
}
before=$(looks)
ok "requests one after the other need no more threads" [ "$(looks)" -le "$before" ]
umount_rye

# ---- a tool of an MCP server: the thread that has the request waits for it ----

with "$MAY" Y mount_rye io_uring jobs=64
scanned
slow=$M/tools/mcp/peer/slow/run
# calls N SECONDS: so many at once, in one process of processor 0; prints how many succeeded
calls() {
  exec taskset -c 0 "$PY" - "$slow" "$1" "$2" <<'CODE'
import concurrent.futures, json, os, sys
def call(_):
    fd = os.open(sys.argv[1], os.O_RDWR)
    os.write(fd, json.dumps({"seconds": float(sys.argv[3])}).encode())
    return json.loads(os.read(fd, 1 << 16))["status"] == "success"
n = int(sys.argv[2])
with concurrent.futures.ThreadPoolExecutor(n) as pool:
    print(sum(pool.map(call, range(n))))
CODE
}
switches() { cat "/proc/$DAEMON/task/"*/status | awk '/^voluntary/ { n += $2 } END { print n }'; }
# what the tool stands on is kept after some calls
for _ in 1 2 3; do converse "$slow" '{"seconds":0}' >/dev/null; done
before=$(switches)
taskset -c 0 "$PY" -c 'import os, sys
for i in range(200):
    os.write(os.open(sys.argv[1], os.O_RDWR), b"{\"seconds\":0}")' "$slow"
each=$((($(switches) - before) / 20))
ok "a call is handed to no other thread (switches of ten calls: $each)" [ "$each" -lt 67 ]
beside calls calls 36 1
ok "36 calls at once, of which 32 may be there" until_true waits "$BESIDE" 36
ok "and all processors are answered" asks cat "$M/.ryefs/version"
ok "by looks elsewhere" asks sh -c "ls '$M/tools/rye' && cat '$M/README.md' && stat '$M/tools/t/where/run'"
ok "all end" until_true eval '! kill -0 $BESIDE'
is "well" "$(cat "$T/calls.log")" 36
timeout -s INT -k 20 1 bash -c "echo '{\"seconds\":60}' >'$slow'; exit 0"
is "a signal ends a call" $? 124
beside ended calls 2 60
ok "two more wait" until_true waits "$BESIDE" 2
kill -TERM "$DAEMON"
wait "$DAEMON"
is "the daemon's end is theirs, too" $? 0
DAEMON=
ok "they have heard of it" until_true eval '! kill -0 $BESIDE'
finish
