#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# serve_fork.sh: a model's thread that a client of `ryefs mcp` begins: awaited, as a task, cancelled.
. "$(dirname "$0")/agent_lib.sh"

agent_model '{"by": "turn", "lanes": {
  "lane_plain": [{"text": ["Hello, ", "Ann."]}],
  "lane_slow": [
    {"text": "Looking.", "calls": [{"id": "c1", "name": "no_such_tool", "arguments": {}}]},
    {"text": "Done.", "delay": 3}],
  "lane_long": [{"text": "never", "delay": 60}]
}}'
for name in plain slow long; do
  agent_directive "$name" '<limits turns="6"/></metadata>' <<<"1. Say something of lane_$name."
done
agent_sign

# ask.py PEER PROJECT: a client that has no other server than this one
cat >"$T/ask.py" <<'PY'
import os
import sys
import time

sys.path.insert(0, os.path.dirname(sys.argv[1]))
import peer  # noqa: E402


class Here:
    project, place, log = sys.argv[2], sys.argv[2], sys.stderr
    env = dict(os.environ)
    addCleanup = staticmethod(lambda *_: None)

server = peer.Stdio(Here)
tasks = peer.claim(tasks=True)

def call(name, **more):
    return server.result("tools/call", {"name": "rye_execute", "arguments": {
        "item_id": "directive:" + name, "thread": "fork", **more}}, tasks)

def settle(task, done):
    seen = set()
    while True:
        now = server.result("tasks/get", {"taskId": task}, tasks)
        seen.add(now["statusMessage"])
        if done(now):
            return now, seen
        time.sleep(0.05)

plain = call("plain")
print("plain", plain["isError"], *[part["text"].split()[0] for part in plain["content"]])
slow = call("slow", **{"async": True})
print("slow", slow["resultType"], slow["status"])
now, seen = settle(slow["taskId"], lambda task: task["status"] != "working")
print("slow", now["status"], now["result"]["isError"], "turn 1 of 6" in seen or "turn 2 of 6" in seen)
long = call("long", **{"async": True})
settle(long["taskId"], lambda task: task["statusMessage"].startswith("turn"))
server.result("tasks/cancel", {"taskId": long["taskId"]}, tasks)
print("long", settle(long["taskId"], lambda task: task["status"] != "working")[0]["status"])
print("end", server.close())
PY
timeout 60 "$PY" "$T/ask.py" "$E2E/peer.py" "$P" >"$T/said" 2>"$T/why" 3>&- || sed 's/^/# /' "$T/why"
is 'a fork is awaited' "$(grep ^plain "$T/said")" 'plain False Hello, thread'
is 'detached it is a task' "$(grep ^slow "$T/said" | head -n 1)" 'slow task working'
is 'that tells its turns and ends with the reply' "$(grep ^slow "$T/said" | tail -n 1)" 'slow completed False True'
is 'and can be cancelled' "$(grep ^long "$T/said")" 'long cancelled'
is 'the server ends by itself' "$(grep ^end "$T/said")" 'end 0'
finish
