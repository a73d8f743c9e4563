#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every file of a model's thread below state/threads, what stands beside the threads, and the session
# that starts, follows and ends a thread by files alone.
. "$(dirname "$0")/agent_lib.sh"

agent_model '{"by": "turn", "lanes": {
  "lane_hello": [{"text": "Hello, Bob.", "usage": {"input": 100, "output": 20}}],
  "lane_work": [
    {"text": "Looking.", "reasoning": "hm", "calls": [{"id": "c1", "name": "t_count", "arguments": {"word": "abc"}}]},
    {"calls": [{"id": "c2", "name": "t_count", "arguments": {"word": "no", "fail": true}}]},
    {"calls": [{"id": "c3", "name": "directive_return", "arguments": {"greeting": "hi", "count": 3}}]},
    {"calls": [{"id": "c4", "name": "directive_return", "arguments": {"greeting": "again"}}]}],
  "lane_slow": [{"text": "Never.", "delay": 30}]}}'
fx_python "$P" t/count <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}, "fail": {"type": "boolean"}}, "required": ["word"]}
def execute(params, project_path):
    if params.get("fail"):
        return {"success": False, "error": "told to fail"}
    return {"success": True, "text": "x" * 6000}
CODE
agent_directive t/lane_hello '  </metadata>
  <inputs><input name="who" type="string" required="true">Whom</input></inputs>' <<<'Greet {input:who}.'
agent_directive lane_work '    <limits turns="9"/>
    <permissions><execute><tool>t.count</tool></execute></permissions>
  </metadata>
  <outputs><output name="greeting" type="string" required="true">the greeting</output>
  <output name="count" type="integer">how many</output></outputs>' <<<'Count.'
agent_directive lane_slow '  </metadata>' <<<'Wait.'
agent_sign tool:t/count
fx_mount
X=$M/state/threads

# ---- beside the threads, before there is one ----
is "the root before the first thread" "$(ls "$X" | tr '\n' ' ')" \
  "active budget by-directive by-id by-status ctl events new recent registry.tsv "
has "new tells what it wants, and starts nothing" "$(cat "$X/new"; wc -l <"$X/registry.tsv")" "new: write REF, or REF" 1
is "an empty farm" "$(ls "$X/active" "$X/by-id")" "$(printf '%s:\n\n%s:' "$X/active" "$X/by-id")"
is "a table with its head" "$(<"$X/registry.tsv")" "$(printf 'thread_id\tstatus\tdirective\tcreated\tupdated\tcompleted\tpid')"

# ---- the session, from each shell ----
for shell in bash dash; do
  cat >"$T/session" <<'SHELL'
cd "$1" || exit 1
id=$(exec 3<>new; echo 'directive:t/lane_hello {"who":"Bob","limit_overrides":{"turns":4}}' >&3; head -1 <&3)
cat "$id/wait"
cat "$id/result" "$id/status"
grep '^turns' "$id/limits"
cat "$id/directive"
id=$(exec 3<>new; echo 'directive:lane_work' >&3; head -1 <&3)
: <"$id/transcript.jsonl" && echo there
tail -s 0.1 -f "$id/transcript.jsonl" >"$2.all" &
all=$!
tail -s 0.1 -f "$id/live" >"$2" &
cat "$id/wait" "$id/outputs/greeting"
for i in 1 2 3 4 5 6 7 8 9 10; do [ -s "$2" ] || sleep 0.5; done
kill $!
cat "$2"
echo
for i in 1 2 3 4 5 6 7 8 9 10; do cmp -s "$2.all" "$id/transcript.jsonl" || sleep 0.5; done
cmp "$2.all" "$id/transcript.jsonl" && echo followed
kill $all
id=$(exec 3<>new; echo 'directive:lane_slow' >&3; head -1 <&3)
[ "$(grep -l running lane_*/*/status)" = "$id/status" ] && echo alone
echo cancel user asked >"$id/ctl"
cat "$id/wait"
echo verify >"$id/ctl" && echo signed
SHELL
  is "the session from $shell" "$(timeout 60 $shell "$T/session" "$X" "$T/live" 2>/dev/null | tr '\n' '|')" \
    "completed|Hello, Bob.|completed|turns 1 4|t/lane_hello|there|completed|hi|Looking.|followed|alone|cancelled|signed|"
  rm -f "$T/live"
