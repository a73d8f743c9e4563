#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# talk_callers.sh: whose last reply is whose: scripts side by side, subshells, pipelines,
# background jobs, make, xargs, sessions, threads, items; and who is refused.
. "$(dirname "$0")/talk_lib.sh"
start_talks

# one line of $T/own.sh NAME N: writes N messages, each must be what it then reads; of five one by a child
cat >"$T/own.sh" <<'END'
i=0
while [ $i -lt "$2" ]; do
  echo "{\"from\":\"$1.$i\"}" >run || exit 2
  if [ $((i % 5)) = 0 ]; then got=$(cat output); else read -r got <output; fi
  [ "$got" = "{\"from\":\"$1.$i\"}" ] || { echo "$1.$i read $got"; exit 1; }
  i=$((i + 1))
done
END
side_by_side() {
  local shell=$1 n=$2 script=$3 pids= bad=0
  for name in a b; do
    $shell "$T/$script" "$name" "$n" &
    pids="$pids $!"
  done
  for pid in $pids; do
    wait "$pid" || bad=1
  done
  return $bad
}
ok "two bash scripts, 500 times each" timeout 120 bash -c "$(declare -f side_by_side); T=$T; side_by_side bash 500 own.sh"
command -v dash >/dev/null &&
  ok "two dash scripts, 500 times each" timeout 120 bash -c "$(declare -f side_by_side); T=$T; side_by_side dash 500 own.sh"

# four more ways of writing and reading, three scripts side by side
cat >"$T/ways.sh" <<'END'
check() { [ "$1" = "$2" ] || { echo "$3: $1, wanted $2"; exit 1; }; }
for i in 1 2 3 4 5 6 7 8; do
  m="{\"way\":\"$1.$i\"}"
  printf '%s\n' "$m" | tee run >/dev/null; check "$(cat output)" "$m" tee
  (echo "$m" >run); check "$(cat output)" "$m" subshell
  sh -c "echo '$m' >run"; check "$(cat output | cat)" "$m" child
  echo "$m" | while read -r x; do echo "$x" >run; done; check "$(sh -c 'cat output')" "$m" pipeline
  echo "$m" >run & wait $!; check "$(cat output)" "$m" background
  printf '%s' "$m" | dd of=run status=none; check "$(head -1 output)" "$m" dd
done
END
three() {
  local pids= bad=0
  for name in a b c; do
    bash "$T/ways.sh" "$name" &
    pids="$pids $!"
  done
  for pid in $pids; do wait "$pid" || bad=1; done
  return $bad
}
ok "pipelines, subshells, jobs: three scripts" timeout 120 bash -c "$(declare -f three); T=$T; three"

ok "setsid" timeout 120 setsid -w bash "$T/ways.sh" s
cat >"$T/Makefile" <<END
all: a b c d
a b c d:
	@sh $T/own.sh \$@ 10
END
command -v make >/dev/null && ok "make -j2" timeout 120 make -s -j2 -f "$T/Makefile"
ok "xargs -P8" timeout 120 bash -c "seq 16 | xargs -P8 -I{} sh $T/own.sh x{} 5"

cat >"$T/threads.py" <<'END'
import os, threading
def work(name):
    for i in range(20):
        with lock:
            m = '{"thread":"%s.%d"}' % (name, i)
            open("run", "w").write(m)
            got = open("output").read()
            assert got == m + "\n", (got, m)
lock = threading.Lock()
failed = []
threading.excepthook = lambda args: (failed.append(args), print(args))
threads = [threading.Thread(target=work, args=(n,)) for n in "abc"]
for t in threads: t.start()
for t in threads: t.join()
if failed: os._exit(1)
END
ok "threads of one program, one after the other" timeout 120 /usr/bin/python3 "$T/threads.py"

ok "per item" bash -c 'echo "{\"a\":1}" >run; echo "{\"b\":2}" >other; grep -q a run && grep -q b other && ! grep -q b run'
ok "errors are the caller's own" bash -c '
  bash -c "! echo {\\\"fail\\\":\\\"mine\\\"} >run 2>/dev/null; touch $0.failed
    until [ -s $0.other ]; do sleep 0.01; done; grep -c . errors >$0.mine" "$0" &
  until [ -e "$0.failed" ]; do sleep 0.01; done
  bash -c "wc -l <errors" >"$0.other"
  wait
  [ "$(cat "$0.mine")" = 1 ] && [ "$(cat "$0.other")" = 0 ]' "$T/errors"
ok "threads that compete read no other's reply" timeout 120 /usr/bin/python3 "$SRC/e2e/compete.py" run output errors
: >"$LOG"

# refused: whoever is confined more than the daemon
refused() {
  local name=$1
  shift
  "$@" true 2>/dev/null || {
    echo "# not possible here: $name"
    return
  }
  not_ok "$name: writing" timeout 10 "$@" sh -c 'echo "{\"a\":1}" >run'
  is "$name: mode" "$(timeout 10 "$@" stat -c %a run)" 0
  is "$name: nothing to read" "$(timeout 10 "$@" cat run 2>/dev/null)" ""
  ran "$name"
}
refused "no_new_privs" setpriv --no-new-privs
refused "user namespace" unshare -U -r
refused "network namespace" unshare -n
refused "mount namespace" unshare -m
refused "pid namespace" unshare -p -f --kill-child
cat >"$T/seccomp.py" <<'END'
import ctypes, struct, sys, os
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
class Prog(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
libc = ctypes.CDLL(None)
prog = Prog(1, ctypes.addressof(allow))
if libc.prctl(22, 2, ctypes.byref(prog), 0, 0) != 0:
    sys.exit(1)
os.execvp(sys.argv[1], sys.argv[1:])
END
refused "seccomp filter" /usr/bin/python3 "$T/seccomp.py"
# a descriptor that was opened outside does not help
if setpriv --no-new-privs true 2>/dev/null; then
  not_ok "a descriptor from outside" bash -c 'exec 3<>run; setpriv --no-new-privs sh -c "echo {} >&3"'
  ran "a descriptor from outside"
fi
ok "and who is not confined may" bash -c 'echo "{\"a\":1}" >run'
end_talks
