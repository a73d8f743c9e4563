#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/run: the job through the command line; mounted, where that is possible, twice in a
# row, the mount left up; a workspace of one's own.
set -u
tmp=$(mktemp -d)
export TMPDIR=$tmp HOME=$tmp RYE_NO_BUILD=1
BUILD=$(dirname "$RYEFS")
export BUILD
run=$RYE_TEST_SRC/../scripts/run

mounts() { awk -v tmp="$tmp/" '/ - fuse\.ryefs / && index($5, tmp) == 1 {print $5}' /proc/self/mountinfo; }
finish() {
  for m in $(mounts); do
    "$RYEFS" umount "$m"
  done
  rm -rf "$tmp"
}
trap finish EXIT
fault() {
  echo "run_sample: $*"
  cat "$tmp/log"
  exit 1
}
wants() { grep -qF -- "$1" "$tmp/log" || fault "the output lacks: $1"; }

"$run" --no-fuse >"$tmp/log" 2>&1 || fault "--no-fuse ended with $?"
wants "6 words; longest: not, be, or"
wants "the text holds no word"
wants "mend with: ryefs sign knowledge:sample/doubtful"
wants "done at last"

"$run" one >"$tmp/log" 2>&1 && fault "one operand was accepted"
(exec 3<>/dev/fuse) 2>/dev/null || exit 0

for turn in first second; do
  "$run" >"$tmp/log" 2>&1 || fault "the $turn run ended with $?"
  wants "6 words; longest: not, be, or"
  wants "Greet Ann in a dry tone"
  wants "doubtful.md -> .why/EBADMSG: "
  wants "Bad message"
  wants "done at last"
  [ "$(mounts | wc -l)" = 1 ] || fault "there are $(mounts | wc -l) mounts after the $turn run"
done

mkdir "$tmp/own"
"$RYEFS" init -q "$tmp/own" >/dev/null
"$run" "$tmp/own" "$tmp/at" >"$tmp/log" 2>&1 || fault "a workspace of one's own: $?"
[ -e "$tmp/at/README.md" ] || fault "$tmp/at is not mounted"
exit 0