done
like "two lines are two threads" "$(timeout 20 bash -c 'exec 3<>"$1"; echo directive:lane_work >&3; echo directive:lane_work >&3; cat <&3' - "$X/new" | sort -u | grep -c '^lane_work/lane_work-')" '^2$'
has "why a person has cancelled stands in the log" "$(<"$M/.ryefs/log")" "threads: thread lane_slow/" ": cancel user asked"
one() { timeout 20 bash -c 'exec 3<>"$1"; printf "%s\n" "$2" >&3 || exit; head -1 <&3' - "$X/new" "$1" 2>&1; }
like "a reference alone" "$(one 'directive:lane_work')" '^lane_work/lane_work-[0-9]+$'
like "without its kind" "$(one 'lane_work {}')" '^lane_work/lane_work-[0-9]+$'
like "the object of a call" "$(one '{"item_id": "directive:lane_work"}')" '^lane_work/lane_work-[0-9]+$'
like "a tool" "$(one 'tool:t/count {"word": "a"}')" '^[0-9a-f-]{36}$'
has "what is wrong with a line" "$(timeout 20 bash -c 'exec 3<>"$1"; echo "directive:none {}" >&3; cat <&3' - "$X/new" 2>&1)" 'none'
errno "a line that names nothing fails" ENOENT bash -c "echo 'directive:none' > $X/new"
errno "and bad inputs" EINVAL bash -c "echo 'directive:lane_work {\"a\":' > $X/new"
errno "and missing ones" EINVAL bash -c "echo 'directive:t/lane_hello' > $X/new"
ok "without a descriptor" bash -c "echo 'directive:lane_work' > $X/new"
like "the id is read later" "$(<"$X/new")" '^lane_work/lane_work-'

# ---- by file tools alone ----
none_active() { [ -z "$(ls "$X/active")" ]; }
ok "all those have ended" until_true none_active
mkdir -p "$M/calls/s1"
printf '{"item_id":"directive:lane_work","thread":"fork","async":true}' >"$M/calls/s1/request.json"
id=$(jq -r .thread_id "$M/replies/s1/reply.json")
is "started by a call" "$(exchange 30 "$X/$id/wait")" completed
is "its output, one file each" "$(cat "$X/$id/outputs/greeting" "$X/$id/outputs/count" | tr '\n' ' ')" "hi 3 "
slow=$(fork_async lane_slow | jq -r .thread_id)
is "active" "$(ls "$X/active")" "$(printf %s "$slow" | tr / :)"
not_ok "no result before the end" test -e "$X/$slow/result"
not_ok "nor outputs" test -e "$X/$slow/outputs"
errno "result.json, too" ENOENT cat "$X/$slow/result.json"
printf 'cancel user asked\n' >"$X/$slow/ctl"
is "cancelled" "$(exchange 20 "$X/$slow/wait")" cancelled
is "no more active" "$(ls "$X/active")" ""

