#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_told.sh: what is told of a thread and of its end: outputs of the declared type or none, an answer that
# was cut, what a chain of threads has used together, what a request that failed has cost and why it failed.
. "$(dirname "$0")/agent_lib.sh"

OK='{"calls": [{"name": "t_ok", "arguments": {}}], "usage": {"input": 190, "output": 5}}'
CUT='{"text": "half of it", "stop": "length"}'
agent_model '{"by": "turn", "lanes": {
  "lane_typed": [{"calls": [{"id": "r1", "name": "directive_return", "arguments": {"n": "seven"}}]},
    {"calls": [{"id": "r2", "name": "directive_return", "arguments": {"n": 7}}]}],
  "lane_types": [{"calls": [{"id": "r1", "name": "directive_return", "arguments":
      {"n": 7.5, "x": "much", "b": "maybe", "l": "one", "o": [2], "s": 3}}]},
    {"calls": [{"id": "r2", "name": "directive_return", "arguments":
      {"n": "7", "x": 2.5, "b": "true", "l": ["1"], "o": "{\"a\": 1}", "s": "3"}}]}],
  "lane_cut": ['"$CUT"'],
  "lane_long": ['"$CUT, $CUT, $CUT, $CUT"', {"calls": [{"name": "directive_return", "arguments": {"n": 8}}]}],
  "lane_chain": ['"$OK, $OK, $OK, $OK, $OK, $OK, $OK, $OK, $OK, $OK, $OK, $OK"'],
  "lane_bare": [{"calls": [{"name": "t_bare", "arguments": {}}]}, {"text": "called"}],
  "lane_key": [{"text": ["my key is sk-of-", "the-", "tests, sk-of-the-stars is none, nor is sk-of"], "gap": 0.05}],
  "lane_zero": [{"calls": [{"name": "t_ok", "arguments": {}}], "usage": {"input": 0, "output": 0}}, {"text": "never asked"}],
  "lane_above": [{"calls": [{"id": "c1", "name": "rye_execute", "arguments": {"item_id": "directive:lane_dear", "thread": "fork", "async": true}},
      {"id": "c2", "name": "rye_execute", "arguments": {"item_id": "directive:lane_below", "thread": "fork"}}]}, {"text": "above"}],
  "lane_dear": [{"text": "never asked"}],
  "lane_below": [{"text": "below"}],
  "lane_proxy": [{"status": 413, "error": {"type": "entity_too_large", "message": "this gateway takes a megabyte"}}],
  "lane_torn": [{"text": ["one ", "two ", "three ", "four "], "cut": 3}],
  "lane_slow": [{"text": ["one ", "two ", "three ", "four "], "gap": 2}],
  "lane_endless": [{"file": "'"$T"'/endless"}],
  "lane_stopped": [{"text": ["one ", "two ", "three ", "four ", "five ", "six ", "seven "], "hang": 4}]
}}'
agent_provider small 's/^context_window: .*/context_window: 200/'
agent_provider dead 's|^base_url: .*|base_url: "http://127.0.0.1:1"|'
agent_provider keyed 's/^$//'
cat >>"$P/.ai/tools/rye/agent/providers/keyed.yaml" <<'TEXT'
env_config: { env: { KEYED_KEY: "${KEYED_KEY}" } }
auth: { type: bearer, token: "${KEYED_KEY}" }
TEXT
export KEYED_KEY=sk-of-the-tests
agent_tool ok oks
fx_tool "$P" t/bare 'echo ran >"$2/bare.ran"'
TOOLS='<permissions><execute><tool>t.*</tool><directive>*</directive></execute></permissions>'
for name in typed long; do
  agent_directive lane_$name '    <limits turns="9"/>
  </metadata>
  <outputs><output name="n" type="integer" required="true">A number</output></outputs>' <<<'Count.'
done
agent_directive lane_types '  </metadata>
  <outputs><output name="n" type="integer">1</output><output name="x" type="number">2</output>
    <output name="b" type="boolean">3</output><output name="l" type="array">4</output>
    <output name="o" type="object">5</output><output name="s" type="string">6</output></outputs>' <<<'Count.'
