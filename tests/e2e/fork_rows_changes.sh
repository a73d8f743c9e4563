#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_rows_changes.sh: numbered cases of what changes around threads: their directives, the key that
# signs them, a hook's item, the environment of a shell, another project; and tools that are detached.
. "$(dirname "$0")/agent_lib.sh"

NAP='{"calls": [{"name": "t_nap", "arguments": {}}]}'
agent_model '{"by": "turn", "lanes": {
  "lane_plain": [{"text": "plainly"}, {"text": "again"}, {"text": "once more"}],
  "name=\\\"lane_tool\\\"": [{"calls": [{"name": "t_starts", "arguments": {}}]}, {"text": "told"}],
  "lane_edited": ['"$NAP"', {"text": "as it was"}, {"text": "never asked"}],
  "lane_gone": ['"$NAP"', {"text": "still there"}, {"text": "never asked"}],
  "lane_hooked": [{"text": "never asked"}],
  "lane_slow": [{"text": "told at last", "delay": 4}],
  "lane_big": [{"calls": [{"id": "g1", "name": "t_big", "arguments": {}}, {"id": "g2", "name": "t_big", "arguments": {}}]}, {"text": "big"}]
}}'
agent_naps
fx_python "$P" t/big <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {}}
def execute(params, project_path):
    return {"success": True, "text": "BEGIN" + "x" * 1000000 + "END"}
CODE
fx_python "$P" t/word <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}}
def execute(params, project_path):
    print("said " + params["word"])
    return {"success": True, "word": params["word"]}
CODE
fx_python "$P" t/named <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {}}
import os
def execute(params, project_path):
    return {"success": True, "named": os.environ.get("RYE_PARENT_THREAD_ID")}
