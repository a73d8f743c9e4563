#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_nested.sh: tools that run tools through the mount, deeper than `jobs`: each waits for the
# next one, and none for a place that a run above it holds.
. "$(dirname "$0")/fixture.sh"
DEPTH=10
fx_spaces

link() { # ID NEXT: a tool that runs the next one and says what that said
  # shellcheck disable=SC2016
  fx_tool "$P" "$1" "# requires: ['rye.execute.tool.link*']" 'm=$2/mnt' \
    "echo {} > \"\$m/tools/$2/run\" || exit 1" "cat \"\$m/tools/$2/output\"" "echo $1"
}
refs=
for i in $(seq 1 $DEPTH); do
  link "link$i" "link$((i + 1))"
  refs="$refs tool:link$i"
done
fx_tool "$P" "link$((DEPTH + 1))" '# requires: []' 'echo bottom'
# two of its own at once, at one place: one after the other
# shellcheck disable=SC2016
fx_tool "$P" fork "# requires: ['rye.execute.tool.link*']" 'm=$2/mnt' \
  'for i in 9 10 11; do (echo {} > "$m/tools/link$i/run" && echo "done") & done' 'wait'
# shellcheck disable=SC2016
fx_tool "$P" loop '# requires: [rye.execute.tool.loop]' 'm=$2/mnt' \
  'echo {} > "$m/tools/loop/run" 2>"$2/loop.said.$$" || { cat "$2/loop.said.$$" >&2; exit 1; }'
# a graph that runs on by itself is held to the lists of the tool that started it all the same
fx_put "$P" tools/gr/flow.yaml <<'TEXT'
tool_id: flow
tool_type: graph
version: "1.0.0"
category: gr
description: a graph
executor_id: rye/core/runtimes/state-graph/runtime
permissions: [rye.execute.tool.*]
config:
  start: a
  nodes:
    a: {action: {item_id: "tool:beyond"}}
TEXT
fx_tool "$P" beyond 'echo ran >>"$2/beyond.ran"'
for name in narrow wide; do
  [ $name = narrow ] || more=", rye.execute.tool.beyond"
  # shellcheck disable=SC2016
  fx_tool "$P" $name "# requires: [fs.read, fs.write, rye.execute.tool.gr.flow${more:-}]" \
    'exec 3<>"$2/mnt/tools/gr/flow/async"; echo "{}" >&3; cat <&3 >"$2/said"'
done
refs="$refs tool:gr/flow tool:beyond tool:narrow tool:wide"
# shellcheck disable=SC2086
fx_sign "$P" $refs tool:link$((DEPTH + 1)) tool:fork tool:loop
allow '^ryefs: (info refused: )?(tool|execute|sign)'

for jobs in 1 3; do
  fx_mount "jobs=$jobs"
  got=$(timeout 40 sh -c "echo {} > '$M/tools/link1/run' && cat '$M/tools/link1/output'")
  is "jobs=$jobs: $((DEPTH + 1)) runs deep" "$(printf '%s' "$got" | tr '\n' ' ')" \
    "bottom $(seq -f link%g -s ' ' $DEPTH -1 1)"
  got=$(timeout 40 sh -c "echo {} > '$M/tools/fork/run' && cat '$M/tools/fork/output'")
  is "jobs=$jobs: several of one run" "$(printf '%s' "$got" | grep -c done)" 3
  start=$SECONDS
  timeout 60 sh -c "echo {} > '$M/tools/loop/run'" 2>/dev/null
  is "jobs=$jobs: an item that runs itself fails" $? 1
  ok "jobs=$jobs: and soon" test $((SECONDS - start)) -lt 50
  ok "jobs=$jobs: the mount goes on" timeout 20 sh -c "echo {} > '$M/tools/link11/run'"
  umount_rye
done

fx_mount
later() { # TOOL: what became of the graph that it started
  local result
  rm -f "$P/said"
  timeout 40 sh -c "echo {} > '$M/tools/$1/run'"
  result=$P/.ai/state/threads/$(sed -n 's/.*"thread_id": *"\([^"]*\)".*/\1/p' "$P/said")/result.json
  until_true test -s "$result"
  cat "$result"
}
has "an async graph does not what its starter may not" "$(later narrow)" "Permission denied" "tool:beyond"
not_ok "indeed not" test -e "$P/beyond.ran"
has "and what it may" "$(later wide)" '"status":"success"'
ok "indeed" test -s "$P/beyond.ran"
finish
