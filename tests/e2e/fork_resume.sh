#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_resume.sh: what a thread may do that a person goes on with: what its signed record says, whatever
# stands in the files beside it, and of a child no more than it had.
. "$(dirname "$0")/agent_lib.sh"

WORDS=$(printf 'word %.0s' {1..4000})
agent_model '{"by": "turn", "lanes": {
  "lane_long": [{"text": "short", "reasoning": "'"$WORDS$WORDS$WORDS$WORDS"'", "signature": "c2lnbmVk"}, {"text": "two"}, {"text": "three"}],
  "lane_above": [{"calls": [{"name": "rye_execute", "arguments": {"item_id": "directive:lane_heir", "thread": "fork",
      "limit_overrides": {"turns": 7, "spend": 0.4}}}]}, {"text": "above"}],
  "lane_heir": [{"text": "first"},
    {"calls": [{"name": "t_touch", "arguments": {}}, {"name": "rye_execute", "arguments": {"item_id": "tool:t/other"}}]},
    {"text": "third"}, {"text": "fourth"}],
  "lane_keeper": [{"calls": [{"name": "t_nap", "arguments": {}}]},
    {"calls": [{"id": "h", "name": "rye_execute", "arguments": {"item_id": "directive:lane_heir", "thread": "fork"}}]}, {"text": "kept"}],
  "lane_root": [{"text": "one"}, {"text": "two"}]
}}'
for name in touch other; do
  fx_python "$P" t/$name <<CODE
CONFIG_SCHEMA = {"type": "object", "properties": {}}
import os
def execute(params, project_path):
    open(os.path.join(project_path, "$name.ran"), "w").close()
    return {"success": True}
CODE
done
agent_directive lane_above '    <limits turns="9" depth="3"/>
    <permissions><execute><tool>t.touch</tool><directive>*</directive></execute></permissions>
  </metadata>' <<<'Have it done.'
agent_directive lane_heir '    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>' <<<'Do it.'
agent_directive lane_root '  </metadata>
  <inputs><input name="who" type="string" required="true">Whom</input></inputs>' <<<'Answer {input:who}.'
agent_naps
agent_directive lane_keeper '    <permissions><execute><tool>t.nap</tool><directive>*</directive></execute></permissions>
  </metadata>' <<<'Have it done later.'
agent_directive lane_long '  </metadata>' <<<'Think for long.'
agent_sign tool:t/touch tool:t/other tool:t/nap
allow '^ryefs: (info refused: )?(execute|thread)'
fx_mount
record() { command jq -c "$2" "$P/.ai/state/threads/$1/thread.json"; }
resume() { converse "$M/execute" "{\"resume_thread_id\": \"$1\", \"message\": \"go on\"}"; } # ID: the reply

# ---- a child ----
id=$(fork lane_above | jq -r .thread_id)
child=lane_heir/$(ls "$P/.ai/state/threads/lane_heir" | tail -n 1)
is "a child's record has the lists above it" "$(record "$child" '[.capabilities, .above]')" \
  '[["rye.execute.tool.t.touch"],[["rye.execute.tool.t.touch","rye.execute.directive.*"]]]'
is "and what it was asked for" "$(record "$child" .asked)" '{"limit_overrides":{"turns":7,"spend":0.4}}'
reply=$(resume "$child")
next=$(jq -r .thread_id <<<"$reply")
is "it is gone on with" "$(jq -r .result <<<"$reply")" third
is "it did what both had allowed" "$(cd "$P" && ls touch.ran other.ran 2>/dev/null)" touch.ran
has "the rest was denied" "$(events "$next" 'select(.payload.error) | .payload.error')" "not covered by capabilities"
is "its capabilities are no wider" "$(record "$next" .capabilities)" '["rye.execute.tool.t.touch"]'
is "nor are its limits" "$(record "$next" '[.limits.turns, .limits.depth, .limits.spend]')" \
  "$(record "$child" '[.limits.turns, .limits.depth, .limits.spend]')"
