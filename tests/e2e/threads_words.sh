#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `ryefs threads` without a mount: a model's thread followed, its family as a tree, what it cost, and
# for programs the same as JSON.
. "$(dirname "$0")/agent_lib.sh"

agent_model '{"by": "turn", "lanes": {
  "lane_parent": [
    {"calls": [{"name": "rye_execute", "arguments": {"item_id": "directive:lane_child", "thread": "fork"}}]},
    {"text": "Both done."}],
  "lane_child": [{"text": ["One, ", "two."], "first": '"$PATIENCE"', "usage": {"input": 100, "output": 20}}],
  "lane_slow": [{"text": "late", "first": 90}]}}'
agent_directive lane_child '  </metadata>' <<<'Count.'
agent_directive lane_slow '  </metadata>' <<<'Take your time.'
agent_directive lane_parent '    <permissions><execute><directive>lane_child</directive></execute></permissions>
  </metadata>' <<<'Have it counted.'
agent_sign

is "a tree of nothing" "$(run threads tree --json)" "[]"
has "costs of nothing" "$(run threads cost)" "no model has worked on a thread"
id=$(run execute directive:lane_child --fork --async -q)
is "tail, until its end" "$(run threads tail "$id")" "One, two."
is "tail for programs: one value, at the end" "$(run threads tail "$id" --json | jq -c '[.id, .status, .text]')" "[\"$id\",\"completed\",\"One, two.\"]"
is "tail of one that has ended" "$(run threads tail "$id")" "One, two."
has "cost, a table" "$(run threads cost "$id")" "THREAD" "TURNS" "100" "20"
is "cost, for programs" "$(run threads cost "$id" --json | jq -c '.[0] | [.turns, .input_tokens, .output_tokens]')" "[1,100,20]"
has "show has its facts" "$(run threads show "$id")" "integrity    ok 1 checkpoint" "model        test-model"
parent=$(run execute directive:lane_parent --fork --async -q)
run threads wait "$parent" >/dev/null
has "a tree" "$(run threads tree "$parent")" "$parent  completed" "  lane_child/lane_child-"
is "as JSON" "$(run threads tree --json | jq -c --arg id "$parent" '[.[] | select(.id == $id) | .children[].status]')" '["completed"]'
id=$(run execute directive:lane_slow --fork --async -q)
is "what is said to one that has just begun is heard" "$(run threads say "$id" quickly --json | jq -r .status)" success
seen=$(timeout -s INT --preserve-status 1 "$RYEFS" threads tail "$id" --project "$P" --user "$U" --system "$S" 2>&1; echo "$?")
is "^C ends a tail" "$seen" 130
is "and not the thread" "$(run threads show "$id" --json | jq -r .status)" running
run threads cancel "$id" >/dev/null
run threads wait "$id" >/dev/null
id=$(run execute tool:rye/bash/bash command='sleep 3' --async -q)
has "to a tool nothing can be said" "$(run threads say "$id" quickly)" "takes no messages: no model works on it now" "mend with: ryefs threads wait $id"
is "which is a remedy" "$(run threads wait "$id")" completed
has "nor goes one on" "$(run threads resume "$id" go on)" "no model can go on with it" "mend with: ryefs threads show $id"
has "a thread that is none" "$(run threads tail nothing)" "Thread not found: nothing"
has "tail wants one" "$(run threads tail)" "tail wants a thread's id"
finish
