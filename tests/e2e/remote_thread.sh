#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# remote_thread.sh: a directive that a model works through elsewhere is a thread here with the files of one that runs
# here; what is said to it is heard there, it is gone on with there, and when it is killed nothing of it is left.
. "$(dirname "$0")/agent_lib.sh"
export RYE_NODE_IDLE_MS=5000

agent_runtime
agent_model '{"by": "turn", "lanes": {
  "And Bob": [{}, {}, {"calls": [{"name": "directive_return", "arguments": {"greeting": "Good day, Bob."}}]}],
  "Greet Ann": [{"text": "I look.", "calls": [{"name": "t_step", "arguments": {}}]},
    {"calls": [{"name": "directive_return", "arguments": {"greeting": "Good day, Ann."}}]}],
  "Start them": [{"calls": ['"$(for i in $(seq 20); do
    printf '%s{"name": "rye_execute", "arguments": {"item_id": "directive:kid", "thread": "fork", "async": true, "target": "remote:node"}}' "${comma-}"
    comma=,
  done)"']}, {"calls": [{"name": "directive_return", "arguments": {"done": "yes"}}]}],
  "Be a kid": [{"text": "I am.", "delay": 3}],
  "Try all": [{"calls": '"$("$PY" "$E2E/remote_matrix.py" calls "$SRC")"'}, {"text": "Done."}],
  "Fill for": [{"calls": [{"name": "t_mark", "arguments": {}}], "usage": {"input": 190, "output": 10}},
    {"calls": [{"name": "t_marked", "arguments": {}}], "usage": {"input": 9, "output": 1}},
    {"calls": [{"name": "directive_return", "arguments": {"greeting": "Full day."}}], "usage": {"input": 9, "output": 1}}],
  "Greet long": [{"calls": [{"name": "t_nap", "arguments": {}}]},
    {"calls": [{"name": "directive_return", "arguments": {"greeting": "At last."}}]}]
}}'
agent_steps
agent_tool nap naps '    import subprocess
    subprocess.run(["sleep", "1000.'$$'"])'
agent_directive hello '    <permissions><execute><tool>t/*</tool></execute></permissions>
  </metadata>
  <inputs><input name="who" type="string" required="true">Whom</input></inputs>
  <outputs><output name="greeting" type="string" required="true">The greeting</output></outputs>' <<'TEXT'
Greet {input:who}.
TEXT
agent_directive kid '    <limits spend="0.3"/>
  </metadata>' <<<'Be a kid.'
agent_directive parent '    <limits spend="1" spawns="30"/>
    <permissions><execute><directive>kid</directive></execute></permissions>
  </metadata>
  <outputs><output name="done" type="string" required="true">Whether</output></outputs>' <<<'Start them.'
agent_directive cells '    <limits spend="1000" spawns="60"/>
    <permissions><execute>*</execute></permissions>
  </metadata>' <<<'Try all.'
