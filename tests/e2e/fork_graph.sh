#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_graph.sh: graphs whose nodes are directives that a model works through: outputs in the state, a
# list of threads at once, what is not permitted, directions without a model.
. "$(dirname "$0")/agent_lib.sh"

agent_model '{"by": "turn", "lanes": {
  "lane_greet": [{"calls": [{"name": "directive_return", "arguments": {"greeting": "hi there"}}]}],
  "lane_plain": [{"text": "done"}],
  "lane_top": [{"calls": [{"id": "g", "name": "rye_execute", "arguments": {"item_id": "tool:t/below"}}]}, {"text": "top"}],
  "lane_shut": [{"calls": [{"id": "s", "name": "rye_execute", "arguments": {"item_id": "tool:t/below"}}]}, {"text": "shut"}],
  "lane_aside": [{"calls": [{"id": "a", "name": "rye_execute", "arguments": {"item_id": "tool:t/below", "async": true}}]}, {"text": "aside"}],
  "lane_later": [{"calls": [{"id": "g", "name": "rye_execute", "arguments": {"item_id": "tool:t/below", "async": true}},
      {"id": "w", "name": "t_wait", "arguments": {}}]}, {"text": "later"}],
  "lane_low": [{"calls": [{"id": "l", "name": "t_echo", "arguments": {}}]}, {"text": "low"}],
  "lane_held": [{"calls": [{"id": "e", "name": "rye_execute", "arguments": {"item_id": "tool:t/echo"}},
      {"id": "n", "name": "rye_execute", "arguments": {"item_id": "tool:t/net"}}]}, {"text": "held"}],
  "lane_fails": [{"status": 400, "body": {"error": {"message": "no such model"}}}]}}'
agent_directive lane_greet '  </metadata>
  <inputs><input name="who" type="string" required="true">Whom</input></inputs>
  <outputs><output name="greeting" type="string" required="true">the greeting</output></outputs>' <<<'Greet {input:who}.'
agent_directive lane_plain '  </metadata>
  <inputs><input name="n" type="string">which</input></inputs>' <<<'Say done, {input:n?}.'
agent_directive lane_fails '  </metadata>' <<<'Fail.'
HELD='  <limits turns="3" spend="0.5" depth="2" spawns="1"/>
  </metadata>'
agent_directive lane_top "    <permissions><execute><tool>t.below</tool><directive>lane_low</directive></execute></permissions>
$HELD" <<<'Top.'
agent_directive lane_later "    <permissions><execute><tool>t.below</tool><tool>t.wait</tool><directive>lane_low</directive></execute></permissions>
$HELD" <<<'Later.'
for name in shut aside; do
  agent_directive lane_$name "    <permissions><execute><tool>t.below</tool></execute></permissions>
$HELD" <<<'Shut.'
done
agent_directive lane_low '    <permissions><execute><tool>t.echo</tool></execute></permissions>
  </metadata>' <<<'Low.'
fx_python "$P" t/echo <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {}}
def execute(params, project_path):
    return {"success": True}
CODE
agent_directive lane_held '    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>' <<<'Held.'
fx_python "$P" t/net <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {}}
import socket
def execute(params, project_path):
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    return {"success": True}
CODE
fork_tool() { # NAME REQUIRES: a tool that starts the thread, and says how it went
  # shellcheck disable=SC2016
  fx_tool "$P" "t/$1" "# requires: [fs.write, rye.execute.directive.lane_held, $2]" \
    'exec 3<>"$2/mnt/directives/lane_held/fork"; echo "{}" >&3; cat <&3 >"$2/said"'
  REFS="$REFS tool:t/$1"
}
fx_python "$P" t/wait <<'CODE'
__requires__ = ["fs.read", "threads.read"]
CONFIG_SCHEMA = {"type": "object", "properties": {}}
import glob, os, time
def execute(params, project_path):
    for i in range(300):
        for path in glob.glob(os.path.join(project_path, ".ai/state/threads/lane_low/*/thread.json")):
            if '"completed"' in open(path).read() and path not in open(os.path.join(project_path, "before")).read():
                return {"success": True}
        time.sleep(0.05)
    return {"success": False, "error": "no thread"}
CODE
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
fork_tool starts rye.execute.tool.t.net
fork_tool starts_net 'rye.execute.tool, net.*'
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
graph below 'start: a' 'nodes:' '  a: {action: {item_id: "directive:lane_low"}, assign: {t: "${result.thread_id}"}, next: b}' \
  '  b: {type: return, output: "${state.t}"}'
graph holds 'start: a' 'nodes:' '  a: {action: {item_id: "directive:lane_held"}, assign: {t: "${result.thread_id}"}, next: b}' \
  '  b: {type: return, output: "${state.t}"}'
