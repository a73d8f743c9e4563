#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kill -9 of the daemon: nobody hangs, no tool of a run lives on, the mount is there again by itself.
# Rounds under two writers through spaces/, readers, runs, threads, a shell inside, `sign --all`, keygen
# and trust, of which the last three are killed as well; what that leaves on disk the next mount
# removes. $RYE_ROUNDS (6). Where the watchdog may not mount again the test does it by hand. The daemon after
# one goes on with its connection (survive.sh), or mounts in its place: the first part tries the latter.
. "$(dirname "$0")/lib.sh"

export HOME=$T USER_SPACE=$T/home
mnt=$T/mnt
mkdir "$mnt" "$USER_SPACE"
ok "a sample workspace" "$RYEFS" init -q --sample "$T/work"
rounds=${RYE_ROUNDS:-6}
export TMPDIR=$T/tmp
mkdir -p "$TMPDIR"
pid_of() { sed 's/.*"pid":\([0-9]*\).*/\1/' "$mnt/.ryefs/stats.json"; }
gone() { ! mounted "$mnt"; }
# Beneath a dead mount: Linux 6.5, and root.
returns=false
[ "$(id -u)" = 0 ] && printf '6.5\n%s\n' "$(uname -r)" | sort -CV && returns=true
is_another() {
  local now
  now=$(pid_of 2>/dev/null) && [ -n "$now" ] && [ "$now" != "$1" ]
}
# The mount is there again, by another daemon than this one.
back() {
  if ! $returns; then
    umount -l "$mnt" 2>/dev/null || fusermount3 -u -z "$mnt"
    "$RYEFS" "$T/work" "$mnt" -o survive=off 2>/dev/null
  fi
  until_true is_another "$1"
}
# Daemons and watchdogs of this mount, whatever their command was.
ours() { pgrep -f -- "ryefs .*$T/work $mnt"; }
none_of_ours() { ! ours >/dev/null; }
listed() { "$RYEFS" list --json | jq -c --arg at "$mnt" '.[] | select(.place == $at) | [.state, .deaths.times]'; }
said() { grep -q -- "$1" "$mnt/.ryefs/log"; }

# ---- a tool of a synchronous run ends with its daemon ----
"$RYEFS" "$T/work" "$mnt" -o survive=off 2>/dev/null
daemon=$(pid_of)
(echo '{"command":"echo $$ > pid; (setsid sleep 61 & echo $! > pid2); sleep 62"}' >"$mnt/tools/rye/bash/run") 2>/dev/null &
ok "a run" until_true test -s "$T/work/pid2"
kill -9 "$daemon"
ok "its tool has ended" until_true sh -c "! kill -0 $(cat "$T/work/pid")"
ok "and the tool's own child" until_true sh -c "! kill -0 $(cat "$T/work/pid2")"
wait

