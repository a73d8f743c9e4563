#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A daemon is killed under load, and the next one goes on with its connection: by root and by a user the mount
# stays the same one, whoever looks at it by a path sees a pause and no error, no run happens twice and its
# caller learns that its end is not known, what was open before gets ESTALE, and no name means what it meant
# to the daemon before. Killed again while it takes over, and unmounted at that moment. $RYE_ROUNDS mounts (2) are
# killed five times each, as often as one is to come again within a minute.
. "$(dirname "$0")/lib.sh"

over_ring && skip "a ring's requests are lost with its process"
mended || skip "this kernel may have CVE-2026-64265"
export HOME=$T USER_SPACE=$T/home
mnt=$T/mnt rounds=${RYE_ROUNDS:-2}
mkdir "$mnt" "$USER_SPACE"
ok "a sample workspace" "$RYEFS" init -q --sample "$T/work"
pid_of() { sed 's/.*"pid":\([0-9]*\).*/\1/' "$mnt/.ryefs/stats.json"; }
mount_id() { sed -n "s|^\([0-9]*\) .* $mnt .*|\1|p" /proc/self/mountinfo; }
ours() { pgrep -f -- "ryefs .*$T/work $mnt"; }
none_of_ours() { ! ours >/dev/null; }
is_another() {
  local now
  now=$(pid_of 2>/dev/null) && [ -n "$now" ] && [ "$now" != "$1" ]
}
gone() { ! mounted "$mnt"; }
at_end 'touch "$T/stop"; [ -z "$(ours)" ] || kill -9 $(ours); umount -l "$mnt" 2>/dev/null'
begin() { timeout 20 "$RYEFS" "$T/work" "$mnt" "$@" 2>/dev/null; }

# ---- what those see who were there ----
begin
id=$(mount_id)
daemon=$(pid_of)
rules=$mnt/knowledge/sample/house-rules.md
exec 5<"$rules" 6<"$mnt/knowledge/sample" 7<>"$mnt/tools/rye/bash/run"
(echo '{"command":"echo once >> ran; sleep 61"}' >"$mnt/tools/rye/bash/run") 2>"$T/caller" &
caller=$!
ok "a run" until_true test -s "$T/work/ran"
kill -9 "$daemon"
like "the mount answers at once, by another daemon" "$(pid_of)" '^[0-9]+$'
ok "really by another" is_another "$daemon"
is "it is the same mount" "$(mount_id)" "$id"
wait "$caller"
is "the caller learns that it failed" "$?" 1
like "since nobody knows its end" "$(cat "$T/caller")" "Input/output error"
nap 100
is "it ran once" "$(cat "$T/work/ran")" once
like "a shell that stood inside" "$(ls /proc/self/fd/6/. 2>&1)" "Stale file handle"
like "a file of before" "$(cat <&5 2>&1)" "Stale file handle"
like "a conversation of before" "$(cat <&7 2>&1)" "Stale file handle"
exec 5<&- 6<&- 7<&-
like "the log says what happened" "$(cat "$mnt/.ryefs/log")" "was killed by SIGKILL .* mounted again, time 1"
is "list knows" "$("$RYEFS" list --json | jq -c --arg at "$mnt" '.[] | select(.place == $at) | [.state, .deaths.times]')" '["serves",1]'
echo '- One more.' >>"$T/work/.ai/knowledge/sample/house-rules.md"
errno "what has changed since is refused" EACCES cat "$rules"
ok "signed" "$RYEFS" sign -q --project "$T/work" knowledge:sample/house-rules
has_more() { [ "$(tail -n 1 "$rules")" = "- One more." ]; }
ok "and served" until_true has_more
echo '{"command":"echo hi"}' >"$mnt/tools/rye/bash/run"
like "a run" "$(cat "$mnt/tools/rye/bash/output")" hi
ok "umount" timeout 20 "$RYEFS" umount "$mnt"
ok "and nothing brings it back" until_true none_of_ours
is "the directory is as it was" "$(ls -A "$mnt")" ""

