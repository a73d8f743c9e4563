#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_graph.sh: graphs whose nodes are directives that a model works through: outputs in the state, a
# list of threads at once, what is not permitted, directions without a model.
. "$(dirname "$0")/agent_lib.sh"

agent_model '{"by": "turn", "lanes": {
  "lane_greet": [{"calls": [{"name": "directive_return", "arguments": {"greeting": "hi there"}}]}],
  "lane_plain": [{"text": "done"}],
  "lane_fails": [{"status": 400, "body": {"error": {"message": "no such model"}}}]}}'
agent_directive lane_greet '  </metadata>
  <inputs><input name="who" type="string" required="true">Whom</input></inputs>
  <outputs><output name="greeting" type="string" required="true">the greeting</output></outputs>' <<<'Greet {input:who}.'
agent_directive lane_plain '  </metadata>
  <inputs><input name="n" type="string">which</input></inputs>' <<<'Say done, {input:n?}.'
agent_directive lane_fails '  </metadata>' <<<'Fail.'
graph() { # NAME LINE...
  local name=$1
  shift
  {
    printf '%s\n' "tool_id: $name" 'tool_type: graph' 'version: "1.0.0"' 'category: t' 'description: a graph' \
      'executor_id: rye/core/runtimes/state-graph/runtime' "permissions: [rye.execute.directive.lane_*]" 'config:'
    printf '  %s\n' "$@"
  } | fx_put "$P" "tools/t/$name.yaml"
  REFS="$REFS tool:t/$name"
}
REFS=
graph flow 'start: a' 'nodes:' \
  '  a: {action: {item_id: "directive:lane_greet", params: {who: "${inputs.who}"}}, assign: {g: "${result.outputs.greeting}", t: "${result.thread_id}"}, next: b}' \
  '  b: {type: return, output: {g: "${state.g}", t: "${state.t}"}}'
graph many 'start: a' 'nodes:' \
  '  a: {type: foreach, over: [x, y, z], parallel: true, collect: threads, action: {item_id: "directive:lane_plain", params: {n: "${item}"}}, next: b}' \
  '  b: {type: return, output: "${state.threads}"}'
graph inline 'start: a' 'nodes:' \
  '  a: {action: {item_id: "directive:lane_greet", thread: inline, params: {who: Ann}}, assign: {d: "${result.your_directions}"}, next: b}' \
  '  b: {type: return, output: "${state.d}"}'
graph fails 'start: a' 'nodes:' '  a: {action: {item_id: "directive:lane_fails"}, on_error: b}' \
  '  b: {type: return, output: "${state._last_error.error}"}'
graph other 'start: a' 'nodes:' '  a: {action: {item_id: "directive:hello"}}'
# shellcheck disable=SC2086
agent_sign $REFS
allow '^ryefs: (info refused: )?(tool|execute)'
fx_mount
run() { # NAME [JSON]
  timeout 60 bash -c 'exec 3<>"$1"; printf %s "$2" >&3 2>/dev/null; cat <&3' - "$M/tools/t/$1/run" "${2:-{\}}" 2>/dev/null
}

reply=$(run flow '{"who":"Ann"}')
is "a directive's outputs are in the state" "$(jq -r .data.output.g <<<"$reply")" 'hi there'
id=$(jq -r .data.output.t <<<"$reply")
is "it was a thread of its own" "$(cat "$M/state/threads/$id/status")" completed
is "with the node's parameters" "$(asks 'Greet Ann.')" 1
reply=$(run many)
is "threads at once" "$(jq -r '.data.output | unique | length' <<<"$reply")" 3
for id in $(jq -r '.data.output[]' <<<"$reply"); do
  is "each is over" "$(cat "$M/state/threads/$id/status")" completed
done
has "directions need no model" "$(run inline | jq -r .data.output)" 'Greet Ann.'
lacks "a thread that fails is a failed node" "$(run fails | jq -r .data.output)" null
is "what is not permitted has no thread" "$(run other | jq -r .error)" \
  "Permission denied: 'rye.execute.directive.hello' not covered by capabilities"
finish
