#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_kills.sh: runners, their tools, launchers and the daemon are killed at random moments while
# models work; what is left has to be whole (killer.py says what that is). RYE_SEED replays a run,
# RYE_ROUNDS makes it longer (with RYE_TEST_LIMIT seconds at most). Before that, what chance seldom
# hits.
. "$(dirname "$0")/agent_lib.sh"

STEP='{"calls": [{"name": "t_step", "arguments": {}}], "gap": 0.02}'
agent_model '{"by": "turn", "lanes": {
  "lane_work": ['"$STEP"',
    {"calls": [{"name": "rye_execute", "arguments": {"item_id": "directive:lane_child", "thread": "fork"}}]},
    {"calls": [{"name": "rye_execute", "arguments": {"item_id": "directive:lane_child", "thread": "fork", "async": true}}]},
    '"$STEP"', {"text": ["all ", "is ", "done"], "gap": 0.05}],
  "lane_graph": [{"calls": [{"name": "t_graph", "arguments": {}}]}, {"text": "graph is done"}],
  "lane_child": ['"$STEP"', {"text": "child is done", "gap": 0.05}]}}'
agent_steps
agent_naps
fx_put "$P" tools/t/graph.yaml <<'TEXT'
tool_id: graph
tool_type: graph
version: "1.0.0"
category: t
description: a graph
executor_id: rye/core/runtimes/state-graph/runtime
permissions: [rye.execute.tool.t.*]
config:
  start: a
  nodes:
    a: {action: {item_id: "tool:t/nap"}, next: b}
    b: {type: return, output: graph is done}
TEXT
ALL='    <permissions><execute><tool>t.*</tool><directive>*</directive></execute></permissions>
  </metadata>'
agent_directive lane_child "$ALL" <<<'Do a step.'
agent_directive lane_work "$ALL" <<<'Do it all.'
agent_directive lane_graph "$ALL" <<<'Call the graph.'
agent_sign tool:t/step tool:t/nap tool:t/graph

# rewind ID: its row and budget are as if its runner had died before it could write its end
rewind() {
  sed -i '2,$d' "$D/.row.jsonl"
  rm -f "$D/result.json" "$D/output" "$P/.ai/knowledge/agent/threads/$1.md"
  row registry "update threads set status='running', result=null, spend=0 where thread_id='$1'"
  row budget_ledger "update budget_ledger set status='active' where thread_id='$1'"
}
told() { row "$1" "select $2 from $3 where thread_id='$ID'"; } # FILE COLUMNS TABLE

# ---- behind its last event ----
run execute directive:lane_child --fork >/dev/null &
until_true eval 'cp "$P"/.ai/state/threads/lane_child/*/thread.json "$T/begun.json"'
wait $!
ID=lane_child/$(ls "$P/.ai/state/threads/lane_child")
D=$P/.ai/state/threads/$ID
is "the record of its beginning" "$(jq -r .status "$T/begun.json")" running
rewind "$ID"
cp "$T/begun.json" "$D/thread.json"
sed -i '$d' "$D/transcript.jsonl"
is "its last checkpoint is gone" "$(events "$ID" .event_type | tail -n 1)" '"thread_completed"'
run threads >/dev/null
is "F21 an end that was told is the end" "$(told registry status threads)" completed
is "F21 with its result" "$(jq -c '[.status, .result, .cost.turns, .cost.spend]' "$D/result.json")" '["success","child is done",2,0.07]'
is "F21 in the row, too" "$(told registry turns,spend threads)" "2 0.07"
is "F21 in thread.json" "$(jq -c '[.status, .cost.turns, .cost.input_tokens, .cost.spend]' "$D/thread.json")" '["completed",2,20,0.07]'
is "F21 in the ledger" "$(told budget_ledger status budget_ledger)" completed
like "F21 an independent verifier takes it" "$(RYE_TRUSTED=$U/.ai/config/keys/automatic "$PY" "$E2E/thread_verifier.py" "$P/.ai" "$ID" 2>&1)" '^ok'

# ---- behind more of a transcript than is held in memory ----
rewind "$ID"
cp "$T/begun.json" "$D/thread.json"
{
  head -n -2 "$D/transcript.jsonl"
  yes '{"timestamp": 1.5, "event_type": "token_delta", "payload": {"text": "'"$(printf %01000d 0)"'"}}' | head -c 70M | sed '$d'
} >"$T/long"
cp "$T/long" "$D/transcript.jsonl"
run threads >/dev/null
is "F21 its transcript is closed, too" "$(tail -n 2 "$D/transcript.jsonl" | jq -r .event_type | xargs)" "thread_error checkpoint"
is "F21 and nothing of it is lost" "$(head -n -2 "$D/transcript.jsonl" | cmp - "$T/long" && jq -r .error "$D/result.json")" "Process died"

# ---- before its first file ----
rewind "$ID"
rm -f "$D/thread.json" "$D/transcript.jsonl" "$D/capabilities.md"
run threads >/dev/null
is "F21 a runner that died at its start" "$(told registry status threads)" error
is "F21 gives its budget back" "$(told budget_ledger status budget_ledger)" error

# ---- a child, beside a parent that goes on ----
# its transcript is made before its record is, and a thread without a record is as in the section above
began() { jq -e .pid "$P"/.ai/state/threads/lane_child/*/runner.json && grep -q . "$P"/.ai/state/threads/lane_child/*/transcript.jsonl; }
rm -rf "$P/.ai/state/threads/lane_child"
run execute directive:lane_work --fork >"$T/parent.out" &
until_true began
kill -9 "$(jq .pid "$P"/.ai/state/threads/lane_child/*/runner.json | head -n 1)"
wait $!
ID=$(cd "$P/.ai/state/threads" && ls -d lane_child/* | head -n 1)
is "F25 its parent completes" "$(tail -n 1 "$T/parent.out")" "all is done"
is "F21 and has closed its transcript" "$(events "$ID" .event_type | tail -n 2 | tr '\n' ' ')" '"thread_error" "checkpoint" '
is "F21 and given its budget back" "$(told budget_ledger status budget_ledger)" error

# ---- in a graph that its model waits for ----
run execute directive:lane_graph --fork >/dev/null &
until_true test -e "$P/naps"
PARENT=lane_graph/$(ls "$P/.ai/state/threads/lane_graph")
ID=$(row registry "select thread_id from threads where directive='tool:t/graph'")
is "a graph in a thread is below it" "$(told registry status,parent_id threads)" "running $PARENT"
# what a child was funded with whose launcher came no further
funded() { row budget_ledger "insert into budget_ledger (thread_id, parent_thread_id, reserved_spend, max_spend, status, created_at, updated_at)
  values ('lane_child/$1', '$PARENT', 1, 1, 'active', '2026-01-01', '2026-01-01')"; }
unborn() { row budget_ledger "select status from budget_ledger where thread_id='lane_child/$1'"; }
funded lane_child-1
kill -9 "$(jq .pid "$P/.ai/state/threads/$PARENT/runner.json")"
wait $!
is "F21 a child that never began holds no budget" "$(unborn lane_child-1)" error
is "and ends with it" "$(told registry status threads)" error
is "which its row says" "$(told registry result threads | jq -r .error)" "Process died"

# ---- at random ----
SEED=${RYE_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "# RYE_SEED=$SEED"
ok "nothing is lost by kills" env PROJECT="$P" MOUNT="$M" SYSTEM="$S" WORK="$T" PORT="$PORT" \
  "$PY" "$E2E/killer.py" "$SEED" "${RYE_ROUNDS:-5}"
[ "$FAILED" -gt 0 ] || sed 's/^/# /' "$T/out"

finish
