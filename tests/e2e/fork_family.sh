#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_family.sh: threads that start threads, hooks, what is said to a running thread, and threads
# that go on where another ended.
. "$(dirname "$0")/agent_lib.sh"

CHILD='{"name": "rye_execute", "arguments": {"item_id": "directive:lane_child", "thread": "fork", "parameters": {}}}'
WAIT='{"name": "rye_execute", "arguments": {"item_id": "directive:lane_wait", "thread": "fork", "async": true, "limit_overrides": {"spend": 0.1}}}'
agent_model '{"by": "turn", "lanes": {
  "lane_parent": [{"calls": ['"$CHILD"']}, {"text": "parent is done"}],
  "lane_forged": [{"calls": [{"name": "t_nap", "arguments": {}}]}, {"calls": ['"$CHILD"']}, {"text": "forged is done"}],
  "lane_narrow": [{"calls": ['"$CHILD"']}, {"text": "narrow is done"}],
  "lane_spawns": [{"calls": ['"$CHILD"', '"$CHILD"']}, {"text": "one of two"}],
  "lane_level1": [{"calls": [{"name": "rye_execute", "arguments": {"item_id": "directive:lane_level2", "thread": "fork"}}]}, {"text": "1"}],
  "lane_level2": [{"calls": [{"name": "rye_execute", "arguments": {"item_id": "directive:lane_level3", "thread": "fork"}}]}, {"text": "2"}],
  "lane_level3": [{"text": "3"}],
  "lane_starts": [{"calls": ['"$WAIT, $WAIT, $WAIT"', {"name": "t_nap", "arguments": {}}]}, {"calls": ['"$WAIT"', {"name": "t_sleep", "arguments": {}}]}, {"text": "no"}],
  "lane_async": [{"calls": ['"$WAIT, $WAIT, $WAIT, $WAIT, $WAIT"',
      {"name": "t_sleep", "arguments": {}}]}, {"text": "no"}],
  "lane_manager": [
    {"calls": [{"id": "m1", "name": "rye_execute", "arguments": {"item_id": "directive:lane_seen", "thread": "fork", "async": true}},
               {"id": "m2", "name": "rye_agent_threads_orchestrator", "arguments": {"operation": "list_active"}},
               {"id": "m3", "name": "rye_agent_threads_orchestrator", "arguments": {"operation": "get_status", "thread_id": "none/none-1"}}]},
    {"text": "managed"}],
  "lane_seen": [{"text": "seen", "delay": 4}],
  "lane_hooked": [{"text": "hooked"}],
  "lane_retried": [{"status": 401, "error": {"type": "authentication_error", "message": "once"}}],
  "lane_logged": [{"status": 401, "error": {"type": "authentication_error", "message": "once"}}],
  "lane_more": [{"calls": [{"name": "t_touch", "arguments": {}}]}, {"text": "one more turn"}],
  "lane_said": [{"calls": [{"name": "t_nap", "arguments": {}}]}, {"text": "heard"}],
  "lane_moved": [{"calls": [{"name": "t_nap", "arguments": {}}]}, {"text": "moved"}],
  "lane_late": [{"calls": [{"name": "t_nap", "arguments": {}}, {"name": "directive_return", "arguments": {"word": "w"}}]}],
  "lane_child": [{"calls": [{"name": "t_touch", "arguments": {}}, {"name": "rye_execute", "arguments": {"item_id": "tool:t/other"}},
      {"name": "directive_return", "arguments": {"word": "from the child"}}]}],
  "lane_wait": [{"text": "waited", "delay": 30}],
  "lane_resumed": [{"text": "first"}, {"text": "second"}, {"text": "third"}],
  "lane_full": [{"calls": [{"name": "t_touch", "arguments": {}}], "usage": {"input": 180, "output": 10}}, {"text": "no"}]
}}'
agent_tool touch touched
agent_tool other other
agent_sleeps
agent_naps
fx_knowledge "$P" ctx/hooked "Text of the hook."
fx_knowledge "$P" ctx/system "System text."
fx_knowledge "$P" ctx/before "Before text."
ALL='    <permissions><execute><tool>t.*</tool><directive>*</directive></execute></permissions>'
agent_directive lane_child '    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>
  <outputs><output name="word" type="string" required="true">a word</output></outputs>' <<<'Touch, then return.'
