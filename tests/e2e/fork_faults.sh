#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_faults.sh: what goes wrong while a model works: its provider, its budget, its time; a thread
# that is cancelled or killed, or whose runner dies.
. "$(dirname "$0")/agent_lib.sh"

agent_model '{"lanes": {
  "lane_once": [{"status": 500, "error": {"type": "server_error", "message": "later"}}, {"text": "after all"}],
  "lane_auth": [{"status": 401, "error": {"type": "authentication_error", "message": "bad key"}}, {"text": "no"}],
  "lane_quota": [{"status": 429, "error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "pay"}}, {"text": "no"}],
  "lane_cut_call": [{"calls": [{"name": "t_touch", "arguments": {"long": "argument of a call"}}], "cut": 1}, {"text": "whole"}],
  "lane_cut_end": [{"text": ["all of ", "it"], "cut": 3}, {"text": "whole"}],
  "lane_short": [{"text": "told", "delay": 2}],
  "lane_cut": [{"text": ["half an ", "answer"], "cut": 2}, {"text": "whole"}],
  "lane_slow": [{"text": "late", "delay": 30}, {"text": "late", "delay": 30}, {"text": "late", "delay": 30}],
  "lane_tool": [{"calls": [{"id": "s1", "name": "t_sleep", "arguments": {}}]},
    {"calls": [{"id": "s1", "name": "t_sleep", "arguments": {}}]}],
  "lane_dear": [{"text": "", "calls": [{"id": "b1", "name": "t_touch", "arguments": {}}], "usage": {"input": 2000, "output": 1000}},
    {"text": "no"}],
  "lane_tokens": [{"calls": [{"name": "t_touch", "arguments": {}}], "usage": {"input": 90, "output": 20}}, {"text": "no"}]
}}'
agent_sleeps
agent_tool touch touched
for name in once auth quota cut cut_call cut_end slow short tool; do
  agent_directive lane_$name '    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>' <<<'Do it.'
done
agent_directive lane_dear '    <limits spend="1.0"/>
    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>' <<<'Spend it.'
agent_directive lane_tokens '    <limits tokens="100"/>
    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>' <<<'Spend it.'
agent_sign tool:t/sleep tool:t/touch
fx_mount
T0=
ago() { echo $((($(date +%s%N) - T0) / 1000000)); }
tick() { T0=$(date +%s%N); }

# ---- the provider ----
tick
reply=$(fork lane_once)
is "F01 a 500 is tried again" "$(jq -c '[.state, .result, .cost.turns]' <<<"$reply")" '["completed","after all",1]'
is "F01 the failed attempt is no message" "$(jq -c '[.[].role]' "$M/state/threads/$(jq -r .thread_id <<<"$reply")/messages.json")" '["user","assistant"]'
between() { jq -s "[.[] | select(.body and (.body | tostring | contains(\"$1\"))) | .at] | ((.[1] - .[0]) * 1000 | floor)" "$T/asked"; }
ok "F01 after about two seconds ($(between lane_once) ms)" test "$(between lane_once)" -ge 1500
before=$(asks lane_auth)
has "F05 a refused key is final" "$(fork lane_auth | jq -r .error)" 401
is "F05 one request" "$(($(asks lane_auth) - before))" 1
has "F04 so is an empty purse" "$(fork lane_quota | jq -r .error)" pay
is "F04 one request" "$(asks lane_quota)" 1
reply=$(fork lane_cut)
id=$(jq -r .thread_id <<<"$reply")
is "F09 a cut answer is asked for again" "$(jq -r .result <<<"$reply")" whole
is "F09 the part that came is marked" "$(events "$id" 'select(.payload.is_partial) | .payload.text')" '"half an "'

is "F09 one that is cut in a call's arguments" "$(fork lane_cut_call | jq -r .result)" whole
not_ok "F09 runs nothing" test -e "$P/touched"
is "F09 one without its end" "$(fork lane_cut_end | jq -r .result)" whole

# ---- budget ----
reply=$(fork lane_dear)
has "F16 the budget ends it" "$(jq -r .error <<<"$reply")" "spend"
is "F16 the cost is the true one" "$(jq -c .cost.spend <<<"$reply")" 7
not_ok "F16 calls that wait are not run" test -e "$P/touched"
id=$(jq -r .thread_id <<<"$reply")
has "F16 and say why" "$(events "$id" 'select(.event_type == "tool_call_result") | .payload.error')" "not executed: budget"
is "F16 the ledger has the true cost" "$("$PY" -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute("select status, actual_spend, reserved_spend from budget_ledger where thread_id=?", sys.argv[2:]).fetchone())' "$P/.ai/state/threads/budget_ledger.db" "$id")" "error 7.0 7.0"
has "T23 so do tokens" "$(fork lane_tokens | jq -r .error)" "tokens"

