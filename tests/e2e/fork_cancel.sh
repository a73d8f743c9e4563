#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_cancel.sh: a runner that is told to end while it is still starting, twice, or while it waits for
# the thread that it goes on from, or that is killed with its end half recorded: cancelled it is.
. "$(dirname "$0")/agent_lib.sh"

agent_model '{"by": "turn", "lanes": {
  "lane_a": [{"text": "hello", "delay": 0.3}],
  "lane_full": [{"calls": [{"name": "t_slow", "arguments": {}}], "usage": {"input": 95000, "output": 10}}, {"text": "no"}]}}'
agent_directive lane_a '  </metadata>' <<<'Hello.'
agent_directive lane_full '    <limits spend="1000"/>
    <permissions><execute><tool>t.slow</tool><tool>t.nap</tool></execute></permissions>
    <hooks><hook id="slow" event="after_complete"><action item_id="t/nap"/></hook></hooks>
  </metadata>' <<<'Fill the window.'
agent_tool slow slow '    time.sleep(0.3)'
agent_naps
agent_sign tool:t/slow tool:t/nap
fx_mount

# terminate SIGNALS SECONDS: the next child of the daemon, that long after it is there
terminate() {
  "$PY" - "$DAEMON" "$1" "$2" "$T/armed" <<'CODE' &
import os, signal, sys, time
daemon, signals, after, armed = sys.argv[1:]
def children():
    found = set()
    for task in os.listdir(f"/proc/{daemon}/task"):
        try:
            found |= set(open(f"/proc/{daemon}/task/{task}/children").read().split())
        except OSError:
            pass
    return found
old = children()
open(armed, "w").close()
end = time.monotonic() + 10
while time.monotonic() < end:
    new = children() - old
    if new:
        time.sleep(float(after))
        for n in range(int(signals)):
            for pid in new:
                try:
                    os.kill(int(pid), signal.SIGTERM)
                except OSError:
                    pass
            time.sleep(0.001)
        break
CODE
  KILLER=$!
  until_true test -e "$T/armed"
  rm "$T/armed"
}

# begun SIGNALS SECONDS ITEM: how the thread ended, by its row and its result
begun() {
  local id
  terminate "$1" "$2"
  id=$(exchange 20 "$M/$3/async" '{}' 2>/dev/null | jq -r .thread_id)
  wait "$KILLER"
  timeout 20 cat "$M/state/threads/$id/wait"
}

for item in directives/lane_a tools/t/slow; do
  for signals in 1 4; do
    for after in 0 0.001 0.003 0.006 0.01 0.015; do
      is "$item: $signals after $after s" "$(begun $signals $after $item)" cancelled
    done
  done
done

# ---- while it waits for the thread that it goes on from ----
id=$(fork_async lane_full | jq -r .thread_id)
handed() { [ -n "$(row registry "select continuation_thread_id from threads where thread_id='$id' and continuation_thread_id is not null")" ]; }
ok "a thread hands over" until_true handed
next=$(row registry "select continuation_thread_id from threads where thread_id='$id'")
until_true test -e "$P/.ai/state/threads/$next/runner.json"
sleep 0.5 # nothing tells that it has begun to wait
echo cancel >"$M/state/threads/$next/ctl"
is "the next one is cancelled while it waits" "$(exchange 20 "$M/state/threads/$next/wait")" cancelled
touch "$P/wake"
until_true test -e "$P/.ai/state/threads/$id/result.json"

# ---- its end was told, but its row was not written ----
umount_rye
row registry "update threads set status='running', completed_at=null where thread_id='$next'"
fx_mount
is "the row says what the result says" "$(exchange 20 "$M/state/threads/$next/wait")" cancelled
finish
