#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ryefs umount: idle, with a writer that waits for its run, with a shell inside, after the
# daemon's death.
set -u
(exec 3<>/dev/fuse) 2>/dev/null || exit 77
tmp=$(mktemp -d)
export HOME=$tmp
mnt=$tmp/mnt
trap 'fusermount3 -uzq "$mnt" 2>/dev/null; rm -rf "$tmp"' EXIT
fault() {
  echo "umount: $*"
  exit 1
}
mounted() { grep -qF " $mnt " /proc/self/mountinfo; }
mount() { "$RYEFS" "$tmp/work" "$mnt" 2>"$tmp/err" || fault "cannot mount: $(cat "$tmp/err")"; }

mkdir "$mnt"
"$RYEFS" init -q --sample "$tmp/work" >/dev/null || fault "init"

mount
"$RYEFS" umount "$mnt" || fault "idle: status $?"
mounted && fault "idle: still mounted"
"$RYEFS" umount "$mnt" 2>/dev/null
[ $? = 3 ] || fault "not mounted: wanted status 3"

mount
(echo '{"command":"echo $$ > pid; exec sleep 60"}' >"$mnt/tools/rye/bash/run") 2>/dev/null &
writer=$!
for _ in $(seq 50); do
  [ -s "$tmp/work/pid" ] && break
  sleep 0.1
done
run=$(cat "$tmp/work/pid") || fault "the run did not start"
timeout 10 "$RYEFS" umount "$mnt" || fault "waiting writer: status $?"
mounted && fault "waiting writer: still mounted"
wait $writer && fault "the cancelled write succeeded"
for _ in $(seq 30); do
  kill -0 "$run" 2>/dev/null || break
  sleep 0.1
done
kill -0 "$run" 2>/dev/null && fault "the run is still there"

mount
(cd "$mnt" && sleep 20) &
holder=$!
sleep 0.2
timeout 10 "$RYEFS" umount "$mnt" 2>"$tmp/err" || fault "in use: status $?: $(cat "$tmp/err")"
mounted && fault "in use: still mounted"
kill $holder

mount
pid=$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$mnt/.ryefs/stats.json")
[ -n "$pid" ] || fault "stats.json names no pid"
kill -9 "$pid"
sleep 0.2
"$RYEFS" umount "$mnt" || fault "dead daemon: status $?"
mounted && fault "dead daemon: still mounted"
exit 0
