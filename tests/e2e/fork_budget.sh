#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_budget.sh: the money of children that run beside their parent: which of two gets it, and one
# that begins when its parent has ended. The ledger is the sum of what was logged.
. "$(dirname "$0")/agent_lib.sh"
ROUNDS=${RYE_ROUNDS:-8}

CHILD='{"name": "rye_execute", "arguments": {"item_id": "directive:lane_slow", "thread": "fork", "async": true,
  "limit_overrides": {"spend": 0.6}}}'
agent_model '{"by": "turn", "lanes": {
  "lane_two": [{"calls": ['"$CHILD"', '"$CHILD"']}, {"text": "both were asked", "delay": 0.2}],
  "lane_brief": [{"calls": [{"id": "a", "name": "rye_execute", "arguments": {"item_id": "directive:lane_quick", "thread": "fork", "async": true}}]},
    {"text": "gone"}],
  "lane_broken": [{"calls": [{"name": "rye_execute", "arguments": {"item_id": "directive:lane_needs", "thread": "fork"}}]},
    {"calls": [{"name": "rye_execute", "arguments": {"item_id": "directive:lane_quick", "thread": "fork",
      "limit_overrides": {"spend": 0.8}}}]}, {"text": "the rest"}],
  "lane_long": [{"calls": [{"name": "t_nap", "arguments": {}}], "usage": {"input": 95000, "output": 10}}, {"text": "went on"}],
  "lane_leaves": [{"calls": [{"id": "a", "name": "rye_execute", "arguments": {"item_id": "directive:lane_long", "thread": "fork", "async": true}}]},
    {"text": "gone"}],
  "lane_slow": [{"text": "slow", "delay": 1}],
  "lane_quick": [{"text": "quick"}]
}}'
ALL='    <permissions><execute><tool>t.*</tool><directive>*</directive></execute></permissions>
  </metadata>'
agent_naps
agent_directive lane_two "    <limits spend=\"1.0\"/>
$ALL" <<<'Have it done twice.'
agent_directive lane_brief "$ALL" <<<'Have it done, and go.'
agent_directive lane_broken "    <limits spend=\"1.0\"/>
$ALL" <<<'Try, then try something else.'
agent_directive lane_leaves "    <limits spend=\"1000\"/>
$ALL" <<<'Have it done, and go.'
agent_directive lane_long '    <limits spend="500"/>
    <permissions><execute><tool>t.nap</tool></execute></permissions>
  </metadata>' <<<'Fill the window.'
agent_directive lane_slow '  </metadata>' <<<'Take your time.'
agent_directive lane_quick '  </metadata>' <<<'Be quick.'
agent_directive lane_needs '    <limits spend="0.9"/>
  </metadata>
  <inputs><input name="who" type="string" required="true">Whom</input></inputs>' <<<'Needs {input:who}.'
agent_sign tool:t/nap
fx_mount
children() { ls "$P/.ai/state/threads/$1" 2>/dev/null | sed "s|^|$1/|"; }
ended() { test -e "$P/.ai/state/threads/$1/result.json"; }
# sums ROOT ID...: the root's cost in the ledger is what its threads have logged
sums() {
  local id=$1
  row budget_ledger "select printf('%.6f', actual_spend) from budget_ledger where thread_id='$id'"
  for id; do events "$id" '.payload.usage.spend // empty'; done | jq -s 'add' | xargs printf '%.6f\n'
}

# ---- two that want more than there is: the first one has it, whatever the parent does meanwhile ----
old=$(children lane_slow)
for i in $(seq "$ROUNDS"); do
  id=$(fork lane_two | jq -r .thread_id)
  two=$(children lane_slow | grep -vxF "$old")
  old=$(children lane_slow)
  for child in $two; do until_true ended "$child"; done
  is "F17 $i: one has it, the other has not" \
    "$(for child in $two; do jq -r .state "$P/.ai/state/threads/$child/result.json"; done | sort | tr '\n' ' ')" "completed error "
  has "F17 $i: and says why" "$(for child in $two; do jq -r '.error // empty' "$P/.ai/state/threads/$child/result.json"; done)" \
    "Budget reservation failed: Insufficient budget: parent=$id" "requested=0.6"
  # shellcheck disable=SC2086
  is "F17 $i: the ledger is the sum" "$(sums "$id" $two | sort -u | wc -l)" 1
done

# ---- a parent that is over before its child has asked ----
for i in $(seq "$ROUNDS"); do
  id=$(fork lane_brief | jq -r .thread_id)
  child=$(events "$id" 'select(.payload.call_id == "a" and .payload.output) | .payload.output | fromjson | .thread_id' | jq -r .)
  until_true ended "$child"
  is "F18 $i: its child is funded" "$(jq -r '.state, .result' "$P/.ai/state/threads/$child/result.json" | tr '\n' ' ')" "completed quick "
  is "F18 $i: the ledger is the sum" "$(sums "$id" "$child" | sort -u | wc -l)" 1
done
is "nothing is held any more" "$(row budget_ledger "select count(*) from budget_ledger where status='active'")" 0

# ---- what was reserved for a child that could not begin is given back ----
reply=$(fork lane_broken)
has "a child that cannot begin" "$(events "$(jq -r .thread_id <<<"$reply")" 'select(.payload.error) | .payload.error')" "who"
is "leaves its money to others" "$(jq -r .state "$P/.ai/state/threads/$(children lane_quick | tail -n 1)/result.json")" completed
is "T28 nothing is held by it" "$(row budget_ledger "select count(*) from budget_ledger where status='active'")" 0

# ---- a child that hands over when its parent has ended ----
id=$(fork lane_leaves | jq -r .thread_id)
child=$(events "$id" 'select(.payload.call_id == "a" and .payload.output) | .payload.output | fromjson | .thread_id' | jq -r .)
touch "$P/wake"
is "T28 a child without a parent hands over" "$(exchange 20 "$M/state/threads/$child/wait")" completed
next=$(row registry "select continuation_thread_id from threads where thread_id='$child'")
is "T28 the next one has what was left" "$(jq -r .state "$P/.ai/state/threads/$next/result.json")" completed
is "T28 the ledger is the sum" "$(sums "$id" "$child" "$next" | sort -u | wc -l)" 1
finish