# ---- under load ----
reader() { # every error counts but that of what was open at the moment
  while [ ! -e "$T/stop" ]; do
    cat "$rules" "$mnt/directives/sample/welcome.md" "$mnt/tools/sample/count-words/schema.json" >/dev/null || echo "cat: $?"
    ls -l "$mnt" "$mnt/knowledge/sample" "$mnt/spaces/project/knowledge/sample" >/dev/null || echo "ls: $?"
    stat -c %s "$mnt/README.md" "$mnt/.ryefs/doctor" >/dev/null || echo "stat: $?"
    grep -rq "no such words" "$mnt/knowledge" && echo "grep: $?"
  done 2>&1 | grep -vE "Stale file handle|/saved\.md|^(ls|cat|stat): [12]$" >>"$T/errors"
}
runner() { # ROUND.NUMBER: each is made at most once, and exactly once where the write succeeded
  local n=0
  while [ ! -e "$T/stop" ]; do
    n=$((n + 1))
    echo "{\"command\":\"echo $1.$n >> ran\"}" >"$mnt/tools/rye/bash/run" && echo "$1.$n" >>"$T/made.$1"
  done 2>/dev/null
}
saver() { # what was saved without an error is there
  local n=0 file=$mnt/spaces/project/knowledge/sample/saved.md
  while [ ! -e "$T/stop" ]; do
    n=$((n + 1))
    echo "$n" >"$file.new" || continue
    mv "$file.new" "$file" || continue
    [ "$(cat "$T/work/.ai/knowledge/sample/saved.md")" = "$n" ] || echo "saved $n" >>"$T/errors"
  done 2>/dev/null
}
next_one() { # not the watchdog beside it: without that one nothing comes again
  local pid
  for pid in $(pgrep -f -- "ryefs mount-again [0-9]* $T/work $mnt"); do
    [ "$(cat "/proc/$pid/comm")" = ryefs ] && [ "$(ps -o comm= --ppid "$pid" | head -n 1)" = ryefs-watchdog ] && echo "$pid" && return
  done 2>/dev/null
}
kill_once() { # at any moment, in one of three also while the next one takes over
  local daemon now
  daemon=$(pid_of)
  nap $((RANDOM % 300 + 50))
  kill -9 "$daemon" || return 1
  if [ $((RANDOM % 3)) = 0 ] && [ "$KILLS" -lt 4 ]; then
    nap $((RANDOM % 40))
    now=$(next_one)
    [ -n "$now" ] && kill -9 "$now" && KILLS=$((KILLS + 1))
  fi
  KILLS=$((KILLS + 1))
  until_true is_another "$daemon"
}
round() {
  local pids=() p
  rm -f "$T/stop"
  begin || return 1
  reader & pids+=($!)
  reader & pids+=($!)
  runner "$1.1" & pids+=($!)
  runner "$1.2" & pids+=($!)
  saver & pids+=($!)
  KILLS=0
  while [ "$KILLS" -lt 5 ]; do
    kill_once || { echo "# it does not come again: $("$RYEFS" list 2>&1 | tail -n 1)"; return 1; }
  done
  [ "$(id -u)" != 0 ] || echo 2 >/proc/sys/vm/drop_caches 2>/dev/null
  nap 200
  touch "$T/stop"
  for p in "${pids[@]}"; do
    timeout 20 tail --pid="$p" -f /dev/null || { echo "# $p hangs in $(cat "/proc/$p/wchan")"; return 1; }
  done
  wait "${pids[@]}"
  timeout 20 "$RYEFS" umount "$mnt" >/dev/null 2>&1 || return 1
  gone && until_true none_of_ours && [ -z "$(ls -A "$mnt")" ]
}
: >"$T/errors"
: >"$T/work/ran"
failed=0
for n in $(seq "$rounds"); do
  round "$n" || failed=$((failed + 1))
done
touch "$T/stop" # also of a round that has failed
is "$rounds mounts, killed five times each: none hangs, all end" "$failed" 0
is "no reader has seen an error" "$(sort "$T/errors" | uniq -c | sort -rn | head -n 5)" ""
is "nothing ran twice" "$(sort "$T/work/ran" | uniq -d | head -n 3)" ""
is "whatever was said to have run has run" "$(cat "$T"/made.* | sort | comm -23 - <(sort "$T/work/ran") | head -n 3)" ""
ok "and some have" test -s "$T/made.1.1"

# ---- unmounted at the moment of the take-over ----
for _ in 1 2 3; do
  begin
  kill -9 "$(pid_of)"
  nap $((RANDOM % 30))
  timeout 20 "$RYEFS" umount "$mnt" >/dev/null 2>&1 || umount -l "$mnt" 2>/dev/null || fusermount3 -u -z "$mnt"
  until_true none_of_ours && gone || bad "unmounted while it takes over" "$(ours)"
done
ok "unmounted while it takes over: nothing is left" none_of_ours

# ---- asked not to: as it was ----
begin -o survive=off
if [ "$(id -u)" = 0 ]; then
  id=$(mount_id)
  daemon=$(pid_of)
  kill -9 "$daemon"
  ok "survive=off: another mount in its place" until_true is_another "$daemon"
  is "really another" "$(mount_id | grep -c "^$id$")" 0
fi
timeout 20 "$RYEFS" umount "$mnt" >/dev/null 2>&1 || fusermount3 -u -z "$mnt"
like "a word that it does not know" "$("$RYEFS" "$T/work" "$mnt" -o survive=yes 2>&1)" "option 'survive=yes': wanted one of auto, on, off"

again_as_user
finish
