#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_scarce.sh: a disk without room, a process without descriptors or memory, while models, graphs
# and servers of tools work: no result is lost, nothing is half-written, and what was missing is said.
# First at chosen moments, then at random (scarcity.py; RYE_SEED replays it, RYE_ROUNDS makes it longer).
. "$(dirname "$0")/agent_lib.sh"
[ "$(id -u)" = 0 ] || skip "no tmpfs can be mounted"
mkdir -p "$P/.ai/state"
mount -t tmpfs -o size=16m ryefs-test "$P/.ai/state" 2>/dev/null || skip "no tmpfs can be mounted"
at_end '[ "$FAILED" = 0 ] && [ $rc = 0 ] || cp -r "$P/.ai/state" "$T/state"; umount -l "$P/.ai/state"'

# longer than what the last page of a transcript has left, which can be written to on a full disk
LONG_STEP='{"text": "'$(printf 'word %.0s' {1..1000})'", "calls": [{"name": "t_step", "arguments": {}}], "gap": 0.02}'
STEP='{"calls": [{"name": "t_step", "arguments": {}}], "gap": 0.02}'
agent_model '{"by": "turn", "lanes": {
  "lane_work": ['"$STEP"',
    {"calls": [{"name": "rye_execute", "arguments": {"item_id": "directive:lane_child", "thread": "fork"}}]},
    {"calls": [{"name": "t_graph", "arguments": {}}, {"name": "mcp_s_echo", "arguments": {"text": "hi"}}]},
    '"$STEP"', {"text": ["all ", "is ", "done"], "gap": 0.05}],
  "lane_child": ['"$STEP"', {"text": "child is done", "gap": 0.05}],
  "lane_nap": ['"$STEP"', {"calls": [{"name": "t_nap", "arguments": {}}]}, '"$LONG_STEP"', {"text": "nap is done"}],
  "lane_quote": [{"calls": [{"name": "t_quote", "arguments": {}}, {"name": "t_step", "arguments": {}}]}],
  "lane_end": ['"$STEP"', {"text": ["it ", "is ", "done"], "gap": 0.5}]}}'
agent_steps
agent_naps
# naps, too; its result is short, and longer than a page where it is quoted in a line of the transcript
agent_tool quote naps '    for i in range(800):
        if os.path.exists(os.path.join(project_path, "wake")):
            break
        time.sleep(0.05)
    return {"success": True, "said": "\"" * 1050}'
graph() { # NAME TOOL
  fx_put "$P" "tools/t/$1.yaml" <<TEXT
tool_id: $1
tool_type: graph
version: "1.0.0"
category: t
description: a graph
executor_id: rye/core/runtimes/state-graph/runtime
permissions: [rye.execute.tool.t.*]
config:
  start: a
  nodes:
    a: {action: {item_id: "tool:t/step"}, next: b}
    b: {action: {item_id: "tool:t/$2"}, next: c}
    c: {type: return, output: graph is done}
TEXT
}
graph graph step
graph napping nap
fx_put "$P" tools/mcp/servers/s.yaml <<TEXT
tool_id: s
tool_type: mcp_server
executor_id: null
version: "1.0.0"
category: mcp/servers
description: a server of the tests
config:
  transport: stdio
  command: $PY
  args: ['$E2E/mcp_server.py', '{project_path}/s.notes', modern]
TEXT
fx_put "$P" tools/mcp/s/echo.yaml <<'TEXT'
tool_id: echo
tool_type: mcp
executor_id: rye/core/runtimes/mcp/stdio
version: "1.0.0"
category: mcp/s
description: a tool
config: {server: mcp/servers/s, tool_name: echo}
input_schema: {type: object}
TEXT
ALL='    <permissions><execute><tool>t.*</tool><tool>mcp.*</tool><directive>*</directive></execute></permissions>
  </metadata>'