agent_directive lane_late '    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>
  <outputs><output name="word" type="string" required="true">a word</output></outputs>' <<<'Nap, then return.'
agent_directive lane_moved '    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>' <<<'Nap.'
agent_directive lane_parent "$ALL
  </metadata>" <<<'Have it done.'
agent_directive lane_forged '    <permissions><execute><tool>t.nap</tool><directive>*</directive></execute></permissions>
  </metadata>' <<<'Nap, then have it done.'
agent_directive lane_narrow '    <permissions><execute><tool>t.touch</tool><directive>*</directive></execute></permissions>
  </metadata>' <<<'Have it done.'
agent_directive lane_spawns "    <limits spawns=\"1\"/>
$ALL
  </metadata>" <<<'Have it done twice.'
agent_directive lane_seen '  </metadata>' <<<'Be seen.'
agent_directive lane_manager '    <permissions><execute><tool>t.*</tool><tool>rye.agent.threads.orchestrator</tool><directive>*</directive></execute></permissions>
  </metadata>' <<<'Manage.'
for level in 1 2 3; do
  agent_directive lane_level$level "$([ $level = 1 ] && echo '    <limits depth="1"/>')
$ALL
  </metadata>" <<<'Go deeper.'
done
for name in async starts wait more; do
  agent_directive lane_$name "$([ $name = more ] && echo '    <limits turns="1"/>')
$ALL
$([ $name = more ] && echo '    <hooks><hook id="on" event="limit"><action item_id="rye/agent/threads/internal/control"><param name="action">continue</param></action></hook></hooks>')
  </metadata>" <<<'Do it.'
done
agent_directive lane_hooked '    <context><system>ctx/system</system><before>ctx/before</before></context>
    <hooks>
      <hook id="k1" event="thread_started"><action item_type="knowledge" item_id="ctx/hooked"/></hook>
      <hook id="k2" event="thread_started" position="after" wrap="false"><action kind="knowledge" item_id="ctx/hooked"/></hook>
      <hook id="k3" event="thread_started"><condition path="inputs.who" op="eq" value="nobody"/><action kind="knowledge" item_id="ctx/system"/></hook>
    </hooks>
  </metadata>' <<<'Say something.'
agent_directive lane_logged '    <permissions><execute><tool>t.touch</tool></execute></permissions>
    <hooks><hook id="log" event="error"><action item_id="t/touch"/></hook></hooks>
  </metadata>' <<<'Fail.'
agent_directive lane_retried '    <hooks><hook id="again" event="error"><condition path="status_code" op="eq" value="401"/><action item_id="rye/agent/threads/internal/control"><param name="action">retry</param></action></hook></hooks>
  </metadata>' <<<'Fail, and again.'
agent_directive lane_resumed '  </metadata>
  <inputs><input name="who" type="string" required="true">Whom</input></inputs>' <<<'Answer {input:who}.'
agent_directive lane_said '    <permissions><execute><tool>t.nap</tool></execute></permissions>
  </metadata>' <<<'Nap.'
agent_provider small 's/^context_window: .*/context_window: 200/'
agent_directive lane_full '    <model tier="small" provider="small"/>
    <limits spend="1000"/>
    <permissions><execute><tool>t.touch</tool></execute></permissions>
  </metadata>
  <inputs><input name="who" type="string" required="true">Whom</input></inputs>' <<<'Fill the window for {input:who}.'
agent_sign tool:t/touch tool:t/other tool:t/sleep tool:t/nap knowledge:ctx/hooked knowledge:ctx/system knowledge:ctx/before
agent_runtime
holding fx_mount

