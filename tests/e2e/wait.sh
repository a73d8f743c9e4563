#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# -o wait=SECONDS: what goes on when it is over is a thread like any other: it can be ended from
# the mount and from the command line, also while it is queued, and outlives the mount.
. "$(dirname "$0")/fixture.sh"

fx_mount wait=1 jobs=1
allow 'EINPROGRESS'
t=$M/tools/rye/bash
threads() { timeout 20 "$RYEFS" threads --project "$P" --system "$S" "$@" 2>&1; }
state() { timeout 20 cat "$M/state/threads/$1/wait"; }
id_of() { sed -n 's/.*"thread_id": *"\([^"]*\)".*/\1/p' "$t/run"; }
# ID of what COMMAND becomes
run() {
  echo "{\"command\":\"$1\"}" >"$t/run" 2>/dev/null && return 1
  id_of
}

a=$(run "sleep 60.$$")
b=$(run "echo queued")
has "one that is queued has a thread, too" "$b" -
ok "the command line cancels one" threads cancel "$a"
is "it has ended" "$(state "$a")" cancelled
ok "its processes too" fx_wait 5 no_naps 60
ok "and the mount has not" answers
is "the next one runs" "$(state "$b") $(<"$M/state/threads/$b/output")" "completed queued"

a=$(run "sleep 61.$$")
b=$(run "echo never")
ok "ctl cancels one that is queued" bash -c "echo cancel >'$M/state/threads/$b/ctl'"
is "it never ran" "$(state "$b")" cancelled
ok "the command line kills one" threads kill "$a"
is "it is recorded as killed" "$(state "$a"): $(<"$M/state/threads/$a/error")" "killed: Killed by request"
ok "the mount is still there" answers

a=$(run "sleep 3; echo later")
b=$(run "echo and the queued one")
ok "unmount" unmounted
is "both go on" "$(threads wait "$a") $(threads wait "$b")" "completed completed"
has "with their results" "$(threads show "$a") $(threads show "$b")" later "and the queued one"
wait "$DAEMON"
is "then the daemon ends" $? 0
DAEMON=

fx_mount wait=1
a=$(run "sleep 62.$$")
kill -9 "$DAEMON"
wait "$DAEMON" 2>/dev/null
DAEMON=
fusermount3 -u -q -z "$M"
has "one that died with its daemon is not running for ever" "$(threads list)" "$a  error"
wake 62
finish
