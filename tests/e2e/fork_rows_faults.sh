#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_rows_faults.sh: numbered cases of providers that fail, answer nonsense or answer too much, and
# of tools that hang.
. "$(dirname "$0")/agent_lib.sh"

# Each is one chunk of an answer over openai_chat, its delta from the arguments.
chunk() { printf 'data: {"id": "c", "choices": [{"index": 0, "delta": %s, "finish_reason": %s}]}\n\n' "$1" "${2:-null}"; }
# A byte that is no UTF-8, half a pair of surrogates.
{
  chunk "$(printf '{"content": "one \377 two"}')"
  chunk '{"content": " \ud83d three"}'
  chunk '{}' '"stop"'
  printf 'data: [DONE]\n\n'
} >"$T/broken"
# Ten megabytes in pieces of one; a thousand calls.
{
  piece=$(head -c 1000000 /dev/zero | tr '\0' x)
  for _ in {1..10}; do chunk "{\"content\": \"$piece\"}"; done
  chunk '{}' '"stop"'
  printf 'data: [DONE]\n\n'
} >"$T/much"
{
  for i in {0..999}; do
    chunk "{\"tool_calls\": [{\"index\": $i, \"id\": \"c$i\", \"type\": \"function\", \"function\": {\"name\": \"none_such\", \"arguments\": \"{}\"}}]}"
  done
  chunk '{}' '"tool_calls"'
  printf 'data: [DONE]\n\n'
} >"$T/many"
agent_model '{"lanes": {
  "lane_keyed": [{"status": 401, "error": {"type": "authentication_error", "message": "Incorrect API key provided: sk-of-the-tests"}}, {"text": "no"}],
  "lane_400": [{"status": 400, "error": {"type": "invalid_request_error", "message": "no good"}}, {"text": "no"}],
  "lane_403": [{"status": 403, "error": {"type": "permission_error", "message": "not you"}}, {"text": "no"}],
  "lane_422": [{"status": 422, "error": {"type": "invalid_request_error", "message": "cannot be worked on"}}, {"text": "no"}],
  "lane_529": [{"status": 529, "error": {"type": "overloaded_error", "message": "Overloaded"}}, {"text": "after 529"}],
  "lane_loading": [{"status": 503, "error": {"type": "unavailable_error", "message": "Loading model"}}, {"text": "loaded"}],
  "lane_middle": [{"text": ["half of ", "it"], "error": {"type": "server_error", "message": "mid-stream", "after": 2}}, {"text": "all of it"}],
  "lane_final": [{"text": ["half of ", "it"], "error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "pay", "after": 2}}, {"text": "no"}],
  "lane_broken": [{"file": "'"$T/broken"'"}],
  "lane_nul": [{"text": ["one\u0000", "\u0000 two"]}],
  "lane_much": [{"file": "'"$T/much"'"}, {"text": "no"}],
  "lane_calls": [{"file": "'"$T/many"'"}, {"text": "a thousand"}],
  "lane_mute": [{"text": "late", "delay": 30}, {"text": "at last"}],
  "lane_hangs": [{"calls": [{"name": "t_hangs", "arguments": {}}]}, {"text": "went on"}],
  "lane_moved": [{"calls": [{"name": "t_nap", "arguments": {}}]}, {"text": "the old host"}]
}}'
fx_python "$P" t/hangs <<CODE
CONFIG_SCHEMA = {"type": "object", "properties": {}}
__timeout__ = 2
import subprocess
def execute(params, project_path):
    subprocess.Popen(["sleep", "301.$$"])
    subprocess.run(["sleep", "302.$$"])
    return {"success": True}
CODE
agent_naps
# A server that counts who comes and breaks TLS off at once.
cat >"$T/tls.py" <<'CODE'
import os, socket, sys
server = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[2] + ".new", "w") as f:
    f.write(str(server.getsockname()[1]))
os.rename(sys.argv[2] + ".new", sys.argv[2])
server.settimeout(100)
while True:
    peer, _ = server.accept()
    with open(sys.argv[1], "a") as f:
        f.write("came\n")
    peer.recv(4096)
    peer.sendall(b"this is no TLS at all, and never was\r\n\r\n")
    peer.close()
CODE
beside tls "$PY" "$T/tls.py" "$T/tls" "$T/tls.port"
until_true test -s "$T/tls.port"
provider() { # NAME URL
  agent_provider "$1" "s|^base_url: .*|base_url: \"$2\"|"
  agent_directive "lane_$1" "    <model tier=\"$1\" provider=\"$1\"/>
  </metadata>" <<<'Go.'
}
provider mute "http://127.0.0.1:$PORT"
echo 'timeouts: {first_byte: 1}' >>"$P/.ai/tools/rye/agent/providers/mute.yaml"
provider keyed "http://127.0.0.1:$PORT"
cat >>"$P/.ai/tools/rye/agent/providers/keyed.yaml" <<'TEXT'
env_config: { env: { KEYED_KEY: "${KEYED_KEY}" } }
auth: { type: bearer, token: "${KEYED_KEY}" }
TEXT
export KEYED_KEY=sk-of-the-tests
provider refused http://127.0.0.1:1
provider nowhere https://nowhere.invalid
provider plain "https://127.0.0.1:$(<"$T/tls.port")"
for name in 400 403 422 529 loading middle final broken nul much calls hangs moved; do
  agent_directive lane_$name '    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>' <<<'Do it.'
done
fx_put "$P" config/agent/error_classification.yaml <<'TEXT'
category: agent
version: "1.0.0"
retry: {base: 0.1, max: 0.2}
TEXT
agent_sign tool:t/hangs tool:t/nap config:agent/error_classification
fx_mount
T0=
tick() { T0=$(date +%s%N); }
ago() { echo $((($(date +%s%N) - T0) / 1000000)); }