# ---- children ----
reply=$(fork lane_parent)
id=$(jq -r .thread_id <<<"$reply")
is "T46 a parent whose child returned" "$(jq -r '.state, .result' <<<"$reply" | tr '\n' ' ')" "completed parent is done "
has "T46 it got the outputs" "$(events "$id" 'select(.event_type == "tool_call_result") | .payload.output')" "from the child"
child=$(cd "$P/.ai/state/threads/lane_child" && ls -t | head -n 1)
is "the child knows its parent" "$(jq -r .parent_id "$P/.ai/state/threads/lane_child/$child/thread.json")" "$id"
is "the child did what both allow" "$(ls "$P"/touched "$P"/other 2>&1 | wc -l)" 2
cost() { jq -c .cost.spend "$P/.ai/state/threads/$1/thread.json"; }
is "F20 the root's ledger has the child's cost" \
  "$(row budget_ledger "select printf('%.3f', actual_spend) from budget_ledger where thread_id='$id'")" \
  "$(jq -nr "$(cost "$id") + $(cost "lane_child/$child") | . * 1000 | round / 1000" | xargs printf '%.3f')"
rm -f "$P/touched" "$P/other"
fork lane_narrow >/dev/null
is "F26 a child is no wider than its parent" "$(cd "$P" && ls touched other 2>/dev/null)" touched
child=lane_child/$(cd "$P/.ai/state/threads/lane_child" && ls -t | head -n 1)
has "F26 its call was denied" "$(events "$child" 'select(.event_type == "tool_call_result") | .payload.error')" "not covered"
is "F26 it was not offered" "$(ls "$M/state/threads/$child/tools" | tr '\n' ' ')" "directive_return.json t_touch.json "
is "F26 its capabilities" "$(jq -c '[.capabilities[] | select(startswith("rye.execute.tool.t"))]' "$P/.ai/state/threads/$child/thread.json")" '["rye.execute.tool.t.touch"]'
id=$(fork_async lane_forged | jq -r .thread_id)
until_true test -e "$P/naps"
sed -i 's/rye.execute.tool.t.nap/rye.execute.tool.*/' "$P/.ai/state/threads/$id/thread.json"
touch "$P/wake"
is "F27 a parent whose record was edited" "$(exchange 20 "$M/state/threads/$id/wait")" completed
has "F27 has no children" "$(events "$id" 'select(.event_type == "tool_call_result" and .payload.error) | .payload.error')" "parent thread"
rm -f "$P/naps" "$P/wake"
reply=$(fork lane_spawns)
has "T48 the limit of children" "$(events "$(jq -r .thread_id <<<"$reply")" 'select(.payload.error) | .payload.error')" "Spawn limit exceeded"
reply=$(fork lane_level1)
is "T47 a child at the last level" "$(jq -r .result <<<"$reply")" 1
level2=lane_level2/$(ls "$P/.ai/state/threads/lane_level2" | tail -n 1)
has "T47 not one below it" "$(events "$level2" 'select(.event_type == "tool_call_result") | .payload.output')" "Depth limit exhausted"
is "T47 its row" "$(row registry "select status from threads where directive='lane_level3'")" error
id=$(fork_async lane_async | jq -r .thread_id)
until_true test -e "$P/sleeps"
# on this machine four requests are in flight at most: the fifth child waits for its place
waits() { jq -c 'select(.body) | .body.messages[1].content // .body.messages[0].content' "$T/asked" | grep -cF 'name=\"lane_wait\"'; }
until_true eval '[ "$(waits)" = 4 ]'
children=$(cd "$P/.ai/state/threads" && ls -d lane_wait/*)
is "async children run beside it" "$(cd "$M/state/threads" && cat lane_wait/*/status | sort | uniq -c | tr -d ' ' | tr '\n' ' ')" "5running "
echo cancel >"$M/state/threads/$id/ctl"
is "F24 a cancelled parent" "$(exchange 20 "$M/state/threads/$id/wait")" cancelled
is "F24 takes its children along" "$(for child in $children; do timeout 20 cat "$M/state/threads/$child/wait"; done | sort | uniq -c | tr -d ' ')" 5cancelled
is "F24 the one that waited has asked nothing" "$(waits)" 4
is "F24 what was held for them is given back" \
  "$("$PY" -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute("select count(*) from budget_ledger where status=? and parent_thread_id=?", ("active", sys.argv[2])).fetchone())' "$P/.ai/state/threads/budget_ledger.db" "$id")" 0

