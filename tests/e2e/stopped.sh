#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A runner that does not answer (stopped by a signal, a debugger, a container's pause), and more words
# for it than the mount has threads: everything else goes on, each word gets an answer, what ends the
# thread is heard, and what is said to another thread comes in order.
. "$(dirname "$0")/agent_lib.sh"

agent_model '{"by": "turn", "lanes": {
  "lane_slow": [{"text": "late", "first": 120}],
  "lane_nap": [{"calls": [{"name": "t_nap", "arguments": {}}]}, {"text": "awake"}]
}}'
agent_naps
agent_steps
ALL='    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>'
agent_directive lane_slow "$ALL" <<<'Take your time.'
agent_directive lane_nap "$ALL" <<<'Nap.'
agent_sign tool:t/nap tool:t/step
agent_runtime
fx_mount
X=$M/state/threads
runner() { jq -r .pid "$P/.ai/state/threads/$1/runner.json"; }
listens() { [ "$(asks "$1")" -gt 0 ]; }
stopped() { grep -q '^State:.*stopped' "/proc/$1/status"; }
begin() { # NAME: its thread's id in ID, its runner in RUNNER
  ID=$(fork_async "$1" | jq -r .thread_id)
  until_true listens "$2"
  until_true test -s "$P/.ai/state/threads/$ID/runner.json"
  RUNNER=$(runner "$ID")
}
word() { echo "$2" >"$X/$1/ctl"; }
in_writes() { [ "$(for pid in "${words[@]}"; do cat "/proc/$pid/wchan" 2>/dev/null && echo; done | grep -c request_wait_answer)" -ge "$1" ]; }
over() { ! kill -0 "$1" 2>/dev/null; }

begin lane_slow 'Take your time.'
at_end 'kill -KILL $RUNNER 2>/dev/null'
kill -STOP "$RUNNER"
until_true stopped "$RUNNER"
words=()
for i in $(seq 40); do
  word "$ID" "say number $i" 3>&- >"$T/word.$i" 2>&1 &
  words+=("$!")
done
until_true in_writes 40
ok "an item that nobody has read" timeout 30 cat "$M/tools/t/nap.py"
ok "a look elsewhere" timeout 30 stat "$M/README.md" "$M/.ryefs/version" "$M/spaces/project/tools"
has "a tool runs" "$(converse "$M/tools/t/step/run")" '"success":true'
ok "the threads are listed" timeout 30 ls -l "$X"
ok "the thread itself is looked at" timeout 30 cat "$X/$ID/status"
timeout -s INT 1 bash -c "echo 'say never mind' >$X/$ID/ctl" 3>&- >"$T/given_up" 2>&1 &
waits=$!
ok "a word that waits for its turn can be given up" bash -c "for i in \$(seq 80); do kill -0 $waits 2>/dev/null || exit 0; sleep 0.1; done; exit 1"

for pid in "${words[@]}"; do until_true over "$pid"; done
failed=0
for pid in "${words[@]}"; do wait "$pid" 2>/dev/null || failed=$((failed + 1)); done
is "no word was heard" "$failed" 40
has "and each has its error" "$(sort "$T"/word.* | sed 's/.*: //' | uniq -c)" "40 Connection timed out"
has "the first by name, with what to do" "$(cat "$M/.ryefs/errors")" "thread $ID does not answer within 5 seconds" "ryefs threads kill $ID"
has "the others, too" "$(cat "$M/.ryefs/errors")" "thread $ID ctl: earlier words for this thread are not answered yet"

words=()
for i in $(seq 24); do
  word "$ID" "say again $i" 3>&- >"$T/word.$i" 2>&1 &
  words+=("$!")
done
ok "what ends it does not wait behind them" timeout 30 bash -c "echo kill > $X/$ID/ctl"
is "and it has ended" "$(exchange 30 "$X/$ID/wait")" killed
wait "${words[@]}"

# ---- one that answers ----
begin lane_nap 'Nap.'
for i in 1 2 3 4 5 6; do ok "word $i" word "$ID" "say word $i"; done
touch "$P/wake"
ok "it ends" timeout 60 cat "$X/$ID/wait"
is "they were heard in order" "$(jq -r '.. | strings' "$P/.ai/state/threads/$ID"/*.json* 2>/dev/null | grep -o 'word [1-6]' | uniq | tr '\n' ' ' | cut -c1-42)" "word 1 word 2 word 3 word 4 word 5 word 6 "
finish
