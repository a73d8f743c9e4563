#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork.sh: a directive that a model works through: what is sent, what is left behind, what the
# writer of `fork` hears; tool calls and their refusals; how it ends.
. "$(dirname "$0")/agent_lib.sh"

agent_model '{"by": "turn", "lanes": {
  "lane_plain": [{"text": ["Hello, ", "Ann."], "usage": {"input": 100, "output": 20}}],
  "lane_outputs": [
    {"text": "Looking.", "calls": [{"id": "c1", "name": "t_count", "arguments": {"word": "abc"}}]},
    {"calls": [{"id": "c2", "name": "directive_return", "arguments": {"greeting": "hi", "count": "3"}}]}],
  "lane_missing": [
    {"calls": [{"name": "directive_return", "arguments": {"count": 1}}]},
    {"calls": [{"name": "directive_return", "arguments": {"greeting": "", "count": 0}}]}],
  "lane_execute": [{"calls": [{"name": "rye_execute", "arguments": {"item_type": "tool",
    "item_id": "rye/agent/threads/directive_return", "parameters": {"greeting": "by execute"}}}]}],
  "lane_prefix": [{"calls": [{"name": "rye_execute", "arguments": {
    "item_id": "tool:rye/agent/threads/directive_return", "parameters": {"greeting": "by prefix"}}}]}],
  "lane_between": [{"calls": [
    {"id": "a", "name": "t_count", "arguments": {"word": "x"}},
    {"id": "b", "name": "directive_return", "arguments": {"greeting": "mid"}},
    {"id": "c", "name": "t_count", "arguments": {"word": "late"}}]}],
  "lane_blocked": [{"calls": [{"name": "directive_return", "arguments":
    {"status": "error", "error_detail": "no such place", "greeting": "half"}}]}],
  "lane_begun": [{"text": "begun", "delay": 2}],
  "lane_silent": [{"text": "one"}, {"text": "two"}, {"text": "three"}, {"text": "four"}],
  "lane_denied": [
    {"calls": [{"id": "d1", "name": "rye_execute", "arguments": {"item_id": "tool:t/secret"}},
               {"id": "d2", "name": "rye_sign", "arguments": {"item_id": "tool:t/count"}},
               {"id": "d3", "name": "rye_execute", "arguments": {"item_id": "tool:rye/agent/threads/internal/control"}},
               {"id": "d4", "name": "no_such_tool", "arguments": {}},
               {"id": "d5", "name": "t_count", "arguments_text": "{\"word\": "},
               {"id": "d6", "name": "t_count", "arguments": {"word": [1]}},
               {"id": "d7", "name": "t_count", "arguments": {}}]},
    {"text": "I may not."}],
  "lane_turns": [{"calls": [{"name": "t_count", "arguments": {"word": "1"}}]},
                 {"calls": [{"name": "t_count", "arguments": {"word": "2"}}]},
                 {"calls": [{"name": "t_count", "arguments": {"word": "3"}}]},
                 {"calls": [{"name": "t_count", "arguments": {"word": "4"}}]}]}}'

fx_python "$P" t/count <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
import os
def execute(params, project_path):
    with open(os.path.join(project_path, "ran.log"), "a") as f:
        f.write(params["word"] + "\n")
    return {"success": True, "length": len(params["word"])}
CODE
fx_python "$P" t/secret <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {}}
import os
def execute(params, project_path):
    open(os.path.join(project_path, "secret.ran"), "w").close()
    return {"success": True}
CODE
TOOLS='    <permissions><execute><tool>t.count</tool></execute></permissions>'
OUTPUTS='  </metadata>
  <inputs><input name="who" type="string">Whom</input></inputs>
  <outputs><output name="greeting" type="string" required="true">the greeting</output>
  <output name="count" type="integer">how many</output></outputs>'
agent_directive lane_plain '  </metadata>
  <inputs><input name="who" type="string" required="true">Whom</input></inputs>' <<<'Greet {input:who}.'
for name in outputs missing execute prefix between blocked silent; do
  agent_directive lane_$name "$TOOLS
$OUTPUTS" <<<'Count, then return.'
done
agent_directive t/lane_begun '  </metadata>' <<<'Begin.'
agent_directive lane_denied "$TOOLS
  </metadata>" <<<'Try what you may not.'
agent_directive lane_turns "    <limits turns=\"3\"/>
$TOOLS
  </metadata>" <<<'Go on for ever.'
agent_directive lane_limit "    <limits tunrs=\"3\"/>
  </metadata>" <<<'Never begins.'
agent_sign tool:t/count tool:t/secret
fx_mount

# what happened, but for the pieces of an answer that is coming
KINDS='select(.event_type != "token_delta") | .event_type'

