#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# graph.sh: state graphs through the mount and the command line: every type of node, lists of fifty at
# once, hooks and retries, refusals, threads, cancels, and runs whose process is killed at any moment.
. "$(dirname "$0")/fixture.sh"
need jq || finish
fx_spaces
ROUNDS=${RYE_ROUNDS:-6}

# graph NAME LINE...: t/NAME; the lines are its config, indented by two
graph() {
  local name=$1
  shift
  {
    printf '%s\n' "tool_id: $name" 'tool_type: graph' 'version: "1.0.0"' 'category: t' 'description: a graph' \
      'executor_id: rye/core/runtimes/state-graph/runtime' "${MAY:-permissions: [rye.execute.tool.t.*]}" 'config:'
    printf '  %s\n' "$@"
  } | fx_put "$P" "tools/t/$name.yaml"
  REFS="$REFS tool:t/$name"
}
REFS='tool:t/note tool:t/flaky tool:t/nap'
# what has an effect: a line in a file for each call
sed "s/(jq/($JQ/" <<'TOOL' | fx_put "$P" tools/t/note.sh
#!/bin/bash
# __version__ = "1.0.0"
# __tool_type__ = "shell"
# __category__ = "t"
# __tool_description__ = "notes a word"
# parameters: [{name: word, type: string, required: true}, {name: nap, type: string, default: "0"}]
read -r word nap < <(jq -r '[.word, .nap] | join(" ")')
sleep "$nap" # the tool's own
echo "$word" >>notes
printf '{"success": true, "word": "%s"}' "$word"
TOOL
fx_put "$P" tools/t/flaky.sh <<'TOOL'
#!/bin/bash
# __version__ = "1.0.0"
# __tool_type__ = "shell"
# __category__ = "t"
# __tool_description__ = "fails twice"
echo try >>tries
[ "$(wc -l <tries)" -gt 2 ] || { echo 'connection lost' >&2; exit 1; }
TOOL
sed "s/(jq/($JQ/" <<'TOOL' | fx_put "$P" tools/t/nap.sh
#!/bin/bash
# __version__ = "1.0.0"
# __tool_type__ = "shell"
# __category__ = "t"
# __tool_description__ = "sleeps"
# parameters: [{name: time, type: string, default: "0"}]
exec sleep "$(jq -r .time)"
TOOL
graph all 'start: first' 'nodes:' \
  '  first: {action: {item_id: "tool:t/note", params: {word: "${inputs.word}"}}, assign: {w: "${result.word}"}, next: [{to: many, when: {path: state.w, op: ne, value: stop}}, {to: end}]}' \
  '  many: {type: foreach, over: ["${state.w}1", "${state.w}2"], as: each, collect: words, action: {item_id: "tool:t/note", params: {word: "${each}"}}, next: gate}' \
  '  gate: {type: gate, assign: {n: "${state.words | length}", up: "${state.w | upper}"}, next: end}' \
  '  end: {type: return, output: {n: "${state.n}", up: "${state.up}", words: "${state.words}"}}'
graph fifty 'start: list' 'max_concurrency: 16' 'nodes:' \
  '  list: {type: foreach, over: "${inputs.list}", parallel: true, as: n, collect: all, action: {item_id: "tool:t/note", params: {word: "${n}"}}, next: end}' \
  '  end: {type: return, output: {n: "${state.all | length}", last: "${state.all.-1.word}"}}'
graph flaky_hook 'start: a' 'hooks:' \
  '  - {event: error, condition: {path: classification.category, value: transient}, action: {retry: true, max_retries: 5}}' \
  '  - {event: after_step, action: {item_id: "tool:t/note", params: {word: "after-${node}"}}}' \
  'nodes:' '  a: {action: {item_id: "tool:t/flaky"}, next: b}' '  b: {type: return, output: done}'
graph edge 'start: a' 'nodes:' '  a: {action: {item_id: "tool:t/none"}, on_error: b}' \
  '  b: {type: return, output: "${state._last_error.error}"}'
