#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_clock.sh: numbered cases of time, by clocks that the test sets: a wait is over when its time has
# passed, not before; a wall clock that is set back changes no duration, no id and no order.
. "$(dirname "$0")/agent_lib.sh"

NAP='{"calls": [{"name": "t_nap", "arguments": {}}]}'
LATER='"error": {"type": "x", "message": "Rate limit reached"}'
START=$(date +%s)
DATE=$(LC_ALL=C date -u -d "@$((START + 100))" '+%a, %d %b %Y %H:%M:%S GMT')
agent_model '{"lanes": {
  "lane_nap": ['"$NAP"', {"text": "awake"}],
  "lane_slow": [{"text": "late", "delay": 60}, {"text": "late", "delay": 60}, {"text": "late", "delay": 60}],
  "lane_quick": ['"$(printf '{"text": "quick"}, %.0s' {1..6})"'{"text": "quick"}],
  "lane_ever": ['"$(printf '{"status": 503, "error": {"type": "server_error", "message": "never"}}, %.0s' {1..4})"'{"text": "too late"}],
  "lane_seconds": [{"status": 429, "headers": {"retry-after": "100"}, '"$LATER"'}, {"text": "in time"}],
  "lane_date": [{"status": 429, "headers": {"retry-after": "'"$DATE"'"}, '"$LATER"'}, {"text": "on time"}]
}}'
agent_naps
for name in nap slow quick ever seconds date; do
  agent_directive lane_$name '    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>' <<<'Do it.'
done
agent_sign tool:t/nap
agent_runtime
clocked fx_mount
X=$M/state/threads
THREADS=$P/.ai/state/threads
fact() { cat "$X/$id/$1"; }
elapsed() { jq ".cost.elapsed_seconds | . >= $1 and . < $2" "$THREADS/$id/thread.json"; }
# started NAME [JSON]: its thread is in id, and has asked
started() {
  local before
  before=$(asks "$1")
  id=$(fork_async "$@" | jq -r .thread_id)
  until_true eval "[ \$(asks $1) -gt $before ]"
}

# ---- a wall clock that is set back ----
started lane_nap
until_true test -e "$P/naps"
wall -3600
is "a clock of before 1970 is one" "$(clocked "$PY" -c 'import ctypes
now = (ctypes.c_long * 2)()
parts = [ctypes.CDLL(None).clock_gettime(0, now) or now[1] for _ in range(99)]
print(now[0] < 0, 0 <= min(parts) <= max(parts) < 10**9)')" "True True"
cost() { awk -v name="$1" '$1 == name { print ($2 >= 0 && $2 < 100) }' "$X/$id/$2"; }
is "F36 the duration of one that works" "$(cost elapsed_seconds cost) $(cost duration_seconds limits)" "1 1"
touch "$P/wake"
is "F36 it ends" "$(exchange 20 "$X/$id/wait") $(fact result)" "completed awake"
is "F36 its duration is what has passed" "$(elapsed 0 100)" true
like "F36 its checkpoints are in order" "$(fact integrity)" '^ok [2-9] checkpoints$'
is "F36 each further on" "$(events "$id" 'select(.event_type == "checkpoint") | .payload.byte_offset' | sort -nc 2>&1)" ""
first=$(fork lane_quick | jq -r .thread_id)
# the very second of its name comes again
wall "${first##*-}"
again=$(for _ in 1 2 3 4; do fork_async lane_quick | jq -r .thread_id; done)
is "F36 no id is another's" "$(echo "$first" "$again" | tr ' ' '\n' | sort -u | wc -l)" 5
is "F36 all are whole" "$(for id in $again; do timeout 20 cat "$X/$id/wait"; done | sort -u)" completed
started lane_slow
wall $((START - 7200))
kill -9 "$(fact pid)"
is "F36 one that is lost" "$(exchange 20 "$X/$id/wait") $(elapsed 0 100)" "error true"
is "F36 the clock is put right again" "$(wall "$START"; fork lane_quick | jq -r .result)" quick

# ---- a provider that says when ----
# not_before NAME SECONDS RESULT: its second request comes when so much time has passed
not_before() {
  started "$1"
  until_true eval "events $id .event_type | grep -q error_classified"
  pass $(($2 - 10))
  sleep 0.5 # a request that came too early would be there
  is "F03 no request before: $1" "$(asks "$1")" 1
  pass 30 # it waits a little longer, not all at the same moment
  is "F03 then one: $1" "$(exchange 20 "$X/$id/wait") $(fact result) $(asks "$1")" "completed $3 2"
}
started lane_ever
for n in 2 3 4; do
  until_true eval "[ \$(events $id 'select(.event_type == \"error_classified\")' | wc -l) -ge $((n - 1)) ]"
  pass 20
  until_true eval "[ \$(asks lane_ever) -ge $n ]"
done
is "F02 until it is enough" "$(exchange 20 "$X/$id/wait") $(asks lane_ever)" "error 4"
has "F02 it says how often and what came last" "$(fact error)" "4 consecutive times" 503
is "F02 nothing is spent" "$(jq -c .cost.spend "$THREADS/$id/thread.json")" 0
not_before lane_seconds 100 "in time"
wall "$START"
not_before lane_date 100 "on time"

# ---- a limit of time ----
started lane_slow '{"limit_overrides": {"duration_seconds": 50}}'
pass 45
sleep 0.5 # an end that came too early would be told
is "T23 within its time" "$(fact status)" running
pass 6
is "T23 no longer" "$(exchange 20 "$X/$id/wait") $(elapsed 50 80)" "error true"
has "T23 says so" "$(fact error)" duration

finish