# ---- what is tried again, what is not ----
for status in 400 403 422; do
  has "F05 $status is final" "$(fork lane_$status | jq -r .error)" "HTTP $status"
  is "F05 $status: one request" "$(asks lane_$status)" 1
done
reply=$(fork lane_keyed)
has "F05 a key that is refused" "$(jq -r .error <<<"$reply")" "HTTP 401" "Incorrect API key provided"
has "F05 it was sent" "$(jq -c 'select(.headers) | .headers' "$T/asked" | grep -F sk-of-the-tests | head -n 1)" Bearer
lacks "F05 it is not printed" "$reply $(cat "$M/state/threads/$(jq -r .thread_id <<<"$reply")/transcript.jsonl" "$M/.ryefs/errors")" sk-of-the-tests
is "F05 one request with it" "$(asks lane_keyed)" 1
is "F06 529 is tried again" "$(fork lane_529 | jq -r .result)" "after 529"
is "F06 so is a model that is loading" "$(fork lane_loading | jq -r .result)" loaded
tries() { events "$1" 'select(.event_type == "error_classified") | .event_type' | wc -l; }
for name in refused nowhere; do
  reply=$(fork lane_$name)
  is "F07 $name is an error" "$(jq -r .state <<<"$reply")" error
  is "F07 $name is tried again" "$(tries "$(jq -r .thread_id <<<"$reply")")" 4
done
reply=$(fork lane_mute)
is "F08 a server that never answers is asked again" "$(jq -r .result <<<"$reply")" "at last"
is "F08 since its time was over" "$(events "$(jq -r .thread_id <<<"$reply")" 'select(.event_type == "error_classified") | .payload | [.category, .retryable]')" '["timeout",true]'
reply=$(fork lane_plain)
has "F07 no TLS is an error" "$(jq -r '.state, .error' <<<"$reply")" error
is "F07 that is final" "$(wc -l <"$T/tls")" 1
reply=$(fork lane_middle)
is "F10 an error in a stream is tried again" "$(jq -r .result <<<"$reply")" "all of it"
is "F10 what came is marked" "$(events "$(jq -r .thread_id <<<"$reply")" 'select(.payload.is_partial) | .payload.text' | head -c 8)" '"half of'
has "F10 a final one is final" "$(fork lane_final | jq -r .error)" pay
is "F10 one request" "$(asks lane_final)" 1

# ---- nonsense, and too much ----
reply=$(fork lane_broken)
id=$(jq -r .thread_id <<<"$reply")
is "F12 text that is no UTF-8" "$(jq -r .state <<<"$reply")" completed
has "F12 the rest of it came" "$(jq -r .result <<<"$reply")" "one " " two" three
ok "F12 its transcript can be read" "$PY" -c 'import json, sys
for line in open(sys.argv[1], encoding="utf-8"): json.dumps(json.loads(line), ensure_ascii=False).encode()' "$P/.ai/state/threads/$id/transcript.jsonl"
reply=$(fork lane_nul)
is "F12 a NUL ends no text" "$(jq -c .result <<<"$reply")" $'"one\xef\xbf\xbd\xef\xbf\xbd two"'
is "F12 nor the live one" "$(cat "$P/.ai/state/threads/$(jq -r .thread_id <<<"$reply")/live")" $'one\xef\xbf\xbd\xef\xbf\xbd two'
# most ID: the most memory that its runner had, in kB, as far as it was seen
most() {
  local pid kb=0 seen
  pid=$(jq .pid "$P/.ai/state/threads/$1/runner.json")
  while seen=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$seen" ]; do
    kb=$seen
    sleep 0.02
  done
  echo "$kb"
}
id=$(fork_async lane_much | jq -r .thread_id)
kb=$(most "$id")
like "F13 ten megabytes of text end in order" "$(exchange 60 "$M/state/threads/$id/wait")" '^(completed|error)$'
sanitized || ok "F13 in bounded memory ($kb kB)" test "$kb" -le 400000
is "F13 its last line" "$(events "$id" .event_type | tail -n 1)" '"checkpoint"'
reply=$(fork lane_calls)
id=$(jq -r .thread_id <<<"$reply")
like "F13 a thousand calls end in order" "$(jq -r .state <<<"$reply")" '^(completed|error)$'
is "F13 each start has its result" "$(events "$id" 'select(.event_type == "tool_call_start") | 1' | wc -l)" "$(events "$id" 'select(.event_type == "tool_call_result") | 1' | wc -l)"
fx_memory 200
tick
reply=$(fork lane_hangs)
id=$(jq -r .thread_id <<<"$reply")
is "F15 a tool that hangs" "$(jq -r .result <<<"$reply")" "went on"
[ "$(ago)" -le $((20000 * PATIENCE)) ] && good "F15 is ended in time" || bad "F15 is ended in time" "$(ago) ms"
has "F15 its result is an error" "$(events "$id" 'select(.event_type == "tool_call_result") | .payload.error')" "imed out"
ok "F15 its child is gone" fx_wait 5 no_naps 301
ok "F15 and it, too" fx_wait 5 no_naps 302

# ---- F42: the provider's file is edited while a thread works ----
id=$(fork_async lane_moved | jq -r .thread_id)
until_true test -e "$P/naps"
sed -i 's|^base_url: .*|base_url: "http://127.0.0.1:1"|' "$P/.ai/tools/rye/agent/providers/scripted.yaml"
fx_sign "$P" tool:rye/agent/providers/scripted
touch "$P/wake"
is "F42 a thread stays with the provider that it began with" "$(exchange 20 "$M/state/threads/$id/wait") $(jq -r .result "$M/state/threads/$id/result.json")" "completed the old host"
finish
