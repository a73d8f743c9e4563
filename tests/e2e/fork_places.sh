#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_places.sh: writers that wait for a model hold no place of `jobs`: tools run meanwhile.
. "$(dirname "$0")/agent_lib.sh"

agent_model '{"lanes": {"lane_slow": [{"text": "never told", "first": 600}, {"text": "never told", "first": 600},
  {"text": "never told", "first": 600}]}}'
agent_directive lane_slow '  </metadata>' <<<'Take your time.'
agent_sign
fx_mount jobs=1

for n in 1 2 3; do
  echo '{}' >"$M/directives/lane_slow/fork" 2>/dev/null 3>&- &
  disown
done
all_wait() { [ "$(asks lane_slow)" = 3 ]; }
until_true all_wait
is "three threads wait for their model" "$(asks lane_slow)" 3
for n in 1 2 3; do
  ok "a tool runs meanwhile ($n)" timeout 30 sh -c "echo '{command: echo yes}' > '$M/tools/rye/bash/run'"
done
is "they wait still" "$(cat "$M"/state/threads/lane_slow/*/status | sort -u)" running
for ctl in "$M"/state/threads/lane_slow/*/ctl; do echo cancel >"$ctl"; done
for wait in "$M"/state/threads/lane_slow/*/wait; do is "cancelled" "$(timeout 30 cat "$wait")" cancelled; done
finish