graph astray 'start: a' 'nodes:' '  a: {action: {item_id: "tool:t/note", params: {word: x}}, next: b}' '  b: {action: {item_id: "tool:t/none"}}'
graph goes_on 'start: a' 'on_error: continue' 'nodes:' '  a: {action: {item_id: "tool:t/none"}, next: b}' '  b: {type: return}'
graph keeps 'start: a' 'nodes:' \
  '  a: {cache_result: true, action: {item_id: "tool:t/note", params: {word: "${inputs.word}"}}, assign: {w: "${result.word}"}, next: b}' \
  '  b: {cache_result: true, action: {item_id: "tool:t/flaky"}, on_error: c, next: c}' \
  '  c: {type: return, output: "${state.w}"}'
graph bash 'start: a' 'nodes:' '  a: {action: {item_id: "tool:rye/bash/bash", params: {command: "touch broken-out"}}}'
graph wrong 'start: a' 'nodes:' '  a: {action: {item_id: "tool:t/note"}, next: nowhere}'
graph away 'start: a' 'nodes:' '  a: {action: {item_id: "tool:t/note", target: "remote:gpu", params: {word: away}}}'
graph apart 'start: a' 'nodes:' '  a: {remote: cpu, action: {item_id: "tool:t/note", params: {word: apart}}}'
graph here 'start: a' 'nodes:' '  a: {action: {item_id: "tool:t/note", target: local, no_net: true, params: {word: here}}}'
graph unwritten 'start: a' 'nodes:' '  a: {action: {item_id: "tool:t/note", no_write: true, params: {word: unwritten}}}'
graph believed 'start: a' 'nodes:' '  a: {timeout: 3, action: {item_id: "tool:t/note", max_turns: 1, params: {word: no}}}' \
  '  b: {limit_overrides: {spend: 0.01}, action: {primary: fetch, target: local, item_id: "tool:t/note"}}'
graph naps 'start: a' 'nodes:' "  a: {action: {item_id: 'tool:t/note', params: {word: before}}, next: b}" \
  "  b: {action: {item_id: 'tool:t/nap', params: {time: '\${inputs.time || state.time}'}}, next: c}" \
  "  c: {action: {item_id: 'tool:t/note', params: {word: after}}}"
graph spread 'start: a' 'max_concurrency: 3' 'nodes:' \
  "  a: {action: {item_id: 'tool:t/note', params: {word: first}}, next: b}" \
  "  b: {type: foreach, over: [w1, w2, w3, w4, w5, w6], as: w, parallel: true, collect: all, action: {item_id: 'tool:t/note', params: {word: '\${w}', nap: '\${inputs.nap}'}}, next: c}" \
  "  c: {type: return, output: '\${state.all | length} \${state.all.5.word}'}"
# ten steps, each with an effect of its own
NODES=()
for i in 0 1 2 3 4 5 6 7 8; do
  NODES+=("  n$i: {action: {item_id: 'tool:t/note', params: {word: 'w$i', nap: '0.05'}}, assign: {at: 'w$i'}, next: n$((i + 1))}")
done
graph ten 'start: n0' 'nodes:' "${NODES[@]}" '  n9: {type: return, output: "${state.at}"}'
# shellcheck disable=SC2086
fx_sign "$P" $REFS
allow '^ryefs: (info refused: )?(tool|execute)'
fx_mount

run() { converse "$M/tools/t/$1/run" "${2:-}"; } # NAME [JSON]: the reply
cli() { limit 60 "$RYEFS" execute --project "$P" --user "$U" --system "$S" --json -q "$@" 2>/dev/null; }
async() { converse "$M/tools/t/$1/async" "${2:-}" | jq -r .thread_id; } # NAME [JSON]: the thread
notes() { sort "$P/notes" 2>/dev/null | tr '\n' ' '; }
log_of() { cat "$P/.ai/state/graphs/$1/transcript.jsonl"; }

