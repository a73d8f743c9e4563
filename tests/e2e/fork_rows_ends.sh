#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_rows_ends.sh: numbered cases of budgets that are shared, of processes that end at the wrong
# moment, and of a project that cannot be written.
. "$(dirname "$0")/agent_lib.sh"

fork_of() { printf '{"name": "rye_execute", "arguments": {"item_id": "directive:%s", "thread": "fork", "async": %s%s}}' "$1" "$2" "${3:-}"; }
NAP='{"calls": [{"name": "t_nap", "arguments": {}}]}'
agent_model '{"by": "turn", "lanes": {
  "lane_most": [{"calls": ['"$(fork_of lane_child true ', "limit_overrides": {"spend": 0.8}')"'], "usage": {"input": 1, "output": 1}}, {"text": "most", "usage": {"input": 1, "output": 1}}],
  "lane_first": [{"calls": ['"$(fork_of lane_second false)"']}, {"text": "first"}],
  "lane_second": [{"calls": ['"$(fork_of lane_third false)"']}, {"text": "second"}],
  "lane_third": [{"text": "third"}],
  "lane_killed": [{"calls": ['"$(fork_of lane_slow true)"', {"name": "t_nap", "arguments": {}}]}, {"text": "no"}],
  "lane_child": [{"text": "child", "delay": 0.3}],
  "lane_slow": [{"text": "slow", "delay": 60}],
  "lane_while": [{"text": "while", "delay": 3}],
  "lane_words": [{"text": ["a ", "b ", "c ", "d ", "e ", "f ", "g ", "h "], "gap": 0.1}],
  "lane_nap": ['"$NAP"', {"text": "awake"}],
  "lane_quick": [{"text": "quick", "delay": 0.05}]
}}'
agent_naps
ALL='    <permissions><execute><tool>t.*</tool><directive>*</directive></execute></permissions>
  </metadata>'
agent_directive lane_most "    <limits spend=\"1.0\"/>
$ALL" <<<'Share it.'
for name in first second third killed child slow while words nap quick; do
  agent_directive lane_$name "$ALL" <<<'Go.'
done
agent_sign tool:t/nap
fx_mount
THREADS=$P/.ai/state/threads
active() { row budget_ledger "select count(*) from budget_ledger where status='active'"; }
one_active() { [ "$(active)" = "$1" ]; }
status_is() { [ "$(<"$M/state/threads/$1/status")" = "$2" ]; }
# whole WHAT ID STATUS: one end, in every record of it
whole() {
  local kinds
  is "$1: its record" "$(jq -r .status "$THREADS/$2/thread.json")" "$3"
  is "$1: its row" "$(row registry "select status from threads where thread_id='$2'")" "$3"
  kinds=$(events "$2" .event_type)
  is "$1: one end, and it is signed" "$(grep -cE '"thread_(completed|error|cancelled)"' <<<"$kinds") $(tail -n 1 <<<"$kinds")" '1 "checkpoint"'
}

# ---- budgets ----
reply=$(fork lane_most)
is "F18 a child takes most of what is left" "$(jq -r .result <<<"$reply")" most
lacks "F18 nothing was refused" "$(events "$(jq -r .thread_id <<<"$reply")" .payload)" "Insufficient"
is "F19 a tree of three" "$(fork lane_first | jq -r .result)" first
is "F19 the next root starts" "$(fork lane_third | jq -r .result)" third
ok "F19 nothing is held" fx_wait 20 one_active 0

# ---- runners that end at the wrong moment ----
id=$(fork_async lane_killed | jq -r .thread_id)
until_true test -e "$P/naps"
child=lane_slow/$(ls "$THREADS/lane_slow")
kill -9 "$(<"$M/state/threads/$id/pid")"
is "F25 a killed parent is lost" "$(exchange 20 "$M/state/threads/$id/wait")" error
like "F25 its child ends with it" "$(exchange 20 "$M/state/threads/$child/wait")" '^(cancelled|error)$'
ok "F25 no budget is held" fx_wait 10 one_active 0
rm -f "$P/naps"
id=$(fork_async lane_slow | jq -r .thread_id)
until_true grep -q cognition_in "$THREADS/$id/transcript.jsonl"
pid=$(<"$M/state/threads/$id/pid")
for _ in {1..30}; do kill -TERM "$pid" 2>/dev/null; done
end=$(exchange 20 "$M/state/threads/$id/wait") # the second one may come before the first is obeyed
like "F38 a storm of SIGTERM" "$end" '^(cancelled|error)$'
whole F38 "$id" "$end"
id=$(fork_async lane_words | jq -r .thread_id)
until_true test -e "$M/state/threads/$id/live"
exec 5<"$M/state/threads/$id/live"
is "F39 a reader that never reads holds nothing up" "$(exchange 20 "$M/state/threads/$id/wait")" completed
exec 5<&-
for i in 1 2 3 4 5 6 7 8; do
  id=$(fork_async lane_quick | jq -r .thread_id)
  sleep "0.0$i"
  echo cancel >"$M/state/threads/$id/ctl" 2>/dev/null
  end=$(exchange 20 "$M/state/threads/$id/wait")
  like "F46 cancelled, or completed ($end)" "$end" '^(cancelled|completed)$'
  whole F46 "$id" "$end"
  is "F46 settled" "$(row budget_ledger "select status from budget_ledger where thread_id='$id'")" "$end"
done

