#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ryefs umount: idle, with a writer that waits for its run, with somebody inside, after the
# daemon's death.
. "$(dirname "$0")/lib.sh"

export HOME=$T USER_SPACE=$T/home
mnt=$T/mnt
mkdir "$mnt" "$USER_SPACE"
ok "a sample workspace" "$RYEFS" init -q --sample "$T/work"
gone() { ! mounted "$mnt"; }
up() { "$RYEFS" "$T/work" "$mnt" 2>/dev/null; }
status() {
  "$@" >/dev/null 2>"$T/said"
  echo $?
}

up
ok "idle" timeout 10 "$RYEFS" umount "$mnt"
ok "it is gone" gone
is "not mounted any more: status 3" "$(status "$RYEFS" umount "$mnt")" 3
like "and a sentence" "$(cat "$T/said")" "ryefs umount: .*/mnt is not a mount of ryefs"

up
(echo '{"command":"echo $$ > pid; exec sleep 60"}' >"$mnt/tools/rye/bash/run") 2>/dev/null &
writer=$!
ok "a run that somebody waits for" until_true test -s "$T/work/pid"
run=$(cat "$T/work/pid")
ok "umount" timeout 15 "$RYEFS" umount "$mnt"
ok "it is gone" gone
not_ok "the writer's write has failed" wait $writer
ok "the run has ended" until_true sh -c "! kill -0 $run"

up
(cd "$mnt" && exec sleep 30) &
holder=$!
there() { [ "$(readlink "/proc/$holder/cwd")" = "$(readlink -f "$mnt")" ]; }
until_true there
ok "somebody's working directory" timeout 15 "$RYEFS" umount "$mnt"
ok "it is gone" gone
kill $holder

up
daemon=$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$mnt/.ryefs/stats.json")
ok "stats.json names the daemon" kill -9 "$daemon"
until_true sh -c "! kill -0 $daemon"
ok "a dead daemon's mount, or the next one's" timeout 15 "$RYEFS" umount "$mnt"
none_of_ours() { ! pgrep -f -- "ryefs .*$T/work $mnt" >/dev/null; }
ok "no daemon is left" until_true none_of_ours
ok "it is gone for good" gone

# ---- the daemon ends after it was looked at, and another process has its number ----
up
(cd "$mnt" && exec sleep 30) &
holder=$!
sleep 60.$$ &
bystander=$!
ok "its user stands in it" until_true bash -c '[ "$(readlink "/proc/$1/cwd")" = "$2" ]' - $holder "$(readlink -f "$mnt")"
ok "a mount in use" preloaded reused_pid REUSED_PID=$bystander timeout 15 "$RYEFS" umount "$mnt"
ok "it is gone" gone
ok "the process that got the daemon's number lives" kill -0 $bystander
kill $holder $bystander

up
"$RYEFS" umount "$T" 2>"$T/said"
like "a wrong place: one's own mounts are named" "$(cat "$T/said")" "mounted are .*$mnt"
other="setpriv --reuid 65534 --clear-groups"
if $other "$RYEFS" --version >/dev/null 2>&1; then
  $other "$RYEFS" umount / 2>"$T/said"
  is "and no other user's" "$(grep -c "$mnt" "$T/said")" 0
fi
is "as JSON" "$("$RYEFS" umount --json "$mnt")" "{\"status\":\"success\",\"unmounted\":\"$mnt\"}"
finish
