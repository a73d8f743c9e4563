#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A tool that tries all it can think of from inside its sandbox (intruder.py): other processes, the
# kernel, sockets, files. Nothing of it may succeed, neither under `auto` nor under `strict`.
. "$(dirname "$0")/fixture.sh"

# Landlock keeps signals and abstract sockets in from Linux 6.12 on.
scopes() {
  "$PY" - <<'CODE'
import ctypes, sys
sys.exit(ctypes.CDLL(None).syscall(444, 0, 0, 1) < 6)
CODE
}

disk() { lsblk -ndpo NAME 2>/dev/null | head -1; }

facts() { # NET: of the daemon, a process outside and another run
  local signals=true abstract=ryefs-test-$$
  scopes || signals=false abstract=
  printf '{"daemon":%d,"victim":%d,"sibling":%d,"outside":"%s","project":"%s","mount":"%s","user":"%s",' \
    "$DAEMON" "$VICTIM" "$(<"$P/sibling")" "$T/outside" "$P" "$M" "$U"
  printf '"keys":"%s","disk":"%s","signals":%s,"abstract":"%s","sockets":["%s"],"net":%s}' \
    "$U/.ai/config/keys/signing" "$(disk)" "$signals" "$abstract" "$RUNTIME/bus" "$1"
}

tools() {
  fx_tool "$P" t/intrude '# requires: [fs.write]' 'facts=$(cat)' "exec '$PY' -I '$E2E/intruder.py' \"\$facts\" 2>&1"
  fx_tool "$P" t/intrude_net '# requires: [fs.write, net.http]' 'facts=$(cat)' \
    "exec '$PY' -I '$E2E/intruder.py' \"\$facts\" 2>&1"
  fx_tool "$P" t/sleeper 'echo $$ >"$2/sibling.new" && mv "$2/sibling.new" "$2/sibling"' "exec sleep 91.$$"
  fx_tool "$P" t/allowed 'echo allowed'
  fx_sign "$P" tool:t/intrude tool:t/intrude_net tool:t/sleeper tool:t/allowed
}

# What a session has outside: a process, shared memory, a terminal, sockets with a file and without.
outsider() {
  exec "$PY" -c '
import ctypes, os, signal, socket, sys
libc = ctypes.CDLL(None)
memory = libc.shmget(os.getpid(), 4096, 0o1600)
terminal = os.openpty()
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
try:
    held = [socket.socket(socket.AF_UNIX) for name in range(2)]
    for s, name in zip(held, ("\0" + sys.argv[1], sys.argv[2])):
        s.bind(name)
        s.listen()
    signal.sigtimedwait([signal.SIGUSR1], 90)
finally:
    libc.shmctl(memory, 0, None)' "ryefs-test-$$" "$RUNTIME/bus"
}

# From outside of the sandbox they answer.
answers_outside() {
  "$PY" -c '
import socket, sys
for name in "\0" + sys.argv[1], sys.argv[2]:
    socket.socket(socket.AF_UNIX).connect(name)' "ryefs-test-$$" "$RUNTIME/bus"
}

intrude() { # NAME TOOL NET
  local said
  rm -f "$P/sibling"
  (echo '{}' >"$M/tools/t/sleeper/run") 2>/dev/null &
  ok "$1: another run" fx_wait 10 test -s "$P/sibling"
  timeout -k 1 60 bash -c 'exec 3<>"$1"; printf "%s\n" "$2" >&3; cat "$3"' - \
    "$M/tools/t/$2/run" "$(facts "$3")" "$M/tools/t/$2/output" >"$T/said" 2>&1
  has "$1: it tried it all" "$(tail -n 1 "$T/said")" "tried it all"
  said=$(grep -v ' held$' "$T/said" | grep -v '^tried it all')
  is "$1: of $(grep -c ' held$' "$T/said") attacks none succeeds" "$said" ""
  wake 91
}

"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
RUNTIME=$T/runtime
export XDG_RUNTIME_DIR=$RUNTIME
mkdir -m 700 "$RUNTIME"
echo text >"$T/outside"
tools
outsider &
VICTIM=$!
ok "a process outside" fx_wait 10 test -S "$RUNTIME/bus"
ok "whose sockets answer" answers_outside
for sandbox in auto strict; do
  fx_mount "sandbox=$sandbox"
  intrude "$sandbox" intrude false
  intrude "$sandbox, with the network" intrude_net true
  ok "$sandbox: the mount ends" umount_rye
done
kill "$VICTIM"
finish