agent_provider small 's/^context_window: .*/context_window: 200/'
agent_directive full '    <model tier="small" provider="small"/>
    <limits spend="1000"/>
    <permissions><execute><tool>t/*</tool></execute></permissions>
  </metadata>
  <inputs><input name="who" type="string" required="true">Whom</input></inputs>
  <outputs><output name="greeting" type="string" required="true">The greeting</output></outputs>' <<<'Fill for {input:who}.'
agent_tool mark marked
agent_tool marked seen '    if not os.path.exists(os.path.join(project_path, "marked")):
        raise Exception("no mark")'
agent_sign tool:t/step tool:t/nap tool:t/mark tool:t/marked
fx_mount
ok 'a node' "$RYEFS" node init "$T/node" --system "$S"
like 'is pinned' "$(run remote add --yes node "command:$RYEFS node --stdio $T/node")" 'node is pinned'
ok 'and knows us' "$RYEFS" node admit --dir "$T/node" "$(ls "$T/node/asked" | sed 's/[.]pem$//')" --system "$S"
threads=$M/state/threads
names() { ls "$threads/$1" | grep -vxE 'changes|changes.json|receipt.json|remote'; }

# --- 13: by a model's calls, of which none reaches a remote ---
id=$(jq -r .thread_id <<<"$(fork cells)")
is '13: all cells of the matrix, by what a model calls' \
  "$("$PY" "$E2E/remote_matrix.py" called "$SRC" "$P/.ai/state/threads/$id/transcript.jsonl")" 'model: 48 of 48'
is 'the remote was not asked' "$(ls "$T/node/work/runs" 2>/dev/null | wc -l) $(ls "$P/.ai/state/remotes/none" 2>&1 | wc -l)" '0 1'

# --- 24: the files of one that runs here ---
here=$(jq -r .thread_id <<<"$(fork hello '{"who":"Ann"}')")
reply=$(fork hello '{"who":"Ann","target":"remote:node"}')
is 'it is carried out there' "$(jq -c '[.status,.remote,.outputs.greeting]' <<<"$reply")" '["success","node","Good day, Ann."]'
there=$(jq -r .thread_id <<<"$reply")
is 'its files are those of a thread here, name by name' "$(names "$there")" "$(names "$here")"
is 'so are its outputs' "$(ls "$threads/$there/outputs" "$threads/$there/turns" "$threads/$there/tools")" \
  "$(ls "$threads/$here/outputs" "$threads/$here/turns" "$threads/$here/tools" | sed "s,$here,$there,")"
is 'its records are what it wrote' "$(<"$threads/$there/integrity")" 'ok 2 checkpoints'
story=$P/.ai/state/threads/$there/transcript.jsonl
cp "$story" "$T/story"
sed -i 's/I look/I l0ok/' "$story"
like 'a changed byte shows' "$(<"$threads/$there/integrity")" '^bad: Content hash mismatch'
cp "$T/story" "$story"
sed -i 's/"remote":"node"/"remote":"n0de"/' "$P/.ai/state/threads/$there/.vouched.json"
like 'and so does who vouches for them' "$(<"$threads/$there/integrity")" '^bad: Untrusted key'
sed -i 's/"remote":"n0de"/"remote":"node"/' "$P/.ai/state/threads/$there/.vouched.json"

# --- gone on with there ---
next=$(run threads resume "$there" 'And Bob.' -q)
is 'it is gone on with' "$(run threads wait "$next" | tail -n 1)" completed
is 'there' "$(cut -d' ' -f1 "$threads/$next/remote")" node
is 'by what was said before' "$(<"$threads/$next/outputs/greeting")" 'Good day, Bob.'
is 'the old one says so' "$(cat "$threads/$there/status" "$threads/$next/integrity" | xargs)" 'continued ok 1 checkpoint'

# --- handed over there ---
reply=$(fork full '{"who":"Zoe","target":"remote:node"}')
is 'one whose window is full hands over' "$(jq -c '[.state,.outputs.greeting,.cost.turns]' <<<"$reply")" '["completed","Full day.",3]'
id=$(jq -r .thread_id <<<"$reply")
next=$(row registry "SELECT continuation_thread_id FROM threads WHERE thread_id = '$id'")
is 'each leads to the other' "$(basename "$(readlink "$threads/$id/chain/next")") $(basename "$(readlink "$threads/$next/chain/prev")")" "$next $id"
is 'the next one is there, too' "$(cat "$threads/$id/status") $(cut -d' ' -f1 "$threads/$next/remote") $(run threads wait "$id")" \
  'continued node completed'
is 'both records verify, and both receipts' "$(cat "$threads/$id/integrity" "$threads/$next/integrity" | grep -c '^ok') \
$(jq -r .receipt.status "$threads/$id/receipt.json" "$threads/$next/receipt.json" | xargs)" '2 continued completed'
is 'it has found what the first had left' "$(jq -r 'select(.event_type == "tool_call_result") | .payload.error' "$P/.ai/state/threads/$next/transcript.jsonl" | xargs)" 'null null'
is 'what the first held of the money was its own' \
  "$(row budget_ledger "SELECT round(max_spend, 3), status FROM budget_ledger WHERE thread_id = '$next'")" \
  "$(awk '$1 == "spend" { print 1000 - $2 }' "$threads/$id/cost") completed"

# --- said to it ---
id=$(jq -r .thread_id <<<"$(fork_async hello '{"who":"long","target":"remote:node"}')")
asleep() { pgrep -f "^sleep 1000.$$" >"$T/naps"; }
ok 'a long one naps' until_true asleep
cost_is() { [ "$(sed -n 1p "$threads/$1/cost")" = "turns $2" ]; }
ok 'what it has cost so far is told' until_true cost_is "$id" 1
here=$(jq -r .thread_id <<<"$(fork_async hello '{"who":"long"}')")
ok 'as of one here' until_true cost_is "$here" 1
is 'while it goes on it has the files of one that runs here, name by name' "$(names "$id")" "$(names "$here")"
is 'and its turns' "$(ls "$threads/$id/turns/001")" "$(ls "$threads/$here/turns/001")"
said() { cat "$threads/$1"/{model,provider,capabilities,prompt.md,limits} | grep -v '^duration'; }
is 'they say what those say' "$(diff <(said "$id") <(said "$here"))" ''
is 'its record is signed by a key that a receipt names' "$(<"$threads/$id/integrity")" "$(<"$threads/$here/integrity")"
is 'the money as well' "$(sed -n '/^actual/p' "$threads/$id/budget")" "actual $(awk '$1 == "spend" { print $2 }' "$threads/$id/cost")"
echo kill >"$threads/$here/ctl"
is 'the one here is not wanted any more' "$(<"$threads/$here/wait")" killed
is 'a limit is heard there' "$(run threads limit "$id" turns=9 2>&1)" ''
limit_is() { grep -q 'turns 1 9' "$threads/$id/limits"; }
ok 'and shown here while it goes on' until_true limit_is
is 'and money, which the board is asked for meanwhile' "$(run threads limit "$id" spend=1001 2>&1)" ''
like 'one that is none is refused by the runner there' "$(run threads limit "$id" bananas=9)" 'bananas'
is 'something is said' "$(run threads say "$id" 'Hurry.')" ''
kill "$(<"$T/naps")"
is 'it ends' "$(<"$threads/$id/wait")" completed
has 'and has heard it' "$(jq -r '.payload.text // empty' "$P/.ai/state/threads/$id/transcript.jsonl")" 'Hurry.'
is 'with its other limit' "$(grep turns "$threads/$id/limits")" 'turns 2 9'

is 'what it has spent is in the ledger here' "$(sed -n '1p; /^actual/p' "$threads/$id/budget" | xargs)" \
  "status completed actual $(awk '$1 == "spend" { print $2 }' "$threads/$id/cost")"

id=$(jq -r .thread_id <<<"$(fork_async hello '{"who":"long","target":"remote:node"}')")
ok 'one that naps' until_true asleep
is 'is asked to hand over' "$(run threads handoff "$id")" ''
kill "$(cat "$T/naps")"
like 'and does, there' "$(cat "$threads/$id/wait") $(cat "$threads/$id/status") $(cut -d' ' -f1-2 "$threads/$id/chain/next/remote")" \
  '^completed continued node done'

# --- lost, and late ---
on_board() { "$PY" -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1], timeout=10) as db: print(*(db.execute(sys.argv[2]).fetchone() or ()))' "$T/node/board.db" "$1"; }
id=$(jq -r .thread_id <<<"$(fork_async hello '{"who":"long","target":"remote:node"}')")
ok 'one naps' until_true asleep
# as by somebody who may write to the node's database, and has none of its keys
ok 'its first records are here' until_true test -e "$P/.ai/state/threads/$id/thread.json"
forged='{"files": {"thread.json": "forged", "capabilities.md": "forged", "../forged": "", "result.json": "forged"}, "cost": {"turns": 77}}'
on_board "INSERT INTO part (run, file, off, ends, bytes) SELECT run, file, max(ends), max(ends) + ${#forged} + 1,
  CAST('$forged' || char(10) AS BLOB) FROM part WHERE run = '$id' AND file = 'news.jsonl'"
ok 'news without a receipt are heard' until_true cost_is "$id" 77
is 'and no record is taken from them' "$(grep -rl forged "$P/.ai/state/threads" | wc -l) $(jq -r .thread_id "$threads/$id/thread.json")" "0 $id"
on_board "UPDATE run SET state = 'lost', ended = 1, lease = 1 WHERE id = '$id'"
# as when its worker was not heard for 15 min, and goes on all the same
is 'one whose worker is not heard is lost' "$(<"$threads/$id/wait")" error
like 'and says so' "$(<"$threads/$id/error")" 'the worker has not been heard since .*; it was not started again'
held() { row budget_ledger "SELECT status FROM budget_ledger WHERE thread_id = '$id'"; }
is 'its money stays held' "$(held)" active
kill "$(<"$T/naps")"
late() { [ "$(on_board "SELECT late IS NOT NULL FROM run WHERE id = '$id'")" = 1 ]; }
ok 'its result comes after all' until_true late
like 'the remote is there' "$(run remote status)" 'node: reachable'
is 'then it is kept' "$(jq -r .receipt.status "$threads/$id/late.json")" completed
is 'and changes nothing' "$(<"$threads/$id/status")" error
ok 'it is forgotten' bash -c "echo forget >'$threads/$id/ctl'"
is 'and holds no money any more' "$(held)" error
like 'once' "$(run threads forget "$id")" 'none that was lost elsewhere'

# --- the process that follows it is killed ---
id=$(jq -r .thread_id <<<"$(fork_async hello '{"who":"long","target":"remote:node"}')")
ok 'its first records are here' until_true test -e "$P/.ai/state/threads/$id/thread.json"
ok 'it naps' until_true asleep
follower() { jq .pid "$P/.ai/state/threads/$id/runner.json"; }
old=$(follower)
kill -9 "$old"
another() { [ "$(follower)" != "$old" ]; }
ok 'another one takes its place' until_true another
is 'a limit is heard there' "$(run threads limit "$id" turns=8 2>&1)" ''
kill "$(<"$T/naps")"
is 'it ends' "$(<"$threads/$id/wait")" completed
is 'its records are what it wrote there' "$(<"$threads/$id/integrity") $(<"$threads/$id/outputs/greeting")" 'ok 2 checkpoints At last.'
is 'what it has spent is in the ledger here' "$(sed -n '1p; /^actual/p' "$threads/$id/budget" | xargs)" \
  "status completed actual $(awk '$1 == "spend" { print $2 }' "$threads/$id/cost")"

# --- 19: children of a model's thread, all elsewhere ---
reply=$(fork parent '{}')
is 'a model starts children elsewhere' "$(jq -c '[.status,.outputs.done]' <<<"$reply")" '["success","yes"]'
id=$(jq -r .thread_id <<<"$reply")
for kid in $(ls "$threads/$id/children"); do run threads wait "$kid"; done >"$T/kids" 2>/dev/null
is 'as many as there is money for' "$(sort "$T/kids" | uniq -c | xargs)" '3 completed 17 error'
is 'they never held more than there was' \
  "$(row budget_ledger "SELECT count(*), sum(max_spend) <= 1 FROM budget_ledger WHERE parent_thread_id = '$id'")" '3 1'

# --- killed ---
id=$(jq -r .thread_id <<<"$(fork_async hello '{"who":"long","target":"remote:node"}')")
ok 'another naps' until_true asleep
echo kill >"$threads/$id/ctl"
is 'it is killed' "$(<"$threads/$id/wait")" killed
awake() { ! asleep; }
ok 'and all that it had started is gone' until_true awake
is 'nothing of it runs there' "$(ps -eo args | grep -c "thread-run.*[r]emote_thread")" 0
finish
