#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What is said to threads: each verb of `ctl`, of one and of all, and what it answers; the file that
# cancels; what is shown of a limit that was changed; what a deleted and a killed thread leave behind.
. "$(dirname "$0")/agent_lib.sh"

NAP='{"calls": [{"name": "t_nap", "arguments": {}}]}'
agent_model '{"by": "turn", "lanes": {
  "lane_quick": [{"calls": [{"name": "t_step", "arguments": {}}]}, {"text": "quick"}],
  "lane_parent": [{"calls": [{"name": "t_wait", "arguments": {}},
    {"name": "rye_execute", "arguments": {"item_id": "directive:lane_quick", "thread": "fork"}}]}, {"text": "both"}],
  "lane_nap": ['"$NAP"', {"text": "awake"}],
  "lane_slow": [{"text": "slow", "delay": 60}]
}}'
tool() { # NAME CODE: a tool that a model is offered
  fx_python "$P" t/"$1" <<CODE
CONFIG_SCHEMA = {"type": "object", "properties": {}}
import os, time
def execute(params, project_path):
    os.chdir(project_path)
    $2
    return {"success": True, "text": "a step"}
CODE
}
tool step 'pass'
tool wait '[time.sleep(0.05) for i in range(800) if not os.path.exists("go")]'
agent_naps
fx_tool "$P" t/sleep 'sleep 60'
ALL='    <permissions><execute><tool>t.*</tool><directive>*</directive></execute></permissions>
  </metadata>'
for name in quick parent nap slow; do
  agent_directive lane_$name "$ALL" <<<'Go.'
done
agent_sign tool:t/step tool:t/sleep tool:t/wait tool:t/nap
agent_runtime
fx_mount
X=$M/state/threads
THREADS=$P/.ai/state/threads
ended() { timeout 20 cat "$X/$1/wait"; }
busy() { like "$1" "$("${@:2}" 2>&1)" 'Device or resource busy'; }
sockets() { find "$XDG_RUNTIME_DIR/ryefs" -type s | wc -l; }

# ---- verify ----
reply=$(fork lane_quick)
quick=$(jq -r .thread_id <<<"$reply")
has "what ctl is for" "$(<"$X/$quick/ctl")" verify cancel
has "and that of all" "$(<"$X/ctl")" drain reload
ok "verify" bash -c "echo verify > $X/$quick/ctl"
like "is answered in a file" "$(bash -c "echo verify > $X/$quick/ctl; cat $X/$quick/ctl")" '^ok [0-9] checkpoints$'
like "and on a descriptor" "$(bash -c 'exec 3<>"$1"; printf verify >&3; cat <&3' - "$X/$quick/ctl")" '^ok [0-9] checkpoints$'
is "each of several" "$(bash -c 'exec 3<>"$1"; echo verify >&3; head -n 1 <&3; echo verify >&3; head -n 1 <&3' - "$X/$quick/ctl" | sort -u | wc -l)" 1
like "from the command line" "$(run threads verify "$quick")" '^ok [0-9] checkpoints$'
is "that says what it is of" "$(run threads verify "$quick" --json | jq -r '.status, .id' | tr '\n' ' ')" "success $quick "
cp "$THREADS/$quick/transcript.jsonl" "$T/kept"
sed -i '0,/a step/s//a stop/' "$THREADS/$quick/transcript.jsonl"
errno "of one that was changed" EBADMSG bash -c "echo verify > $X/$quick/ctl"
has "and where" "$(tail -n 1 "$M/.ryefs/errors")" "thread $quick ctl: bad: Content hash mismatch at turn 1"
has "in the command line, too" "$(run threads verify "$quick")" "bad: Content hash mismatch at turn 1"
not_ok "which fails" "$RYEFS" threads verify "$quick" --project "$P"
cp "$T/kept" "$THREADS/$quick/transcript.jsonl"
ok "of one that was put back" bash -c "echo verify > $X/$quick/ctl"
tool=$(run execute tool:t/sleep --async -q)
errno "of a tool's there is nothing to verify" ENOENT bash -c "echo verify > $X/$tool/ctl"

# ---- the file that cancels ----
ok "made through the mount" touch "$X/$tool/.cancel_requested"
is "cancels" "$(ended "$tool")" cancelled
busy "too late" touch "$X/$tool/.cancel_requested"
has "and its sentence" "$(tail -n 1 "$M/.ryefs/errors")" "has ended already"
errno "nothing else can be made there" EROFS touch "$X/$tool/other"
errno "nor beside the threads" EROFS touch "$X/.cancel_requested"
errno "nor removed" EROFS rm "$X/$tool/status"
tool=$(run execute tool:t/sleep --async -q)
until_true test -e "$THREADS/$tool/live"
touch "$THREADS/$tool/.cancel_requested"
is "made on disk, of a tool" "$(ended "$tool")" cancelled
id=$(fork_async lane_slow | jq -r .thread_id)
until_true grep -q cognition_in "$THREADS/$id/transcript.jsonl"
: >"$T/mark" && mv "$T/mark" "$THREADS/$id/.cancel_requested"
is "made on disk, of a model's" "$(ended "$id")" cancelled
ok "it is gone then" until_true test ! -e "$THREADS/$id/.cancel_requested"
is "and the end is signed" "$(events "$id" .event_type | tail -n 2 | tr '\n' ' ')" '"thread_cancelled" "checkpoint" '
id=$(fork_async lane_slow | jq -r .thread_id)
ok "by redirection, just begun" bash -c "echo stop > $X/$id/.cancel_requested"
is "cancels as well" "$(ended "$id")" cancelled

