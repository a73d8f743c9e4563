#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_goes_on.sh: a thread that goes on: with another model after a refusal; resumed with the same
# model, which gets byte for byte what it was sent, or with another one, which gets what any can read;
# and with the words of a continuation directive.
. "$(dirname "$0")/agent_lib.sh"

WIRE=anthropic_messages
agent_model '{"lanes": {
  "lane_refused": [{"text": "I will not", "refusal": "scripted", "usage": {"input": 100, "output": 20}},
    {"text": "another did it", "usage": {"input": 10, "output": 2}}, {"text": "went on"}],
  "lane_failed": [{"status": 400, "error": {"type": "invalid_request_error", "code": "content_filter", "message": "no"}},
    {"text": "another did it"}],
  "lane_twice": [{"refusal": "no"}, {"refusal": "neither"}, {"text": "never asked"}],
  "lane_nobody": [{"refusal": "no"}, {"text": "never asked"}],
  "lane_kept": [{"text": "I look.", "reasoning": "Hm.", "signature": "c2lnbmVk",
      "calls": [{"id": "c1", "name": "t_fail", "arguments": {}}, {"id": "c2", "name": "t_ok", "arguments": {"n": 1}}]},
    {"text": "first", "reasoning": "So.", "signature": "c28="}, {"text": "second"}, {"text": "third"}, {"text": "fourth"},
    {"text": "fifth"}],
  "lane_worded": [{"text": "first"}, {"text": "second"}, {"text": "third"}],
  "lane_huge": [{"status": 400, "error": {"type": "invalid_request_error", "message": "prompt is too long: 9000 tokens > 1000 maximum"}},
    {"text": "never asked"}],
  "lane_long": [{"status": 400, "error": {"type": "invalid_request_error", "message": "prompt is too long: 9000 tokens > 1000 maximum"}}],
  "lane_cut": [{"text": ["half of", " it"], "cut": 3}, {"text": "whole"}, {"text": "on"}]
}}'
provider=$P/.ai/tools/rye/agent/providers/scripted.yaml
cat >>"$provider" <<'TEXT'
models:
  "test-model": {fallback_model: other-model}
  "alone-model": {fallback_model: nobody}
TEXT
sed -i 's/max: test-model/max: test-model, alone: alone-model/; s/^pricing: { /&alone-model: { input: 0, output: 0 }, /' "$provider"
fx_put "$P" tools/rye/agent/providers/other.yaml <<TEXT
tool_id: other
tool_type: http
version: "1.0.0"
description: another model of the tests
executor_id: null
category: rye/agent/providers
wire: openai_chat
base_url: "http://127.0.0.1:$PORT"
tier_mapping: { other: other-model }
pricing: { other-model: { input: 1000, output: 5000 } }
TEXT
for name in ok fail; do
  fx_python "$P" t/$name <<CODE
CONFIG_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
def execute(params, project_path):
    return {"success": $([ $name = ok ] && echo True || echo False), "error": "it is broken"}
CODE
done
TOOLS='    <permissions><execute><tool>t.*</tool></execute></permissions>'
for name in refused failed twice cut huge long; do agent_directive lane_$name '  </metadata>' <<<'Go.'; done
agent_directive lane_kept "$TOOLS
  </metadata>
  <inputs><input name=\"who\" type=\"string\" required=\"true\">Whom</input></inputs>" <<<'Greet {input:who}.'
agent_directive lane_nobody '    <model tier="alone"/>
  </metadata>' <<<'Go.'
agent_directive lane_worded '    <continuation_directive>words</continuation_directive>
  </metadata>' <<<'Do the work.'
agent_directive words '  </metadata>
  <inputs>
    <input name="continuation_message" type="string" required="true">What was said</input>
    <input name="original_directive" type="string" required="true">Its id</input>
    <input name="original_directive_body" type="string" required="true">Its text</input>
    <input name="previous_thread_id" type="string" required="true">The thread before</input>
  </inputs>' <<<'Of {input:original_directive} ({input:original_directive_body}) behind {input:previous_thread_id}: {input:continuation_message}!'
