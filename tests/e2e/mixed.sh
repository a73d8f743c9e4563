#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many runs at once, of every kind: each caller gets its own reply, none waits for good, memory
# and descriptors stay bounded. RYE_ROUNDS runs each caller makes (3); RYE_CALLERS of them (40).
# A minute of it: RYE_CALLERS=100 RYE_ROUNDS=40.
. "$(dirname "$0")/fixture.sh"
ROUNDS=${RYE_ROUNDS:-3}
CALLERS=${RYE_CALLERS:-40}
"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1

fx_tool "$P" x/shell 'read -r line; echo "shell $line" | tr -d "{}\" "'
fx_python "$P" x/function <<'TEXT'
def execute(params, project_path):
    return {"success": True, "output": "function " + params["text"]}
TEXT
fx_python "$P" x/packed/package <<'TEXT'
import helper
def execute(params, project_path):
    return {"success": True, "output": helper.say(params["text"])}
TEXT
fx_put "$P" tools/x/packed/__init__.py <<'TEXT'
__version__ = "1.0.0"
__tool_type__ = "library"
__executor_id__ = None
__category__ = "x/packed"
__tool_description__ = "A package"
TEXT
sed 's/A package/A helper/' "$P/.ai/tools/x/packed/__init__.py" >"$T/helper"
printf 'def say(text):\n    return "package " + text\n' | cat "$T/helper" - | fx_put "$P" tools/x/packed/helper.py
fx_python "$P" x/fails <<'TEXT'
def execute(params, project_path):
    return {"success": False, "error": "fails " + params["text"]}
TEXT
fx_tool "$P" x/slow "sleep 30.$$"
printf '%s\n' 'tool_id: program' 'tool_type: script' 'version: "1.0.0"' 'category: x' 'description: d' \
  'executor_id: rye/core/primitives/execute' 'parameters: [{name: text, type: string}]' \
  'config: {command: echo, args: [program, "{text}"]}' | fx_put "$P" tools/x/program.yaml
printf '%s\n' '#!/usr/bin/awk -f' '# version: "1.0.0"' '# tool_type: script' '# category: x' '# description: d' \
  '# executor_id: rye/core/runtimes/script/script' '{ gsub(/.*: *"|".*/, ""); print "awk " $0 }' | fx_put "$P" tools/x/awk.awk
if command -v node >/dev/null; then
  printf '%s\n' 'export const __version__ = "1.0.0"; export const __tool_type__ = "javascript";' \
    'export const __executor_id__ = "rye/core/runtimes/node/node"; export const __category__ = "x";' \
    'export const __tool_description__ = "d";' \
    'export default (params) => ({ success: true, output: "node " + params.text });' | fx_put "$P" tools/x/node.mjs
fi
fx_sign "$P" --all
fx_mount

cat >"$T/caller.py" <<'CODE'
"""One process whose threads are the callers; prints what went wrong."""
import json, os, sys, threading, time
mount, callers, rounds, node = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "node"
kinds = ["shell", "function", "packed/package", "fails", "program", "awk", "slow", "bash", "async", "named"]
kinds += ["node"] if node else []
wrong, count, lock = [], {}, threading.Lock()

def talk(path, message):
    fd = os.open(path, os.O_RDWR)
    try:
        try:
            os.write(fd, json.dumps(message).encode() + b"\n")
        except OSError:
            pass
        text = b""
        while not text.endswith(b"\n"):
            piece = os.read(fd, 65536)
            if not piece:
                break
            text += piece
        return json.loads(text)
    finally:
        os.close(fd)

def once(kind, word):
    if kind == "slow":
        reply = talk(mount + "/tools/x/slow/run", {"timeout": 1})
        return "timed out" in reply["error"], reply
    if kind == "bash":
        reply = talk(mount + "/tools/rye/bash/bash/run", {"command": "echo bash " + word})
        return reply["data"]["stdout"] == "bash %s\n" % word, reply
    if kind == "async":
        reply = talk(mount + "/tools/x/function/async", {"text": word})
        state = mount + "/state/threads/" + reply["thread_id"]
        with open(state + "/wait") as f:
            ended = f.read().strip()
        with open(state + "/output") as f:
            return (ended, f.read().strip()) == ("completed", "function " + word), reply
    if kind == "named":
        at = mount + "/tools/x/function/"
        name = word.replace(" ", "-")
        with open(at + "calls/%s/request.json" % name, "w") as f:
            f.write(json.dumps({"text": word}))
        with open(at + "replies/%s/output" % name) as f:
            got = f.read().strip()
        return got == "function " + word, got
    reply = talk(mount + "/tools/x/%s/run" % kind, {"text": word})
    said = json.dumps(reply.get("data")) + (reply.get("error") or "")
    return word in said.replace("text:", ""), reply

def caller(n):
    for i in range(rounds):
        kind = kinds[(n + i) % len(kinds)]
        word = "w%d-%d-%d" % (n, i, os.getpid())
        began = time.monotonic()
        try:
            good, reply = once(kind, word)
        except Exception as error:
            good, reply = False, repr(error)
        with lock:
            count[kind] = count.get(kind, 0) + 1
            if not good:
                wrong.append("%s %s after %.1f s: %.300s" % (kind, word, time.monotonic() - began, reply))

threads = [threading.Thread(target=caller, args=(n,), daemon=True) for n in range(callers)]
until = time.monotonic() + 60 + rounds * callers / 10
for t in threads:
    t.start()
for t in threads:
    t.join(max(0, until - time.monotonic()))
    if t.is_alive():
        wrong.append("a caller waits for good")
print("\n".join(wrong[:20]) if wrong else "all of %d" % sum(count.values()))
CODE

node=$(command -v node >/dev/null && echo node || echo none)
# what is kept for the next call is there: a box for each run that there has been at once
timeout 100 "$PY" "$T/caller.py" "$M" "$CALLERS" 1 "$node" >/dev/null 2>&1
before=$(fx_descriptors)
from=$(date +%s%N)
timeout 600 "$PY" "$T/caller.py" "$M" "$CALLERS" "$ROUNDS" "$node" >"$T/mixed" 2>&1
took=$((($(date +%s%N) - from) / 1000000))
is "$CALLERS callers, $ROUNDS runs each, of mixed kinds, in $took ms" "$(<"$T/mixed")" "all of $((CALLERS * ROUNDS))"
back() { [ "$(fx_descriptors)" -le $((before + 30)) ]; }
is "descriptors are closed" "$(fx_wait 20 back && echo yes || echo "$before, now $(fx_descriptors)")" yes
fx_memory 250
ok "the daemon lives" kill -0 "$DAEMON"
finish