for name in work child nap quote end; do agent_directive lane_$name "$ALL" <<<'Do it all.'; done
agent_sign tool:t/step tool:t/nap tool:t/quote tool:t/graph tool:t/napping tool:mcp/servers/s tool:mcp/s/echo
allow 'No space left|Read-only file system|read-only|readonly|disk is full|oo many|emory|database|Cannot allocate|Resource temporarily'

fill() {
  "$PY" - "$P/.ai/state/filler" <<'CODE'
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for size in (1 << 20, 1 << 12, 1):
    try:
        while os.write(fd, bytes(size)) == size:
            pass
    except OSError:
        pass
CODE
}
empty() { rm -f "$P/.ai/state/filler"; }
told() { row "$1" "select $2 from $3 where thread_id='$ID'"; } # DB COLUMNS TABLE
verified() { RYE_TRUSTED=$U/.ai/config/keys/automatic "$PY" "$E2E/thread_verifier.py" "$P/.ai" "$ID" 2>&1; }
# whole STATUS TEXT: row, files and ledger of the thread $ID tell the same end
whole() {
  local D=$P/.ai/state/threads/$ID
  is "$2: its row" "$(told registry status threads)" "$1"
  is "$2: thread.json" "$(jq -r .status "$D/thread.json")" "$1"
  is "$2: the transcript's end" "$(events "$ID" .event_type | tail -n 2 | tr '\n' ' ')" "\"thread_$1\" \"checkpoint\" "
  has "$2: the knowledge entry" "$(head -n 20 "$P/.ai/knowledge/agent/threads/$ID.md")" "status: $1"
  is "$2: the ledger" "$(told budget_ledger "status, printf('%.3f', actual_spend)" budget_ledger)" \
    "$1 $(jq -r .cost.spend "$D/thread.json" | xargs printf %.3f)"
  like "$2: an independent verifier takes it" "$(verified)" '^ok'
}
ended() { timeout 40 cat "$M/state/threads/$ID/wait"; }
napping() { # FILE: writes to it, waits until the thread naps; its id is in ID
  rm -f "$P/naps" "$P/wake"
  ID=$(exchange 60 "$M/$1" '{}' | jq -r .thread_id)
  until_true test -e "$P/naps"
}

meet() { sleep "${1:-2}"; } # on a full disk nothing tells that a thread has met it

fx_mount
# ---- a full disk ----
napping directives/lane_nap/async
fill
touch "$P/wake"
meet
empty
is "F30 a disk that is full ends the thread" "$(ended)" error
has "F30 which says why" "$(<"$M/state/threads/$ID/error")" "No space left"
whole error "F30 full for a while"
ok "F30 with room again it can be resumed" sh -c "echo resume and go on > '$M/state/threads/$ID/ctl'"
is "F30 and completes" "$(ended)" completed

napping directives/lane_quote/async
fill
touch "$P/wake"
meet
empty
is "F30 a result that finds no room" "$(ended)" error
is "F30 is there when there is room" \
  "$(events "$ID" 'select(.event_type == "tool_call_result").payload.output | length' | xargs)" '2126 0'
is "F30 and no call of its answer is without a result" \
  "$(events "$ID" 'select(.event_type | startswith("tool_call")).event_type' | sort | uniq -c | xargs)" \
  '2 tool_call_result 2 tool_call_start'
whole error "no room for a result"

ID=$(fork_async lane_end | jq -r .thread_id)
until_true grep -q '"it "' "$P/.ai/state/threads/$ID/transcript.jsonl"
fill
meet 3
empty
is "a disk that is full at the end" "$(ended)" completed
is "its answer" "$(jq -r .result "$P/.ai/state/threads/$ID/result.json")" "it is done"
whole completed "full at the end"

napping directives/lane_nap/async
fill
touch "$P/wake"
meet 1
kill -9 "$(jq .pid "$P/.ai/state/threads/$ID/runner.json")"
meet
empty
is "a runner that dies while the disk is full" "$(ended)" error
whole error "lost while it is full"

