#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_names.sh: what is checked is an item's own id, whatever the caller has written: a directory tool
# by its short name, with and without its kind, by a call of its own, in a graph, from inside a tool; for
# what is allowed and for what is not.
. "$(dirname "$0")/agent_lib.sh"

call() { # ID ITEM: rye_execute
  printf '{"id": "%s", "name": "rye_execute", "arguments": {"item_id": "%s"}}' "$1" "$2"
}
ASKS="$(call short tool:t/dir), $(call bare t/dir), $(call long tool:t/dir/dir), $(call slash t//dir),
  $(call ext tool:t/dir/dir.sh), $(call upper tool:t/DIR), $(call kind TOOL:t/dir), $(call both tool:t/both),
  $(call inner tool:t/both/both), {\"id\": \"own\", \"name\": \"t_dir_dir\", \"arguments\": {}}"
agent_model '{"by": "turn", "lanes": {
  "lane_star": [{"calls": ['"$ASKS"']}, {"text": "over"}],
  "lane_short": [{"calls": ['"$ASKS"']}, {"text": "over"}],
  "lane_both": [{"calls": ['"$ASKS"']}, {"text": "over"}],
  "lane_nothing": [{"calls": ['"$ASKS"']}, {"text": "over"}],
  "lane_graph": [{"calls": ['"$(call g tool:t/flow)"']}, {"text": "over"}],
  "lane_flow": [{"calls": ['"$(call g tool:t/flow)"']}, {"text": "over"}],
  "lane_inside": [{"calls": ['"$(call i tool:t/caller)"']}, {"text": "over"}],
  "lane_top": [{"calls": [{"id": "c", "name": "rye_execute", "arguments": {"item_id": "directive:lane_short", "thread": "fork"}}]},
    {"text": "over"}],
  "lane_read": [{"calls": [{"id": "r", "name": "rye_fetch", "arguments": {"item_id": "tool:t/dir"}},
      {"id": "o", "name": "rye_fetch", "arguments": {"item_id": "tool:t/both/both"}}]}, {"text": "over"}]}}'
directive() { # NAME PERMISSIONS
  agent_directive "lane_$1" "    <permissions>$2</permissions>
  </metadata>" <<<"Try."
}
tools() { # PATTERN...
  printf '<execute>%s</execute>' "$(printf '<tool>%s</tool>' "$@")"
}
directive star "$(tools 't/dir/*')"
directive short "$(tools t/dir)"
directive both "$(tools t/both)"
directive nothing "$(tools t/other)"
directive graph "$(tools t/flow 't.dir.*')"
directive flow "$(tools t/flow t/other)"
directive inside "$(tools t/caller)"
directive top "<execute><tool>t/dir/*</tool><directive>lane_short</directive></execute>"
directive read '<fetch><tool>t/dir</tool><tool>t/both</tool></fetch>'
SCHEMA='# parameters: []'
# shellcheck disable=SC2016
for id in dir/dir both both/both; do
  fx_tool "$P" t/$id "$SCHEMA" "echo $id >>\"\$2/ran\""
done
# shellcheck disable=SC2016
fx_tool "$P" t/caller '# requires: [fs.write, rye.execute.tool.t.dir, rye.execute.tool.t.both]' 'm=$2/mnt' \
  'for id in dir dir/dir both both/both; do echo {} >"$m/tools/t/$id/run" && echo "$id" >>"$2/called"; done 2>/dev/null' 'true'
fx_put "$P" tools/t/flow.yaml <<'TEXT'
tool_id: flow
tool_type: graph
version: "1.0.0"
category: t
description: a graph
executor_id: rye/core/runtimes/state-graph/runtime
permissions: [rye.execute.tool.t.dir]
config:
  start: a
  nodes:
    a: {action: {item_id: "tool:t/dir"}, next: b}
    b: {action: {item_id: "tool:t/dir/dir"}, next: c}
    c: {type: return, output: both}
TEXT
agent_sign tool:t/dir/dir tool:t/both tool:t/both/both tool:t/caller tool:t/flow
allow '^ryefs: (info refused: )?(tool|execute)'
fx_mount

# of CALL: "ran", or the beginning of what the model was told
told() {
  events "$id" "select(.event_type == \"tool_call_result\" and .payload.call_id == \"$1\") | .payload.error // \"ran\"" | jq -r . | cut -c 1-17
}
all() { # DIRECTIVE: what became of each call
  rm -f "$P/ran"
  id=$(fork "lane_$1" | jq -r .thread_id)
  for c in short bare long slash ext upper kind both inner own; do echo "$c:$(told $c)"; done | grep "${2:-ran}" | tr '\n' ' '
}
is "a pattern of the directory covers its tool by each of its names" "$(all star)" "short:ran bare:ran long:ran own:ran "
is "and each ran" "$(sort "$P/ran" | uniq -c | xargs)" "4 dir/dir"
is "the short name in the permissions does, too" "$(all short)" "short:ran bare:ran long:ran own:ran "
has "and is recorded as the tool's id" "$(jq -c .capabilities "$P"/.ai/state/threads/lane_short/*/thread.json)" rye.execute.tool.t.dir.dir
is "a file of the short name is a tool of its own" "$(all both)" "both:ran "
is "which alone has run" "$(<"$P/ran")" both
is "another permission covers none of its names" "$(all nothing 'Permission denied')" \
  "short:Permission denied bare:Permission denied long:Permission denied slash:Permission denied ext:Permission denied upper:Permission denied kind:Permission denied both:Permission denied inner:Permission denied "
not_ok "and nothing has run" test -e "$P/ran"

fork lane_graph >/dev/null
is "a node by the short name" "$(sort "$P/ran" | uniq -c | xargs)" "2 dir/dir"
rm -f "$P/ran"
id=$(fork lane_flow | jq -r .thread_id)
has "and one that its thread may not" "$(events "$id" '.payload.error // empty')" \
  "Permission denied: 'rye.execute.tool.t.dir.dir' not covered"
not_ok "does not run" test -e "$P/ran"

converse "$M/tools/t/caller/run" >/dev/null
is "a tool calls by both names what its requires has by one" "$(xargs <"$P/called")" "dir dir/dir both"
rm -f "$P/called"
fork lane_inside >/dev/null
not_ok "not so where the thread above it may not" test -e "$P/called"

id=$(fork lane_top | jq -r .thread_id)
child=$(ls -d "$P/.ai/state/threads/lane_short/"*/ | tail -n 1)
is "a child keeps by its short name what its parent has by a pattern" \
  "$(jq -c .capabilities "$child/thread.json")" '["rye.execute.tool.t.dir.dir"]'
id=$(fork lane_read | jq -r .thread_id)
is "a fetch by the short name, and what only looks like one" "$(told r) $(told o)" "ran Permission denied"
finish
