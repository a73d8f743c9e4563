#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tools that are fork bombs. All of it is in a pid namespace, which ends with the test, and below a
# limit of a cgroup: what goes wrong here reaches no process of the machine.
skip() {
  echo "1..0 # SKIP $*"
  exit 0
}
if [ -z "${BOMB_INSIDE:-}" ]; then
  [ "$(id -u)" = 0 ] || skip "that needs root"
  # the host's unmounts have to come in: else this one would keep the mounts of other tests
  space='unshare -m --propagation slave -p -f --kill-child --mount-proc'
  $space true 2>/dev/null || skip "no pid namespaces here"
  # shellcheck disable=SC2016
  exec $space env BOMB_INSIDE=1 bash -c 'bash "$0"; exit $?' "$0"
fi
. "$(dirname "$0")/fixture.sh"

own_group
[ -n "$GROUPS_AT" ] || skip "no cgroup can be made here"
own=$GROUPS_AT/$GROUP/ryefs

# run TOOL JSON: its reply
run() {
  exchange 30 "$M/tools/$1/run" "$2"$'\n' 2>&1
}
calm() { [ "$(cat "$own/pids.current")" -lt 100 ] && no_zombies; }
full() { [ "$(cat "$own/pids.current")" -ge 250 ]; }

"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
fx_tool "$P" t/allowed 'echo allowed'
# Every process makes others for as long as it lives: until the tool's time is over; or, each in a
# session of its own, for three seconds.
fx_python "$P" t/bomb <<'TEXT'
import os
import time


def execute(params, project):
    first, end = os.getpid(), time.monotonic() + 3
    while not params.get("apart") or time.monotonic() < end:
        try:
            if not os.fork() and params.get("apart"):
                os.setsid()
        except OSError:
            time.sleep(0.05)
    if os.getpid() != first:
        os._exit(0)
    return {"success": True}
TEXT
fx_sign "$P" tool:t/bomb tool:t/allowed
sleep 90 &
victim=$!
for sandbox in auto strict off; do
  fx_mount "sandbox=$sandbox"
  echo 600 >"$GROUPS_AT/$GROUP/pids.max"
  echo 250 >"$own/pids.max"
  has "$sandbox: a fork bomb ends with its time" "$(run t/bomb '{"timeout":2}')" '"status":"error"' 'timed out'
  ok "$sandbox: all of it" fx_wait 10 calm
  has "$sandbox: other tools run on" "$(run t/allowed '{}')" allowed
  run t/bomb '{"apart":true}' >"$T/bomb" &
  bomb=$!
  ok "$sandbox: one in many sessions fills its limit" fx_wait 5 full
  for i in 1 2 3 4 5 6; do run t/allowed '{}' >"$T/said.$i"; done
  wait "$bomb"
  ok "$sandbox: and is over" fx_wait 10 calm
  ok "$sandbox: no other process is killed" kill -0 "$victim"
  has "$sandbox: other tools run on" "$(run t/allowed '{}')" allowed
  ok "$sandbox: the mount ends" umount_rye
done
kill "$victim"
leave_group
finish