CODE
fx_python "$P" t/starts <<CODE
CONFIG_SCHEMA = {"type": "object", "properties": {}}
import os, subprocess
def execute(params, project_path):
    words = [os.environ["RYE_RYEFS"], "execute", "directive:lane_plain", "--fork", "-q"]
    spaces = ["--project", project_path, "--user", "$U", "--system", "$S"]
    done = subprocess.run(words + spaces, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return {"success": True, "said": done.stdout.strip()}
CODE
fx_knowledge "$P" ctx/hook "Text of the hook."
ALL='    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>'
for name in plain tool edited gone slow big; do agent_directive lane_$name "$ALL" <<<'Go.'; done
agent_directive lane_hooked '    <hooks><hook id="k" event="thread_started"><action kind="knowledge" item_id="ctx/hook"/></hook></hooks>
  </metadata>' <<<'Go.'
agent_sign tool:t/nap tool:t/big tool:t/word tool:t/named tool:t/starts knowledge:ctx/hook
allow '^ryefs: (info refused: )?(execute|thread)|key'
fx_mount
THREADS=$P/.ai/state/threads
X=$M/state/threads
run() { timeout 60 "$RYEFS" "$@" --project "$P" --user "$U" --system "$S" 2>&1; }
row() { "$PY" -c 'import sqlite3, sys; print(*(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone() or ()))' "$THREADS/registry.db" "$1"; }
resumed() { converse "$M/execute" "{\"resume_thread_id\": \"$1\", \"message\": \"go on\"}"; }

# ---- detached tools ----
# a reader that looks at all rows, all the time: those that have completed and have no result
"$PY" - "$THREADS/registry.db" "$T/looked" >"$T/bare" <<'CODE' &
import os, sqlite3, sys, time
end, bare, looks = time.time() + 60, set(), 0
while time.time() < end and not os.path.exists(sys.argv[2]):
    try:
        db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
        bare |= {row[0] for row in db.execute("select thread_id from threads where status='completed' and result is null")}
        looks += 1
        db.close()
    except sqlite3.Error:
        time.sleep(0.01)
print(len(bare), looks > 0)
CODE
LOOKER=$!
for i in 1 2 3 4 5 6; do
  id=$(converse "$M/tools/t/word/async" '{"word": "hello"}' | jq -r .thread_id)
  is "T03 a detached tool's end" "$(exchange 20 "$X/$id/wait")" completed
done
touch "$T/looked"
wait $LOOKER
is "T03 no row is completed without its result" "$(<"$T/bare")" "0 True"
like "T03 its id" "$id" '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'
has "T03 its log" "$(<"$THREADS/$id/spawn.log")" "said hello"
is "T03 its row has the whole reply" "$(row "select result from threads where thread_id='$id'" | jq -c '[.status, .type, .item_id, (.data | tostring | contains("hello"))]')" \
  '["success","tool","tool:t/word",true]'
like "T03 and when it ended" "$(row "select completed_at from threads where thread_id='$id'")" '^[0-9]{4}-'

# ---- two projects ----
cp -r "$P" "$T/other"
rm -rf "$T/other/.ai/state"
other() { timeout 60 "$RYEFS" "$@" --project "$T/other" --user "$U" --system "$S" 2>&1; }
run execute directive:lane_plain --fork --json >"$T/a" &
one=$!
other execute directive:lane_plain --fork --json >"$T/b"
wait $one
a=$(jq -r .thread_id "$T/a")
b=$(jq -r .thread_id "$T/b")
is "T09 both end" "$(jq -r .result "$T/a" "$T/b" | tr '\n' ' ')" "plainly plainly "
is "T09 each lists its own" "$(run threads --json | jq -r '.[] | select(.directive == "lane_plain") | .id') $(other threads --json | jq -r '.[].id')" "$a $b"
is "T09 the ledgers are two" "$("$PY" -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute("select count(*) from budget_ledger").fetchone())' "$T/other/.ai/state/threads/budget_ledger.db")" 1
[ "$a" = "$b" ] || has "T09 nor can one be resumed in the other" "$(other threads resume "$a" go on)" "Thread not found"

# ---- a parent that the environment names ----
count=$(row "select count(*) from threads")
left=$(find "$THREADS" -type d | sort)
named() { # PARENT WORD...: the command's words, and how it ended
  local parent=$1
  shift
  echo "$(RYE_PARENT_THREAD_ID=$parent run "$@") exit $?"
}
said=$(named none/none-1 execute directive:lane_plain --fork)
has "F29 a parent that is not there is named" "$said" "parent thread none/none-1" "RYE_PARENT_THREAD_ID" "unset RYE_PARENT_THREAD_ID" "exit 3"
has "F29 and for a program" "$(named none/none-1 execute directive:lane_plain --fork --json)" '"status":"error"' '"code":"not_found"' 'none/none-1' '"mend":"unset RYE_PARENT_THREAD_ID"'
has "F29 nor is it waited for" "$(named none/none-1 execute directive:lane_plain --async)" "none/none-1" "exit 3"
has "F29 nor does one go on" "$(named none/none-1 threads resume "$a" go on)" "none/none-1" "exit 3"
has "F29 no name leads elsewhere" "$(named "../$a" execute directive:lane_plain --fork)" "parent thread ../$a" "exit 3"
has "F29 one that has ended" "$(named "$a" execute directive:lane_plain --fork)" "parent thread $a" "has ended: completed" "unset RYE_PARENT_THREAD_ID"
is "F29 nothing is registered" "$(row "select count(*) from threads") $(find "$THREADS" -type d | sort | cmp - <(echo "$left") && echo same)" "$count same"
id=$(fork_async lane_slow | jq -r .thread_id)
has "F29 one that lives takes no child by its name" "$(named "$id" execute directive:lane_plain --fork)" "parent thread $id" "only the model of a thread" "exit 5"
is "F29 it has none" "$(row "select count(*) from threads where parent_id='$id'")" 0
echo cancel >"$X/$id/ctl"
exchange 20 "$X/$id/wait" >/dev/null
has "F29 what starts no thread does not ask" "$(named none/none-1 execute tool:t/word word=hello)" "said hello" "exit 0"
is "F29 an empty one is none" "$(named "" execute directive:lane_plain --fork | tail -n 1)" "plainly exit 0"
# the mount is a server of its own: neither its writer's environment nor its own counts, and no tool has it
umount_rye
RYE_PARENT_THREAD_ID=none/none-1 fx_mount
id=$(RYE_PARENT_THREAD_ID=none/none-1 bash -c 'exec 3<>"$1"; echo directive:lane_plain >&3; head -1 <&3' - "$X/new")
is "F29 new ignores it" "$(exchange 20 "$X/$id/wait") $(row "select parent_id is null from threads where thread_id='$id'")" "completed 1"
is "F29 a tool does not have it" "$(converse "$M/tools/t/named/run" '{}' | jq -r .data.named)" null
# one that a tool of a thread would start lives of nothing that was handed on, with or without a sandbox
for sandbox in auto off; do
  umount_rye
  fx_mount sandbox=$sandbox
  count=$(row "select count(*) from threads")
  reply=$(fork lane_tool)
  is "F29 $sandbox: a thread whose tool would start one" "$(jq -r .state <<<"$reply")" completed
  # in a sandbox the rows are not to be seen either
  like "F29 $sandbox: starts none" "$(events "$(jq -r .thread_id <<<"$reply")" 'select(.event_type == "tool_call_result") | .payload.output')" \
    "a tool of thread $(jq -r .thread_id <<<"$reply") starts none: only the model$([ $sandbox = off ] || echo '|Read-only file system')"
  is "F29 $sandbox: there is no other" "$(($(row "select count(*) from threads") - count))" 1
done
# a person's tool may
is "F29 a tool of no thread starts one" "$(converse "$M/tools/t/starts/run" '{}' | jq -r .data.said | tail -n 1)" plainly
umount_rye
fx_mount

# ---- directives that change ----
napping() { # NAME: its thread naps; its id is in $id
  rm -f "$P/naps" "$P/wake"
  id=$(fork_async "$1" | jq -r .thread_id)
  until_true test -e "$P/naps"
}
napping lane_edited
sed -i 's/author>tests/author>others/' "$P/.ai/directives/lane_edited.md"
touch "$P/wake"
is "F41 a thread whose directive was changed goes on" "$(exchange 20 "$X/$id/wait") $(<"$X/$id/result")" "completed as it was"
reply=$(resumed "$id")
has "F41 it is verified anew for a resume" "$(jq -r .error <<<"$reply")" "directive:lane_edited" "ryefs sign"
is "F41 nobody was asked" "$(asks 'never asked')" 0
is "F41 the old one is as it was" "$(<"$X/$id/status") $(row "select continuation_thread_id from threads where thread_id='$id'")" "completed None"
is "F41 with its transcript" "$(events "$id" .event_type | tail -n 1)" '"checkpoint"'
napping lane_gone
rm "$P/.ai/directives/lane_gone.md"
touch "$P/wake"
is "F41 as does one whose directive is gone" "$(exchange 20 "$X/$id/wait") $(<"$X/$id/result")" "completed still there"
has "F41 which cannot be resumed" "$(resumed "$id" | jq -r .error)" "lane_gone"

# ---- a hook's item that was changed ----
sed -i 's/Text of the hook/Text of another/' "$P/.ai/knowledge/ctx/hook.md"
before=$(asks lane_hooked)
has "T42 a hook's item that does not verify ends it" "$(fork lane_hooked | jq -r '.state, .error')" error "ctx/hook"
is "T42 before any request" "$(asks lane_hooked)" "$before"

# ---- resumes ----
id=$(fork_async lane_slow | jq -r .thread_id)
until_true eval '[ "$(asks lane_slow)" -gt 0 ]'
echo cancel >"$X/$id/ctl"
is "T52 one that was cancelled" "$(exchange 20 "$X/$id/wait")" cancelled
cp "$THREADS/$id/thread.json" "$T/kept"
sed -i 's/"cancelled"/"completed"/' "$THREADS/$id/thread.json"
has "T52 a resume that fails" "$(resumed "$id" | jq -r .error)" "cannot be resumed"
is "T52 leaves the old row as it was" "$(row "select status, continuation_thread_id from threads where thread_id='$id'")" "cancelled None"
cp "$T/kept" "$THREADS/$id/thread.json"
reply=$(resumed "$id")
is "T52 is gone on with" "$(jq -r '.state, .result' <<<"$reply" | tr '\n' ' ')" "completed told at last "

# ---- results that are too long ----
id=$(fork lane_big | jq -r .thread_id)
jq -c 'select(.body) | .body' "$T/asked" | grep lane_big | tail -n 1 | jq -r '.messages[] | select(.role == "tool") | .content' >"$T/told"
is "T25 each within its limit, with its head, its tail and a path" \
  "$(jq -c 'select(.body) | .body' "$T/asked" | grep lane_big | tail -n 1 | jq -c '[.messages[] | select(.role == "tool") | .content |
    (utf8bytelength <= 2400 and test("BEGIN") and test("END") and test("the whole result is .ai/state/objects/blobs/"))]')" '[true,true]'