# ---- the files of one ----
D=$X/$id
is "its directory" "$(ls "$D" | tr '\n' ' ')" "alive artifacts budget capabilities capabilities.md chain children completed cost created ctl directive error inputs.json integrity limits live messages.json model output outputs pid prompt.md provider request.json result result.json spawn.log status system.md thread.json tools transcript.jsonl transcript.md turns updated warnings "
has "warnings" "$(<"$D/warnings")" elevated
is "model" "$(<"$D/model")" test-model
has "provider" "$(<"$D/provider")" scripted
is "inputs.json" "$(jq -c . "$D/inputs.json")" '{}'
has "prompt.md" "$(<"$D/prompt.md")" 'Count.'
is "messages.json" "$(jq -c '[.[].role]' "$D/messages.json")" '["user","assistant","tool","assistant","tool","assistant","tool"]'
is "cost" "$(head -1 "$D/cost")" "turns 3"
is "limits" "$(grep -c ' ' "$D/limits")" 6
has "budget" "$(<"$D/budget")" "status completed" "max 5" "remaining"
has "capabilities" "$(<"$D/capabilities")" rye.execute.tool.t.count
is "tools" "$(ls "$D/tools" | tr '\n' ' ')" "directive_return.json t_count.json "
is "a tool" "$(jq -r .name "$D/tools/t_count.json")" t_count
is "turns" "$(ls "$D/turns" | tr '\n' ' ')" "001 002 003 "
sleep 0.1 # the times of what is read have to be old
cat "$D/messages.json" "$D/integrity" "$D/model" >/dev/null
reads_of() { mark; cat "$@" >/dev/null; echo $(($(since read) - 1)); }
is "what the transcript is read for is made once" "$(reads_of "$D/messages.json" "$D/integrity" "$D/transcript.md")" 1
is "what is small, each time" "$(reads_of "$D/model")" 1
is "a turn's answer" "$(<"$D/turns/001/out")" Looking.
has "and input" "$(<"$D/turns/001/in")" Count.
is "its call" "$(jq -c . "$D/turns/001/tools/1-t_count/input.json")" '{"word":"abc"}'
has "its result" "$(<"$D/turns/001/tools/1-t_count/output")" xxxx
has "a failed one" "$(<"$D/turns/002/tools/1-t_count/error")" "told to fail"
has "what a turn cost" "$(<"$D/turns/001/cost")" "output"
is "artifacts, whole" "$(jq -r '.. | strings | select(length == 6000)' "$D"/artifacts/c1 | wc -c)" 6001
like "integrity" "$(<"$D/integrity")" '^ok [0-9] checkpoints$'
has "transcript.md" "$(<"$D/transcript.md")" '# lane_work' 'Looking.'
errno "a file below a file" ENOTDIR cat "$D/turns/001/out/x"
errno "a turn that was not" ENOENT ls "$D/turns/004"
is "every listed name can be read" "$(find "$D" -type f ! -name ctl -exec cat {} + 2>&1 >/dev/null)" ""
files() { find "$D" -type f ! -name ctl ! -name wait -exec "$@" {} + | sed 's/^ *//; / total$/d' | sort; }
is "sizes are true" "$(diff <(files stat -c '%s %n') <(files wc -c))" ""
like "of dozens of files" "$(files wc -c | wc -l)" '^[0-9]{2,}$'
chmod u+w "$P/.ai/state/threads/$id/transcript.jsonl"
cp "$P/.ai/state/threads/$id/transcript.jsonl" "$T/kept"
sed -i 's/Looking/Lookinh/' "$P/.ai/state/threads/$id/transcript.jsonl"
has "a transcript that was changed" "$(<"$D/integrity")" "bad: Content hash mismatch"
is "shows at once" "$(<"$D/turns/001/out")" Lookinh.
cp "$T/kept" "$P/.ai/state/threads/$id/transcript.jsonl"

# ---- as another implementation leaves it ----
other=$(one 'lane_work {}')
exchange 20 "$X/$other/wait" >/dev/null
O=$P/.ai/state/threads/$other
jq -cn --arg id "$other" '{timestamp: 1.5, thread_id: $id, event_type: "thread_completed", payload: {}}' >>"$O/transcript.jsonl"
rm -f "$O/result.json" "$O/output" "$O/request.json" "$P/.ai/knowledge/agent/threads/$other.md"
like "T06 an unsigned end" "$(<"$X/$other/integrity")" '^ok [0-9] checkpoints, unsigned terminal tail$'
is "T06 its outputs" "$(<"$X/$other/outputs/greeting")" hi
is "T06 its last answer" "$(<"$X/$other/result")" "$(<"$X/$other/turns/001/out")"
has "T06 its page" "$(<"$X/$other/transcript.md")" '# lane_work'
has "T06 its reply, of the row" "$(<"$X/$other/result.json")" '"greeting"'
not_ok "T06 inputs that nobody has recorded are no file" test -e "$X/$other/inputs.json"

