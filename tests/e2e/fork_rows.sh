#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_rows.sh: numbered cases of threads that go well: the smallest thread, calls in the text, two
# children at once, hand-overs in a chain; and a transcript that was tampered with in six ways.
. "$(dirname "$0")/agent_lib.sh"

LONG=$(printf 'words %.0s' {1..400})
SPAWN='"name": "rye_execute", "arguments": {"item_id": "directive:lane_child", "thread": "fork", "async": true}'
WORK='{"text": "'"$LONG"'", "calls": [{"name": "t_long", "arguments": {}}]}'
FULL='{"text": "'"$LONG"'", "calls": [{"name": "t_long", "arguments": {}}], "usage": {"input": 95000, "output": 10}}'
TENS=$WORK
for _ in {1..29}; do TENS="$TENS, $WORK"; done
agent_model '{"lanes": {
  "lane_plain": [{"text": "plainly"}, {}, {}, {}, {}, {"text": "with five turns"}],
  "lane_parsed": [
    {"text": "First <invoke name=\"t_add\"><parameter name=\"n\">7</parameter></invoke> and <invoke name=\"t_add\"><parameter name=\"n\">8</parameter></invoke> <invoke name=\"t_add\"><parameter name=\"n\">9"},
    {"text": "<invoke name=\"t_add\"><parameter name=\"n\">10</parameter></invoke>"}, {"text": "added"}],
  "lane_project": [{"status": 418, "error": {"type": "teapot", "message": "short and stout"}}, {"text": "after the hook"}],
  "lane_two": [{"calls": [{"id": "s1", '"$SPAWN"'}, {"id": "s2", '"$SPAWN"'}]},
    {"find": "lane_child/lane_child-[0-9]+", "calls": [{"id": "w", "name": "rye_agent_threads_orchestrator",
      "arguments": {"operation": "wait_threads", "thread_ids": "FOUND", "timeout": 20}}]},
    {"text": "both are back"}],
  "lane_one": [{"calls": [{"id": "s1", '"$SPAWN"'}, {"id": "s2", '"$SPAWN"'}]}, {"text": "one"}],
  "lane_capped": [{"calls": [{"name": "rye_execute", "arguments":
      {"item_id": "directive:lane_eager", "thread": "fork", "limit_overrides": {"turns": 9}}}]}, {"text": "capped"}],
  "lane_above": [{"calls": [{"name": "rye_execute", "arguments": {"item_id": "directive:lane_full", "thread": "fork", "parameters": {"who": "Zoe"}}}]}, {"text": "above"}],
  "lane_full": ['"${FULL/95000/180}"', {"text": "the successor"}],
  "lane_chain": ['"$TENS, $FULL, $WORK, $FULL"', {"text": "the third"}],
  "lane_steps": [{"text": "one", "calls": [{"name": "t_add", "arguments": {"n": 1}}]},
    {"text": "two", "calls": [{"name": "t_add", "arguments": {"n": 2}}]}, {"text": "three"}, {"text": "four"}],
  "lane_child": [{"text": "a child", "delay": 0.5, "usage": {"input": 100, "output": 20}}, {"text": "a child"}, {"text": "a child"}],
  "lane_eager": ['"$WORK, $WORK, $WORK, $WORK, $WORK, $WORK"']
}}'
fx_python "$P" t/add <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
import os
def execute(params, project_path):
    with open(os.path.join(project_path, "added"), "a") as f:
        f.write("%s %d\n" % (type(params["n"]).__name__, params["n"]))
    return {"success": True}
CODE
fx_python "$P" t/long <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {}}
def execute(params, project_path):
    return {"success": True, "text": "result " * 250}
CODE
sed 's/^tool_id: scripted/tool_id: parsed/; s/_mapping: {/_mapping: { parsing: test-model,/' \
  "$P/.ai/tools/rye/agent/providers/scripted.yaml" >"$P/.ai/tools/rye/agent/providers/parsed.yaml"
echo 'tool_use: { mode: text_parsed }' >>"$P/.ai/tools/rye/agent/providers/parsed.yaml"
ALL='    <permissions><execute><tool>t.*</tool><tool>rye.agent.threads.orchestrator</tool><directive>*</directive></execute></permissions>
  </metadata>'
agent_directive lane_plain '  </metadata>' <<<'Say something.'
agent_directive lane_project '  </metadata>' <<<'Say something.'
agent_directive lane_parsed '    <model tier="parsing" provider="parsed"/>
    <permissions><execute><tool>t.add</tool></execute></permissions>
  </metadata>' <<<'Add.'
