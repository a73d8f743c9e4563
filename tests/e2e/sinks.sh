#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sinks.sh: where the events of a stream go, by config.sinks: files, WebSockets, nowhere. What a
# sink may not write to, and what is left of a run whose sink fails.
. "$(dirname "$0")/fixture.sh"
need jq || finish
"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
beside server "$PY" "$E2E/http_server.py" "$T/port"
beside websocket "$PY" "$E2E/websocket_server.py" "$T/wsport" "$T/got"
WS=$BESIDE
until_true test -s "$T/port"
until_true test -s "$T/wsport"
URL=http://127.0.0.1:$(<"$T/port")
SOCKET=ws://127.0.0.1:$(<"$T/wsport")

# tool NAME SINKS [LINE...]: a stream whose events go there
tool() { # PAGE, MODE, MORE say otherwise
  local name=$1 sinks=$2
  shift 2
  {
    printf '%s\n' "tool_id: $name" 'tool_type: http' 'version: "1.0.0"' 'category: s' 'description: a stream' \
      'executor_id: rye/core/primitives/http_client' "${MORE:-requires: [net.http, fs.write]}" \
      'input_schema: {type: object}' 'config:' "  url: $URL/${PAGE:-sse}" "  mode: ${MODE:-stream}"
    printf '  %s\n' "sinks: $sinks" "$@"
  } | fx_put "$P" "tools/s/$name.yaml"
}
run() { # NAME [JSON]: the reply, and the last one in $T/reply
  converse "$M/tools/s/$1/run" "${2:-}" | tee "$T/reply"
}
of() { run "$1" "$2" | command jq -c "$3"; }

tool file '[{type: file, path: "logs/{name}.jsonl"}]'
tool raw '[{type: file, path: logs/raw.txt, format: raw, flush_every: 1}, {type: return}]'
tool nowhere '[{type: null}]'
tool nowhere2 '[{type: "null"}, {type: return}]'
tool ok "[{type: websocket, url: \"$SOCKET/ok?a={name}#x\"}]"
tool ping "[{type: websocket, url: $SOCKET/ping}]"
tool drop "[{type: websocket, url: $SOCKET/drop}]"
tool bye "[{type: websocket, url: $SOCKET/bye, reconnect_attempts: 0}, {type: return}]"
for name in none odd junk silent; do
  tool $name "[{type: websocket, url: $SOCKET/$name}]" 'timeout: 2'
done
tool nobody '[{type: websocket, url: "ws://127.0.0.1:1/"}]'
tool plain '[{type: websocket, url: "ws://192.0.2.1/"}]'
tool user "[{type: websocket, url: \"ws://a:b@127.0.0.1/\"}]"
tool http "[{type: websocket, url: \"$URL/\"}]"
tool both "[{type: file, path: both.jsonl}, {type: websocket, url: $SOCKET/ok-both}]"
tool odder '[{type: mail}]'
MODE=sync tool notstream '[{type: null}]'
PAGE=event/300000 tool big "[{type: websocket, url: $SOCKET/ok-big}]"
MORE='requires: [net.http]' tool readonly '[{type: file, path: x.jsonl}]'
fx_sign "$P" 'tool:s/*'
mkdir "$P/logs"
fx_mount

# --- files ---
is 'events go to a file' "$(of file '{"name":"a"}' '[.status,.data.body,.data.event_count,.data.sinks]')" \
  '["success",[],3,[{"type":"file","events":3,"path":"logs/a.jsonl","bytes":27}]]'
is 'a line of JSON each' "$(<"$P/logs/a.jsonl")" "$(printf '"one"\n"two\\nlines"\n"three"')"
run file '{"name":"a"}' >/dev/null
is 'behind what is there' "$(wc -l <"$P/logs/a.jsonl")" 6
is 'as they are, and in the result' "$(of raw '{}' '[.data.body,.data.sinks[1]]')" '[["one","two\nlines","three"],{"type":"return","events":3}]'
is 'raw text' "$(<"$P/logs/raw.txt")" "$(printf 'one\ntwo\nlines\nthree')"
is 'nowhere' "$(of nowhere '{}' '[.status,.data.body,.data.event_count]')" '["success",[],3]'
is 'nowhere, and in the result' "$(of nowhere2 '{}' '.data.body|length')" 3

ln -s "$P/.ai" "$P/logs/link"
ln -s /etc/hostname "$P/logs/out.jsonl"
mkfifo "$P/logs/pipe.jsonl"
for name in ../../outside ../.ai/tools/x link/x out pipe none/x 'a b/../../../x'; do
  has "not to $name" "$(run file "{\"name\":\"$name\"}")" '"status":"error"'
