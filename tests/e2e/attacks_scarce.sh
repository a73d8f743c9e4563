#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tools that take all there is of something that the user has a limit of: inotify watches and instances,
# room on the project's disk. What is served stays true, other tools run, and it is said. All of it is in a
# user namespace, whose limits are its own, and in a small file system.
skip() {
  echo "1..0 # SKIP $*"
  exit 0
}
if [ -z "${SCARCE_INSIDE:-}" ]; then
  # host's unmounts have to come in: else this one would keep the mounts of other tests
  space='unshare -U -r -m --propagation slave -p -f --kill-child --mount-proc'
  $space true 2>/dev/null || skip "no user namespaces here"
  # shellcheck disable=SC2016
  exec $space env SCARCE_INSIDE=1 bash -c 'bash "$0"; exit $?' "$0"
fi
. "$(dirname "$0")/fixture.sh"
LIMITS=/proc/sys/user
[ -w $LIMITS/max_inotify_watches ] || skip "limits of a user namespace cannot be set"
mount -t tmpfs -o size=24m none "$P" || skip "no file system can be mounted"
at_end 'umount -l "$P"'
mkdir -p "$P/.ai"/{directives,tools,knowledge,config} "$M"

"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
fx_tool "$P" t/allowed 'echo allowed'
fx_tool "$P" t/env 'cat "$2/.env"; cat "$2/late/.env"; echo looked'
# Takes what it can get, and holds it until it is told to go. Without watches it takes no more instances: what
# this namespace has is counted for the user outside, too, whose 128 instances other tests need.
fx_python "$P" t/watch <<'TEXT'
import ctypes
import os
import time


def execute(params, project):
    libc = ctypes.CDLL(None)
    got = 0
    while (fd := libc.inotify_init1(0)) >= 0:
        wanted = os.listdir("/proc/self")
        had = sum(libc.inotify_add_watch(fd, ("/proc/self/" + name).encode(), 2) >= 0 for name in wanted)
        got += had
        if had < len(wanted) // 2:
            break
    open(project + "/taken", "w").write(str(got))
    while not os.path.exists(project + "/go"):
        time.sleep(0.05)
    return {"success": True}
TEXT
fx_tool "$P" t/fill 'cat /dev/zero >"$2/filler" 2>/dev/null; : >"$2/filled" ; echo filled'
fx_knowledge "$P" seen one
fx_sign "$P" tool:t/allowed tool:t/env tool:t/watch tool:t/fill knowledge:seen

run() { exchange 60 "$M/tools/$1/run" "${2:-{\}}"$'\n' 2>&1; }
shows() { grep -qF "$2" "$M/knowledge/$1.md"; }
hidden() {
  local said
  said=$(run t/env)
  [ -z "${said##*looked*}" ] && [ -n "${said##*PRIVATE*}" ]
}
signed() { fx_knowledge "$P" "$1" "$2" && fx_sign "$P" "knowledge:$1"; }

# ---- watches and instances ----
allow 'no inotify watches left'
fx_mount sandbox=auto
has "a tool runs" "$(run t/allowed)" allowed
for limit in watches instances; do
  was=$(cat $LIMITS/max_inotify_$limit)
  [ $limit = watches ] && echo 400 >$LIMITS/max_inotify_watches || echo 40 >$LIMITS/max_inotify_instances
  rm -f "$P/go" "$P/taken"
  run t/watch >"$T/watch.log" &
  watcher=$!
  ok "$limit: a tool takes all" fx_wait 20 test -s "$P/taken"
  not_ok "$limit: there are none" "$PY" -c 'import ctypes, sys
libc = ctypes.CDLL(None)
fd = libc.inotify_init1(0)
sys.exit(fd < 0 or libc.inotify_add_watch(fd, b"/", 2) < 0)'
  [ $limit = instances ] || ok "$limit: of instances some are left" "$PY" -c 'import ctypes, sys
sys.exit(ctypes.CDLL(None).inotify_init1(0) < 0)'
  signed seen "two $limit"
  ok "$limit: what was watched is" until_true shows seen "two $limit"
  mkdir -p "$P/.ai/knowledge/$limit"
  signed "$limit/new" one
  ok "$limit: what comes is seen" until_true shows "$limit/new" one
  signed "$limit/new" two
  ok "$limit: and its change" until_true shows "$limit/new" two
  has "$limit: other tools run" "$(run t/allowed)" allowed
  mkdir -p "$P/late" && echo PRIVATE >"$P/.env" && echo PRIVATE >"$P/late/.env"
  # a second later, says the page
  ok "$limit: private files that come are hidden" until_true hidden
  has "$limit: ryefs doctor says it" "$("$RYEFS" doctor --project "$P" --system "$S" 2>&1)" "inotify"
  touch "$P/go"
  wait $watcher
  rm -rf "$P/.env" "$P/late"
  echo "$was" >$LIMITS/max_inotify_$limit
done
ok "the log says it" grep -q 'no inotify watches left' "$ERR"
ok "the mount ends" umount_rye

# ---- the disk ----
for sandbox in auto strict; do
  fx_mount "sandbox=$sandbox"
  run t/fill '{"timeout":30}' >"$T/fill.log"
  ok "$sandbox: a tool fills the project's disk" test -s "$P/filler"
  not_ok "$sandbox: nothing fits" bash -c 'head -c 100000 /dev/zero >"$1"' - "$P/more" 2>/dev/null
  has "$sandbox: items are served" "$(<"$M/knowledge/seen.md")" two
  has "$sandbox: other tools run" "$(run t/allowed)" allowed
  cp "$P/.ai/knowledge/seen.md" "$T/before"
  echo "more text" >>"$P/.ai/knowledge/seen.md" 2>/dev/null
  "$RYEFS" sign -q --project "$P" --system "$S" knowledge:seen >"$T/sign.log" 2>&1
  has "$sandbox: signing says it" "$(<"$T/sign.log")" "No space left"
  rm "$P/filler" "$P/more"
  cp "$T/before" "$P/.ai/knowledge/seen.md"
  signed seen "two again"
  ok "$sandbox: with room all works as before" until_true shows seen "two again"
  is "$sandbox: nothing is left behind" "$(find "$P/.ai/knowledge" -name '.*' -type f)" ""
  ok "$sandbox: the mount ends" umount_rye
done
finish
