#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# parallel.sh: lookups in one directory do not wait for each other. While the daemon is stopped
# none is answered, and the kernel counts those that it has sent: all, or only the first.
. "$(dirname "$0")/lib.sh"
CONNECTIONS=/sys/fs/fuse/connections
N_LOOKUPS=20

mount_rye
minor=$(($(stat -c %d "$M") & 0xff | $(stat -c %d "$M") >> 12 & 0xfff00))
waiting() { cat "$CONNECTIONS/$minor/waiting"; }
# in_flight N: so many requests or more wait for the daemon
in_flight() { [ "$(waiting)" -ge "$1" ]; }
# lookups DIRECTORY: how many of them are sent before one is answered
lookups() {
  local pids= i
  # the directory itself is not to be looked up
  stat "$M/$1/absent" >/dev/null 2>&1
  kill -STOP "$DAEMON"
  for i in $(seq "$N_LOOKUPS"); do
    stat "$M/$1/absent-$i" >/dev/null 2>&1 &
    pids="$pids $!"
  done
  ok "$N_LOOKUPS lookups in $1 wait side by side" until_true in_flight "$N_LOOKUPS"
  kill -CONT "$DAEMON"
  for i in $pids; do
    wait "$i"
  done
  is "and are answered" "$(waiting)" 0
}

if ! waiting >/dev/null 2>&1; then
  mount -t fusectl none "$CONNECTIONS" 2>/dev/null || skip "fusectl cannot be read"
fi
lookups search
lookups knowledge
lookups spaces/project
umount_rye
finish
