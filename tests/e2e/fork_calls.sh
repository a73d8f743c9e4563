#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_calls.sh: the calls of one answer: what comes of them is what their order says; those that only
# read run side by side; and a thread whose runner was killed among them is gone on with, each of its
# calls with one result that tells the model what is known of it.
. "$(dirname "$0")/agent_lib.sh"

# ROUNDS answers, each of which writes one file twice and reads it
ROUNDS=60
writes() {
  local n
  for n in $(seq $ROUNDS); do
    printf '{"calls": [
      {"id": "a%d", "name": "rye_file_system_write", "arguments": {"path": "f%d", "content": "first\\n"}},
      {"id": "b%d", "name": "rye_file_system_write", "arguments": {"path": "f%d", "content": "last\\n"}},
      {"id": "c%d", "name": "rye_file_system_read", "arguments": {"path": "f%d"}}]},' $n $n $n $n $n $n
  done
}
agent_model '{"by": "turn", "lanes": {
  "lane_order": ['"$(writes)"'{"text": "written"}],
  "lane_edit": [{"calls": [{"id": "r1", "name": "rye_file_system_read", "arguments": {"path": "lines"}}]},
    {"calls": [
      {"id": "e1", "name": "rye_file_system_edit_lines", "arguments": {"path": "lines", "changes": [{"line_id": "f26b77", "new_content": "one\nand a half"}]}},
      {"id": "e2", "name": "rye_file_system_edit_lines", "arguments": {"path": "lines", "changes": [{"line_id": "57749c", "new_content": "three"}]}}]},
    {"text": "edited"}],
  "lane_together": [{"calls": [{"id": "p1", "name": "t_look", "arguments": {}}, {"id": "p2", "name": "t_look", "arguments": {}},
    {"id": "p3", "name": "t_touch", "arguments": {}}, {"id": "p4", "name": "t_look", "arguments": {}}]}, {"text": "looked"}],
  "lane_killed": [{"text": "Three things.", "calls": [{"id": "k1", "name": "t_nap", "arguments": {}}, {"id": "k2", "name": "t_touch", "arguments": {}},
    {"id": "k3", "name": "t_touch", "arguments": {}}]}, {"text": "went on"}, {"text": "and on"}],
  "lane_twice": [{"text": "one"}, {"text": "two", "delay": 1}]
}}'
agent_naps
agent_tool touch touched
fx_python "$P" t/look <<'CODE'
__requires__ = ["fs.read"]
CONFIG_SCHEMA = {"type": "object", "properties": {}}
import os, time
def execute(params, project_path):
    for i in range(600):
        if os.path.exists(os.path.join(project_path, "go")):
            return {"success": True}
        time.sleep(0.05)
    return {"success": False, "error": "nobody came"}
CODE
TOOLS='    <limits turns="70" spend="100"/>
    <permissions><execute><tool>rye.file-system.*</tool><tool>t.*</tool></execute></permissions>
  </metadata>'
for name in order edit together killed twice; do agent_directive lane_$name "$TOOLS" <<<'Go.'; done
agent_sign tool:t/nap tool:t/touch tool:t/look
allow '^ryefs: (info refused: )?(execute|thread)'
fx_mount

reply=$(fork lane_order)
id=$(jq -r .thread_id <<<"$reply")
is "all rounds are done" "$(jq -r .result <<<"$reply")" written
is "of two writes of one answer the last one wins, always" "$(cd "$P" && cat f* | sort | uniq -c | tr -s ' ')" " $ROUNDS last"
is "and a read behind them sees it" \
  "$(events "$id" 'select(.event_type == "tool_call_result" and (.payload.call_id | startswith("c"))) | .payload.output' | grep -c '│ last')" "$ROUNDS"

printf 'l1\nl2\nl3\n' >"$P/lines"
reply=$(fork lane_edit)
is "two edits of one answer are both done" "$(tr '\n' ' ' <"$P/lines")" "one and a half l2 three "

