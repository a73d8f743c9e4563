#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mcp.sh: tools of MCP servers over standard input and output: both eras, servers that misbehave,
# what a result becomes, servers that stay between calls and how they end.
. "$(dirname "$0")/fixture.sh"
need jq || finish
fx_spaces
REFS=

# server NAME WORDS [LINE...]: its item; what it hears goes to $P/NAME.notes
server() {
  local name=$1 words=$2
  shift 2
  {
    printf '%s\n' "tool_id: $name" 'tool_type: mcp_server' 'executor_id: null' 'version: "1.0.0"' \
      'category: mcp/servers' "description: 'MCP server: $name'" 'config:' '  transport: stdio' \
      "  command: $PY" "  args: ['$E2E/mcp_server.py', '{project_path}/$name.notes', ${words// /, }]"
    [ $# = 0 ] || printf '%s\n' "$@"
  } | fx_put "$P" "tools/mcp/servers/$name.yaml"
  REFS="$REFS tool:mcp/servers/$name"
  for word in echo pid fail sum picture slow die flood big noise nosuch write; do tool "$name" $word; done
}
# tool SERVER NAME [LINE...]
tool() {
  local server=$1 name=$2
  shift 2
  {
    printf '%s\n' "tool_id: $name" 'tool_type: mcp' 'executor_id: rye/core/runtimes/mcp/stdio' \
      'version: "1.0.0"' "category: mcp/$server" 'description: a tool' "config: {server: mcp/servers/$server, tool_name: $name}" \
      'input_schema: {type: object}' "$@"
  } | fx_put "$P" "tools/mcp/$server/$name.yaml"
  REFS="$REFS tool:mcp/$server/$name"
}
# run SERVER/TOOL [JSON]: the reply to it, whatever it was
run() { converse "$M/tools/mcp/$1/run" "${2:-}"; }
of() { # SERVER/TOOL JSON FILTER
  run "$1" "$2" | jq -c "$3"
}
heard() { # NAME PATTERN: how often
  grep -c -- "$2" "$P/$1.notes" 2>/dev/null
}
pid_of() { of "$1/pid" '{}' .data.pid; }
no_process() { ! pgrep -f -- "$1" >/dev/null; }
gone() { ! kill -0 "$1" 2>/dev/null; }

server modern modern '  env: {ONE: "${MCP_TEST_ONE}", TWO: two}' '  timeout: 5'
tool modern quick 'timeout: 1'
sed -i 's/tool_name: quick/tool_name: slow/' "$P/.ai/tools/mcp/modern/quick.yaml"
tool modern strict 'output_schema: {type: object, properties: {sum: {type: string}}, required: [sum]}'
sed -i 's/tool_name: strict/tool_name: sum/' "$P/.ai/tools/mcp/modern/strict.yaml"
tool modern pinned
sed -i 's/tool_name: pinned/tool_name: echo, pin: "sha256:0"/' "$P/.ai/tools/mcp/modern/pinned.yaml"
tool nowhere echo
server legacy legacy
server noisy 'modern junk'
server crash 'legacy crash'
server silent 'legacy silent' '  timeout: 1'
server asks 'legacy asks'
server stays 'modern stays'
server forks 'modern forks'
server dead 'modern' '  timeout: 2'
sed -i 's/^  command:.*/  command: "true"/' "$P/.ai/tools/mcp/servers/dead.yaml"
server mute 'modern' '  timeout: 2'
sed -i 's/^  command:.*/  command: sleep/; s/^  args:.*/  args: ["300"]/' "$P/.ai/tools/mcp/servers/mute.yaml"
server binary 'modern' '  timeout: 2'
sed -i 's/^  command:.*/  command: head/; s/^  args:.*/  args: ["-c", "50000000", "\/dev\/urandom"]/' "$P/.ai/tools/mcp/servers/binary.yaml"
server recorded modern '  protocol: modern'
server confined modern 'requires: []'
server nocommand modern
sed -i 's/^  command:.*/  command: no-such-program-here/' "$P/.ai/tools/mcp/servers/nocommand.yaml"
server notserver modern
sed -i 's/^tool_type: mcp_server/tool_type: library/' "$P/.ai/tools/mcp/servers/notserver.yaml"
server unsigned modern
# shellcheck disable=SC2086
fx_sign "$P" $REFS
echo '# changed' >>"$P/.ai/tools/mcp/servers/unsigned.yaml"
export MCP_TEST_ONE=one MCP_TEST_SECRET=secret
allow '^ryefs: (info refused: )?(tool|execute)'
fx_mount

# --- a modern server ---
# the first run makes directories of the project; what was started before is not used after that
run stays/echo >/dev/null
reply=$(run modern/echo '{"text":"hi"}')
is 'a call' "$(command jq -c '[.status,.data.success,.data.tool,.data.content,.data.isError]' <<<"$reply")" \
  '["success",true,"echo",[{"type":"text","text":"hi"}],false]'
is 'its version' "$(jq -c .data.protocol <<<"$reply")" '{"era":"modern","version":"2026-07-28"}'
is 'the chain' "$(jq -c .chain <<<"$reply")" '["mcp/modern/echo","rye/core/runtimes/mcp/stdio","rye/core/primitives/mcp"]'
is 'MCP01 the probe is asked once' "$(heard modern server/discover) $(heard modern initialize)" '1 0'
first=$(pid_of modern)
is 'the server stays for the next call' "$(pid_of modern)" "$first"
is 'and is not asked again' "$(heard modern server/discover)" 1
is 'JSON in the text is told' "$(of modern/pid '{}' '[.data.parsed.pid == .data.pid, .data.cwd]')" "[true,\"$P\"]"
is 'its environment is what servers get, and its item gives' \
  "$(of modern/pid '{}' '[.data.env|keys[]|select(. != "TMPDIR" and . != "RYE_RUN" and . != "LC_CTYPE")]|map(select(. as $n|["HOME","LOGNAME","PATH","SHELL","TERM","USER"]|index($n)|not))')" '["ONE","TWO"]'
is 'with the variable that it asks for' "$(of modern/pid '{}' .data.env.ONE)" '"one"'
is 'a failure of the tool' "$(of modern/fail '{}' '[.status,.error,.data.isError,.data.error_type]')" \
  '["error","it went\nwrong",true,"tool_error"]'
is 'as an errno' "$(echo '{}' 2>&1 >"$M/tools/mcp/modern/fail/run" | sed 's/.*: //')" 'Remote I/O error'
is 'structured content, but for our names' "$(of modern/sum '{"a":1,"b":2}' '[.data.structured,.data.sum,.data.tool]')" \
  '[{"sum":3,"tool":"not ours"},3,"sum"]'
is 'content keeps its members' "$(run modern/picture '{}' | command jq -c '.data.content')" \
  '[{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"resource_link","uri":"demo://x","name":"x"}]'
is 'MCP32 a result that is not what was declared' "$(of modern/strict '{"a":1,"b":2}' '[.status,.data.error_type,.data.structured.sum]')" '["error","invalid_result",3]'
is 'an unknown tool' "$(of modern/nosuch '{}' '[.error,.data.error_type,.data.code]')" '["Tool nosuch not found (-32602)","mcp_error",-32602]'
is 'twelve megabytes' "$(of modern/big '{"n":12000000}' '.data.content[0].text|length')" 12000000
is 'MCP12 more than a message may be' "$(of modern/big '{"n":17000000}' '[.status,.data.error_type]')" '["error","exit"]'
is 'MCP13 it floods its log' "$(of modern/flood '{}' '.data.content[0].text')" '"quiet"'
is 'MCP11 it prints what is no message' "$(of modern/noise '{}' '[.data.error_type,(.error|test("no message"))]')" '["exit",true]'
echo '{}' >"$M/tools/mcp/recorded/echo/dry_run"
is 'dry_run starts nothing' "$(heard recorded .)" ''

# --- it dies, it is late, it is cancelled ---
first=$(pid_of modern)
is 'MCP04 what it said last' "$(of modern/die '{}' '[.data.error_type,(.error|endswith("last words"))]')" '["exit",true]'
is 'the call was sent once' "$(heard modern '"name": *"die"')" 1
second=$(pid_of modern)
ok 'the next call has a new one' test "$first" != "$second"
is 'an answer that does not come in time' "$(of modern/slow '{"seconds":30}' '[.status,.data.error_type]')" '["error","timeout"]'
is 'MCP21 the server is told' "$(heard modern notifications/cancelled)" 1
is 'progress gives it more' "$(of modern/slow '{"seconds":2,"steps":4}' '.status')" '"success"'
is 'but not more than the run has' "$(of modern/quick '{"seconds":0.4,"steps":20}' '[.status,.data.error_type]')" '["error","timeout"]'
is 'as an errno, too' "$(echo '{"seconds":30}' 2>&1 >"$M/tools/mcp/modern/quick/run" | sed 's/.*: //')" 'Connection timed out'
first=$(pid_of modern)
start=$SECONDS
timeout -s INT 1 bash -c "echo '{\"seconds\":30}' > '$M/tools/mcp/modern/slow/run'" 2>/dev/null
ok 'MCP21 ^C ends a call at once' test $((SECONDS - start)) -lt $((4 * PATIENCE))
is 'and the server stays' "$(pid_of modern)" "$first"

# --- calls that overlap ---
calls=
for i in 1 2 3 4; do
  (of modern/slow '{"seconds":1}' .status >"$T/call.$i") &
  calls="$calls $!"
done
start=$SECONDS
# shellcheck disable=SC2086
wait $calls
is 'four at a time' "$(cat "$T"/call.* | tr '\n' ' ')" '"success" "success" "success" "success" '
ok 'side by side' test $((SECONDS - start)) -lt $((4 * PATIENCE))

# --- legacy, and servers that misbehave ---
is 'MCP03 legacy, in the same process' "$(of legacy/echo '{"text":"a"}' '[.data.content[0].text,.data.protocol,.data.server.name]')" \
  '["a",{"era":"legacy","version":"2025-11-25"},"scripted"]'
is 'one process' "$(cut -d' ' -f1 "$P/legacy.notes" | sort -u | wc -l)" 1
first=$(pid_of legacy)
is 'opened once' "$(pid_of legacy) $(heard legacy '"initialize"')" "$first 1"
is 'MCP11 junk between messages, CR LF' "$(of noisy/echo '{"text":"a"}' '.data.content[0].text')" '"a"'
is 'MCP04 one that ends at the probe' "$(of crash/echo '{"text":"a"}' '[.data.content[0].text,.data.protocol.era]')" '["a","legacy"]'
is 'is started once more' "$(cut -d' ' -f1 "$P/crash.notes" | sort -u | wc -l)" 2
is 'MCP05 one that is silent' "$(of silent/echo '{"text":"a"}' '[.data.content[0].text,.data.protocol.era]')" '["a","legacy"]'
is 'one that asks is refused' "$(of asks/echo '{"text":"a"}' '.data.content[0].text')" '"a"'
ok 'in its words' until_true grep -q '"id":"s","error":{"code":-32601' "$P/asks.notes"
ok 'but for ping' until_true grep -q '"id":"p","result":{}' "$P/asks.notes"
first=$(pid_of asks)
is 'and it stays' "$(pid_of asks) $(pid_of asks)" "$first $first"
is 'MCP09 a recorded era is not asked for' "$(of recorded/echo '{"text":"a"}' .data.protocol.era) $(heard recorded server/discover)" '"modern" 0'

# --- what is signed ---
has 'a server whose item was changed is not started' "$(run unsigned/echo)" '"status":"error"' integrity
is 'it never ran' "$(heard unsigned .)" ''
has 'an item that is no server' "$(run notserver/echo)" 'is no MCP server'
has 'no such server' "$(run nowhere/echo)" 'Tool not found: mcp/servers/nowhere'
has 'no such program' "$(run nocommand/echo)" 'no-such-program-here'
is 'MCP34 a pin is not passed over' "$(of modern/pinned '{}' .data.error_type)" '"definition_changed"'
has 'a server is no tool' "$(run servers/modern)" 'mcp/servers/modern' '"status":"error"'
is 'its requires hold' "$(of confined/write "{\"path\":\"$P/x\"}" '[.status,.data.error_type]')" '["error","tool_error"]'
is 'where there are none it writes' "$(of modern/write "{\"path\":\"$P/x\"}" .status)" '"success"'
is 'it runs no item through the mount' "$(of modern/write "{\"path\":\"$M/tools/mcp/legacy/echo/run\"}" '[.status,.data.error_type]')" '["error","tool_error"]'
is 'without a mount, too' "$("$RYEFS" execute --project "$P" tool:mcp/recorded/echo '{"text":"alone"}' 2>&1 | grep -c alone)" 1
first=$(pid_of recorded)
sed -i 's/^  protocol: modern/  protocol: auto/' "$P/.ai/tools/mcp/servers/recorded.yaml"
fx_sign "$P" tool:mcp/servers/recorded
second=$(pid_of recorded)
ok 'a changed item is another server' test "$first" != "$second"

# --- servers that are none ---
start=$SECONDS
is 'MCP05 one that never answers' "$(of mute/echo '{}' '[.data.error_type,(.error|test("initialize"))]')" '["timeout",true]'
is 'one that ends at once' "$(of dead/echo '{}' .data.error_type)" '"exit"'
is 'fifty megabytes of noise' "$(of binary/echo '{}' .data.error_type)" '"exit"'
ok 'in time' test $((SECONDS - start)) -lt 40
is 'one with children' "$(of forks/echo '{"text":"f"}' '.data.content[0].text')" '"f"'
ok 'that live' pgrep -f "$P/forks.notes-child"

# --- the end ---
stays=$(pid_of stays)
modern=$(pid_of modern)
umount_rye
ok 'unmounting ends the servers' gone "$modern"
ok 'by the end of their input' grep -q "^$modern end of input" "$P/modern.notes"
ok 'MCP12 one that stays is told to end' grep -q "^$stays TERM" "$P/stays.notes"
ok 'and ends' gone "$stays"
ok 'and what servers have started' until_true no_process "$P/forks.notes-child"
ok 'nothing is left' until_true no_process "$P/[a-z]*.notes"
finish