napping directives/lane_nap/async
fill
echo cancel >"$M/state/threads/$ID/ctl"
meet
empty
# the room may be missed before the cancel is obeyed
status=$(ended)
like "a cancel while the disk is full" "$status" '^(cancelled|error)$'
whole "$status" "cancelled while it is full"

rows() { row registry 'select count(*) from threads'; }
before=$(rows)
fill
said=$(fork lane_end)
told=$(bash -c 'echo directive:lane_end >"$1"' - "$M/state/threads/new" 2>&1)
tool=$(bash -c 'echo "{}" >"$1"' - "$M/tools/t/step/async" 2>&1)
empty
has "F31 nothing starts on a full disk" "$(jq -r .error <<<"$said")" "No space left"
has "F31 nor by a line of new, which says so" "$told" "No space left on device"
has "F31 nor a tool" "$tool" "No space left on device"
is "F31 no directory is left of it" "$(ls "$P/.ai/state/threads/lane_end" | wc -l)" 1
is "F31 nor a row" "$(rows)" "$before"
is "F31 nor a line of the budget" "$(row budget_ledger "select count(*) from budget_ledger where status='active'")" 0

# ---- a graph on a full disk ----
napping tools/t/napping/async
fill
touch "$P/wake"
meet
empty
like "a graph on a full disk" "$(ended)" '^(error|completed)$'
ok "its transcript is whole lines" jq -e . "$P/.ai/state/graphs/$ID/transcript.jsonl"
like "its result says why" "$(jq -r '.error // .data.output' "$P/.ai/state/threads/$ID/result.json")" 'No space left|graph is done'

# a graph whose caller waits for it has a row alone
rm -f "$P/naps" "$P/wake"
exchange 90 "$M/tools/t/napping/run" '{}' >"$T/inline" 2>/dev/null &
until_true test -e "$P/naps"
ID=$(row registry "select thread_id from threads where directive='tool:t/napping' and status='running'")
like "a graph that is called has a row" "$ID" .
fill
touch "$P/wake"
meet
empty
wait $!
like "its caller has a reply" "$(jq -r .status "$T/inline")" '^(success|error)$'
like "its row has an end" "$(told registry status threads)" '^(completed|error)$'

# ---- a run that the mount carries ----
was=$(cut -f 1,2 "$M/state/threads/registry.tsv")
like "there are threads" "$(wc -l <<<"$was")" '^[1-9][0-9]*$'
ok "the mount ends" umount_rye

# ---- a project that can be read alone ----
ok "its state is read-only" mount -o remount,ro "$P/.ai/state"
fx_mount
is "F33 what was there is listed" "$(cut -f 1,2 "$M/state/threads/registry.tsv")" "$was"
has "F33 and by name" "$("$RYEFS" threads --project "$P" --user "$U")" "lane_end/"
said=$(fork lane_end)
told=$(bash -c 'echo directive:lane_end >"$1"' - "$M/state/threads/new" 2>&1)
has "F33 nothing starts where nothing can be written" "$(jq -r .error <<<"$said")" "Read-only file system"
has "F33 nor by a line of new" "$told" "Read-only file system"
umount_rye
mount -o remount,rw "$P/.ai/state"
fx_mount wait=1
rm -f "$P/naps" "$P/wake"
ID=$(converse "$M/tools/t/nap/run" | jq -r .thread_id)
like "a run that goes on as a thread" "$ID" .
fill
touch "$P/wake"
meet
empty
is "has its result when there is room" "$(ended) $(jq -r .status "$P/.ai/state/threads/$ID/result.json")" "completed success"

# ---- at random ----
ok "the mount ends" umount_rye
SEED=${RYE_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "# RYE_SEED=$SEED"
ok "nothing is lost where something is scarce" env PROJECT="$P" MOUNT="$M" SYSTEM="$S" WORK="$T" \
  "$PY" "$E2E/scarcity.py" "$SEED" "${RYE_ROUNDS:-3}"
sed 's/^# //; s/^/# /' "$T/out"

finish
