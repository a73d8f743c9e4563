#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_lost.sh: a thread that another process started, whose runner was killed when that process had
# gone: a mount that has had no thread itself records its end, asked by nobody.
. "$(dirname "$0")/agent_lib.sh"

agent_model '{"lanes": {"lane_slow": [{"text": "late", "delay": 60}]}}'
agent_directive lane_slow '  </metadata>' <<<'Do it.'
agent_sign
clocked fx_mount

id=$("$RYEFS" execute directive:lane_slow --fork --async -q --project "$P" --user "$U" --system "$S" 2>&1)
like "started by the command line" "$id" '^lane_slow/lane_slow-'
until_true eval '[ "$(asks lane_slow)" -gt 0 ]'
kill -9 "$(jq .pid "$P/.ai/state/threads/$id/runner.json")"
# the file on disk: a look through the mount would be a question
recorded() { [ "$(jq -r .status "$P/.ai/state/threads/$id/thread.json")" = error ] && test -s "$P/.ai/state/threads/$id/result.json"; }
sleep 0.5 # what came too early would be there
not_ok "not before it is looked for" recorded
pass 31
ok "recorded by the scan of each half minute" until_true recorded
is "its last line" "$(events "$id" .event_type | tail -n 1)" '"checkpoint"'

# ---- without a mount: the command line finds it, doctor only tells ----
umount_rye
status() { row registry "select status from threads where thread_id='$1'"; }
lost_one() {
  local before
  before=$(asks lane_slow)
  lost=$(run execute directive:lane_slow --fork --async -q)
  until_true eval '[ "$(asks lane_slow)" -gt '"$before"' ]'
  kill -9 "$(jq .pid "$P/.ai/state/threads/$lost/runner.json")"
  until_true eval "! kill -0 $(jq .pid "$P/.ai/state/threads/$lost/runner.json")"
}
lost_one
first=$lost
lost_one
has "doctor counts them" "$(run doctor)" "remark  $lost: 2 threads have no process any more, and no end yet" "mend with: ryefs threads list"
is "and records nothing" "$(status "$first") $(status "$lost")" "running running"
has "the list records them" "$(run threads list | grep "$lost")" error
is "for good" "$(status "$first") $(status "$lost")" "error error"
lacks "then doctor is silent" "$(run doctor)" "no end yet"
lost_one
fx_mount
ok "a mount records them when it begins" until_true eval '[ "$(status "$lost")" = error ]'
is "whole" "$(events "$lost" .event_type | tail -n 2 | tr '\n' ' ')" '"thread_error" "checkpoint" '

finish