for name in two steps child; do agent_directive lane_$name "$ALL" <<<'Go.'; done
agent_directive lane_chain "    <limits spend=\"500\" turns=\"90\"/>
$ALL" <<<'Go on.'
agent_provider small 's/^context_window: .*/context_window: 200/'
agent_directive lane_full "    <model tier=\"small\" provider=\"small\"/>
    <limits spend=\"500\" turns=\"90\"/>
$ALL
  <inputs><input name=\"who\" type=\"string\" required=\"true\">Whom</input></inputs>" <<<'Go on.'
agent_directive lane_one "    <limits spawns=\"1\"/>
$ALL" <<<'Have it done twice.'
agent_directive lane_eager "    <limits turns=\"2\"/>
$ALL" <<<'Go on for ever.'
agent_directive lane_capped "    <limits turns=\"4\"/>
$ALL" <<<'Have it done.'
agent_directive lane_above "    <limits depth=\"3\" spend=\"1000\"/>
$ALL" <<<'Have it done.'
fx_put "$P" config/agent/hooks.yaml <<'TEXT'
category: agent
version: "1.0.0"
hooks:
  - id: teapot
    event: error
    condition: {path: status_code, op: eq, value: 418}
    action: {item_id: rye/agent/threads/internal/control, params: {action: retry}}
TEXT
agent_sign tool:t/add tool:t/long tool:rye/agent/providers/parsed config:agent/hooks
fx_mount

# ---- one thread ----
is "T21 neither permissions nor outputs" "$(fork lane_plain | jq -c '[.state, .result]')" '["completed","plainly"]'
reply=$(fork lane_parsed)
id=$(jq -r .thread_id <<<"$reply")
is "T26 calls in the text" "$(jq -c '[.state, .result]' <<<"$reply")" '["completed","added"]'
is "T26 an integer is one, a block that is not closed is none" "$(tr '\n' , <"$P/added")" "int 7,int 8,int 10,"
is "T26 no id twice" "$(events "$id" 'select(.event_type == "tool_call_start") | .payload.call_id' | sort -u | wc -l)" 3
is "T43 a hook of the project tries again" "$(fork lane_project | jq -c '[.state, .result]')" '["completed","after the hook"]'

# ---- children ----
reply=$(fork lane_two)
id=$(jq -r .thread_id <<<"$reply")
waited=$(events "$id" 'select(.event_type == "tool_call_result" and .payload.call_id == "w") | .payload.output')
is "T46 a parent waits for its two children" "$(jq -r .result <<<"$reply")" "both are back"
is "T46 both have completed" "$(grep -o 'a child' <<<"$waited" | wc -l)" 2
has "T46 their cost is told" "$waited" completed input_tokens
if need strace "an end while a thread's facts are read"; then
  # its directory is opened late each time: the child ends between the first fact and the last
  id=$(run execute directive:lane_child --fork --async -q)
  strace -f -qq -o /dev/null -P "$id" -e trace=openat2 -e inject=openat2:delay_exit=40000 \
    "$RYEFS" threads show "$id" --json --project "$P" --user "$U" --system "$S" >"$T/shown"
  ok "what has completed is shown with its result" jq -e '.status != "completed" or .["result.json"].result == "a child"' "$T/shown"
fi
reply=$(fork lane_one)
id=$(jq -r .thread_id <<<"$reply")
is "T48 one of two that were asked for together" "$(events "$id" 'select(.event_type == "tool_call_result" and .payload.error) | .payload.error' | grep -c 'Spawn limit exceeded')" 1
is "T48 counted once" "$(row registry "select spawn_count from threads where thread_id='$id'")" 1
fork lane_capped >/dev/null
has "T49 an override stops at the parent's limit" "$(cat "$M"/state/threads/lane_eager/*/error)" turns 4/4