# --- types of nodes ---
reply=$(run all '{"word":"hi"}')
is 'a graph runs' "$(jq -c '[.status,.data.success,.data.status,.data.steps]' <<<"$reply")" '["success",true,"completed",4]'
is 'its output' "$(jq -c '[.data.output.n,.data.output.up,[.data.output.words[].word]]' <<<"$reply")" '[2,"HI",["hi1","hi2"]]'
is 'its calls' "$(notes)" 'hi hi1 hi2 '
id=$(jq -r .data.graph_run_id <<<"$reply")
like 'a run has a name' "$id" '^t-all-[0-9]{10}$'
is 'every step is recorded' "$(log_of "$id" | jq -r .event_type | sort | uniq -c | awk '{print $2 $1}' | tr '\n' ' ')" \
  'checkpoint1 foreach_completed1 graph_completed1 graph_started1 state_checkpoint4 step_completed3 step_started4 '
is 'the record is the owner'"'"'s' "$(stat -c %a "$P/.ai/state/graphs/$id" "$P/.ai/state/graphs/$id/transcript.jsonl" | tr '\n' ' ')" '700 600 '
is 'it has a row among the threads' "$(cat "$M/state/threads/$id/status" "$M/state/threads/$id/directive" | tr '\n' ' ')" 'completed tool:t/all '
is 'and its transcript' "$(jq -r .event_type "$M/state/threads/$id/transcript.jsonl" | sed -n '1p;$p' | xargs)" 'graph_started checkpoint'
is 'which is listed' "$(ls "$M/state/threads/$id" | grep -c '^transcript.jsonl$')" 1
is 'and is the file on disk' "$(cmp "$M/state/threads/$id/transcript.jsonl" "$P/.ai/state/graphs/$id/transcript.jsonl" && echo same)" same
is 'with its result' "$(jq -c '[.status,.data.output.n]' "$M/state/threads/$id/result.json")" '["success",2]'
rm -f "$P/notes"
is 'an edge with a condition' "$(run all '{"word":"stop"}' | jq -c '[.data.steps,.data.output.n]')" '[2,null]'
is 'by the command line' "$(cli tool:t/all word=cli | jq -c '[.data.output.n,.data.output.up]')" '[2,"CLI"]'
rm -f "$P/notes"
reply=$(run fifty "{\"list\":$(jq -nc '[range(100;150)|tostring]')}")
is 'fifty at once' "$(jq -c '.data.output | [.n, .last]' <<<"$reply")" '[50,"149"]'
is 'each of them once' "$(sort -u "$P/notes" | wc -l) $(wc -l <"$P/notes")" '50 50'

# --- errors ---
rm -f "$P/notes"
is 'a hook tries again' "$(run flaky_hook | jq -c '[.status,.data.output]')" '["success","done"]'
is 'as often as it takes' "$(wc -l <"$P/tries")" 3
is 'a hook behind a step' "$(notes)" 'after-a '
like 'an edge for errors' "$(run edge | jq -r .data.output)" 'Tool not found: t/none'
is 'an item that is not there is told with its node and the graph' "$(run astray | jq -r '.error, .data.error' | cut -d';' -f1)" \
  "node 'b' of graph t/astray: Tool not found: t/none
Tool not found: t/none"
is 'errors that are passed over' "$(run goes_on | jq -c '[.status,.data.status,.data.errors_suppressed,.data.errors[0].node]')" \
  '["success","completed_with_errors",1,"a"]'
reply=$(run bash)
is 'what is not permitted is not run' "$(jq -r .error <<<"$reply")" \
  "Permission denied: 'rye.execute.tool.rye.bash.bash' not covered by capabilities"
not_ok 'and has no effect' test -e "$P/broken-out"
is 'a mistake is told with node and key' "$(run wrong | jq -r .error)" \
  "Graph validation failed: node 'a': next: there is no node 'nowhere'"
