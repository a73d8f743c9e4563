#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mcp_http.sh: tools of MCP servers over HTTP, on loopback: both eras on one address, sessions,
# streams that break, headers, questions to a person, pins, servers that fail.
. "$(dirname "$0")/fixture.sh"
need jq || finish
fx_spaces
fx_mcp_peer
REFS=

# server NAME [LINE...]: the server at /NAME, and its tools; LINEs are of its config
server() {
  local name=$1
  shift
  {
    printf '%s\n' "tool_id: $name" 'tool_type: mcp_server' 'executor_id: null' 'version: "1.0.0"' \
      'category: mcp/servers' "description: 'MCP server: $name'" 'config:' '  transport: http' "  url: ${AT:-$URL/$name}"
    [ $# = 0 ] || printf '  %s\n' "$@"
  } | fx_put "$P" "tools/mcp/servers/$name.yaml"
  REFS="$REFS tool:mcp/servers/$name"
  for word in echo slow; do tool "$name" $word; done
}
# tool SERVER NAME [CONFIG [LINE...]]: CONFIG is more of its config
tool() {
  local server=$1 name=$2 config=${3:-}
  shift $(($# > 3 ? 3 : $#))
  {
    printf '%s\n' "tool_id: $name" 'tool_type: mcp' 'executor_id: rye/core/runtimes/mcp/http' 'version: "1.0.0"' \
      "category: mcp/$server" 'description: a tool' "config: {server: mcp/servers/$server, tool_name: ${TOOL:-$name}$config}"
    [ $# = 0 ] && set -- 'input_schema: {type: object}'
    printf '%s\n' "$@"
  } | fx_put "$P" "tools/mcp/$server/$name.yaml"
  REFS="$REFS tool:mcp/$server/$name"
}
# run SERVER/TOOL [JSON]: the reply to it, whatever it was
run() { converse "$M/tools/mcp/$1/run" "${2:-}"; }
of() { # SERVER/TOOL JSON FILTER
  run "$1" "$2" | jq -c "$3"
}
# ask SERVER/TOOL REQUEST-MEMBERS: by the root's execute
ask() { converse "$M/execute" "{\"item_id\":\"tool:mcp/$1\",$2}"; }
methods() { jq -r '.body.method // .verb' "$NOTES/$1" 2>/dev/null | tr '\n' ' '; }
header() { jq -r --arg h "$2" 'select(.body.method == "tools/call")|.headers[$h]' "$NOTES/$1" | tail -1; }

for name in modern legacy session session400 stream others cut lost asks states undeclared older sse404 unauth \
  forbidden busy redirect junk; do
  server $name
done
server silent 'timeout: 1'
server flood 'timeout: 20'
server endless 'timeout: 2'
server elicits 'elicitation: return'
AT=$URL/elicits server shy
AT=$URL/legacy server recorded 'protocol: legacy'
AT=$URL/modern server upgraded 'protocol: legacy'
AT=$URL/older server downgraded 'protocol: modern'
AT=http://192.0.2.1/x server foreign
AT=http://127.0.0.1:1/none server nowhere
AT=$URL/modern server secret 'headers: {X-One: "a ${MCP_TEST_ONE}", Authorization: "Bearer ${MCP_TEST_NONE:-none}"}'
AT=$URL/modern server lines 'headers: {X-One: "${MCP_TEST_LINES}"}'
AT=$URL/modern server patient 'timeout: 1'
AT=$URL/legacy server patient2 'timeout: 1'
STRUCTURED='input_schema: {type: object, properties: {structured: {}}}'
TOOL=echo tool modern linked '' "$STRUCTURED" "output_schema: {\$ref: \"$URL/schema\"}"
TOOL=echo tool modern listed '' "$STRUCTURED" 'output_schema: {type: array, items: {$ref: "#/$defs/n"}, uniqueItems: true, contains: {$dynamicRef: "#n"}, $defs: {n: {$dynamicAnchor: n, type: integer}}}'
MIRROR='input_schema: {type: object, properties: {region: {type: string, x-mcp-header: Region}, n: {type: integer, x-mcp-header: N}, sure: {type: boolean, x-mcp-header: Sure}, in: {type: object, properties: {deep: {type: string, x-mcp-header: Deep}}}}}'
server headers
tool headers echo '' "$MIRROR"
server changes
# the pin of what the server lists: sha256 over canonical JSON
echo '[{"name":"echo","description":"one","inputSchema":{"type":"object"}}]' >"$NOTES/tools.json"
PIN=$("$PY" -c 'import json,hashlib,sys
d=json.load(open(sys.argv[1]))[0]
print("sha256:"+hashlib.sha256(json.dumps(d,sort_keys=True,separators=(",",":")).encode()).hexdigest())' "$NOTES/tools.json")
TOOL=echo tool changes pinned ", pin: \"$PIN\""
AT=$URL/changes server trusting 'pin: off'
AT=$URL/lists server private 'headers: {Authorization: "Bearer ${MCP_TEST_WHO}"}'
TOOL=echo tool private pinned ", pin: \"$PIN\""
AT=$URL/lists server public
TOOL=echo tool public pinned ", pin: \"$PIN\""
TOOL=echo tool trusting pinned ", pin: \"$PIN\""
{
  printf '%s\n' 'tool_id: bypath' 'tool_type: mcp' 'executor_id: rye/core/runtimes/mcp/http' 'version: "1.0.0"' 'category: mcp/modern' \
    'description: a tool' 'config: {server_config_path: "{project_path}/.ai/tools/mcp/servers/modern.yaml", tool_name: echo}' 'input_schema: {type: object}'
} | fx_put "$P" tools/mcp/modern/bypath.yaml
REFS="$REFS tool:mcp/modern/bypath"
# shellcheck disable=SC2086
fx_sign "$P" $REFS
export MCP_TEST_ONE=one MCP_TEST_LINES=$'a\r\nX-Two: b'
allow '^ryefs: (info refused: )?(tool|execute)'
fx_mount

# --- both eras at one address ---
reply=$(run modern/echo '{"text":"hi"}')
is 'a call' "$(command jq -c '[.status,.data.content,.data.protocol]' <<<"$reply")" \
  '["success",[{"type":"text","text":"hi"}],{"era":"modern","version":"2026-07-28"}]'
is 'the chain' "$(jq -c .chain <<<"$reply")" '["mcp/modern/echo","rye/core/runtimes/mcp/http","rye/core/primitives/mcp"]'
run modern/echo >/dev/null
is 'MCP01 asked once' "$(methods modern)" 'server/discover tools/call tools/call '
is 'the headers of a modern request' "$(jq -c 'select(.body.method == "tools/call")|.headers|[."mcp-protocol-version",."mcp-method",."mcp-name",.accept,."content-type"]' "$NOTES/modern" | tail -1)" \
  '["2026-07-28","tools/call","echo","application/json, text/event-stream","application/json"]'
is 'a server that its path names' "$(of modern/bypath '{"text":"p"}' '.data.content[0].text')" '"p"'
is 'MCP06 legacy' "$(of legacy/echo '{"text":"a"}' '[.data.content[0].text,.data.protocol,.data.server.name]')" \
  '["a",{"era":"legacy","version":"2025-11-25"},"peer"]'
is 'its requests' "$(methods legacy)" 'server/discover initialize notifications/initialized tools/call '
is 'and its version in the header, but for initialize' "$(jq -c '.headers."mcp-protocol-version"' "$NOTES/legacy" | tr '\n' ' ')" \
  '"2026-07-28" null "2025-11-25" "2025-11-25" '
is 'MCP09 a recorded era is not asked for' "$(of recorded/echo '{"text":"r"}' .data.protocol.era)" '"legacy"'
is 'MCP09 recorded as legacy, modern now' "$(of upgraded/echo '{"text":"u"}' '[.data.protocol.era,(.metadata.warnings|tostring|test("recorded as legacy"))]')" '["modern",true]'
is 'MCP09 never downwards' "$(of downgraded/echo '{}' '[.data.error_type,(.error|test("no longer speaks 2026-07-28"))]') $(jq -r 'select(.body.method=="initialize")' "$NOTES/older" | wc -l)" '["protocol",true] 0'
is 'no version in common' "$(of older/echo '{}' .data.error_type)" '"protocol"'

# --- sessions ---
is 'MCP39 a session' "$(of session/echo '{"text":"s"}' '.data.content[0].text')" '"s"'
touch "$NOTES/forget"
is 'MCP39 that is forgotten is opened again' "$(of session/echo '{"text":"again"}' '.data.content[0].text')" '"again"'
is 'once' "$(methods session)" 'server/discover initialize notifications/initialized tools/call tools/call initialize notifications/initialized tools/call '
is 'with another id' "$(jq -r 'select(.body.method == "tools/call")|.headers."mcp-session-id"' "$NOTES/session" | sort -u | wc -l)" 2
run session400/echo >/dev/null
touch "$NOTES/forget"
is 'MCP40 with 400, too' "$(of session400/echo '{"text":"b"}' '.data.content[0].text')" '"b"'

# --- streams ---
is 'MCP14 byte by byte, CR LF, comments, data over many lines' "$(of stream/echo '{"text":"Zürich"}' '.data.content[0].text')" '"Zürich"'
is 'MCP17 answers to others are passed over' "$(of others/echo '{"text":"mine"}' '.data.content[0].text')" '"mine"'
is 'MCP17 and are none to us' "$(of others/echo '{"text":"only"}' '[.data.error_type,(.error|test("ended"))]') $(methods others)" \
  '["http",true] server/discover tools/call tools/call '
is 'MCP41 a stream that broke goes on' "$(of cut/echo '{"text":"late"}' '.data.content[0].text')" '"late"'
is 'by its last event' "$(jq -r 'select(.verb == "GET")|.headers."last-event-id"' "$NOTES/cut" | grep -c '^e-')" 1
is 'MCP41 one that does not is an error' "$(of lost/echo '{}' '[.data.error_type,(.error|test("ended"))]')" '["http",true]'
is 'and was not called twice' "$(jq -c 'select(.body.method == "tools/call")' "$NOTES/lost" | wc -l)" 1
is 'one that asks is answered' "$(of asks/echo '{"text":"a"}' '.data.content[0].text') $(jq -c 'select(.body.id == "s" or .body.id == "p")|.body|(.error.code // .result)' "$NOTES/asks" | sort | tr '\n' ' ')" '"a" -32601 {} '

# --- headers ---
run headers/echo '{"region":"eu","n":-4,"sure":false,"in":{"deep":"x"}}' >/dev/null
is 'MCP18 arguments in headers' "$(header headers mcp-param-region) $(header headers mcp-param-n) $(header headers mcp-param-sure) $(header headers mcp-param-deep)" 'eu -4 false x'
for pair in 'Zürich|=?base64?WsO8cmljaA==?=' ' a|=?base64?IGE=?=' '|' 'a\tb|a	b' 'a\nb|=?base64?YQpi?=' '=?base64?x?=|=?base64?PT9iYXNlNjQ/eD89?='; do
  run headers/echo "{\"region\":\"${pair%%|*}\"}" >/dev/null
  is "MCP18 ${pair%%|*}" "$(header headers mcp-param-region)" "${pair#*|}"
done
run headers/echo '{"region":"x","in":{}}' >/dev/null
is 'MCP19 what is absent has none' "$(header headers mcp-param-n)" null
touch "$NOTES/otherwise"
is 'MCP20 headers that the server names otherwise now' "$(of headers/echo '{"region":"eu","text":"t"}' '.data.content[0].text') $(header headers mcp-param-area)" '"t" eu'
is 'a header of its item' "$(run secret/echo >/dev/null; header modern x-one) $(header modern authorization)" 'a one Bearer none'
is 'MCP44 no line end in it' "$(of lines/echo '{}' '[.status,(.error|test("line ends"))]')" '["error",true]'

# --- time ---
start=$SECONDS
is 'MCP22 an answer that does not come in time' "$(of patient/slow '{"seconds":8}' .data.error_type)" '"timeout"'
is 'MCP22 of a legacy server' "$(of patient2/slow '{"seconds":8}' .data.error_type)" '"timeout"'
ok 'at once' test $((SECONDS - start)) -lt 15
is 'which is told, a modern one sees the connection end' "$(jq -r 'select(.body.method == "notifications/cancelled")|.body.params.reason' "$NOTES/legacy") $(methods modern | grep -c cancelled)" 'timeout 0'
timeout -s INT 1 bash -c "echo '{\"seconds\":9}' > '$M/tools/mcp/legacy/slow/run'" 2>/dev/null
ok 'MCP21 ^C is told' until_true grep -q '"reason": "cancelled"' "$NOTES/legacy"
is 'MCP23 comments keep nothing alive' "$(of endless/echo '{}' .data.error_type)" '"timeout"'

# --- questions ---
is 'MCP27 what is not declared' "$(of shy/echo '{}' '[.data.error_type,.data.code,.data.data.requiredCapabilities]')" '["needs_input",-32021,{"elicitation":{"form":{}}}]'
reply=$(run elicits/echo '{"text":"x"}')
is 'MCP28 a question comes back' "$(jq -c '[.status,.data.error_type,.data.input_requests.q.params.message,.data.request_state]' <<<"$reply")" '["error","input_required","sure?","aé=\n\"b"]'
state=$(jq -c .data.request_state <<<"$reply")
is 'MCP28 and is answered by another process, the state byte for byte' \
  "$(ask elicits/echo "\"parameters\":{\"text\":\"x\"},\"input_responses\":{\"q\":{\"action\":\"accept\",\"content\":{\"ok\":true}}},\"request_state\":$state" | jq -c '.data.parsed')" \
  '[{"q":{"action":"accept","content":{"ok":true}}},"aé=\n\"b"]'
is 'MCP29 nine rounds' "$(of states/echo '{}' '[.data.error_type,(.error|test("without end"))]') $(jq -c 'select(.body.method == "tools/call")' "$NOTES/states" | wc -l)" '["invalid_result",true] 9'
is 'MCP30 a question nobody declared' "$(of undeclared/echo '{}' .data.error_type) $(jq -c 'select(.body.method == "tools/call")|.body.params.inputResponses' "$NOTES/undeclared" | tr '\n' ' ')" '"needs_input" null {"q":{"action":"cancel"}} '
has 'answers have to be an object' "$(ask elicits/echo '"input_responses":[]')" 'input_responses must be an object'

# --- what a tool promises of its result ---
is 'MCP32 a list, as it was declared' "$(of modern/listed '{"structured":[1,2]}' '[.status,.data.structured,.metadata.warnings]')" \
  '["success",[1,2],null]'
is 'MCP32 the same twice in it' "$(of modern/listed '{"structured":[1,1]}' '[.data.error_type,.error]')" \
  '["invalid_result","the structured content does not fit output_schema: items 0 and 1 are the same"]'
is 'MCP32 and one that is not' "$(of modern/listed '{"structured":[1,"2"]}' '[.data.error_type,.error,.data.structured]')" \
  '["invalid_result","the structured content does not fit output_schema: [1]: expected integer, got str",[1,"2"]]'
is 'MCP32 nothing at all' "$(of modern/listed '{"text":"a"}' '[.data.error_type,.error,.data.content[0].text]')" '["invalid_result","there is no structured content","a"]'
is 'MCP33 a schema of another place is not fetched' "$(of modern/linked '{"structured":{"a":1}}' '[.data.error_type,(.error|test("none is fetched"))]') $(ls "$NOTES" | grep -c '^schema')" \
  '["invalid_result",true] 0'

# --- pins ---
is 'MCP34 as it was signed' "$(of changes/pinned '{"text":"p"}' '.data.content[0].text')" '"p"'
# what a server lists for one is not shown to another: not to another item, not with another key
for who in ann bob; do
  echo "MCP_TEST_WHO=$who" >"$P/.env"
  of private/pinned '{"text":"a"}' .status
  of private/pinned '{"text":"b"}' .status
done >"$T/private"
run public/pinned >/dev/null
is 'MCP26 a list is asked for once with each key' "$(sort "$T/private" | uniq -c | xargs) $(jq -r 'select(.body.method == "tools/list")|.headers.authorization' "$NOTES/lists" | xargs)" \
  '4 success Bearer ann Bearer bob null'
echo '[{"name":"echo","description":"two","inputSchema":{"type":"object"}}]' >"$NOTES/tools.json"
is 'a list is believed for a while' "$(of changes/pinned '{"text":"q"}' '.data.content[0].text')" '"q"'
umount_rye
before=$(grep -c tools/call "$NOTES/changes")
fx_mount
is 'MCP34 another description' "$(of changes/pinned '{}' .data.error_type)" '"definition_changed"'
is 'nothing is called' "$(grep -c tools/call "$NOTES/changes")" "$before"
is 'where the server is not pinned, it is' "$(of trusting/pinned '{"text":"t"}' '.data.content[0].text')" '"t"'

# --- servers that fail ---
is 'MCP07 401' "$(of unauth/echo '{}' '[.data.error_type,.data.status,.data.challenge.error,.data.challenge.scope]')" '["auth",401,"invalid_token","a b"]'
is 'MCP07 403' "$(of forbidden/echo '{}' '[.data.error_type,.data.status]')" '["auth",403]'
is 'MCP07 503' "$(of busy/echo '{}' '[.data.error_type,.data.status,.data.body]')" '["http",503,"<h1>busy</h1>"]'
is 'MCP08 the withdrawn transport' "$(of sse404/echo '{}' '[.data.error_type,(.error|test("withdrawn HTTP.SSE"))]')" '["protocol",true]'
is 'MCP42 no redirect is followed' "$(of redirect/echo '{}' '[.data.error_type,(.error|test("redirects to http://127.0.0.1"))]')" '["http",true]'
is 'MCP43 plain http stays here' "$(of foreign/echo '{}' '[.data.error_type,(.error|test("use https"))]')" '["http",true]'
is 'no message' "$(of junk/echo '{}' .data.error_type)" '"http"'
is 'nobody there' "$(of nowhere/echo '{}' .data.error_type)" '"http"'
is 'no answer to the probe' "$(of silent/echo '{}' .data.error_type)" '"timeout"'
is 'fifty megabytes in one event' "$(of flood/echo '{}' '[.data.error_type,(.error|test("more than"))]')" '["http",true]'
umount_rye
is 'MCP41 sessions are ended' "$(jq -r 'select(.verb == "DELETE")|.headers."mcp-session-id"' "$NOTES/session" | wc -l)" 1
finish
