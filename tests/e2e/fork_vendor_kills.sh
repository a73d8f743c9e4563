#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_vendor_kills.sh: threads whose runner was killed within an answer of three calls, within each of them and
# between them, over every wire: they are gone on with, and the server, which refuses what the vendors of models
# refuse, takes what it is asked then. No mount looks, so what a runner leaves can be cut back further: to where
# it would have ended a moment earlier.
. "$(dirname "$0")/agent_lib.sh"

WIRES="anthropic_messages openai_responses openai_chat gemini_generate gemini_interactions"
# hang: the answer never ends; in: within that call; cut: before it; torn: in the line that tells of it; wait:
# behind them all
POINTS="hang in1 in2 in3 cut1 cut2 cut3 torn3 wait"
MODEL_SERVER=vendor_server.py

each() { # CMD: for each wire and point, with lane
  local wire point lane
  for wire in $WIRES; do
    for point in $POINTS; do
      lane=lane_${wire}_$point
      "$@"
    done
  done
}
calls() { # of $lane; the one at its point does not return
  local n name
  for n in 1 2 3; do
    name=t_quick
    [ "${point#*[a-z]$n}" = "$point" ] || name=t_stop
    printf '%s{"name": "%s", "arguments": {"word": "%s"}}' "$([ $n = 1 ] || echo ,)" $name "$lane"
  done
}
answers() {
  printf '"%s": [{"text": "I look.", "calls": [%s]%s}, %s {"text": "I went on."}],\n' $lane "$(calls)" \
    "$([ $point != hang ] || echo ', "hang": 2')" "$([ $point != wait ] || echo '{"text": "never said", "delay": 100},')"
}
agent_model "{\"by\": \"order\", \"lanes\": {$(each answers) \"none\": []}}"
for wire in $WIRES; do
  agent_provider "$wire" "s/^wire: .*/wire: $wire/"
done
directive() {
  agent_directive $lane "    <model tier=\"$wire\" provider=\"$wire\"/>
    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>" <<<"Look, $lane."
}
each directive
# a shell's: of hundreds of calls the start of an interpreter would be most
WORD='# parameters: [{name: word, type: string, required: true}]'
fx_tool "$P" t/quick "$WORD" 'cat'
# shellcheck disable=SC2016
fx_tool "$P" t/stop "$WORD" "IFS='\"' read -r _ _ _ word _" ': >"$2/in-$word"' \
  'for ((i = 0; i < 400; i++)); do [ ! -e "$2/wake" ] || break; sleep 0.5; done'
agent_sign tool:t/quick tool:t/stop

reached() {
  case $point in
    hang) [ "$(asks "$lane.")" = 1 ] ;;
    wait) [ "$(asks "$lane.")" = 2 ] ;;
    *) test -e "$P/in-$lane" ;;
  esac
}
# back TRANSCRIPT: as it was before its last line, or in it
back() {
  local last
  last=$(tail -n 1 "$1" | wc -c)
  case $point in
    hang | wait) return ;;
  esac
  is "$wire, $point: the runner ended in that call" "$(tail -n 1 "$1" | jq -r .event_type)" tool_call_start
  case $point in
    cut*) truncate -s "-$last" "$1" ;;
    torn*) truncate -s "-$((last / 2))" "$1" ;;
  esac
}
gone() { [ ! -e "/proc/$pid/exe" ]; }
killed() {
  local id dir pid
  id=$(run execute "directive:$lane" --fork --async -q)
  dir=$P/.ai/state/threads/$id
  fx_wait 60 reached || bad "$wire, $point: it is reached"
  pid=$(jq .pid "$dir/runner.json")
  kill -9 "$pid"
  fx_wait 20 gone || bad "$wire, $point: its runner is gone"
  back "$dir/transcript.jsonl"
  echo "$id" >"$T/$lane"
}
resumed() {
  local id next want=3
  id=$(<"$T/$lane")
  next=$(run threads resume "$id" "go on" -q)
  run threads wait "$next" >/dev/null
  is "$wire, $point: it is gone on with" "$(jq -r '.status, .history_kept' "$P/.ai/state/threads/$next/thread.json" | tr '\n' ' ')" \
    "completed true "
  [ $point != hang ] || want=0
  is "$wire, $point: each call has one result" \
    "$(events "$id" 'select(.event_type == "tool_call_result") | .payload.call_id' | sort | uniq -c | grep -c '^ *1 ')" $want
}
each killed
touch "$P/wake"
each resumed
is "nothing was refused" "$(refusals)" ""
finish
