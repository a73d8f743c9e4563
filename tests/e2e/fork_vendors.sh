#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_vendors.sh: threads over every wire, at a server that refuses what the vendors of models refuse
# (tests/fake/vendor_rules.py): first, later, resumed and handed-over requests, with a directive whose name
# is long, outputs of every type, tools with odd schemas, and the bundle's own tools and directives.
. "$(dirname "$0")/agent_lib.sh"

WIRES="anthropic_messages openai_responses openai_chat gemini_generate gemini_interactions"
WAY=a_directive_whose_name_is_as_long_as_names_of_directives_become_in_time
MODEL_SERVER=vendor_server.py

RETURNS='{"calls": [{"name": "directive_return", "arguments": {"list": [1], "text": "a", "n": 1, "on": true, "map": {}}}]}'
lanes=
for wire in $WIRES; do
  lanes="$lanes\"vendor_$wire\": [
    {\"text\": \"I look.\", \"reasoning\": \"Hm.\", \"signature\": \"c2lnbmVk\", \"calls\": [
      {\"name\": \"t_env\", \"arguments\": {\"word\": \"a\"}}, {\"name\": \"t_env\", \"arguments\": {\"word\": \"b\"}}]},
    {\"calls\": [{\"name\": \"no_such_tool\", \"arguments\": {}}, {\"name\": \"t_env\", \"arguments\": {}}]},
    {\"text\": \"\", \"reasoning\": \"Only thought.\"},
    $RETURNS,
    {\"text\": \"I go on.\", \"calls\": [{\"name\": \"t_env\", \"arguments\": {\"word\": \"c\"}}]},
    {\"status\": 400, \"error\": {\"type\": \"invalid_request_error\", \"message\": \"prompt is too long: 9 tokens > 1 maximum\"}},
    $RETURNS],"
done
agent_model "{\"by\": \"order\", \"lanes\": {$lanes
  \"odd_key\": [{\"calls\": [{\"name\": \"t_odd\", \"arguments\": {\"list\": [], \"a_word_993a6153\": \"it\", \"map\": {\"n\": 7}}}]}, {\"text\": \"Done.\"}],
  \"go.\": []},
  \"answers\": [$(for _ in {1..120}; do echo '{"text": "Nothing to do."},'; done) {\"text\": \"x\"}]}"

for wire in $WIRES; do
  agent_provider "$wire" "s/^wire: .*/wire: $wire/"
  cat >>"$P/.ai/tools/rye/agent/providers/$wire.yaml" <<'TEXT'
default_model_fields: {cache: {mode: key}, tools: {images_in_results: true}}
TEXT
done
fx_python "$P" t/env <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
def execute(params, project_path):
    return {"success": True, "word": params["word"]}
CODE
fx_python "$P" t/odd <<'CODE'
CONFIG_SCHEMA = {"type": ["object", "null"], "properties": {"a word": {"type": "string"}, "list": {"type": "array"},
    "map": {"$ref": "#/$defs/m"}, "any": {"type": ["array", "string"]}, "old": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
    "two": {"items": [{"type": "string"}, {"type": "number"}], "type": "array"}, "look": {"type": "string", "pattern": "^(?=a)b$"}},
    "$defs": {"m": {"type": "object", "properties": {"n": {"type": "integer"}, "more": {"$ref": "#/$defs/m"}}}},
    "anyOf": [{"required": ["a word"]}, {"properties": {"else": {"type": "string"}}, "required": ["else"]}],
    "required": ["list"]}
def execute(params, project_path):
    return {"success": True, "said": params.get("a word"), "n": params["map"]["n"]}
CODE
fx_python "$P" t/none <<'CODE'
CONFIG_SCHEMA = {"type": "array", "items": {"type": "string"}}
def execute(params, project_path):
    return {"success": True}
CODE
fx_put "$P" config/agent/coordination.yaml <<'TEXT'
category: agent
version: "1.0.0"
coordination: {tool_preload: {max_tokens: 100000}}
TEXT
for wire in $WIRES; do
  agent_directive "$WAY/vendor_$wire" "    <model tier=\"$wire\" provider=\"$wire\"/>
    <permissions><execute><tool>t.env</tool><tool>rye.file-system.*</tool></execute></permissions>
  </metadata>
  <outputs>
    <output name=\"list\" type=\"array\" required=\"true\">A list</output>
    <output name=\"text\" type=\"string\" required=\"true\">A text</output>
    <output name=\"n\" type=\"integer\" required=\"true\">A number</output>
    <output name=\"on\" type=\"boolean\">A truth</output>
    <output name=\"map\" type=\"object\">A mapping</output>
  </outputs>" <<<"Look, vendor_$wire."
done
agent_directive odd_key '    <model tier="anthropic_messages"/>
    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>' <<<'Say it, odd_key.'
agent_sign tool:t/env tool:t/odd tool:t/none config:agent/coordination
fx_mount

for wire in $WIRES; do
  reply=$(fork "$WAY/vendor_$wire")
  is "$wire: it ends" "$(jq -r .state <<<"$reply")" completed
  id=$(jq -r .thread_id <<<"$reply")
  ok "$wire: its id is longer than any vendor takes" test ${#id} -gt 64
  next=$(run threads resume "$id" "go on" -q)
  run threads wait "$next" >/dev/null
  is "$wire: it is gone on with, and handed over" "$(jq -r .status "$P/.ai/state/threads/$next/thread.json")" continued
  is "$wire: all that was answered was asked" "$(asks "vendor_$wire")" 7
done

# ---- tools that no vendor takes as they are ----
reply=$(fork odd_key)
has "keys that are spelt for the wire come back as they were" \
  "$(events "$(jq -r .thread_id <<<"$reply")" 'select(.event_type == "tool_call_result")')" '\"said\":\"it\",\"n\":7'
has "what no change makes acceptable is told" "$(jq -r '.warnings[]' <<<"$reply")" "tool t_none: its schema is not an object's: it is not offered"
lacks "and not offered" "$(jq -c 'select(.body) | .body.tools' "$T/asked" | grep -F t_odd)" t_none

# ---- the bundle, every tool of it offered ----
for wire in $WIRES; do
  for name in create_directive create_knowledge create_tool; do
    about=description
    [ $name != create_knowledge ] || about=title
    has "$wire: $name is asked" \
      "$(run execute "directive:rye/core/$name" name=a category=b $about=c model="$wire" --fork --json)" "Nothing to do."
  done
done
offers=$(jq -c 'select(.body) | .body.tools // empty | length' "$T/asked" | sort -n | tail -1)
ok "with the bundle's tools ($offers)" test "$(echo "$offers" | grep -o '[0-9]*' | head -1)" -gt 20

# ---- the bundle's own providers, with what they set for each model ----
export ANTHROPIC_API_KEY=a-key OPENAI_API_KEY=a-key GEMINI_API_KEY=a-key
refs=
for name in anthropic openai gemini; do
  sed "s,^base_url: .*,base_url: \"http://127.0.0.1:$PORT\"," "$S/.ai/tools/rye/agent/providers/$name.yaml" |
    fx_put "$P" "tools/rye/agent/providers/$name.yaml"
  refs="$refs tool:rye/agent/providers/$name"
done
# shellcheck disable=SC2086
fx_sign "$P" $refs
bundled() { # MODEL: it is asked
  has "$1 takes what its item sets" \
    "$(run execute directive:rye/core/create_tool name=a category=b description=c model="$1" --fork --json)" "Nothing to do."
}
for model in claude-haiku-4-5 claude-sonnet-5-5 claude-opus-5-5 claude-fable-5-1 gpt-6-luna gpt-6-sol gpt-6.1-sol gpt-6-astra \
  gemini-3.8-flash gemini-4-argon; do
  bundled $model
done
is "nothing else was refused" "$(refusals)" ""

# ---- a server on this machine, which is more particular about roles ----
kill "$MODEL"
rm -f "$T/asked"
jq '.vendor = "local" | .lanes.lane_left = [{"text": "I", "hang": 1}, {"text": "I went on."}]' "$T/script.json" >"$T/script.new"
mv "$T/script.new" "$T/script.json"
agent_serve
export RYE_LOCAL_URL=http://127.0.0.1:$PORT
bundled local-model
agent_directive left '    <model tier="local-model"/>
  </metadata>' <<<'Say it, lane_left.'
agent_sign
id=$(run execute directive:left --fork --async -q)
until_true eval '[ "$(asks lane_left)" = 1 ]'
pid=$(jq .pid "$P/.ai/state/threads/$id/runner.json")
kill -9 "$pid"
# what stands beside a runner holds its lock for a moment longer
until_true eval 'next=$(run threads resume "$id" "go on" -q); [[ $next != *"still running"* ]]'
is "one that had said nothing is gone on with" "$(run threads wait "$next")" completed
has "its prompt and what it is told now are one message" \
  "$(jq -c 'select(.body) | .body.messages[-1].content' "$T/asked" | tail -n 1)" 'lane_left.' '\n\ngo on'
is "nor is anything there" "$(refusals)" ""
finish