sed 's/lane_\*\]/lane_*, rye.execute.tool.t.echo]/; s/: holds$/: allows/' "$P/.ai/tools/t/holds.yaml" | fx_put "$P" tools/t/allows.yaml
REFS="$REFS tool:t/allows"
graph other 'start: a' 'nodes:' '  a: {action: {item_id: "directive:hello"}}'
# shellcheck disable=SC2086
agent_sign $REFS tool:t/echo tool:t/net tool:t/wait
allow '^ryefs: (info refused: )?(tool|execute)'
fx_mount
run() { converse "$M/tools/t/$1/run" "${2:-}"; } # NAME [JSON]

reply=$(run flow '{"who":"Ann"}')
is "a directive's outputs are in the state" "$(jq -r .data.output.g <<<"$reply")" 'hi there'
id=$(jq -r .data.output.t <<<"$reply")
is "it was a thread of its own" "$(<"$M/state/threads/$id/status")" completed
is "with the node's parameters" "$(asks 'Greet Ann.')" 1
reply=$(run many)
is "threads at once" "$(jq -r '.data.output | unique | length' <<<"$reply")" 3
for id in $(jq -r '.data.output[]' <<<"$reply"); do
  is "each is over" "$(<"$M/state/threads/$id/status")" completed
done
has "directions need no model" "$(run inline | jq -r .data.output)" 'Greet Ann.'
lacks "a thread that fails is a failed node" "$(run fails | jq -r .data.output)" null
# a thread below one whose model called the graph is that one's child, whatever its directive declares
held() { # WHAT PARENT
  local low
  low=$(ls -d "$P"/.ai/state/threads/lane_low/*/ | grep -vF "$(<"$P/before")" | tail -n 1)
  echo "${low%/}/thread.json" >>"$P/before"
  is "$1: its child" "$(jq -r .parent_id "$low/thread.json")" "$2"
  is "$1: its limits" "$(jq -c '[.limits.turns, .limits.depth, .limits.spend < 0.5]' "$low/thread.json")" '[3,1,true]'
  is "$1: its capabilities" "$(jq -c '.capabilities // []' "$low/thread.json")" '[]'
}
echo none >"$P/before"
reply=$(fork lane_top)
is "a model calls a graph" "$(jq -r .result <<<"$reply")" top
held "in its run" "$(jq -r .thread_id <<<"$reply")"
reply=$(fork lane_later)
is "and one that it does not wait for" "$(jq -r .result <<<"$reply")" later
held "in another runner" "$(jq -r .thread_id <<<"$reply")"
# the graph's own permissions are not enough where a model's thread calls it
lows() { ls -d "$P"/.ai/state/threads/lane_low/*/ | wc -l; }
before=$(lows)
id=$(fork lane_shut | jq -r .thread_id)
has "a graph does nothing that its thread may not" "$(events "$id" 'select(.payload.call_id == "s" and .payload.error) | .payload.error')" \
  "Permission denied: 'rye.execute.directive.lane_low' not covered"
id=$(fork lane_aside | jq -r .thread_id)
graph=$(events "$id" 'select(.payload.call_id == "a" and .payload.output) | .payload.output | fromjson | .thread_id' | jq -r .)
until_true test -e "$P/.ai/state/threads/$graph/result.json"
has "nor in another runner" "$(jq -r .error "$P/.ai/state/threads/$graph/result.json")" \
  "Permission denied: 'rye.execute.directive.lane_low' not covered"
is "no thread was started" "$(lows)" "$before"
# a thread that a person's graph or tool starts: its directive's permissions within theirs
calls() { # ID: what became of its two calls
  for c in e n; do
    events "$1" "select(.event_type == \"tool_call_result\" and .payload.call_id == \"$c\") | .payload.error // \"ran\"" | jq -r . |
      grep -o '^ran\|no capabilities\|not covered\|Errno 13' | head -n 1
  done | xargs
}
is "a graph's permissions hold its thread" "$(calls "$(run holds | jq -r .data.output)")" "no capabilities no capabilities"
is "and allow it" "$(calls "$(run allows | jq -r .data.output)")" "ran not covered"
is "a person's own thread is held by its directive alone" "$(calls "$(fork lane_held | jq -r .thread_id)")" "ran ran"
run starts >/dev/null
is "a tool's requires hold its thread, and so does what confines it" "$(calls "$(jq -r .thread_id "$P/said")")" \
  "not covered Errno 13"
run starts_net >/dev/null
is "one that has them may all that it declares" "$(calls "$(jq -r .thread_id "$P/said")")" "ran ran"
is "what is not permitted has no thread" "$(run other | jq -r .error)" \
  "Permission denied: 'rye.execute.directive.hello' not covered by capabilities"
finish
