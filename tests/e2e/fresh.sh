#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What was changed through the mount is what the next read gives: edits, saves, signing, removal.
# fresh_busy.sh tries the same beside two spinning processes a processor, and beside renames that hold
# up the thread that tells the kernel.
. "$(dirname "$0")/lib.sh"

ROUNDS=${RYE_FRESH_ROUNDS:-100}
BUSY=${RYE_FRESH_BUSY:-10} # rounds; 1 000 are minutes and want RYE_TEST_LIMIT
HELD=10

rounds() { # HOW ROUNDS CASES
  timeout "$LIMIT" python3 "$SRC/e2e/fresh.py" "$M" "$S/.ai/knowledge" "$2" "$1" >"$T/rounds" 2>"$T/trouble"
  ok "every case was tried, $1" test "$(grep -c '^\(not \)\?ok' "$T/rounds")" = "$3"
  sed 's/^/# /' "$T/trouble"
  while read -r line; do
    ok "${line#* - }" test "${line%%ok*}" = ""
  done <"$T/rounds"
}

# A thread of a lower class would keep the locks that it shares for as long as others leave it no time.
low_threads() {
  python3 -c '
import os, sys
for tid in os.listdir(f"/proc/{sys.argv[1]}/task"):
    if os.sched_getscheduler(int(tid)) != os.SCHED_OTHER or os.getpriority(os.PRIO_PROCESS, int(tid)) > 0:
        print(tid)' "$DAEMON"
}

start() {
  mkdir -p "$S/.ai/knowledge"
  ok "a key" env USER_SPACE="$U" HOME="$U" "$RYEFS" keygen --project "$P" -q
  mount_rye
  scanned
  is "no thread stands below the others" "$(low_threads)" ""
}

alone() {
  rounds alone "$ROUNDS" 30
  is "no change was answered before the kernel was told" "$(stat_of late)" 0
}

busy() {
  for ((i = 0; i < 2 * $(nproc); i++)); do
    beside "spin$i" bash -c 'while kill -0 "$1" 2>/dev/null; do for ((k = 0; k < 100000; k++)); do :; done; done' - $$
    spinning="${spinning:-} $BESIDE"
  done
  rounds "beside a busy machine" "$BUSY" 30
  is "no change was answered before the kernel was told" "$(stat_of late)" 0
  # shellcheck disable=SC2086
  kill $spinning
}

# Before Linux 6.16 the kernel cannot be made to ask again without a lock that the rename has.
renames() {
  printf '6.16\n%s\n' "$(uname -r)" | sort -CV || {
    N=$((N + 1))
    echo "ok $N - beside renames # SKIP Linux before 6.16"
    return 0
  }
  rounds "beside renames" "$HELD" 6
  not_ok "some changes were answered before the kernel was told" test "$(stat_of late)" = 0
}

start
if [ "$NAME" = fresh ]; then
  alone
else
  busy
  renames
fi
finish