agent_directive lane_cut '  </metadata>' <<<'Tell.'
agent_directive lane_chain "    <limits turns=\"3\" spend=\"100\"/>
    <model tier=\"small\" provider=\"small\"/>
    $TOOLS
  </metadata>" <<<'Go on and on.'
agent_directive lane_bare "    $TOOLS
  </metadata>" <<<'Call it.'
agent_directive lane_key '    <model tier="keyed" provider="keyed"/>
  </metadata>' <<<'Tell.'
agent_directive lane_zero "    <limits tokens=\"30\"/>
    $TOOLS
  </metadata>" <<<'Count your words.'
agent_directive lane_above "    <limits spend=\"1\"/>
    $TOOLS
  </metadata>" <<<'Have it done.'
agent_directive lane_dear '    <limits spend="4"/>
  </metadata>' <<<'Do it.'
agent_directive lane_below '    <limits spend="0.2"/>
  </metadata>' <<<'Do it.'
agent_directive lane_dead '    <limits duration_seconds="1"/>
    <model tier="dead" provider="dead"/>
  </metadata>' <<<'Ask.'
for name in torn slow; do
  agent_directive lane_$name '    <limits duration_seconds="6"/>
  </metadata>' <<<'Talk.'
done
for name in proxy endless; do agent_directive lane_$name '  </metadata>' <<<'Talk.'; done
agent_directive lane_stopped '  </metadata>' <<<'Talk.'
agent_sign tool:t/ok tool:t/bare
fx_mount
run() { timeout 60 "$RYEFS" "$@" --project "$P" --user "$U" --system "$S"; }
record() { jq -r "$2" "$P/.ai/state/threads/$1/thread.json"; }
body() { jq -c 'select(.body) | .body' "$T/asked" | grep "$1" | tail -n 1; }

# ---- outputs ----
reply=$(fork lane_typed)
id=$(jq -r .thread_id <<<"$reply")
is "an output of the wrong type is none" "$(jq -c .outputs <<<"$reply")" '{"n":7}'
has "and its model is told which" "$(events "$id" 'select(.event_type == "tool_call_result") | .payload.error')" 'Wrong output fields: n is \"seven\", its type is integer'
reply=$(fork lane_types)
is "a text that reads as the type is taken for it" "$(jq -c .outputs <<<"$reply")" '{"b":true,"l":["1"],"n":7,"o":{"a":1},"s":"3","x":2.5}'
is "each wrong one of six types is told" \
  "$(events "$(jq -r .thread_id <<<"$reply")" 'select(.event_type == "tool_call_result") | .payload.error' | grep -oE '[a-z] is [^;.]*, its type is [a-z]+|7\.5, its type is [a-z]+' | tr -d '\\' | tr '\n' ';')" \
  '7.5, its type is integer;x is "much", its type is number;b is "maybe", its type is boolean;l is "one", its type is array;o is [2], its type is object;s is 3, its type is string;'
has "the prompt names the call that the model has" "$(body lane_typed)" '`directive_return({\"n\": \"<A number>\"})`'
lacks "and no other" "$(body lane_typed)" rye_execute

# ---- answers that were cut ----
reply=$(fork lane_cut)
id=$(jq -r .thread_id <<<"$reply")
is "an answer that was cut says so" "$(jq -r '.result, .truncated' <<<"$reply" | tr '\n' ' ')" "half of it true "
is "in its record, too" "$(record "$id" '[.status, .truncated] | @tsv')" "completed	true"
has "and on standard error" "$(run execute directive:lane_cut --fork 2>&1 >/dev/null)" "the answer was cut"
is "with outputs to return it goes on" "$(fork lane_long | jq -c .outputs)" '{"n":8}'

# ---- a chain ----
run execute directive:lane_chain --fork --json >"$T/chain" 2>"$T/chain.err"
is "turns are the chain's" "$(asks lane_chain) $(jq -r .cost.turns "$T/chain")" "3 3"
has "its end says so" "$(jq -r .error "$T/chain")" turns 3
first=$(jq -r .thread_id "$T/chain") last=$(jq -r .resolved_thread_id "$T/chain")
is "its first thread has handed over" "$(record "$first" .status)" continued
is "its tokens are the chain's" "$(jq -r .cost.input_tokens "$T/chain")" 570
is "the last thread's record has its own" "$(record "$last" .cost.turns)" 1
has "a hand-over that was not asked for is told" "$(jq -r '.warnings[]' "$T/chain")" "has handed over"