rm -f "$P/notes"
is 'an action that says local runs here' "$(run here | jq -r .status) $(notes)" 'success here '
is 'one that says where else does not' "$(run away | jq -r .status) $(notes)" 'error here '
is 'and says why' "$(run away | jq -r .error | head -n 1)" "No remote 'gpu'; none is configured"
is 'a node says it, too' "$(run apart | jq -r .error | head -n 1) $(notes)" "No remote 'cpu'; none is configured here "
run unwritten >/dev/null
is 'a limit of an action holds' "$(notes)" 'here '
believed=$(run believed | jq -r .error)
for key in 'timeout: not a node.s key' 'action.max_turns: no such key' 'limit_overrides: not a node.s key' 'action.target: no such key'; do
  like "a limit that nothing would obey is refused: $key" "$believed" "$key"
done
is 'and nothing has run' "$(notes)" 'here '
rm -f "$P/notes"
is 'a look at a graph runs nothing' "$(cli tool:t/ten validate:=true | jq -c '[.data.success,.data.node_count,.data.errors]')" '[true,10,[]]'
is 'one node alone' "$(cli tool:t/ten node=n4 | jq -c '[.data.executed_node,.data.next_node,.data.state.at]')" '["n4","n5","w4"]'

# --- results that are kept ---
rm -f "$P/notes" "$P/tries"
RESULTS=$P/.ai/state/graph-results
is 'a result is found out once' "$(for _ in 1 2 3; do run keeps '{"word":"k"}' | jq -r .data.output; done | xargs) $(notes)" 'k k k k '
is 'one that is none again and again' "$(wc -l <"$P/tries")" 3
id=$(run keeps '{"word":"k"}' | jq -r .data.graph_run_id)
is 'the record says so' "$(log_of "$id" | jq -c 'select(.event_type == "step_completed")|[.payload.node,.payload.cache_hit]' | xargs)" '[a,true] [b,true] [c,null]'
is 'and the tool that tells steps' "$(cli tool:rye/core/processes/steps run_id="$id" | jq -c '[.data.steps[]|select(.cache_hit)|.node]|unique')" '["a","b"]'
is 'other parameters, another result' "$(run keeps '{"word":"l"}' | jq -r .data.output) $(notes)" 'l k l '
is 'by another process, too' "$(cli tool:t/keeps word=l | jq -r .data.output) $(notes)" 'l k l '
is 'they are the owner'"'"'s' "$(stat -c %a "$RESULTS" "$RESULTS"/*.json | sort -u | xargs)" '600 700'
kept=$(grep -l '"word":"k"' "$RESULTS"/*.json)
cp "$kept" "$T/kept"
sed -i 's/"word":"k"/"word":"forged"/' "$kept"
is 'what was written by hand is no result' "$(run keeps '{"word":"k"}' | jq -r .data.output) $(notes)" 'k k k l '
other=$(grep -l '"word":"l"' "$RESULTS"/*.json)
cp "$T/kept" "$other"
is 'nor is that of another call' "$(run keeps '{"word":"l"}' | jq -r .data.output) $(notes)" 'l k k l l '
rm -f "$P/notes"
sed -i 's/^# __tool_desc.*/# __tool_description__ = "notes a word, otherwise"/' "$P/.ai/tools/t/note.sh"
fx_sign "$P" tool:t/note
is 'nor that of a tool that has changed' "$(run keeps '{"word":"k"}' | jq -r .data.output) $(notes)" 'k k '
rm -r "$RESULTS"
ln -s "$T" "$RESULTS"
is 'nothing is kept behind a link' "$(run keeps '{"word":"k"}' | jq -r .data.output) $(ls "$T" | grep -c '^[0-9a-f]\{64\}')" 'k 0'
rm "$RESULTS" "$P/tries"

# --- threads ---
rm -f "$P/notes"
id=$(async all '{"word":"thread"}')
like 'the thread has the name of the run' "$id" '^t-all-[0-9]+$'
is 'a graph as a thread' "$(exchange 20 "$M/state/threads/$id/wait")" completed
is 'its result' "$(jq -c '[.data.graph_run_id,.data.output.n]' "$M/state/threads/$id/result.json")" "[\"$id\",2]"
is 'its transcript' "$(tail -n 2 "$M/state/threads/$id/transcript.jsonl" | jq -r .event_type | tr '\n' ' ')" 'graph_completed checkpoint '
like 'its progress' "$(<"$M/state/threads/$id/live")" '^\[graph:t/all\] step 1/4 first ✓ [0-9.]+s$'
id=$(async goes_on)
is 'errors show in the row' "$(exchange 20 "$M/state/threads/$id/wait")" completed_with_errors
id=$(async bash)
is 'a graph that fails' "$(exchange 20 "$M/state/threads/$id/wait")" error

# --- cancel, and go on ---
rm -f "$P/notes"
id=$(async naps "{\"time\":\"60.$$\"}")
ok 'the second step has begun' fx_wait 20 naps 60
echo cancel >"$M/state/threads/$id/ctl"
is 'a cancel in the middle' "$(exchange 20 "$M/state/threads/$id/wait")" cancelled
ok 'ends what it called' fx_wait 5 no_naps 60
is 'the record says so' "$(log_of "$id" | tail -n 2 | jq -r .event_type | tr '\n' ' ')" 'graph_cancelled checkpoint '
is 'what was over is not done again' "$(cli tool:t/naps resume:=true graph_run_id="$id" inject_state:='{"inputs":{"time":"0"}}' | jq -r .data.status) $(notes)" \
  'completed after before '
rm -f "$P/notes"
# many in one second, of either sort: each has a name of its own
for _ in 1 2 3 4 5; do
  cli tool:t/ten >/dev/null &
  cli tool:t/ten --async
  wait "$!"
done | jq -r .thread_id | sort -u >"$T/names"
is 'runs of the same second have names of their own' "$(grep -c . "$T/names")" 5
while read -r id; do "$RYEFS" threads --project "$P" wait "$id"; done <"$T/names" >"$T/ends"
is 'and each ends well' "$(sort "$T/ends" | uniq -c | xargs)" '5 completed'
rm -f "$P/notes"
id=$(cli tool:t/ten max_steps:=4 | jq -r .data.graph_run_id)
is 'a run that ran out of steps goes on by its thread'"'"'s name' \
  "$(converse "$M/execute" "{\"item_id\":\"tool:t/ten\",\"resume_thread_id\":\"$id\",\"parameters\":{\"max_steps\":20}}" |
    jq -r .data.output)" w8
is 'each step once' "$(notes)" 'w0 w1 w2 w3 w4 w5 w6 w7 w8 '

# --- a list at once that is cut off: by a cancel, by the end of its process ---
three_naps() { [ "$(pgrep -cf "^sleep $1\\.$$\$")" = 3 ]; }
for how in cancel kill; do
  rm -f "$P/notes"
  id=$(async spread "{\"nap\":\"62.$$\"}")
  ok "$how: three calls of the list have begun" fx_wait 20 three_naps 62
  if [ $how = cancel ]; then echo cancel >"$M/state/threads/$id/ctl"; else kill -9 "$(<"$M/state/threads/$id/pid")"; fi
  exchange 20 "$M/state/threads/$id/wait" >/dev/null
  ok "$how: they are ended" fx_wait 10 no_naps 62
  is "$how: none was recorded" "$(log_of "$id" | jq -r 'select(.event_type == "state_checkpoint")|.payload.step' | xargs)" 1
  is "$how: the list is gone through again, the step before it not" \
    "$(cli tool:t/spread resume:=true graph_run_id="$id" inject_state:='{"inputs":{"nap":"0"}}' | jq -r '.data.output') $(notes)" \
    '6 w6 first w1 w2 w3 w4 w5 w6 '
done

# --- what a run goes on with is verified anew ---
rm -f "$P/notes"
id=$(cli tool:t/naps max_steps:=1 | jq -r .data.graph_run_id)
goes_on() { cli tool:t/naps resume:=true graph_run_id="$id" max_steps:=9; }
cp "$P/.ai/tools/t/nap.sh" "$T/nap.sh"
sed -i 's/^exec sleep.*/echo changed >>notes/' "$P/.ai/tools/t/nap.sh"
reply=$(goes_on)
is 'a tool that was changed meanwhile is not run' "$(jq -r '.data.node + " " + .error' <<<"$reply" | sed 's/:.*//;q') $(notes)" \
  'b Content modified since signing before '
fx_sign "$P" tool:t/nap
is 'once it is signed it is' "$(goes_on | jq -r .data.status) $(notes)" 'completed after before changed '
cp "$T/nap.sh" "$P/.ai/tools/t/nap.sh"
id=$(cli tool:t/naps max_steps:=1 | jq -r .data.graph_run_id)
cp "$P/.ai/tools/t/naps.yaml" "$T/naps.yaml"
sed -i 's/word: after/word: other/' "$P/.ai/tools/t/naps.yaml"
like 'nor a graph that was changed' "$(goes_on | jq -r .error)" '^Content modified since signing'
fx_sign "$P" tool:t/naps
like 'which is another graph when it is signed' "$(goes_on | jq -r .error)" 't/naps has changed since'
cp "$T/naps.yaml" "$P/.ai/tools/t/naps.yaml"
rm -f "$P/notes"

# --- kill -9 at any moment ---
wrong=
for round in $(seq "$ROUNDS"); do
  rm -f "$P/notes"
  if [ $((round % 2)) = 0 ]; then
    id=$(async ten)
    sleep "0.$((RANDOM % 90 + 10))"
    kill -9 "$(<"$M/state/threads/$id/pid")" 2>/dev/null
    exchange 20 "$M/state/threads/$id/wait" >/dev/null
    [ -e "$P/.ai/state/graphs/$id/transcript.jsonl" ] || continue # it had not begun
  else
    before=$(ls "$P/.ai/state/graphs")
    "$RYEFS" execute --project "$P" --user "$U" --system "$S" --json -q tool:t/ten >/dev/null 2>&1 &
    pid=$!
    sleep "0.$((RANDOM % 90 + 10))"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    id=$(ls "$P/.ai/state/graphs" | grep -vxF -- "$before")
    [ -n "$id" ] || continue # it had not begun
  fi
  over=$(log_of "$id" | jq -r 'select(.event_type == "state_checkpoint") | .payload.step' | wc -l)
  sleep 0.3 # what was cut off has had its time to end
  at=$(wc -l <"$P/notes" 2>/dev/null || echo 0)
  # the tenth step returns: it has no effect, and behind it the run was over before it was killed
  [ "$at" = "$over" ] || [ "$at" = $((over + 1)) ] || [ "$at-$over" = 9-10 ] ||
    wrong="$wrong $id: $at effects, $over recorded;"
  if [ "$over" -lt 10 ]; then
    reply=$(cli tool:t/ten resume:=true graph_run_id="$id")
    [ "$(jq -r .data.output <<<"$reply")" = w8 ] || wrong="$wrong $id: $(head -c 200 <<<"$reply")"
  fi
  # a step whose effect was there but not its record is done again, no other
  [ "$(sort -u "$P/notes" | wc -l)" = 9 ] || wrong="$wrong $id: $(notes);"
  [ "$(wc -l <"$P/notes")" = $((9 + at - over)) ] || [ "$over" = 10 ] || wrong="$wrong $id: $at $over $(notes);"
done
is 'a killed run goes on behind its last recorded step' "$wrong" ''
id=$(async naps "{\"time\":\"61.$$\"}")
ok 'a run that goes on' fx_wait 20 naps 61
like 'is not taken over' "$(cli tool:t/naps resume:=true graph_run_id="$id" | jq -r .error)" 'is still going on'
echo kill >"$M/state/threads/$id/ctl"
exchange 20 "$M/state/threads/$id/wait" >/dev/null
finish