# A whole directory of one: an id with the launcher's process, results as Python writes them, its end
# told twice behind the last checkpoint.
foreign=t/hello/hello-1795185419393-22639-850b
"$PY" - "$E2E" "$P/.ai/state/threads" "$foreign" <<'CODE'
import hashlib, json, os, sqlite3, sys
sys.path.insert(0, sys.argv[1])
from signer import Key
key, threads, name = Key("00"), sys.argv[2], sys.argv[3]
cost = {"turns": 2, "input_tokens": 200, "output_tokens": 40, "spend": 0.4, "elapsed_seconds": 1.5, "_status": "completed"}
doc = {"thread_id": name, "directive": "t/hello", "tool_id": "rye/agent/threads/thread_directive", "status": "completed",
       "created_at": "2026-11-20T14:36:59.393000+00:00", "updated_at": "2026-11-20T14:37:01.000000+00:00", "model": "m-1",
       "cost": cost, "limits": {"turns": 6, "spend": 5.0, "spend_currency": "USD"}, "outputs": {"greeting": "hi", "count": 3}}
text = json.dumps(doc, sort_keys=True, separators=(",", ":"))
digest = hashlib.sha256(text.encode()).hexdigest()
doc["_signature"] = f"rye:signed:2026-11-20T14:37:01Z:{digest}:{key.sign(digest.encode())}:{key.name}"
os.makedirs(f"{threads}/{name}")
with open(f"{threads}/{name}/thread.json", "w") as f:
    f.write(json.dumps(doc, indent=2))
out = b""
def event(kind, **payload):
    global out
    line = {"timestamp": 1795185419.5 + out.count(b"\n"), "thread_id": name, "event_type": kind, "payload": payload}
    out += (json.dumps(line) + "\n").encode()
def checkpoint(turn):
    digest = hashlib.sha256(out).hexdigest()
    event("checkpoint", turn=turn, byte_offset=len(out), hash=digest, sig=key.sign(digest.encode()), fp=key.name, ts="2026-11-20T14:37:00Z")
event("cognition_in", text="Greet.", role="user")
event("cognition_out", text="I look.", model="m-1")
event("tool_call_start", tool="t_count", call_id="c0", input={"word": "abc"})
event("tool_call_result", call_id="c0", output="{'status': 'success', 'ok': True, 'none': None}")
event("checkpoint_saved", turn=1)
checkpoint(1)
event("cognition_in", text="{'status': 'success', 'ok': True, 'none': None}", role="tool")
event("cognition_out", text="Greeted.", model="m-1")
event("directive_return", outputs=doc["outputs"], cost=cost)
checkpoint(2)
event("thread_completed", cost={k: v for k, v in cost.items() if k != "_status"})
event("thread_completed", cost=cost)
with open(f"{threads}/{name}/transcript.jsonl", "wb") as f:
    f.write(out)
db = sqlite3.connect(f"{threads}/registry.db")
db.execute("insert into threads (thread_id, directive, status, created_at, updated_at, completed_at, result, tool_id) values (?,?,?,?,?,?,?,?)",
           (name, "t/hello", "completed", doc["created_at"], doc["updated_at"], doc["updated_at"],
            json.dumps({"cost": cost, "outputs": doc["outputs"]}), doc["tool_id"]))
db.commit()
CODE
F=$X/$foreign
# rows as no program writes them
"$PY" - "$P/.ai/state/threads/registry.db" <<'CODE'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for i, (status, directive) in enumerate((("", "t/odd"), ("a/b", ""), ("..", ".."), ("error", "d" * 4000), (".", "."))):
    db.execute("insert into threads (thread_id, directive, status, created_at, updated_at) values (?, ?, ?, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')",
               ("t/odd/odd-%d" % i, directive, status))