done
is 'nothing was written' "$(find "$P/.ai" -name '*.jsonl'; ls "$T"/outside* 2>/dev/null)" ""
has 'nor without fs.write' "$(run readonly)" 'its requires needs fs.write'
not_ok 'and none is made' test -e "$P/x.jsonl"

# --- WebSockets ---
: >"$T/got"
is 'events go to a WebSocket' "$(of ok '{"name":"é &"}' '[.status,.data.sinks]')" '["success",[{"type":"websocket","events":3,"bytes":17}]]' ||
  cat "$T/reply"
fx_wait 3 grep -q closed "$T/got"
is 'each a message, then the end' "$(jq -c .[1] "$T/got" | tr '\n' ' ')" '"one" "two\nlines" "three" "closed" '
: >"$T/got"
is 'a ping is answered' "$(of ping '{}' .data.sinks[0].events)" 3
fx_wait 3 grep -q closed "$T/got"
has 'with what it said' "$(<"$T/got")" '"pong", "are you there"'
: >"$T/got"
is 'a connection that breaks is made again' "$(of drop '{}' '[.status,(.data.sinks[0].events >= 2)]')" '["success",true]'
is 'one that the server closes ends the sink, not the stream' \
  "$(of bye '{}' '[.status,(.data.body|length),(.data.sinks[0]|[.events<3,(.error|test("closed the connection"))])]')" '["success",3,[true,true]]'
has 'no WebSocket there' "$(run none)" '"status":"error"' 'does not speak WebSocket'
has 'another key' "$(run odd)" 'does not speak WebSocket'
has 'no frames' "$(run junk)" 'sends what is no frame'
has 'no answer: the time limit' "$(run silent)" '"status":"error"' 'the time is over'
has 'no server' "$(run nobody)" '"status":"error"' 'ws://127.0.0.1:1'
has 'plain ws to another machine' "$(run plain)" 'use wss'
has 'a user in an address' "$(run user)" 'wss://HOST/PATH is wanted'
has 'another scheme' "$(run http)" 'wss://HOST/PATH is wanted'
has 'another type' "$(run odder)" 'return, file, websocket or null is wanted'
has 'without a stream' "$(run notstream)" 'needs mode: stream'
is 'two at once' "$(of both '{}' '[.data.sinks[].events]')" '[3,3]'
: >"$T/got"
is 'a big event is one message' "$(of big '{}' '[.status,.data.sinks[0].bytes]')" '["success",300000]'
fx_wait 3 grep -q 300000 "$T/got"
has 'that arrives whole' "$(<"$T/got")" '300000'
start=$SECONDS
timeout -s INT 1 bash -c "echo '{}' > '$M/tools/s/silent/run'" 2>/dev/null
ok '^C ends it' test $((SECONDS - start)) -lt $((4 * PATIENCE))

if need openssl; then
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$T/tls.key" -out "$T/tls.pem" -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost 2>/dev/null
  beside tls openssl s_server -accept 0 -cert "$T/tls.pem" -key "$T/tls.key" -naccept 1
  until_true grep -q '^ACCEPT.*:[0-9]' "$T/tls.log"
  tool tls "[{type: websocket, url: \"wss://localhost:$(sed -n 's/^ACCEPT.*:\([0-9]*\)$/\1/p' "$T/tls.log")/\"}]" 'timeout: 5'
  fx_sign "$P" tool:s/tls
  has 'an authority that nobody trusts' "$(run tls)" '"status":"error"' 'wss://localhost'
  beside secure "$PY" "$E2E/websocket_server.py" "$T/wssport" "$T/wssgot" "$T/tls.pem" "$T/tls.key"
  until_true test -s "$T/wssport"
  SECURE=wss://localhost:$(<"$T/wssport")
  tool wss "[{type: websocket, url: $SECURE/ok}, {type: return}]" "ca_file: $T/tls.pem"
  tool other "[{type: websocket, url: \"wss://127.0.0.1:$(<"$T/wssport")/ok\"}]" "ca_file: $T/tls.pem"
  tool junkwss "[{type: websocket, url: $SECURE/junk}]" "ca_file: $T/tls.pem"
  fx_sign "$P" tool:s/wss tool:s/other tool:s/junkwss
  is 'events go through TLS' "$(of wss '{}' '[.status,(.data.body|length),.data.sinks[0].events]')" '["success",3,3]' || cat "$T/reply"
  fx_wait 3 grep -q closed "$T/wssgot"
  is 'each a message there, too' "$(jq -c .[1] "$T/wssgot" | tr '\n' ' ')" '"one" "two\nlines" "three" "closed" '
  has 'not to a name that the certificate has not' "$(run other)" '"status":"error"' 'wss://127.0.0.1'
  has 'and what is no frame is none' "$(run junkwss)" 'sends what is no frame'
fi
finish
