#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A registry that is damaged, emptied or gone: it is made anew of what the threads have left, once, and
# that is said once; under a mount and without one, also while threads run.
. "$(dirname "$0")/agent_lib.sh"

agent_model '{"by": "turn", "lanes": {
  "lane_parent": [{"calls": [{"name": "rye_execute", "arguments": {"item_id": "directive:lane_quick", "thread": "fork"}}]}, {"text": "both"}, {"text": "more"}],
  "lane_quick": [{"text": "quick", "usage": {"input": 100, "output": 20}}],
  "lane_slow": [{"text": "slow", "delay": 60}],
  "lane_while": [{"text": "while", "delay": 3}]
}}'
fx_tool "$P" t/echo 'echo told'
fx_tool "$P" t/fail 'exit 3'
fx_tool "$P" t/wait 'touch begun; until [ -e go ]; do sleep 0.05; done'
for name in quick parent slow while; do
  agent_directive lane_$name '    <permissions><execute><directive>*</directive></execute></permissions>
  </metadata>' <<<'Go.'
done
agent_sign tool:t/echo tool:t/fail tool:t/wait
THREADS=$P/.ai/state/threads
DB=$THREADS/registry.db
X=$M/state/threads
run() { timeout 60 "$RYEFS" "$@" --project "$P" --user "$U" --system "$S" 2>"$T/said"; }
table() {
  "$PY" -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute("select thread_id, directive, status, parent_id, turns, input_tokens, spend, spawn_count, continuation_of, continuation_thread_id, chain_root_id, tool_id, created_at, completed_at is null, result is null from threads order by thread_id"): print(row)' "$DB"
}
# what lies in the log beside it would hide the damage
damage() {
  "$PY" - "$DB" <<'CODE'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
db.execute("pragma wal_checkpoint(truncate)").fetchall()
db.close()
with open(sys.argv[1], "r+b") as f:
    f.write(b"no database at all, but a text that is long enough to be read as one" * 400)
CODE
}
allow 'registry.db'

# ---- without a mount ----
parent=$(run execute directive:lane_parent --fork --async -q)
run threads wait "$parent" >/dev/null
tool=$(run execute tool:t/echo --async -q)
failed=$(run execute tool:t/fail --async -q)
slow=$(run execute directive:lane_slow --fork --async -q)
gone=$(run execute tool:t/echo --async -q)
next=$(run threads resume "$parent" 'and more')
for id in "$tool" "$failed" "$gone" "$next"; do run threads wait "$id" >/dev/null; done
until_true grep -q cognition_in "$THREADS/$slow/transcript.jsonl"
run threads cancel "$slow"
is "cancelled" "$(run threads wait "$slow")" cancelled
run threads delete "$gone"
before=$(table)
listed=$(run threads list)
is "six threads" "$(wc -l <<<"$before")" 6

damage
is "F35 the list of a damaged one" "$(run threads list)" "$listed"
has "F35 is said" "$(<"$T/said")" "registry.db could not be read and was made anew" "of 6 threads"
is "F35 once" "$(run threads list >/dev/null; cat "$T/said")" ""
is "F35 nothing is lost" "$(table)" "$before"
ok "F35 the old one is kept" grep -q 'no database' "$DB.damaged"
is "F35 its parts are gone" "$(ls "$THREADS" -a | grep -E 'registry.*(new|tmp)')" ""
: >"$DB"
is "F35 of an empty one" "$(run threads list)" "$listed"
rm -f "$DB" "$DB-wal" "$DB-shm"
is "F35 of none" "$(run threads list)" "$listed"
is "F35 the same again" "$(table)" "$before"
# the log of all threads is lost, too: each directory tells its own row
rm -f "$THREADS"/events*.jsonl "$DB" "$DB-wal" "$DB-shm"
run threads list >/dev/null
is "F35 of the directories alone" "$(table)" "$before"
# as a build before has left them
rm -f "$THREADS"/events*.jsonl "$THREADS"/*/.row.jsonl "$THREADS"/*/*/.row.jsonl
damage
is "F35 without its log" "$(run threads list --json | jq -r '.[] | .id + " " + .directive' | sort)" "$(jq -rs 'sort | .[]' <<<"$(for id in "$parent" "$next" "$slow" "$(basename "$THREADS"/lane_quick/*)" "$tool" "$failed"; do echo "\"$id\""; done)" | sed "s/^lane_quick-/lane_quick\/&/" | while read -r id; do case $id in
  */*) echo "$id ${id%/*}" ;; "$tool") echo "$id tool:t/echo" ;; *) echo "$id tool:t/fail" ;; esac; done | sort)"
is "F35 how they ended" "$(for id in "$parent" "$next" "$slow" "$tool" "$failed"; do run threads show "$id" --json | jq -r .status; done | tr '\n' ' ')" "continued completed cancelled completed error "
is "F35 a new one" "$(run execute directive:lane_quick --fork)" quick

# ---- under a mount, while a thread runs ----
fx_mount
listed=$(ls "$X/by-id")
id=$(fork_async lane_while | jq -r .thread_id)
damage
is "F35 the mount lists them" "$(ls "$X/by-id" | wc -l)" "$(($(wc -l <<<"$listed") + 1))"
ok "F35 one that runs is one of them" test -e "$X/$id/status"
is "F35 and ends as it should" "$(exchange 20 "$X/$id/wait")" completed
is "F35 another one" "$(fork lane_quick | jq -r .result)" quick
is "F35 it is said once, by the process that finds it" "$(cat "$ERR" "$THREADS"/*/*/spawn.log | grep -c 'made anew')" 1
ok "F35 nothing is left open" until_true eval '! ls "$X/active" | grep -q .'
umount_rye
"$PY" - "$DB" <<'CODE'
import sys
with open(sys.argv[1], "r+b") as f: # a page in the middle, under a header that is good
    f.seek(4096); f.write(b"\xff" * 4096)