db.commit()
CODE
odd() { ls -1 "$X/by-status" "$X/by-directive" | grep -xE '_|a:b|t:odd|s+|d+|\.+' | tr '\n' ' '; }
is "T06 rows with states that are none can be listed" "$(odd)" "_ t:odd _ a:b "
is "T06 a foreign thread is listed" "$(ls "$X/t/hello")" "${foreign##*/}"
is "T06 its status and directive" "$(cat "$F/status" "$F/directive" "$F/wait" | tr '\n' ' ')" "completed t/hello completed "
is "T06 its result" "$(<"$F/result")" "Greeted."
is "T06 each of its outputs" "$(cat "$F/outputs/greeting" "$F/outputs/count" | tr '\n' ' ')" "hi 3 "
is "T06 what it cost" "$(head -n 3 "$F/cost" | tr '\n' ' ')" "turns 2 input_tokens 200 output_tokens 40 "
is "T06 it is what its thread wrote" "$(<"$F/integrity")" "ok 2 checkpoints, unsigned terminal tail"
is "T06 a result as Python writes it" "$(<"$F/turns/001/tools/1-t_count/output")" "{'status': 'success', 'ok': True, 'none': None}"
is "T06 its conversation" "$(jq -c '[.[].role]' "$F/messages.json")" '["user","assistant","tool","assistant"]'
has "T06 the command line shows it" "$("$RYEFS" threads --project "$P" --user "$U" --system "$S" show "$foreign" 2>&1)" completed Greeted

# ---- a chain ----
printf 'resume and once more\n' >"$D/ctl"
ok "the next one" until_true test -e "$D/chain/next"
next=$(basename "$(dirname "$(readlink "$D/chain/next")")")/$(basename "$(readlink "$D/chain/next")")
is "leads to it" "$(exchange 20 "$D/chain/next/wait")" completed
is "and back" "$(<"$D/chain/next/chain/prev/directive")" lane_work
is "result follows the chain" "$(<"$D/result.json")" "$(<"$D/chain/next/result.json")"

# ---- beside the threads ----
enc=$(printf %s "$id" | tr / :)
is "by-id" "$(readlink "$X/by-id/$enc")" "../$id"
is "leads there" "$(<"$X/by-id/$enc/directive")" lane_work
ok "as it was spelt once" test -e "$X/by-id/$(printf %s "$id" | sed 's,/,%2F,g')/directive"
is "by-status" "$(ls "$X/by-status/cancelled" | tail -n 1)" "$(printf %s "$slow" | tr / :)"
ok "by-directive" test -e "$X/by-directive/lane_work/$enc/status"
ok "recent" test -e "$X/recent/$enc/status"
has "registry.tsv" "$(<"$X/registry.tsv")" "$(printf '%s\tcancelled\tlane_slow' "$slow")"
has "budget" "$(<"$X/budget")" "$(printf '%s\t\tcompleted\t' "$next")"
is "events" "$(jq -r "select(.thread_id == \"$slow\") | .event" "$X/events" | tr '\n' ' ')" "created running cancelled "
# from the beginning: tail has opened the file when the first of it is there
tail -n +1 -s 0.1 -f "$X/events" >"$T/events" &
follower=$!
ok "events can be followed" until_true test -s "$T/events"
one 'directive:lane_work' >"$T/id"
ok "events are followed" until_true grep -q "$(<"$T/id")" "$T/events"
kill $follower
errno "an unknown verb of all" EINVAL bash -c "echo explode > $X/ctl"
slow=$(one directive:lane_slow)
ok "cancel-all" bash -c "echo cancel-all > $X/ctl"
is "ends it" "$(exchange 20 "$X/$slow/wait")" cancelled
ok "recover" bash -c "echo recover > $X/ctl"

# what launchers that were killed have left: no row, no launcher, no more than it puts there before both
THREADS=$P/.ai/state/threads
kept=$THREADS/work/notes-1700000000/mine
mkdir -p "$THREADS/lane_child/lane_child-1700000001" "$THREADS/deep/er/one-1700000002" "$THREADS/one-1700000003" "$kept"
for left in lane_child/lane_child-1700000001 deep/er/one-1700000002 one-1700000003; do
  echo '{}' >"$THREADS/$left/request.json"
  : >"$THREADS/$left/.lock"
done
: >"$THREADS/$slow/.rye-0123456789abcdef.tmp"
ok "gc" bash -c "echo gc > $X/ctl"
is "takes them away" "$(find "$THREADS" -name '*-170000000[1-3]'; ls -A "$THREADS/$slow" | grep '^\.rye')" ""
ok "and nothing else" test -d "$kept"
has "nor the thread that has a row" "$(<"$X/$slow/status")" cancelled
ok "all have ended" until_true none_active
is "find terminates and finds no fault" "$(timeout 60 find "$X" 2>&1 >/dev/null)" ""