path=$(grep -o '.ai/state/objects/blobs/[0-9a-f/]*' "$T/told" | sort -u)
is "T25 the path has all of it" "$(jq '.. | strings | select(length > 1000) | length' "$P/$path")" 1000008
is "T25 so have its artifacts" "$(for call in g1 g2; do jq '.. | strings | select(length > 1000) | length' "$X/$id/artifacts/$call"; done | sort -u)" 1000008
is "T25 stored once" "$(find "$P/.ai/state/objects/blobs" -type f -size +900k | wc -l)" 1

# ---- the key that signs records ----
id=$(fork lane_plain | jq -r .thread_id)
key=$(find "$U/.ai/config/keys" -path '*automatic*' -name 'private_key.pem')
cp "$key" "$T/key"
echo 'no key at all' >"$key"
reply=$(fork lane_plain)
has "F37 no thread without its key" "$(jq -r '.status, .error' <<<"$reply")" error key
like "F37 what was signed verifies" "$(<"$X/$id/integrity")" '^ok '
rm -rf "$(dirname "$key")"
next=$(fork lane_plain | jq -r .thread_id)
like "F37 another key is made, and trusted" "$(cat "$X/$next/status" "$X/$next/integrity" | tr '\n' ' ')" '^completed ok '
[ "$(jq -r '._signature' "$THREADS/$id/thread.json" | sed 's/.*://')" != "$(jq -r '._signature' "$THREADS/$next/thread.json" | sed 's/.*://')" ] &&
  good "F37 it is another one" || bad "F37 it is another one"
like "F37 the old one's records verify still" "$(<"$X/$id/integrity")" '^ok '
is "F37 and it can be resumed" "$(resumed "$id" | jq -r .result)" again
finish