agent_sign tool:rye/agent/providers/other tool:t/ok tool:t/fail
run() { timeout 60 "$RYEFS" "$@" --project "$P" --user "$U" --system "$S" 2>>"$T/run.err"; }
# work NAME: the thread's reply, and its id in $id
work() {
  reply=$(run execute "directive:$1" --fork --json "${@:2}")
  id=$(jq -r .thread_id <<<"$reply")
}
resumed() { # ID TEXT: the id of the thread that goes on, when that is over
  local next
  next=$(run threads resume "$1" "$2" -q)
  run threads wait "$next" >"$T/status"
  echo "$next"
}
requests() { command jq -c 'select(.body) | {path, body}' "$T/asked" | grep -F -- "$1"; }
request() { requests "$1" | sed -n "$2p"; }

# ---- fallback_model ----
work lane_refused
is "a refusal: the fallback goes on" "$(jq -c '[.state, .result]' <<<"$reply")" '["completed","another did it"]'
is "both have cost" "$(jq -c '[.cost.turns, .cost.input_tokens, .cost.output_tokens, .cost.spend]' <<<"$reply")" '[2,110,22,0.22]'
has "over its own wire" "$(request lane_refused 2)" '"path":"/v1/chat/completions"' '"model":"other-model"'
lacks "without what was refused" "$(request lane_refused 2)" "I will not"
has "the reply says so" "$(jq -r '.warnings[]' <<<"$reply")" "test-model has refused, other-model goes on"
is "so does thread.json" "$(jq -r '.model, .provider' "$P/.ai/state/threads/$id/thread.json" | tr '\n' ' ')" "other-model rye/agent/providers/other "
is "and the transcript" "$(events "$id" 'select(.event_type == "model_fallback") | .payload | [.refused, .model]')" '["test-model","other-model"]'
resumed "$id" "and now?" >/dev/null
lacks "a resume has nothing of it either" "$(request lane_refused 3)" "I will not"
has "but the answer" "$(request lane_refused 3)" "another did it" "and now?"
work lane_failed
is "a refusal by a status" "$(jq -c '[.state, .result]' <<<"$reply")" '["completed","another did it"]'
work lane_twice
is "asked once" "$(jq -c '[.state, .error]' <<<"$reply")" '["error","the model refused: neither"]'
is "of both nothing more" "$(requests lane_twice | wc -l)" 2
work lane_nobody
has "a fallback that there is not" "$(jq -r '.warnings[]' <<<"$reply")" "fallback_model of alone-model: no provider offers the model 'nobody'"
has "is a refusal then" "$(jq -r .error <<<"$reply")" "the model refused"

# ---- resumed with the same model: P61 ----
# what counts of a request: not the marks of the cache, which move
plain() { command jq -c '.body | {system, tools, messages} | walk(if type == "object" then del(.cache_control) else . end)'; }
prefix() { # N of messages that both requests have
  jq -e -n --slurpfile a "$T/before" --slurpfile b "$T/after" \
    '($a[0].messages | length) as $n | $a[0].system == $b[0].system and $a[0].tools == $b[0].tools and $a[0].messages == $b[0].messages[:$n] and ($b[0].messages | length) > $n' >/dev/null
}
work lane_kept who=Ann
is "a thread with calls and reasoning" "$(jq -r .result <<<"$reply")" first
first=$id
second=$(resumed "$first" "Who was it?")
is "goes on" "$(<"$T/status")" completed
request lane_kept 2 | plain >"$T/before"
request lane_kept 3 | plain >"$T/after"
ok "P61 system, tools and messages are those of before" prefix
has "P61 reasoning and signatures, too, and what failed" "$(<"$T/after")" '"thinking":"Hm.","signature":"c2lnbmVk"' '"signature":"c28="' '"is_error":true'
is "what was said is one new message, without the prompt" "$(jq -c '.messages[-1].content[0].text' "$T/after")" '"Who was it?"'
is "the record says so" "$(jq .history_kept "$P/.ai/state/threads/$second/thread.json")" true
# a tool and the prompt have changed since
sed -i 's/"integer"/"number"/' "$P/.ai/tools/t/ok.py"
sed -i 's/^Greet /Welcome /' "$P/.ai/directives/lane_kept.md"
fx_sign "$P" tool:t/ok directive:lane_kept
third=$(resumed "$second" "And now?")
cp "$T/after" "$T/before"
request lane_kept 4 | plain >"$T/after"
ok "P62 of a resumed one again, though a tool and the prompt have changed" prefix
has "P62 which is told in the new message" "$(jq -r '.messages[-1].content[0].text' "$T/after")" "The tool t_ok has changed" '"number"' "Welcome Ann." "And now?"
is "the tools that were sent are recorded" "$(grep -c '"integer"' "$P/.ai/state/threads/$third/capabilities.md")" "$(grep -c '"integer"' "$P/.ai/state/threads/$first/capabilities.md")"