# ---- tools, keys, counts ----
reply=$(fork lane_bare)
is "a tool without a schema is offered, without parameters" \
  "$(body lane_bare | jq -c '.tools[].function | select(.name == "t_bare") | .parameters.properties')" '{}'
ok "and runs" test -s "$P/bare.ran"
id=$(fork lane_key | jq -r .thread_id)
is "a key that comes in pieces is not in live" "$(<"$P/.ai/state/threads/$id/live")" "my key is ***, sk-of-the-stars is none, nor is sk-of"
is "nor in the pieces of the transcript" "$(events "$id" 'select(.event_type == "token_delta") | .payload.text' | tr -d '"\n')" \
  "my key is ***, sk-of-the-stars is none, nor is sk-of"
has "a server that counts nothing is counted" "$(fork lane_zero | jq -r .error)" tokens 30
is "so its limit holds" "$(asks lane_zero)" 1

# ---- children ----
reply=$(fork lane_above)
id=$(jq -r .thread_id <<<"$reply")
has "a child that cannot be paid is no running thread" \
  "$(events "$id" 'select(.event_type == "tool_call_result" and .payload.call_id == "c1") | .payload.error')" "cannot work" "budget"
is "what a thread has cost is told with its children" "$(run threads cost "$id" --json | jq -r '.[].id' | sed 's|/.*||' | sort | tr '\n' ' ')" "lane_above lane_below "

# ---- requests that fail ----
reply=$(fork lane_dead)
has "a dead server is what the last word is about" "$(jq -r .error <<<"$reply")" 127.0.0.1 duration
lacks "not the limit" "$(run execute directive:lane_dead --fork 2>&1)" "raise"
has "and why it waits is told" "$(run execute directive:lane_dead --fork 2>&1)" "asked again in"
id=$(fork_async lane_stopped | jq -r .thread_id)
ok "words come" fx_wait 20 test -s "$P/.ai/state/threads/$id/live"
echo cancel >"$M/state/threads/$id/ctl"
is "a cancelled answer" "$(exchange 60 "$M/state/threads/$id/wait")" cancelled
ok "has cost what its event says" [ "$(events "$id" 'select(.event_type == "error_classified") | .payload.usage.output_tokens')" -gt 0 ]

for name in torn slow; do
  reply=$(fork lane_$name)
  id=$(jq -r .thread_id <<<"$reply")
  counts=$(events "$id" 'select(.event_type == "error_classified") | .payload.usage | select(.output_tokens > 0) | [.input_tokens, .output_tokens]')
  like "what a stream has cost that was $name is in an event" "$counts" '^\[[1-9][0-9]*,[1-9][0-9]*\]'
  is "and all of it in the record" "$(record "$id" '[.cost.input_tokens, .cost.output_tokens] | tojson')" \
    "$(events "$id" 'select(.event_type == "error_classified") | .payload.usage' | jq -sc '[(map(.input_tokens) | add), (map(.output_tokens) | add)]')"
done
has "a gateway that takes no more is told in its words" "$(fork lane_proxy | jq -r .error)" "HTTP 413" "this gateway takes a megabyte"
is "and not asked again" "$(asks lane_proxy)" 1
{
  printf 'data: {"choices": "'
  head -c 70000000 /dev/zero | tr '\0' x
} >"$T/endless"
has "an answer without end is an error" "$(fork lane_endless | jq -r .error)" "the answer is longer than is read"
is "and not asked for again" "$(asks lane_endless)" 1

# ---- nothing is left ----
ok "an entry for people is there" test -s "$P/.ai/knowledge/agent/threads/$id.md"
ok "deleted" bash -c "echo delete >'$M/state/threads/$id/ctl'"
not_ok "it is gone with its thread" test -e "$P/.ai/knowledge/agent/threads/${id%/*}"
finish