# ---- an answer of text alone ----
reply=$(fork lane_plain '{"who": "Ann"}')
is "the writer hears of success" "$(jq -r '.status, .state, .result' <<<"$reply" | tr '\n' ' ')" "success completed Hello, Ann. "
id=$(jq -r .thread_id <<<"$reply")
like "the thread's id" "$id" '^lane_plain/lane_plain-[0-9]{10}$'
is "its cost" "$(jq -c '[.cost.turns, .cost.input_tokens, .cost.output_tokens, .cost.spend]' <<<"$reply")" '[1,100,20,0.2]'
has "the model got the prompt" "$(asked 1)" '<directive name=\"lane_plain\">' 'Greet Ann.' '"model":"test-model"'
D=$P/.ai/state/threads/$id
is "status, in the mount" "$(<"$M/state/threads/$id/status")" completed
is "what it leaves" "$(cd "$D" && ls thread.json transcript.jsonl capabilities.md result.json request.json live output 2>&1 | tr '\n' ' ')" \
  "capabilities.md live output request.json result.json thread.json transcript.jsonl "
is "live has the text" "$(<"$D/live")" "Hello, Ann."
is "output, too" "$(<"$M/state/threads/$id/output")" "Hello, Ann."
is "the transcript" "$(events "$id" "$KINDS" | tr -d '"' | tr '\n' ' ')" \
  "cognition_in cognition_out thread_completed checkpoint "
is "the answer as it came" "$(events "$id" 'select(.event_type == "token_delta") | .payload.text' | tr -d '"\n')" "Hello, Ann."
is "facts" "$(cd "$M/state/threads/$id" && cat model provider && jq -r .who inputs.json && head -n 1 cost)" \
  "$(printf 'test-model\nrye/agent/providers/scripted\nAnn\nturns 1')"
ok "and its entry" test -s "$P/.ai/knowledge/agent/threads/$id.md"
is "thread.json's status" "$(jq -r '.status, .model, .inputs.who' "$D/thread.json" | tr '\n' ' ')" "completed test-model Ann "
is "the row" "$(row registry "select status, directive, turns from threads where thread_id='$id'")" "completed lane_plain 1"
has "what is said too late" "$("$RYEFS" threads --project "$P" say "$id" x 2>&1)" "has ended already (completed)" "mend with: ryefs threads resume $id TEXT"
out=$("$RYEFS" execute --project "$P" --fork directive:lane_plain who=Ann model=none 2>&1)
has "a model that there is not" "$out" "no provider offers the model 'none'"
lacks "is no misspelt directive" "$out" "did you mean"
has "a wrong input is refused" "$(fork lane_plain '{}')" '"status":"error"' 'Missing required inputs: who'

# ---- tools, and outputs ----
reply=$(fork lane_outputs '{"who": "Bob"}')
is "T15 outputs, typed" "$(command jq -c '[.status, .outputs]' <<<"$reply")" '["success",{"greeting":"hi","count":3}]'
id=$(jq -r .thread_id <<<"$reply")
is "T15 events in their order" "$(events "$id" "$KINDS" | tr -d '"' | tr '\n' ' ')" \
  "cognition_in cognition_out tool_call_start tool_call_result checkpoint cognition_in cognition_out tool_call_start directive_return tool_call_result thread_completed checkpoint "
has "the result of the tool" "$(events "$id" 'select(.event_type == "tool_call_result") | .payload.output')" 'length'
is "the tool ran" "$(<"$P/ran.log")" abc
is "output shows the outputs" "$(command jq -c . "$M/state/threads/$id/output")" '{"greeting":"hi","count":3}'
is "T16 a missing output is asked for again; empty values count" "$(fork lane_missing | command jq -c .outputs)" '{"greeting":"","count":0}'
is "T17 returned through execute" "$(fork lane_execute | jq -c .outputs)" '{"greeting":"by execute"}'
is "T17 with the prefix" "$(fork lane_prefix | jq -c .outputs)" '{"greeting":"by prefix"}'
rm -f "$P/ran.log"
reply=$(fork lane_between)
id=$(jq -r .thread_id <<<"$reply")
is "T18 what stands before it runs, not what follows" "$(<"$P/ran.log")" x
is "T18 each start has its result" "$(events "$id" 'select(.event_type == "tool_call_result") | .payload.call_id' | tr -d '"' | tr '\n' ' ')" "a b c "
has "T18 the last one says why" "$(events "$id" 'select(.payload.call_id == "c" and .payload.error) | .payload.error')" "not executed"
reply=$(fork lane_blocked)
is "T19 a blocked directive" "$(jq -c '[.status, .state, .error, .outputs.status]' <<<"$reply")" '["error","error","no such place","error"]'
is "T19 its outputs are kept" "$(jq -c '[.status, .outputs.greeting]' "$P/.ai/state/threads/$(jq -r .thread_id <<<"$reply")/thread.json")" '["error","half"]'
reply=$(fork lane_silent)
is "T20 two nudges, then an error" "$(jq -r '.cost.turns, .error' <<<"$reply" | tr '\n' ' ')" "3 the model did not return the required outputs: greeting "
is "live has a line for each answer" "$(cat "$P/.ai/state/threads/$(jq -r .thread_id <<<"$reply")/live")" "$(printf 'one\ntwo\nthree')"