# ---- times ----
# $id has ended long ago: what it shows is as old as that, not as the look at it
touch "$T/ref"
is "nothing of an ended thread is newer than a look" "$(find "$X/$id" "$X/by-id/$enc" -newer "$T/ref" 2>&1)" ""
is "its files have the time of its record" "$(date -u -r "$X/$id/status" +%Y-%m-%dT%H:%M:%S.%6N+00:00)" "$(<"$X/$id/updated")"
is "links to it as well" "$(stat -c %Y "$X/by-id/$enc")" "$(stat -c %Y "$X/$id/status")"
times() { (cd "$X" && find "$id" by-id/"$enc" ! -name ctl -printf '%p %T@\n' | sort); }
times >"$T/times"
if need rsync; then
  rsync -rlt "$X/$id/" "$T/copied/"
  is "rsync takes it once" "$(rsync -rlt --out-format=%n "$X/$id/" "$T/copied/")" ""
fi
if need rclone; then
  works "rclone copies it" rclone --config /dev/null copy --links "$X/$id" "$T/cloned"
  works "and finds it copied" rclone --config /dev/null check --links --size-only "$X/$id" "$T/cloned"
fi
# ---- big ones ----
real=$P/.ai/state/threads/$foreign/result.json
"$PY" -c 'import json, sys; json.dump({"status": "completed", "data": "x" * (12 << 20)}, open(sys.argv[1], "w"))' "$real"
ok "a result of 12 MiB is whole" cmp "$real" "$F/result.json"
truncate -s 64M "$real"
truncate -s 64M "$real"
ok "one of 64 MiB, too" cmp "$real" "$F/result.json"
works "its directory is listed with all it has" ls -l "$F"
rm "$real"
said=$P/.ai/state/threads/$foreign/output
head -c 40M /dev/zero | tr '\0' x >"$said"
ok "what a tool has printed is whole, too" cmp "$said" "$F/output"
rm "$said"
ok "the mount ends" umount_rye
fx_mount
is "another mount tells the same times" "$(times)" "$(<"$T/times")"

# ---- a transcript that is longer than one of ours can be ----
id=$(one 'directive:lane_work')
D=$X/$id
is "one more thread" "$(exchange 30 "$D/wait")" completed
real=$P/.ai/state/threads/$id/transcript.jsonl
cp "$real" "$T/short"
said=$(jq length "$D/messages.json")
"$PY" - "$id" >>"$real" <<'PY'
import json, sys
text = "w" * (1 << 20)
for _ in range(70):
    print(json.dumps({"thread_id": sys.argv[1], "event_type": "token_delta", "payload": {"text": text}}))
PY
has "all of it is looked at" "$(<"$D/integrity")" "bad: Unsigned content after last checkpoint (734"
is "and what was said is told" "$(jq length "$D/messages.json")" "$said"
ok "turn by turn, too" eval 'ls "$D/turns" | grep -qx 001'
cp "$T/short" "$real"
truncate -s 200M "$real"
has "it is not called unsigned" "$(<"$D/integrity")" "bad: $id/transcript.jsonl has a line of more than 64 MiB"
errno "it is not taken apart" EACCES cat "$D/messages.json"
has "the name is a link to the reason" "$(readlink "$D/messages.json")" "/knowledge/.why/EFBIG: transcript.jsonl has a line of more than 64 MiB"
works "so programs that look at each name go on" ls -lR "$D"
ok "and so does scandir" "$PY" -c 'import os, sys; [e.stat(follow_symlinks=False) for e in os.scandir(sys.argv[1])]' "$D"
has "and the reader is told why" "$(<"$M/.ryefs/errors")" "messages.json" "has a line of more than 64 MiB"
is "it is shown whole" "$(wc -c <"$D/transcript.jsonl")" $((200 << 20))
ok "its directory is listed" eval 'ls "$D" | grep -qx messages.json'
errno "it cannot be gone on with" EFBIG bash -c "echo resume more > $D/ctl"
has "which says why" "$(<"$D/ctl")" "has a line of more than 64 MiB"
has "the command line, too" "$(run threads show "$id")" "bad: $id/transcript.jsonl has a line of more than 64 MiB"

finish