# the same with one whose process is there and has not begun
rm -f "$P/naps" "$P/wake" "$P/sleeps"
asked=$(waits)
id=$(fork_async lane_starts | jq -r .thread_id)
until_true eval '[ "$(waits)" = $((asked + 3)) ] && [ -e "$P/naps" ]'
touch "$T/hold" "$P/wake"
until_true test -e "$P/sleeps"
children=$(row registry "select group_concat(thread_id, ' ') from threads where parent_id='$id'")
starting=${children##* }
is "F24 three of its children run, one is starting" "$(wc -w <<<"$children") $(wc -c <"$P/.ai/state/threads/$starting/transcript.jsonl")" "4 0"
echo cancel >"$M/state/threads/$id/ctl"
is "F24 their parent" "$(exchange 20 "$M/state/threads/$id/wait")" cancelled
rm "$T/hold"
is "F24 all four are" "$(for child in $children; do timeout 20 cat "$M/state/threads/$child/wait"; done | sort | uniq -c | tr -d ' ')" 4cancelled
is "F24 the one that was starting sends no request" "$(waits)" $((asked + 3))
is "F24 nothing is held for any of them" "$(row budget_ledger "select count(*) from budget_ledger where status='active'")" 0
rm -f "$P/naps" "$P/wake" "$P/sleeps"

# ---- the orchestrator ----
orchestrate() { converse "$M/tools/rye/agent/threads/orchestrator/run" "$1"; }
# as a tool of a thread's runner sees it, with that thread's name in its environment
orchestrate_as() {
  PYTHONPATH="$S/.ai/tools/rye/core/runtimes/python/lib" RYE_RYEFS=$RYEFS "$PY" - "$P" "$one" "$S/.ai/tools/rye/agent/threads" 2>&1 <<'CODE'
import sys
sys.path.insert(0, sys.argv[3])
import orchestrator
try:
    orchestrator.refuse_foreign(sys.argv[1], sys.argv[2])
except Exception as error:
    print(error)
CODE
}
one=$(fork_async lane_wait | jq -r .thread_id)
two=$(fork_async lane_hooked | jq -r .thread_id)
reply=$(orchestrate "{\"operation\": \"wait_threads\", \"thread_ids\": [\"$two\", \"none/none-1\"], \"timeout\": 20}")
is "T46 waits for threads and tells results" "$(jq -c ".data.results | [.[\"$two\"].status, .[\"$two\"].result, .[\"none/none-1\"].status]" <<<"$reply")" '["completed","hooked","not_found"]'
began=$(date +%s%N)
reply=$(orchestrate "{\"operation\": \"wait_threads\", \"thread_ids\": [\"$one\"], \"timeout\": 1}")
took=$((($(date +%s%N) - began) / 1000000))
is "T50 not longer than asked" "$(jq -r ".data.results[].status" <<<"$reply")" timeout
ok "T50 nor shorter ($took ms)" test "$took" -ge 1000 -a "$took" -le $((5000 * PATIENCE))
is "T50 the thread goes on" "$(<"$M/state/threads/$one/status")" running
reply=$(fork lane_manager)
id=$(jq -r .thread_id <<<"$reply")
is "a model may, if its directive says so" "$(jq -r .result <<<"$reply")" managed
has "it sees its child" "$(events "$id" 'select(.payload.call_id == "m2" and .payload.output) | .payload.output')" "lane_seen/"
has "not what is not there" "$(events "$id" 'select(.payload.call_id == "m3" and .payload.error) | .payload.error')" "Thread not found"
has "a thread's model ends no other's" "$(RYE_THREAD_ID=$id orchestrate_as)" "no child of this thread"
has "what is at work" "$(orchestrate '{"operation": "list_active"}')" "$one"
is "an end by the orchestrator" "$(orchestrate "{\"operation\": \"cancel_thread\", \"thread_id\": \"$one\"}" | jq -r .status)" success
is "ends it" "$(exchange 20 "$M/state/threads/$one/wait")" cancelled

# ---- hooks and context ----
fork lane_hooked >/dev/null
body=$(jq -c 'select(.body) | .body' "$T/asked" | grep lane_hooked | head -n 1)
is "T42 context and hooks around the prompt" "$(jq -r '.messages[0].content' <<<"$body")" "System text."
has "T42 in their order" "$(jq -r '.messages[1].content' <<<"$body" | tr '\n' ' ')" \
  '<hooked id="ctx/hooked" type="knowledge"> Text of the hook. </hooked>  Before text.  You carry out' '</directive>  Text of the hook.'
rm -f "$P/touched"
is "T43 a hook that only does something" "$(fork lane_logged | jq -r .state) $(ls "$P/touched" 2>/dev/null | wc -l)" "error 1"
before=$(asks lane_retried)
fork lane_retried >/dev/null
[ $(($(asks lane_retried) - before)) -gt 1 ] && good "T43 a hook that tries again" || bad "T43 a hook that tries again"
is "T43 a hook that goes on beyond a limit" "$(fork lane_more | jq -r .result)" "one more turn"

# ---- said to a running thread ----
id=$(fork_async lane_said | jq -r .thread_id)
until_true test -e "$P/naps"
ok "say" sh -c "echo say look to the left > $M/state/threads/$id/ctl"
ok "say more" sh -c "echo say and then up > $M/state/threads/$id/ctl"
not_ok "a limit that is none" sh -c "echo limit turnips=3 > $M/state/threads/$id/ctl"
has "and its sentence" "$(tail -n 1 "$M/.ryefs/errors")" turnips
"$PY" - "$T/r/ryefs" <<'CODE' &
import glob, socket, sys, time
held = []
for path in glob.glob(sys.argv[1] + "/*") * 4:
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        peer.connect(path)
    except OSError:
        continue
    held.append(peer)
open(sys.argv[1] + "/../held", "w").write(str(len(held)))
time.sleep(10) # says nothing
CODE
SILENT=$!
until_true test -s "$T/r/held"
ok "connections that say nothing" test "$(<"$T/r/held")" -ge 4
within 1 "hold no one else" sh -c "echo limit turns=8 > $M/state/threads/$id/ctl"
kill "$SILENT"
ok "limit" sh -c "echo limit turns=9 > $M/state/threads/$id/ctl"
touch "$P/wake"
is "it goes on" "$(exchange 20 "$M/state/threads/$id/wait")" completed
has "and the model heard it" "$(jq -c 'select(.body) | .body' "$T/asked" | grep lane_said | tail -n 1)" "look to the left"
is "what was said stands in its transcript, once" \
  "$(events "$id" 'select(.event_type == "cognition_in" and (.payload.text | test("look|then"))) | .payload.text')" '"look to the left\n\nand then up"'
not_ok "not after its end" sh -c "echo say too late > $M/state/threads/$id/ctl"
rm -f "$P/naps" "$P/wake"
id=$(fork_async lane_moved | jq -r .thread_id)
until_true test -e "$P/naps"
ok "say, before it hands over" sh -c "echo say look to the right > $M/state/threads/$id/ctl; echo say and up > $M/state/threads/$id/ctl"
ok "hand over" sh -c "echo handoff > $M/state/threads/$id/ctl"
touch "$P/wake"
is "the next thread goes on" "$(exchange 20 "$M/state/threads/$id/wait") $(<"$M/state/threads/$id/output")" "completed moved"
has "and its model hears it" "$(jq -c 'select(.body) | .body' "$T/asked" | grep lane_moved | tail -n 1)" 'look to the right\n\nand up'
is "both records verify" "$(cat "$M/state/threads/$id/integrity" "$M/state/threads/$id/chain/next/integrity" | grep -c '^ok')" 2
rm -f "$P/naps" "$P/wake"
id=$(fork_async lane_late | jq -r .thread_id)
until_true test -e "$P/naps"
ok "say, before its last turn ends" sh -c "echo say one more thing > $M/state/threads/$id/ctl"
has "what is longer than it takes is not cut" "$(run threads say "$id" "$(printf %5000d 1)")" "at most 4096 bytes can be said at once"
touch "$P/wake"
is "it ends" "$(exchange 20 "$M/state/threads/$id/wait")" completed
has "and tells what no turn has heard" "$(<"$M/state/threads/$id/warnings")" "said when there was no turn left: one more thing"

# ---- going on ----
reply=$(fork lane_full '{"who": "Zoe"}')
id=$(jq -r .thread_id <<<"$reply")
next=$(row registry "select continuation_thread_id from threads where thread_id='$id'")
is "T28 a full window hands over" "$(<"$M/state/threads/$id/status")" continued
like "T28 to a new thread" "$next" '^lane_full/lane_full-'
is "T28 each leads to the other" "$(cd "$M/state/threads/$id/chain" && readlink -f next | sed 's|.*/lane_full/|lane_full/|') $(cd "$M/state/threads/$next/chain" && readlink -f prev root | sed 's|.*/lane_full/|lane_full/|' | tr '\n' ' ')" "$next $id $id "
is "T28 with the same inputs" "$(jq -r .inputs.who "$P/.ai/state/threads/$next/thread.json")" Zoe
is "T28 the writer of the first hears the last" "$(jq -r '.state, .result' <<<"$reply" | tr '\n' ' ')" "completed no "
is "T28 so does who waits for the first" "$(exchange 20 "$M/state/threads/$id/wait")" completed
is "T28 in the command line, too" "$(run threads wait "$id")" completed
is "T28 the last one ran" "$(<"$M/state/threads/$next/status")" completed
has "T28 it had the end of the conversation" "$(jq -c 'select(.body) | .body' "$T/asked" | grep lane_full | tail -n 1)" touch "Go on with the directive"
reply=$(fork lane_resumed '{"who": "Ann"}')
id=$(jq -r .thread_id <<<"$reply")
ok "T52 a person goes on with what has ended" sh -c "echo resume and now shorter > $M/state/threads/$id/ctl"
is "T52 in a new thread" "$(exchange 20 "$M/state/threads/$id/wait")" completed
is "T52 with the conversation" "$(jq -r .result "$M/state/threads/$id/result.json")" second
is "T52 the old one says so" "$(<"$M/state/threads/$id/status") $(events "$id" .event_type | tail -n 1)" 'continued "thread_resumed"'
next=$(row registry "select continuation_thread_id from threads where thread_id='$id'")
reply=$(converse "$M/execute" "{\"resume_thread_id\": \"$next\", \"message\": \"once more\"}")
is "T52 by a request, too" "$(jq -r '.status, .result' <<<"$reply" | tr '\n' ' ')" "success third "
has "T29 the whole conversation" "$(jq -c 'select(.body) | .body' "$T/asked" | grep lane_resumed | tail -n 1)" first second "once more"
next=$(jq -r .thread_id <<<"$reply")
printf '{"timestamp": 1.0, "thread_id": "x", "event_type": "cognition_out", "payload": {"text": "forged"}}\n' >>"$P/.ai/state/threads/$next/transcript.jsonl"
has "F28 not of a transcript that was changed" \
  "$(converse "$M/execute" "{\"resume_thread_id\": \"$next\", \"message\": \"x\"}" | jq -r .error)" "cannot be continued"
id=$(fork_async lane_wait | jq -r .thread_id)
errno "T52 nor of one that runs" EBUSY bash -c "echo resume now > $M/state/threads/$id/ctl"
echo cancel >"$M/state/threads/$id/ctl"

finish