rm -f "$P"/*.ran
last=$(resume "$next" | jq -r .thread_id)
is "nor after another time" "$(record "$last" '[.capabilities, .above[-1]]')" \
  '[["rye.execute.tool.t.touch"],["rye.execute.tool.t.touch","rye.execute.directive.*"]]'

# ---- files that others could have written ----
id=$(fork lane_root '{"who": "Ann", "limit_overrides": {"turns": 5}}' | jq -r .thread_id)
dir=$P/.ai/state/threads/$id
printf '{"item_id": "directive:lane_heir", "thread": "fork", "parameters": {"who": "Eve"}, "limit_overrides": {"turns": 99}}' >"$dir/request.json"
reply=$(resume "$id")
is "what is not signed is not believed" "$(jq -r '.directive, .result' <<<"$reply" | tr '\n' ' ')" "lane_root two "
next=$(jq -r .thread_id <<<"$reply")
is "inputs and limits are the recorded ones" "$(record "$next" '[.inputs.who, .limits.turns, .above]')" '["Ann",5,null]'
id=$(fork lane_root '{"who": "Ann"}' | jq -r .thread_id)
dir=$P/.ai/state/threads/$id
cp "$dir/thread.json" "$T/thread.json"
sed -i 's/"Ann"/"Eve"/' "$dir/thread.json"
before=$(thread_names | wc -l)
reply=$(resume "$id")
has "a record that was changed is refused" "$(jq -r .error <<<"$reply")" "thread $id cannot be resumed" "thread.json"
is "and no thread begins" "$(thread_names | wc -l) $(<"$M/state/threads/$id/status")" "$before completed"
rm "$dir/thread.json"
has "as is one that is not there" "$(resume "$id" | jq -r .error)" "thread $id cannot be resumed"
cp "$T/thread.json" "$dir/thread.json"
is "the signed one is gone on with" "$(resume "$id" | jq -r .result)" two

# ---- one that was continued ----
id=$(fork lane_long | jq -r .thread_id)
second=$(resume "$id" | jq -r .thread_id)
reply=$(resume "$id")
is "one that was continued is gone on with at its chain's end" "$(jq -r '.result, .resumed' <<<"$reply")" "three
$id"
third=$(jq -r .thread_id <<<"$reply")
is "which the last one continues" "$(record "$third" .previous_thread_id)" "\"$second\""
is "the chain is one" "$(cd "$M/state/threads/$id/chain" && readlink -f next | sed 's|.*/lane_long/|lane_long/|')" "$second"

# ---- a directory that is gone, or that cannot be opened ----
# What the thread's directory is while that is done. A link out of the threads is one that no process follows, whoever runs it.
gone() { mv "$dir" "$T/dir"; }
linked() { gone && ln -s "$T/dir" "$dir"; }
back() { rm -f "$dir" && mv "$T/dir" "$dir"; }
for way in gone linked; do
  id=$(fork lane_root '{"who": "Ann"}' | jq -r .thread_id)
  dir=$P/.ai/state/threads/$id
  $way
  said=$(resume "$id" | jq -r .error)
  back
  [ $way = gone ] && wanted="Thread not found: $id" || wanted="thread $id: Invalid cross-device link"
  is "a thread whose directory is $way" "$said" "$wanted"
  is "is gone on with when it is back" "$(resume "$id" | jq -r .result)" two

  rm -f "$P/naps" "$P/wake"
  id=$(fork_async lane_keeper | jq -r .thread_id)
  dir=$P/.ai/state/threads/$id
  until_true test -e "$P/naps"
  $way
  touch "$P/wake"
  until_true eval 'grep "\"call_id\": *\"h\"" "$T/dir/transcript.jsonl" | grep -q tool_call_result'
  back
  [ $way = gone ] && wanted="parent thread '$id' is not there" || wanted="parent thread '$id': thread $id: Invalid cross-device link"
  is "a child says it of its parent" "$(events "$id" 'select(.event_type == "tool_call_result" and .payload.call_id == "h") | .payload.error' | jq -r .)" "$wanted"
  is "which goes on" "$(exchange 40 "$M/state/threads/$id/wait")" completed
done