# ---- with another model ----
sed -i 's/general: test-model/general: newer-model/; s/^pricing: { /&newer-model: { input: 0, output: 0 }, /' "$provider"
fx_sign "$P" tool:rye/agent/providers/scripted
fourth=$(resumed "$third" "You are new.")
request lane_kept 5 >"$T/after"
has "P61 another model gets what was said" "$(<"$T/after")" newer-model "Who was it?" "I look." "it is broken"
lacks "P61 and no reasoning" "$(<"$T/after")" Hm. thinking c2lnbmVk
is "P61 each call with its result" "$(jq -c '[.body.messages[].content[] | .id? // .tool_use_id? | select(.)] | sort' "$T/after")" '["c1","c1","c2","c2"]'
is "a new conversation" "$(jq .history_kept "$P/.ai/state/threads/$fourth/thread.json")" null
sed -i 's/general: newer-model/general: test-model/' "$provider"
fx_sign "$P" tool:rye/agent/providers/scripted
resumed "$fourth" "You are old." >/dev/null
lacks "P73 such a thread never returns" "$(request lane_kept 6)" Hm. thinking c2lnbmVk

# ---- words of a directive ----
work lane_worded
next=$(resumed "$id" "and further")
is "its continuation directive words the last message" "$(request lane_worded 2 | jq -r '.body.messages[-1].content[0].text')" \
  "Of lane_worded (Do the work.) behind $id: and further!"
sed -i 's/Of {input/Off {input/' "$P/.ai/directives/words.md"
next=$(resumed "$next" "on")
is "one that cannot be had is left out" "$(request lane_worded 3 | jq -r '.body.messages[-1].content[0].text')" "on"
has "and told" "$(jq -r '.warnings[]' "$P/.ai/state/threads/$next/thread.json")" "continuation directive words: "

# ---- a prompt that is too long by itself ----
work lane_huge
has "a prompt that does not fit" "$(jq -r .error <<<"$reply")" "longer than the model's context window"
is "is asked once, and no other thread begins with it" "$(requests lane_huge | wc -l) $(run threads --json | jq '[.[] | select(.directive == "lane_huge")] | length')" "1 1"

not_ok "people are told, too" run execute directive:lane_long --fork
sed 's/^mend with: //; t; d' "$T/run.err" | tail -n 1 >"$T/remedy"
printf '#!/bin/sh\nsed -i s/Go/Be/ "$1"\n' >"$T/editor"
chmod +x "$T/editor"
mend() { (cd "$P" && PATH="$(dirname "$RYEFS"):$PATH" EDITOR=$T/editor USER_SPACE=$U bash -c "$(cat "$T/remedy")"); }
ok "and what mends it, which works when it is typed" mend
ok "the directive is signed again" run verify directive:lane_long
has "and is the one that the editor left" "$(run fetch directive:lane_long)" Be.

# ---- an answer that was cut ----
work lane_cut
resumed "$id" "further" >/dev/null
lacks "half an answer is no part of what goes on" "$(request lane_cut 3)" "half of"
is "nor is what was asked told twice" "$(request lane_cut 3 | grep -o 'Go\.' | wc -l)" 1
finish
