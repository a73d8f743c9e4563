#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# descriptors.sh: a daemon that may open no more files says so: EAGAIN and a sentence, for each
# number of descriptors that a run is short of; never that somebody lacks permission, or memory.
. "$(dirname "$0")/fixture.sh"
command -v prlimit >/dev/null || skip "prlimit is not installed"
allow 'Too many open files|too many files open'

write() {
  bash -c "echo '{}' >'$M/tools/count/${1:-run}'" 2>&1
}

fx_spaces
hard=$(ulimit -Hn)
ulimit -Sn 128
fx_mount
is "the soft limit is the hard one" "$(prlimit --nofile --noheadings -o SOFT -p "$DAEMON" | tr -d ' ')" "$hard"
is "with descriptors it runs" "$(write)" ""
busy=0
other=
for n in $(seq 3 40); do
  prlimit -p "$DAEMON" --nofile="$n:$hard"
  for how in run async dry_run; do
    got=$(write "$how")
    case $got in
      '') ;;
      *'Resource temporarily unavailable'*) busy=$((busy + 1)) ;;
      *) other="$other $how $n: $got" ;;
    esac
  done
  if [ "$n" = 3 ]; then
    has "why is told" "$(cat "$M/.ryefs/errors" 2>&1)" "too many files open"
  fi
done
prlimit -p "$DAEMON" --nofile="$hard:$hard"
is "short of descriptors: EAGAIN" "$other" ""
is "they were short" "$([ "$busy" -gt 5 ] && echo yes)" yes
is "and afterwards it runs" "$(write)" ""
finish