# both of the first two have begun before either is done, since nothing lets them end before
fork lane_together >"$T/together" &
looks() { [ "$(cat "$P"/.ai/state/threads/lane_together/*/transcript.jsonl | grep -c '"event_type": "tool_call_start"')" = 2 ]; }
ok "tools that only read begin at once" fx_wait 20 looks
touch "$P/go"
wait $!
id=$(jq -r .thread_id "$T/together")
is "the others one after the other" \
  "$(events "$id" 'select(.event_type | startswith("tool_call_")) | .payload.call_id + (.event_type | sub("tool_call"; ""))' | tr -d '"' | tr '\n' ' ')" \
  "p1_start p2_start p1_result p2_result p3_start p3_result p4_start p4_result "

# ---- killed in the first of three ----
id=$(fork_async lane_killed | jq -r .thread_id)
ok "the first call runs" fx_wait 20 test -e "$P/naps"
rm -f "$P/touched"
kill -9 "$(jq .pid "$P/.ai/state/threads/$id/runner.json")"
is "its thread is lost" "$(exchange 60 "$M/state/threads/$id/wait")" error
touch "$P/wake"
told() { events "$id" "select(.event_type == \"tool_call_result\" and .payload.call_id == \"$1\") | .payload.error" | tr -d '"'; }
like "the call that ran may have happened" "$(told k1)" '^interrupted: .*It may have happened'
like "the next one was not executed" "$(told k2)" '^not executed: '
like "nor the last" "$(told k3)" '^not executed: '
reply=$(converse "$M/execute" "{\"resume_thread_id\": \"$id\", \"message\": \"go on\"}")
is "it is gone on with" "$(jq -r .result <<<"$reply")" "went on"
is "with what its model has said" "$(jq .history_kept "$P/.ai/state/threads/$(jq -r .thread_id <<<"$reply")/thread.json")" true
is "and one result for each call" \
  "$(jq -c 'select(.body) | .body' "$T/asked" | grep lane_killed | tail -n 1 | jq -r '.messages[] | .tool_calls[]?.id // .tool_call_id // empty' | tr '\n' ' ')" \
  "k1 k2 k3 k1 k2 k3 "
not_ok "nothing was done twice" test -e "$P/touched"

# ---- gone on with twice at once ----
id=$(fork lane_twice | jq -r .thread_id)
for n in 1 2 3 4; do
  converse "$M/execute" "{\"resume_thread_id\": \"$id\", \"message\": \"go on\"}" >"$T/twice.$n" &
done
wait $(jobs -p | grep -v "$DAEMON" | grep -v "$MODEL") 2>/dev/null
is "of four that resume it at once one does" \
  "$(jq -r '.result // (.error | test("gone on with already|still (created|running)"))' "$T"/twice.? | sort | uniq -c | tr -s ' \n' ' ')" \
  " 3 true 1 two "
is "and it has one thread behind it" "$(ls "$P/.ai/state/threads/lane_twice" | wc -l)" 2
# which of the two an answer names depends on whether the second one stood already when it was asked
is "each of the others is told which thread is in its way" \
  "$(jq -r '.error // empty' "$T"/twice.? | grep -cE "($id|$(ls "$P/.ai/state/threads/lane_twice" | grep -v "^${id#*/}$"))")" 3
is "its record says what its row says" "$(jq -r .status "$P/.ai/state/threads/$id/thread.json") $(row registry "select status from threads where thread_id='$id'")" "continued continued"
works "and verifies" "$PY" -c 'import sys
sys.path.insert(0, sys.argv[1])
import thread_verifier as v
v.check_thread_json(v.read_keys([sys.argv[2]]), sys.argv[3], open(sys.argv[4], "rb").read())' \
  "$E2E" "$U/.ai/config/keys/automatic" "$id" "$P/.ai/state/threads/$id/thread.json"

finish