CODE
fx_mount
is "F35 a page of it" "$(ls "$X/by-id" | wc -l)" "$(($(wc -l <<<"$listed") + 2))"
is "F35 is a thread lost then?" "$(fork lane_quick | jq -r .result)" quick

# ---- taken away while the mount goes on, again and again ----
# the descriptors of the daemon whose files are deleted; its spool has one
deleted() { find "/proc/$DAEMON/fd" -lname '*registry.db* (deleted)' | wc -l; }
begin() { # TOOL: the id of a thread of it
  timeout 60 "$PY" -c 'import json, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
os.write(fd, json.dumps({"item_id": sys.argv[2], "async": True}).encode())
print(json.loads(os.read(fd, 65536))["thread_id"])' "$M/execute" "$1"
}
rm -f "$P/go"
id=$(begin tool:t/wait)
runner=$(jq .pid "$THREADS/$id/runner.json")
until_true test -e "$P/begun"
rm -rf --one-file-system "$P/.ai/state"
touch "$P/go"
ok "a runner whose directory is gone ends with its tool" until_true eval "! kill -0 $runner"
again=0
for _ in 1 2 3 4 5 6; do
  rm -rf --one-file-system "$P/.ai/state"
  id=$(begin tool:t/echo)
  [ "$(exchange 60 "$X/$id/wait")" = completed ] && again=$((again + 1))
done
is "each has its thread" "$again" 6
like "the registries of before are given back" "$(deleted)" '^[0-3]$'
umount_rye

# ---- a table that came with a clone ----
Q=$T/clone
mkdir -p "$Q/.ai/state/threads" "$Q/m"
plant() { # N: so many rows of threads that run nowhere
  rm -f "$Q/.ai/state/threads"/registry.db*
  "$PY" - "$Q/.ai/state/threads/registry.db" "$DB" "$1" <<'CODE'
import sqlite3, sys
there, like, n = sqlite3.connect(sys.argv[1]), sqlite3.connect(sys.argv[2]), int(sys.argv[3])
for sql, in like.execute("select sql from sqlite_master where sql is not null order by type desc"):
    there.execute(sql)
there.executemany("insert into threads (thread_id, directive, status, created_at, updated_at, pid) values (?, 'tool:t/x', 'running', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 4194305)",
                  (("t-%06d" % i,) for i in range(n)))
there.commit()
CODE
}
left() { "$PY" -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute("select count(*) from threads where status = ?", ("running",)).fetchone())' "$Q/.ai/state/threads/registry.db"; }
clone() { timeout 60 "$RYEFS" "$@" --project "$Q" --user "$U" --system "$S"; }
plant 3000
is "all rows of a foreign table are listed" "$(clone threads --json | jq -r length)" 3000
is "and left as they are" "$(left) $(ls "$Q/.ai/state/threads" | grep -c ^t-)" "3000 0"
if need strace "no directory is asked for row by row"; then
  strace -qq -o "$T/opens" -e trace=openat,openat2,faccessat2 "$RYEFS" threads --project "$Q" --user "$U" --system "$S" >/dev/null
  ok "none is asked for by itself ($(wc -l <"$T/opens") calls)" test "$(wc -l <"$T/opens")" -lt 1000
fi
is "the one that is asked for is looked at" "$(clone threads show t-000007 --json | jq -r .status) $(left)" "error 2999"
# what a listing costs the daemon, in ticks: four times as many rows take no sixteen times as long
listing() {
  local daemon
  plant "$1"
  env USER_SPACE="$U" HOME="$U" "$RYEFS" "$Q" "$Q/m" -o "userspace=$U,system=$S" >/dev/null
  daemon=$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$Q/m/.ryefs/stats.json")
  for _ in 1 2 3; do ls -U "$Q/m/state/threads" | wc -l >"$T/names"; done
  awk '{ print $14 + $15 }' "/proc/$daemon/stat"
  umount "$Q/m" || fusermount3 -u -z "$Q/m"
}
few=$(listing 10000) many=$(listing 40000)
like "a mount of such a table lists them" "$(<"$T/names")" '^400[0-9][0-9]$'
ok "in a time that grows with their number ($few, $many)" test "$many" -le $((few * 8 + 20))
finish