# ---- what it may not ----
reply=$(fork lane_denied)
is "T40 denials end nothing" "$(jq -r '.state, .result' <<<"$reply" | tr '\n' ' ')" "completed I may not. "
id=$(jq -r .thread_id <<<"$reply")
errors=$(events "$id" 'select(.event_type == "tool_call_result") | [.payload.call_id, .payload.error]')
has "T40 a tool without capability" "$errors" "d1" "Permission denied: 'rye.execute.tool.t.secret' not covered"
has "T40 signing" "$errors" "Permission denied: 'rye.sign.tool.t.count' not covered"
has "T40 internal tools" "$errors" "internal"
has "F14 a tool that is not there" "$errors" "Unknown tool: no_such_tool"
has "F14 arguments of a wrong type" "$(grep '"d6"' <<<"$errors")" word
has "F14 and none where one is required" "$(grep '"d7"' <<<"$errors")" word
has "F11 arguments that cannot be read" "$errors" "d5" "the arguments cannot be read"
not_ok "nothing of it ran" test -e "$P/secret.ran"

# ---- limits ----
before=$(asks lane_turns)
reply=$(fork lane_turns)
has "T22 the limit of turns" "$(jq -r .error <<<"$reply")" "turns" "3/3"
is "T22 its file of limits" "$(grep turns "$M/state/threads/$(jq -r .thread_id <<<"$reply")/limits")" "turns 3 3"
is "T22 exactly three requests" "$(($(asks lane_turns) - before))" 3
reply=$(fork lane_limit)
has "T24 an unknown limit" "$(jq -r .error <<<"$reply")" "Unknown limit 'tunrs'" "Valid limits: "
is "T24 its row" "$(cat "$M/state/threads/$(jq -r .thread_id <<<"$reply")/status")" error
reply=$(fork lane_plain '{"who": "A", "limit_overrides": {"foo": 1}}')
has "T24 in an override, too" "$(jq -r .error <<<"$reply")" "Unknown limit 'foo'" "Valid limits: depth, "
is "T24 its row" "$(row registry "select status from threads where thread_id='$(jq -r .thread_id <<<"$reply")'")" error

# ---- from the command line, and without waiting ----
is "execute --fork" "$(run execute directive:lane_plain --fork who=Cy -q)" "Hello, Ann."
is "execute --fork, outputs" "$(run execute directive:lane_outputs --fork who=Cy -q | command jq -c .)" '{"greeting":"hi","count":3}'
id=$(run execute directive:lane_plain --fork --async who=Di -q)
like "execute --fork --async" "$id" '^lane_plain/lane_plain-'
is "T01 its end" "$(run threads wait "$id")" completed
reply=$(fork_async lane_plain '{"who": "Ed"}')
id=$(jq -r .thread_id <<<"$reply")
ok "T01 its directory is there with the reply" test -d "$P/.ai/state/threads/$id"
like "T01 its id" "$id" '^lane_plain/lane_plain-[0-9]+$'
like "T01 its row, and its runner" \
  "$("$PY" -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute("select status, pid from threads where thread_id=?", sys.argv[2:]).fetchone())' "$P/.ai/state/threads/registry.db" "$id")" \
  "^(running|completed) $(jq .pid <<<"$reply")\$"
is "a write to async" "$(jq -c '[.status, .state, .async, (.pid > 1)]' <<<"$reply")" '["running","running",true,true]'
is "goes on by itself" "$(timeout 20 cat "$M/state/threads/$(jq -r .thread_id <<<"$reply")/wait")" completed
reply=$(fork_async t/lane_begun)
id=$(jq -r .thread_id <<<"$reply")
pid=$(jq .pid <<<"$reply")
like "T01 an id below a directory" "$id" '^t/lane_begun/lane_begun-[0-9]+$'
ok "T01 its directory" test -d "$P/.ai/state/threads/$id"
is "T01 its row" "$(row registry "select status, pid from threads where thread_id='$id'")" "running $pid"
ok "T01 its process lives" kill -0 "$pid"
is "T01 until it ends" "$(exchange 20 "$M/state/threads/$id/wait")" completed

# ---- another program takes what they leave, and nothing else ----
verifier() { RYE_TRUSTED=$U/.ai/config/keys/automatic "$PY" "$E2E/thread_verifier.py" "$P/.ai" "$@" 2>&1; }
seen=0
for file in "$P"/.ai/state/threads/*/*/thread.json; do
  id=$(dirname "${file#"$P/.ai/state/threads/"}")
  like "an independent verifier takes $id" "$(verifier "$id")" '^ok'
  seen=$((seen + 1))
done
ok "of all threads that ran" test "$seen" -ge 12
like "and refuses what was changed" "$(verifier "$id" --mutations 10)" '^ok, [34][0-9] mutations refused$'

finish