# ---- limits ----
id=$(fork_async lane_nap | jq -r .thread_id)
until_true test -e "$P/naps"
is "the limits that it began with" "$(grep '^turns' "$X/$id/limits")" "turns 1 25"
ok "a limit is changed" bash -c "echo limit turns=9 > $X/$id/ctl"
is "shown at once" "$(grep '^turns' "$X/$id/limits")" "turns 1 9"
ok "more money" bash -c "echo limit spend=7.5 > $X/$id/ctl"
is "is shown" "$(grep '^spend' "$X/$id/limits" | cut -d ' ' -f 3)" 7.5
is "and in the ledger" "$(grep '^max' "$X/$id/budget")" "max 7.5"
errno "none that is none" EINVAL bash -c "echo limit turnips=9 > $X/$id/ctl"
touch "$P/wake"
is "it goes on" "$(ended "$id")" completed
is "its record has them" "$(jq -c '[.limits.turns, .limits.spend]' "$THREADS/$id/thread.json")" "[9,7.5]"
ok "and verifies" bash -c "echo verify > $X/$id/ctl"

# ---- what is left behind ----
is "its row of the ledger" "$(row budget_ledger "select status from budget_ledger where thread_id='$id'")" completed
ok "delete" bash -c "echo delete > $X/$id/ctl"
not_ok "takes the directory" test -e "$THREADS/$id"
is "the row" "$(row registry "select count(*) from threads where thread_id='$id'")" 0
is "and that of the ledger" "$(row budget_ledger "select count(*) from budget_ledger where thread_id='$id'")" 0
is "a runner that has ended leaves no socket" "$(sockets)" 0
id=$(fork_async lane_slow | jq -r .thread_id)
until_true grep -q cognition_in "$THREADS/$id/transcript.jsonl"
is "one that runs has one" "$(sockets)" 1
ok "kill" bash -c "echo kill > $X/$id/ctl"
is "ends it" "$(ended "$id")" killed
is "its reply names its directive as every reply does" "$(jq -r .item_id "$X/$id/result.json")" directive:lane_slow
id=$(fork_async lane_slow | jq -r .thread_id)
until_true grep -q cognition_in "$THREADS/$id/transcript.jsonl"
kill -9 "$(<"$X/$id/pid")"
is "killed" "$(ended "$id")" error
is "so does that of one that died" "$(jq -c '[.item_id, .state, .error]' "$X/$id/result.json")" \
  '["directive:lane_slow","error","Process died (signal 9)"]'
is "it has none" "$(sockets)" 0

# ---- drain, accept ----
rm -f "$P/go"
id=$(fork_async lane_parent | jq -r .thread_id)
until_true grep -q tool_call_start "$THREADS/$id/transcript.jsonl"
ok "drain" bash -c "echo drain > $X/ctl"
has "no new threads of directives" "$(fork lane_quick | jq -r .error)" "no new threads" "echo accept"
has "nor by new" "$(bash -c "echo directive:lane_quick > $X/new" 2>&1)" "Resource temporarily unavailable"
has "nor of tools, from the command line" "$(run execute tool:t/sleep --async)" "no new threads"
has "nor one that goes on" "$(run threads resume "$quick" more)" "no new threads"
touch "$P/go"
is "what runs starts its own, and completes" "$(ended "$id")" completed
has "with its child" "$(ls "$X/$id/children")" lane_quick
ok "accept" bash -c "echo accept > $X/ctl"
is "again" "$(fork lane_quick | jq -r .result)" quick
ok "drain once more" bash -c "echo drain > $X/ctl"
umount_rye
is "it ends with the mount" "$(run execute directive:lane_quick --fork | tail -n 1)" quick
fx_mount

# ---- reload ----
fx_put "$P" tools/t/late.sh <<<'x'
ok "reload" bash -c "echo reload > $X/ctl"
is "is answered" "$(bash -c "echo reload > $X/ctl; cat $X/ctl")" ok
is "what was there is there" "$(fork lane_quick | jq -r .result)" quick
errno "an unknown verb of all" EINVAL bash -c "echo explode > $X/ctl"
has "says which there are" "$(tail -n 1 "$M/.ryefs/errors")" "threads ctl: unknown verb explode: one of accept, cancel-all"

# ---- one write is one verb, of whatever size it is ----
wrote() { "$PY" -c 'import os, sys; os.write(os.open(sys.argv[1], os.O_WRONLY), sys.argv[2].encode() * int(sys.argv[3]))' "$@"; }
last() { tail -n 1 "$M/.ryefs/errors" | cut -d' ' -f2-; }
errno "a few verbs in one write" EINVAL wrote "$X/$quick/ctl" $'verify\n' 3
is "are refused in one line" "$(last)" "thread $quick ctl: several lines in one write: one verb is wanted, of apply, cancel, delete, forget, handoff, kill, limit, resume, say, verify"
errno "those of all, too" EINVAL wrote "$X/ctl" $'reload\n' 3
is "in one line" "$(last)" "threads ctl: several lines in one write: one verb is wanted, of accept, cancel-all, drain, gc, recover, reload"
for file in "$X/$quick/ctl" "$X/ctl"; do
  errno "two million verbs in one write" EINVAL wrote "$file" $'verify\n' 2000000
  has "are refused" "$(last)" "ctl: one verb of 4096 bytes at most is wanted"
done
ok "many messages in one write are run one by one" wrote "$M/fetch" '{"item_id": "tool:t/sleep"}' 20000
is "and verbs are heard" "$(bash -c "echo verify > $X/$quick/ctl; cat $X/$quick/ctl" | cut -d' ' -f1)" ok

finish