# ---- and so does a function of a warm interpreter ----
mkdir -p "$T/work/.ai/tools/sample"
cat >"$T/work/.ai/tools/sample/nap.py" <<'PY'
"""Naps."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "sample"
__tool_description__ = "naps"
CONFIG_SCHEMA = {"type": "object", "properties": {}}


def execute(params, project_path):
    import os
    import time

    with open(os.path.join(project_path, "pid"), "w") as out:
        out.write(str(os.getpid()))
    time.sleep(60)
    return {"success": True}
PY
ok "a sleeping function" "$RYEFS" sign -q --project "$T/work" tool:sample/nap
ok "the mount is there again" back "$daemon"
rm -f "$T/work/pid"
daemon=$(pid_of)
(echo '{}' >"$mnt/tools/sample/nap/run") 2>/dev/null &
ok "it sleeps" until_true test -s "$T/work/pid"
watchdog=$(pgrep -P "$daemon" -x ryefs-watchdog)
kill -9 "$daemon"
ok "its process has ended" until_true sh -c "! kill -0 $(cat "$T/work/pid")"
wait
ok "the mount is there again" back "$daemon"
if $returns; then
  is "the watchdog is the daemon now" "$(pid_of)" "${watchdog:?}"
  is "a process by the program's name" "$(cat "/proc/$watchdog/comm")" ryefs
  kill -ABRT "$watchdog" # a sanitizer takes SEGV
  ok "after a crash as well" back "$watchdog"
  is "stats.json counts" "$(jq -r .deaths.times "$mnt/.ryefs/stats.json")" 3
  like "and says of what" "$(jq -r .deaths.why "$mnt/.ryefs/stats.json")" "^died of SIGABRT; no core was written"
  ok "the log says it, too" said "the daemon before this one died of SIGABRT.* mounted again, time 3"
  is "list knows" "$(listed)" '["serves",3]'
  like "and says it" "$("$RYEFS" list 2>&1)" "$mnt: its daemon has died 3 times; the last one, at 2[^ ]*Z, died of SIGABRT"
  like "doctor remarks it" "$("$RYEFS" doctor --project "$T/work" 2>&1)" "its daemon has died 3 times"
  ok "it runs things as before" sh -c "echo '{\"command\":\"echo hi\"}' >'$mnt/tools/rye/bash/run'"
  is "one mount only" "$(grep -c " $mnt " /proc/self/mountinfo)" 1
fi
ok "umount" timeout 20 "$RYEFS" umount "$mnt"
ok "and nothing brings it back" until_true none_of_ours
ok "it is gone" gone

# ---- unmounted, and killed before it has ended: that is no accident ----
"$RYEFS" "$T/work" "$mnt" 2>/dev/null
daemon=$(pid_of)
exec 5<"$mnt/README.md" # it stays for a moment
umount -l "$mnt" 2>/dev/null || fusermount3 -u -z "$mnt"
kill -KILL "$daemon"
ok "no daemon comes again" until_true none_of_ours
ok "nor a mount" gone
exec 5<&-
"$RYEFS" "$T/work" "$mnt" 2>/dev/null
daemon=$(pid_of)
kill -TERM "$daemon"
until_true gone
kill -KILL "$daemon" 2>/dev/null
ok "nor after SIGTERM" until_true none_of_ours
ok "nor a mount" gone

# ---- again and again ----
if $returns; then
  "$RYEFS" "$T/work" "$mnt" 2>/dev/null
  for _ in 1 2 3 4 5; do
    daemon=$(pid_of)
    kill -9 "$daemon"
    back "$daemon"
  done
  ok "five times within a minute it comes again" kill -9 "$(pid_of)"
  ok "then no more" until_true none_of_ours
  errno "the mount says that it is dead" ENOTCONN ls "$mnt/knowledge"
  like "list says why" "$("$RYEFS" list 2>&1)" "has died 6 times.* was killed by SIGKILL .*; not mounted again: it was five times within a minute"
  is "as JSON" "$(listed)" '["dead",6]'
  like "so does doctor" "$("$RYEFS" doctor --project "$T/work" 2>&1)" "daemon has died; it was killed.* five times within"
  mkdir "$T/another"
  is "but not of another project" "$("$RYEFS" doctor --project "$T/another" 2>&1 | grep -c "daemon has died")" 0
  ok "the next mount" timeout 20 "$RYEFS" "$T/work" "$mnt" 2>/dev/null
  is "begins anew" "$(jq .deaths "$mnt/.ryefs/stats.json")" null
  ok "umount" timeout 20 "$RYEFS" umount "$mnt"
  is "and nothing is remembered" "$(ls "$USER_SPACE/.ai/state/mounts")" ""
fi

# ---- of a user who says so: no moment in which the bare directory takes a save ----
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && unshare -m true 2>/dev/null; then
  mkdir -p "$T/their/.ai" "$T/their/mnt"
  cp "$RYEFS" "$T/ryefs"
  chmod 755 "$T"
  chown -R 65534 "$T/their"
  cat >"$T/as_user" <<EOF
mount -t tmpfs -o mode=755 none /dev && mknod -m 666 /dev/fuse c 10 229 && mknod -m 666 /dev/null c 1 3 || exit
user() { setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$T/their" USER_SPACE="$T/their" "\$@" 2>&1; }
user "$T/ryefs" "$T/their" "$T/their/mnt" -o survive=off >"$T/again"
pid=\$(user cat "$T/their/mnt/.ryefs/stats.json" | sed 's/.*"pid":\([0-9]*\).*/\1/')
watchdog=\$(pgrep -P \$pid -x ryefs-watchdog)
kill -9 \$pid
tail --pid=\$watchdog -f /dev/null
user touch "$T/their/mnt/save" | sed 's/.*: //'
user "$T/ryefs" list | sed -n "s|^$T/their/mnt: its daemon has ||p" | sed 's/at [^ ]*Z/at T/'
user "$T/ryefs" umount "$T/their/mnt" && ls -A "$T/their/mnt" "$T/their/.ai/state/mounts"
EOF
  is "a user's stays dead, says why, and no save went below it" "$(unshare -m sh "$T/as_user" | sed "s|$T|T|g")" \
    "Transport endpoint is not connected
died 1 time; the last one, at T, was killed by SIGKILL (by hand, or memory had run out); not mounted again: by a user it is only with survive=on, or where this kernel has no fault that is known (ryefs(1))
T/their/.ai/state/mounts:

T/their/mnt:"
fi

# ---- the watchdog is killed before its daemon ----
rm -f "$T/work/pid" "$T/work/pid2"
"$RYEFS" "$T/work" "$mnt" 2>/dev/null
daemon=$(pid_of)
(echo '{"command":"echo $$ > pid; sleep 62"}' >"$mnt/tools/rye/bash/run") 2>/dev/null &
ok "a run" until_true test -s "$T/work/pid"
ok "the watchdog is killed" pkill -9 -P "$daemon" -x ryefs-watchdog
kill -9 "$daemon"
until_true sh -c "! kill -0 $daemon"
ok "umount" timeout 20 "$RYEFS" umount "$mnt"
ok "it has ended the tool" until_true sh -c "! kill -0 $(cat "$T/work/pid")"
wait

# ---- a daemon that says nothing ----
"$RYEFS" "$T/work" "$mnt" 2>/dev/null
daemon=$(pid_of)
kill -STOP "$daemon"
ok "umount of a stopped daemon's mount returns" timeout 30 "$RYEFS" umount "$mnt"
kill -9 "$daemon"
ok "it is gone" until_true gone

# ---- one that waits for an answer of its own ----
touch "$T/hold"
at_end 'rm -f "$T/hold"'
SLOW_FLUSH=$T/hold LD_PRELOAD=$PRELOADED/slow_flush.so${LD_PRELOAD:+:$LD_PRELOAD} \
  ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 "$RYEFS" "$T/work" "$mnt" -f 2>/dev/null &
daemon=$!
waits_for_itself() { grep -q request_wait_answer "/proc/$daemon/task/"*/wchan; }
ok "the daemon's own first open waits" until_true waits_for_itself
kill -9 "$daemon"
ok "killed, it ends" until_true grep -q '^State:.Z' "/proc/$daemon/status"
rm "$T/hold"
wait "$daemon" 2>/dev/null
umount -l "$mnt" 2>/dev/null || fusermount3 -u -z "$mnt"
ok "and nothing is left" until_true none_of_ours

# ---- under systemd a foreground mount is restarted by it: the dead one is not in the way ----
unit=${RYE_TEST_SRC:-$SRC}/../packaging/ryefs@.service
is "what the unit does first may fail" "$(grep ExecStartPre "$unit")" "ExecStartPre=-mkdir -p %h/ryefs/%i"

# ---- rounds ----
writer() { # NUMBER: edits through the mount until it is gone
  local n=0
  while [ ! -e "$T/stop" ]; do
    n=$((n + 1))
    echo "$n" >"$mnt/spaces/project/knowledge/sample/w$1.md"
    mv "$mnt/spaces/project/knowledge/sample/w$1.md" "$mnt/spaces/project/knowledge/sample/x$1.md" 2>/dev/null
    rm -f "$mnt/spaces/project/knowledge/sample/x$1.md" 2>/dev/null
  done 2>/dev/null
}
reader() {
  while [ ! -e "$T/stop" ]; do
    ls -l "$mnt/knowledge/sample" "$mnt/spaces/project/knowledge/sample" >/dev/null 2>&1
    cat "$mnt"/knowledge/sample/*.md >/dev/null 2>&1
  done
}
stander() { # a shell inside, which finds its way again by its own path
  while [ ! -e "$T/stop" ]; do
    cd "$mnt/knowledge/sample" 2>/dev/null && ls >/dev/null 2>&1
  done
}
runner() {
  while [ ! -e "$T/stop" ]; do
    echo '{"command":"true"}' >"$mnt/tools/rye/bash/run"
  done 2>/dev/null
}
starter() {
  while [ ! -e "$T/stop" ]; do
    echo '{"command":"true"}' >"$mnt/tools/rye/bash/async"
    sleep 0.05
  done 2>/dev/null
}
signer() { # items and keys of the same workspace, by programs that are killed at any moment
  while [ ! -e "$T/stop" ]; do
    touch_items
    timeout -s KILL 0.0$((RANDOM % 9 + 1)) "$RYEFS" sign -q --all --project "$T/work"
    timeout -s KILL 0.0$((RANDOM % 9 + 1)) "$RYEFS" keygen -q --force
    timeout -s KILL 0.0$((RANDOM % 9 + 1)) "$RYEFS" trust -q self
  done >/dev/null 2>&1
}
touch_items() {
  for i in $(seq 5); do
    printf '```yaml\nname: k%s\ntitle: K\nversion: "1.0.0"\nentry_type: note\ncategory: sample\n```\n\n%s\n' "$i" "$RANDOM" \
      >"$T/work/.ai/knowledge/sample/k$i.md"
  done
}
# What lies about, by name; the threads of the registry are no leftovers.
left() {
  find "$T/work/.ai" "$USER_SPACE/.ai" "$TMPDIR" \( -name '.rye-*' -o -name 'ryefs-??????' \) 2>/dev/null
  (cd "$T/work/.ai/state/threads" 2>/dev/null && for d in *-*-*-*-*; do
    [ -d "$d" ] && ! grep -aq "$d" registry.db registry.db-wal 2>/dev/null && echo "thread $d"
  done)
}
none_left() { [ -z "$(left)" ]; }
round() {
  local daemon pids=() p
  rm -f "$T/stop"
  timeout 30 "$RYEFS" "$T/work" "$mnt" 2>"$T/said" || { echo "# it is not mounted: $(tail -n 1 "$T/said")"; return 1; }
  daemon=$(timeout 10 cat "$mnt/.ryefs/stats.json" | sed 's/.*"pid":\([0-9]*\).*/\1/')
  writer 1 & pids+=($!)
  writer 2 & pids+=($!)
  reader & pids+=($!)
  stander & pids+=($!)
  runner & pids+=($!)
  starter & pids+=($!)
  signer & pids+=($!)
  sleep 0.$((RANDOM % 5 + 1))$((RANDOM % 10)) # at any moment
  kill -9 "$daemon" || return 1
  back "$daemon" || { echo "# it does not come again: $("$RYEFS" list 2>&1 | tail -n 1)"; return 1; }
  touch "$T/stop"
  for p in "${pids[@]}"; do
    timeout 15 tail --pid="$p" -f /dev/null || { echo "# $p hangs in $(cat /proc/$p/wchan)"; return 1; }
  done
  wait "${pids[@]}"
  timeout 15 ls "$mnt" >/dev/null 2>&1
  [ $? -ne 124 ] || return 1
  timeout 20 "$RYEFS" umount "$mnt" >/dev/null 2>&1 || { echo "# it is not unmounted"; return 1; }
  gone && until_true none_of_ours && [ -z "$(ls -A "$mnt")" ] || { echo "# left: $(ours) $(ls -A "$mnt")"; return 1; }
}
failed=0
for _ in $(seq "$rounds"); do
  round || failed=$((failed + 1))
done
is "$rounds kills: all ended, umount and mount again always returned" "$failed" 0
echo "# left by $rounds rounds: $(left | wc -l)"

# ---- what was left ----
# killed between making one and locking it: known as nobody's a minute later (tmpdir_sweep.c)
find "$TMPDIR" -mindepth 1 -maxdepth 1 -name 'ryefs-??????' -empty -exec touch -d '2 minutes ago' {} +
printf 'half' >"$T/work/.ai/knowledge/sample/.rye-0123456789abcdef.tmp"
printf 'half' >"$USER_SPACE/.ai/config/keys/trusted/.rye-0123456789abcdef.tmp"
mkdir -p "$T/work/.ai/state/threads/01234567-89ab-4cde-8f01-23456789abcd" "$TMPDIR/ryefs-abcdef"
printf 'half' >"$T/work/.ai/state/threads/01234567-89ab-4cde-8f01-23456789abcd/.rye-0123456789abcdef.tmp"
chmod 700 "$TMPDIR/ryefs-abcdef"
touch "$TMPDIR/ryefs-abcdef/.lock" "$TMPDIR/ryefs-abcdef/x"
mkdir -p "$TMPDIR/ryefs-backup" # a person's
# one that a living process works on
printf 'mine' >"$T/work/.ai/knowledge/sample/.rye-fedcba9876543210.tmp"
exec 8<"$T/work/.ai/knowledge/sample/.rye-fedcba9876543210.tmp"
flock 8
"$RYEFS" keygen -q --force >/dev/null && "$RYEFS" trust -q self >/dev/null
"$RYEFS" doctor --project "$T/work" >"$T/doctor" 2>&1
like "doctor names what was left" "$(cat "$T/doctor")" "left behind by a process that was killed"
ok "the next mount" timeout 20 "$RYEFS" "$T/work" "$mnt" 2>/dev/null
only_mine() { [ "$(left | grep -v ryefs-backup | grep -v "^$TMPDIR/ryefs-" | sed 's|.*/||' | sort)" = .rye-fedcba9876543210.tmp ]; }
ok "it removes what was left, and nothing else" until_true only_mine
ok "the directory of another engine" until_true test ! -e "$TMPDIR/ryefs-abcdef"
is "what is somebody's stays" "$(ls -d "$TMPDIR/ryefs-backup")" "$TMPDIR/ryefs-backup"
exec 8<&-
rmdir "$TMPDIR/ryefs-backup"
ok "umount" timeout 20 "$RYEFS" umount "$mnt"
ok "the mount after it" timeout 20 "$RYEFS" "$T/work" "$mnt" 2>/dev/null
free_left() { [ -z "$(left | grep -v "^$TMPDIR/ryefs-")" ]; }
ok "takes the rest" until_true free_left
ok "umount" timeout 20 "$RYEFS" umount "$mnt"
ok "nothing at all is left" until_true none_left
left | head -5 | sed 's/^/# /'
"$RYEFS" doctor --project "$T/work" >"$T/doctor" 2>&1
is "doctor has nothing to name" "$(grep -c "left behind" "$T/doctor")" 0
finish