# ---- many, read by many, killed at random: RYE_THREADS=100 by hand, with RYE_TEST_LIMIT=600 ----
MANY=${RYE_THREADS:-12}
# What each of the daemon's descriptors is, without numbers. Those of processes are of a table of the
# last callers and those above them, which is as full as there were different ones: bounded, no more.
# a ring's servers keep theirs
descriptors() { find "/proc/$DAEMON/fd" -type l -printf '%l\n' 2>/dev/null | sed "s|^$T||; s/[0-9]\{2,\}/N/g" | grep -vE 'pidfd|io_uring|^/proc/N(/stat|/status)?( \(deleted\))?$' | sort; }
pidfds() { find "/proc/$DAEMON/fd" -type l -printf '%l\n' 2>/dev/null | grep -c pidfd; }
looks() { find "/proc/$DAEMON/fd" -type l -printf '%l\n' 2>/dev/null | grep -cE '^/proc/[0-9]+(/stat|/status)?( \(deleted\))?$'; }
descriptors >"$T/descriptors"
tails=
ids=
for ((i = 1; i <= MANY; i++)); do
  id=$(fork_async lane_words | jq -r .thread_id)
  ids="$ids $id"
  [ "$i" -gt 20 ] && continue
  tail -s 0.1 -f "$M/state/threads/$id/live" >/dev/null 2>&1 &
  tails="$tails $!"
  disown
done
i=0
for id in $ids; do
  [ $((++i % 3)) = 2 ] && kill -9 "$(<"$M/state/threads/$id/pid")" 2>/dev/null
done
many_ended() { for id in $ids; do grep -qE '^(completed|error)$' "$M/state/threads/$id/status" || return 1; done; }
ok "F40 all end, killed or not" fx_wait $((40 + MANY)) many_ended
kill $tails 2>/dev/null
# a request that is under way has one or two of its own
few() {
  descriptors | diff "$T/descriptors" - | grep '^>' >"$T/more"
  [ "$(wc -l <"$T/more")" -le 2 ]
}
ok "F40 no descriptor is lost" fx_wait 15 few
[ "$(wc -l <"$T/more")" -le 2 ] || sed 's/^/# /' "$T/more"
ok "F40 of processes it has as many as its table of callers" test "$(pidfds)" -le 140
ok "F40 and looks at three files of sixteen of them at most" test "$(looks)" -le 48
ok "F40 no zombie" fx_wait 10 no_zombies

# ---- the daemon is killed ----
id=$(fork_async lane_while | jq -r .thread_id)
exchange 30 "$M/state/threads/$id/wait" >"$T/wait.out" 2>&1 &
reader=$!
until_true status_is "$id" running
sleep 0.3 # nothing tells that the reader has asked
kill -9 "$DAEMON"
wait "$reader"
code=$?
ok "F22 a reader of a dead mount is told, in time" test "$code" = 1
fusermount3 -u -q -z "$M"
DAEMON=
fx_mount
is "F22 its threads went on" "$(exchange 20 "$M/state/threads/$id/wait")" completed
whole F22 "$id" completed

# ---- another process has its number ----
id=$(fork_async lane_nap | jq -r .thread_id)
until_true test -e "$P/naps"
D=$THREADS/$id
umount_rye
sleep 303 &
other=$!
disown
kill -STOP "$(jq .pid "$D/runner.json")"
old=$(jq .pid "$D/runner.json")
jq -c ".pid = $other" "$D/runner.json" >"$T/runner" && cp "$T/runner" "$D/runner.json"
row registry "update threads set pid=$other where thread_id='$id'"
kill -9 "$old"
fx_mount
is "F23 a runner whose number is another's is lost" "$(exchange 20 "$M/state/threads/$id/wait")" error
echo kill >"$M/state/threads/$id/ctl" 2>/dev/null
ok "F23 that other one lives" kill -0 "$other"
kill "$other" 2>/dev/null

# ---- what cannot be written ----
count=$(row registry 'select count(*) from threads')
"$PY" - "$THREADS/registry.db" "$T/held" "$T/unlock" "$T/begun" <<'CODE' 3>&- &
import os, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
while not os.path.exists(sys.argv[4]):
    time.sleep(0.01)
db.execute("begin immediate")
open(sys.argv[2], "w").close()
for _ in range(400):
    if os.path.exists(sys.argv[3]):
        break
    time.sleep(0.05)
db.execute("rollback")
CODE
holder=$!
id=$(fork_async lane_while | jq -r .thread_id)
until_true status_is "$id" running
touch "$T/begun"
until_true test -e "$T/held"
began=$SECONDS
errno "F34 what begins while the registry is held for long is refused" EAGAIN bash -c 'echo directive:lane_third >"$1"' - "$M/state/threads/new"
ok "F34 not before it has waited" test $((SECONDS - began)) -ge 9
has "F34 it says why" "$(<"$M/state/threads/new")" "registry.db" "locked"
touch "$T/unlock"
wait "$holder"
is "F34 nothing of it is there" "$(row registry 'select count(*) from threads')" "$((count + 1))"
is "F34 an end while the registry is held is not lost" "$(exchange 20 "$M/state/threads/$id/wait")" completed
whole F34 "$id" completed
umount_rye
count=$(row registry 'select count(*) from threads')
rm -f "$THREADS"/registry.db-*
printf 'no database at all, but a text that is long enough to be read as one %.0s' {1..20} >"$THREADS/registry.db"
allow 'registry'
fx_mount
is "F35 a registry that is none is made anew" "$(fork lane_third | jq -r .result)" third
is "F35 of all that there were" "$(cut -f 1 "$M/state/threads/registry.tsv" | wc -l)" "$((count + 2))"
umount_rye
mv "$THREADS" "$T/threads"
: >"$THREADS"
fx_mount
reply=$(run execute directive:lane_third --fork)
like "F33 no directory can be made" "$reply" '(Not a directory|Read-only|Permission|cannot)'
finish