# ---- an answer too long for its line ----
id=$(fork lane_long | jq -r .thread_id)
raw=$(events "$id" 'select(.event_type == "cognition_out") | .payload.raw')
is "a long answer is an artifact, by its digest" "$(jq -c '[(.artifact | length), .blocks]' <<<"$raw")" '[64,null]'
hash=$(jq -r .artifact <<<"$raw")
blob=$P/.ai/state/objects/blobs/${hash:0:2}/${hash:2:2}/$hash
is "which has all of it" "$(jq '[.blocks[] | .text | length] | max' "$blob")" 80000
ok "it is among the thread's" test -s "$M/state/threads/$id/artifacts/answer-1"
has "and its turn shows what it cost" "$(<"$M/state/threads/$id/turns/001/cost")" output
reply=$(resume "$id")
is "it is gone on with" "$(jq -r .result <<<"$reply")" two
next=$(jq -r .thread_id <<<"$reply")
is "with the conversation as it was sent" "$(record "$next" .history_kept)" true
rm "$blob"
is "without its artifact it is told in words" "$(resume "$next" | jq -r .result)" three

# ---- one that another program has left: it records no inputs ----
id=$(fork lane_root '{"who": "Ann"}' | jq -r .thread_id)
"$PY" - "$E2E" "$P/.ai/state/threads/$id" <<'CODE'
import hashlib, json, os, sys
sys.path.insert(0, sys.argv[1])
from signer import Key
key, path = Key("00"), sys.argv[2] + "/thread.json"
doc = json.load(open(path))
for name in ("inputs", "asked", "_signature"):
    doc.pop(name, None)
digest = hashlib.sha256(json.dumps(doc, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
doc["_signature"] = f"rye:signed:2026-11-20T14:37:01Z:{digest}:{key.sign(digest.encode())}:{key.name}"
json.dump(doc, open(path, "w"))
os.unlink(sys.argv[2] + "/request.json")
CODE
not_ok "inputs that nobody has recorded are no file" test -e "$M/state/threads/$id/inputs.json"
before=$(thread_names | wc -l)
has "without its inputs it cannot be gone on with" "$(resume "$id" | jq -r .error)" "Missing required inputs: who"
is "and what never began has no row" "$(thread_names | wc -l) $(row registry "select count(*) from threads where directive='lane_root' and status='error'")" "$before 0"
is "nor a directory" "$(ls "$P/.ai/state/threads/lane_root" | wc -l)" "$(row registry "select count(*) from threads where directive='lane_root'")"
reply=$(converse "$M/execute" "{\"resume_thread_id\": \"$id\", \"message\": \"go on\", \"parameters\": {\"who\": \"Eve\"}}")
is "inputs that are given count" "$(jq -r .result <<<"$reply")" two
is "and are recorded" "$(record "$(jq -r .thread_id <<<"$reply")" .inputs.who)" '"Eve"'
is "the reply is of the directive" "$(jq -r .item_id <<<"$reply")" directive:lane_root
has "of another one it is not" "$(converse "$M/execute" "{\"item_id\": \"directive:lane_long\", \"resume_thread_id\": \"$id\", \"message\": \"x\"}" | jq -r .error)" \
  "is one of directive:lane_root"

# ---- over MCP: the same two members ----
id=$(fork lane_root '{"who": "Ann"}' | jq -r .thread_id)
{
  printf '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
  printf '{"jsonrpc":"2.0","method":"notifications/initialized"}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
  printf '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"rye_execute","arguments":{"resume_thread_id":"%s","message":"go on"}}}\n' "$id"
  fx_wait 20 grep -q '"id":3' "$T/mcp"
} | timeout 90 "$RYEFS" mcp --project "$P" --user "$U" --system "$S" >"$T/mcp" 2>/dev/null
has "a client is offered what it needs" "$(jq -c 'select(.id == 2) | .result.tools[] | select(.name == "rye_execute") | .inputSchema' "$T/mcp")" '"resume_thread_id"' '"message"'
lacks "and asked for no more" "$(jq -c 'select(.id == 2) | .result.tools[] | select(.name == "rye_execute") | .inputSchema' "$T/mcp")" '"required"'
is "it goes on" "$(jq -r 'select(.id == 3) | .result.content[].text' "$T/mcp" | sed "s/thread ......*/thread ID/" | tr '\n' ' ')" "two thread ID "
finish
