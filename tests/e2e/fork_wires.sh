#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_wires.sh: a directive over every wire of a model provider, by threads of one key: what goes
# back to the model, that a pause and the places of a key hold for all its threads, and that the key
# itself is to be found nowhere.
. "$(dirname "$0")/agent_lib.sh"

WIRES="anthropic_messages openai_responses openai_chat gemini_generate gemini_interactions"
KEY=sk-test-never-to-be-told-0123456789
export SCRIPTED_KEY=$KEY

lanes=
for wire in $WIRES; do
  lanes="$lanes\"wire_$wire\": [
    {\"text\": \"I look.\", \"reasoning\": \"Hm, $wire.\", \"signature\": \"c2lnbmVk\",
     \"calls\": [{\"id\": \"c1\", \"name\": \"t_env\", \"arguments\": {\"word\": \"a b\"}}]},
    {\"text\": \"Done over $wire.\", \"usage\": {\"input\": 30, \"output\": 7}}],"
done
agent_model "{\"by\": \"turn\", \"lanes\": {$lanes
  \"lane_split\": [{\"text\": [\"Your key is ${KEY:0:9}\", \"${KEY:9}\", \", keep it.\"], \"reasoning\": \"$KEY\"}],
  \"lane_told\": [{\"status\": 401, \"error\": {\"type\": \"authentication_error\", \"message\": \"bad key $KEY\"}}],
  \"lane_many\": [{\"text\": \"m\", \"delay\": 0.5}]},
  \"answers\": []}"

# provider NAME WIRE: one with a key
provider() {
  fx_put "$P" "tools/rye/agent/providers/$1.yaml" <<TEXT
tool_id: $1
tool_type: http
version: "1.0.0"
description: a model of the tests
executor_id: null
category: rye/agent/providers
wire: $2
base_url: "http://127.0.0.1:$PORT"
env_config: {env: {SCRIPTED_KEY: "\${SCRIPTED_KEY}"}}
auth: {type: bearer, token: "\${SCRIPTED_KEY}"}
limits: {requests_in_flight: 3}
tier_mapping: {special: test-model}
pricing: {test-model: {input: 0, output: 0}}
TEXT
  AGENT_REFS="$AGENT_REFS tool:rye/agent/providers/$1"
}

fx_python "$P" t/env <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
import os
def execute(params, project_path):
    return {"success": True, "word": params["word"], "names": sorted(os.environ), "values": list(os.environ.values())}
CODE
TOOLS='    <permissions><execute><tool>t.env</tool></execute></permissions>'
for wire in $WIRES; do
  provider "p_$wire" "$wire"
  agent_directive "wire_$wire" "    <model tier=\"special\" provider=\"p_$wire\"/>
$TOOLS
  </metadata>" <<<'Look, then say that you are done.'
done
for name in told many split; do
  agent_directive lane_$name "    <model tier=\"special\" provider=\"p_openai_chat\"/>
  </metadata>" <<<'Go.'
done
agent_sign tool:t/env
fx_mount

# ---- every wire ----
for wire in $WIRES; do
  reply=$(fork "wire_$wire")
  is "$wire: the answer" "$(jq -r '.state, .result' <<<"$reply" | tr '\n' ' ')" "completed Done over $wire. "
  is "$wire: the cost" "$(jq -c '[.cost.turns, .cost.input_tokens, .cost.output_tokens]' <<<"$reply")" '[2,40,12]'
  id=$(jq -r .thread_id <<<"$reply")
  has "$wire: the tool got its argument" "$(events "$id" 'select(.event_type == "tool_call_start")')" 'a b'
  second=$(jq -c "select(.body) | .body" "$T/asked" | grep -F "wire_$wire" | sed -n 2p)
  has "$wire: the result went back" "$second" 'a b' 'names'
done
has "signed reasoning goes back, too" "$(jq -c "select(.body) | .body" "$T/asked" | grep -F wire_anthropic | sed -n 2p)" \
  '"thinking":"Hm, anthropic_messages."' '"signature":"c2lnbmVk"'

# ---- the key ----
fork lane_told >"$T/told"
has "a provider that repeats the key" "$(jq -r .error "$T/told")" 'HTTP 401' 'bad key ***'
fork lane_split >"$T/split"
is "a model that says the key in pieces" "$(jq -r .result "$T/split")" "Your key is ***, keep it."
is "what it said, as it came" "$(grep -h . "$P/.ai/state/threads/$(jq -r .thread_id "$T/split")/live")" "Your key is ***, keep it."
is "the server has seen it" "$(jq -r 'select(.headers) | .headers.authorization' "$T/asked" | sort -u)" "Bearer $KEY"
is "no file of the project has it" "$(grep -rlF "$KEY" "$P/.ai" "$P" 2>/dev/null)" ""
is "no file of the person has it" "$(grep -rlF "$KEY" "$U" 2>/dev/null)" ""
is "no thread shows it" "$(grep -rlF "$KEY" "$M/state/threads" 2>/dev/null)" ""
is "no reply, no log" "$(grep -lF "$KEY" "$T/told" "$T"/*.log "$M/.ryefs/errors" 2>/dev/null)" ""

# ---- the places of a key ----
for i in 1 2 3 4 5 6 7 8; do fork_async lane_many >"$T/many.$i"; done
ended() { for i in 1 2 3 4 5 6 7 8; do grep -qx completed "$M/state/threads/$(jq -r .thread_id "$T/many.$i")/status" || return 1; done; }
ok "eight threads of one key" fx_wait 30 ended
most=$("$PY" -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:$PORT/stats').read().decode())" | jq .most_open)
ok "no more than three requests at once ($most)" test "$most" -le 3

# ---- a pause of a key ----
kill "$MODEL"
rm -f "$T/asked"
sed 's/"answers": \[\]/"answers": []/; s/"by": "turn"/"by": "order"/' "$T/script.json" |
  jq '.lanes.lane_told = [{"status": 429, "headers": {"retry-after-ms": "1500"}, "error": {"type": "rate_limit_error"}},
    {"text": "told"}] | .lanes.lane_many = [{"text": "m"}]' >"$T/script.new"
mv "$T/script.new" "$T/script.json"
old=$PORT
agent_serve
sed -i "s/127.0.0.1:$old/127.0.0.1:$PORT/" "$P/.ai/tools/rye/agent/providers/p_openai_chat.yaml"
fx_sign "$P" tool:rye/agent/providers/p_openai_chat
fork_async lane_told >"$T/told"
fx_wait 20 grep -q '"end"' "$T/asked"
fork lane_many >"$T/many"
is "the other thread has its answer" "$(jq -r .result "$T/many")" m
waited=$(jq -s '[.[] | select(.body)] | ((.[1].at - .[0].at) * 1000 | floor)' "$T/asked")
ok "no thread asked before the pause was over ($waited ms)" test "$waited" -ge 1400
told() { grep -qx completed "$M/state/threads/$(jq -r .thread_id "$T/told")/status"; }
ok "the first one asked again" fx_wait 20 told
finish