# ---- hand-overs ----
reply=$(fork lane_above)
first=$(row registry "select thread_id from threads where directive='lane_full' and status='continued'")
next=$(row registry "select continuation_thread_id from threads where thread_id='$first'")
parent=$(jq -r .thread_id <<<"$reply")
is "T28 the successor is a sibling" "$(row registry "select parent_id from threads where thread_id='$next'")" "$parent"
is "T28 as deep as the one before" "$(jq .limits.depth "$P/.ai/state/threads/$next/thread.json")" "$(jq .limits.depth "$P/.ai/state/threads/$first/thread.json")"
is "T28 with its inputs" "$(jq -c .inputs "$P/.ai/state/threads/$next/thread.json")" '{"who":"Zoe"}'
has "T28 the parent hears the last one's answer" "$(events "$parent" 'select(.event_type == "tool_call_result") | .payload.output')" "the successor"
is "T29 a chain of three" "$(fork lane_chain | jq -r .result)" "the third"
jq -c 'select(.body) | .body' "$T/asked" | grep -F lane_chain >"$T/chain"
is "T29 no call without its result, in any request" "$(jq -c '
  ([.messages[] | select(.role == "tool") | .tool_call_id] | sort) ==
  ([.messages[] | .tool_calls // [] | .[].id] | sort)' "$T/chain" | sort -u)" true
is "T29 a result never stands first" "$(jq -c '.messages as $m | [range(1; $m | length) | select($m[.].role == "tool" and ($m[. - 1].role != "tool" and ($m[. - 1].tool_calls | not)))] | length' "$T/chain" | sort -u)" 0
most=$(sed -n 32p "$T/chain" | wc -c)
ok "T29 it was trimmed ($most bytes)" test "$most" -lt 90000
[ "$(sed -n 34p "$T/chain" | jq '[.messages[] | select(.role == "tool")] | length')" -ge 2 ] && good "T29 the third has what was said before" || bad "T29 the third has what was said before"

# ---- F28: a transcript that is not what its thread wrote ----
id=$(fork lane_steps | jq -r .thread_id)
other=$(ls -d "$P"/.ai/state/threads/lane_two/*/ | head -n 1)
D=$P/.ai/state/threads/$id
cp "$D/transcript.jsonl" "$T/whole"
# refused LETTER REASON: what a person who goes on with it is told; reading stays possible
refused() {
  local said
  said=$(converse "$M/execute" "{\"resume_thread_id\": \"$id\", \"message\": \"go on\"}" | jq -r .error)
  has "F28 $1" "$said" "cannot be continued" "$2"
  has "F28 $1 shows" "$(<"$M/state/threads/$id/integrity")" "${3-bad: }" "$2"
  ok "F28 $1 can be read" cmp -s "$M/state/threads/$id/transcript.jsonl" "$D/transcript.jsonl"
  cp "$T/whole" "$D/transcript.jsonl"
}
sed -i '1s/Go\./Gp./' "$D/transcript.jsonl"
refused "(a) a byte" "hash mismatch"
printf '{"timestamp": 1.0, "thread_id": "%s", "event_type": "cognition_out", "payload": {"text": "forged"}}\n' "$id" >>"$D/transcript.jsonl"
refused "(b) a line at the end" "after last checkpoint"
sed -i '/"checkpoint"/q' "$D/transcript.jsonl"
refused "(c) cut at an older checkpoint" "thread.json names is not there"
sed -i '/"checkpoint"/d' "$D/transcript.jsonl"
refused "(d) no checkpoint" "checkpoint"
cp "$other/transcript.jsonl" "$D/transcript.jsonl"
refused "(e) another thread's" "another thread"
"$PY" - "$E2E" "$D/transcript.jsonl" <<'CODE'
import hashlib, json, sys
sys.path.insert(0, sys.argv[1])
from signer import Key
key = Key("40")
out = b""
for line in open(sys.argv[2], "rb"):
    doc = json.loads(line)
    if doc["event_type"] == "checkpoint":
        digest = hashlib.sha256(out).hexdigest()
        doc["payload"].update(byte_offset=len(out), hash=digest, sig=key.sign(digest.encode()), fp=key.name)
        line = (json.dumps(doc) + "\n").encode()
    out += line
open(sys.argv[2], "wb").write(out)
CODE
refused "(f) a key that is not trusted" "Untrusted signing key"

# ---- T45 ----
fx_put "$P" config/agent/resilience.yaml <<<'category: agent
version: "1.0.0"
limits: {defaults: {turns: 5}}'
fx_sign "$P" config:agent/resilience
is "T45 signed limits count" "$(fork lane_plain >"$T/out"; jq .limits.turns "$P/.ai/state/threads/$(jq -r .thread_id "$T/out")/thread.json")" 5
sed -i 's/turns: 5/turns: 5000/' "$P/.ai/config/agent/resilience.yaml"
before=$(asks lane_plain)
has "T45 limits that were edited since are refused" "$(fork lane_plain | jq -r .error)" resilience.yaml
is "T45 before any request" "$(asks lane_plain)" "$before"

finish