# ---- time, cancel, kill ----
tick
reply=$(fork lane_slow '{"limit_overrides": {"duration_seconds": 2}}')
has "T23 the limit of time" "$(jq -r .error <<<"$reply")" duration
[ "$(ago)" -le $((4000 * PATIENCE)) ] && good "T23 in time" || bad "T23 in time" "$(ago) ms"
agent_cancelled() { # NAME: starts, waits for `until`, cancels
  id=$(fork_async "$1" | jq -r .thread_id)
  until_true eval "$2"
  tick
  echo cancel >"$M/state/threads/$id/ctl"
  got=$(exchange 20 "$M/state/threads/$id/wait")
  is "T51 cancelled: $1" "$got" cancelled
  [ "$(ago)" -le $((2500 * PATIENCE)) ] && good "T51 within two seconds: $1" || bad "T51 within two seconds: $1" "$(ago) ms"
  is "T51 its ledger: $1" "$("$PY" -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute("select status from budget_ledger where thread_id=?", sys.argv[2:]).fetchone())' "$P/.ai/state/threads/budget_ledger.db" "$id")" cancelled
  is "T51 its thread.json: $1" "$(jq -r .status "$P/.ai/state/threads/$id/thread.json")" cancelled
  is "its last line: $1" "$(events "$id" .event_type | tail -n 2 | tr '\n' ' ')" '"thread_cancelled" "checkpoint" '
}
before=$(asks lane_slow)
agent_cancelled lane_slow '[ $(asks lane_slow) -gt $before ]'
rm -f "$P/sleeps"
agent_cancelled lane_tool 'test -e "$P/sleeps"'
has "the call has its result" "$(events "$id" 'select(.event_type == "tool_call_result") | .payload.call_id')" s1

# F45: a writer that is killed leaves the thread to itself
# its thread's id is in id
killed_writer() { # NAME
  local before writer
  before=$(asks "$1")
  timeout 60 bash -c 'echo "{}" > "$1"' - "$M/directives/$1/fork" 2>/dev/null &
  writer=$!
  until_true eval "[ \$(asks $1) -gt $before ]"
  pkill -9 -P $writer 2>/dev/null
  kill -9 $writer 2>/dev/null
  wait $writer 2>/dev/null
  id=$1/$(cd "$P/.ai/state/threads/$1" && ls -t | head -n 1)
}
killed_writer lane_slow
is "F45 a killed writer's thread is at work" "$(<"$M/state/threads/$id/status")" running
echo kill >"$M/state/threads/$id/ctl"
is "F45 until it is killed" "$(exchange 20 "$M/state/threads/$id/wait")" killed

killed_writer lane_short
is "F45 another one goes on to its end" "$(exchange 20 "$M/state/threads/$id/wait") $(jq -r .result "$M/state/threads/$id/result.json")" "completed told"

# F21: a runner that dies while its provider works, half a line written, a reader beside it
before=$(asks lane_slow)
id=$(fork_async lane_slow | jq -r .thread_id)
until_true eval '[ $(asks lane_slow) -gt $before ]'
exchange 30 "$M/state/threads/$id/wait" >"$T/beside" &
reader=$!
kill -STOP "$(<"$M/state/threads/$id/pid")"
printf '{"timestamp": %s.5, "thread_id": "%s", "event_type": "token_delta", "payload": {"type": "text", "text": "x"}}\n' \
  $(($(date +%s) - 3600)) "$id" >>"$P/.ai/state/threads/$id/transcript.jsonl"
printf '{"timestamp": 1.5, "thread_id": "' >>"$P/.ai/state/threads/$id/transcript.jsonl"
kill -9 "$(<"$M/state/threads/$id/pid")"
wait $reader
is "F21 a reader that waits is released" "$(<"$T/beside")" error
has "F21 it is told why" "$(<"$M/state/threads/$id/error")" "signal 9"
is "F21 half a line is put aside" "$(<"$P/.ai/state/threads/$id/transcript.torn")" '{"timestamp": 1.5, "thread_id": "'
is "F21 what is left ends well" "$(events "$id" .event_type | tail -n 2 | tr '\n' ' ')" '"thread_error" "checkpoint" '
is "F36 its duration is none that a clock set back has made" "$(jq '.cost.elapsed_seconds | . >= 0 and . < 100' "$P/.ai/state/threads/$id/thread.json")" true
like "F21 and verifies" "$(<"$M/state/threads/$id/integrity")" '^ok '

# F21: a runner that dies
rm -f "$P/sleeps"
id=$(fork_async lane_tool | jq -r .thread_id)
until_true test -e "$P/sleeps"
kill -9 "$(<"$M/state/threads/$id/pid")"
is "F21 a lost runner is an error" "$(exchange 20 "$M/state/threads/$id/wait")" error
is "F21 in thread.json" "$(jq -r .status "$P/.ai/state/threads/$id/thread.json")" error
is "F21 the transcript is closed" "$(events "$id" .event_type | tail -n 3 | tr '\n' ' ')" '"tool_call_result" "thread_error" "checkpoint" '
is "F21 the ledger is settled, once" "$(row budget_ledger "select status, reserved_spend = actual_spend, count(*) from budget_ledger where thread_id='$id'")" "error 1 1"
is "F21 its cost is what it has spent" "$(row budget_ledger "select printf('%.6f', actual_spend) from budget_ledger where thread_id='$id'")" \
  "$(jq -r .cost.spend "$P/.ai/state/threads/$id/thread.json" | xargs printf %.6f)"
like "F21 and it verifies" "$(<"$M/state/threads/$id/integrity")" '^ok '
is "no budget is held by what has ended" "$(row budget_ledger "select count(*) from budget_ledger where status='active'")" 0

finish
