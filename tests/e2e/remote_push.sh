#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# remote_push.sh: the project's files to a node: what goes over the line the first time, after a change and
# after none; what never does; two that push at once; a push that is cut off and made again.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

export HOME=$T/home USER_SPACE=$U
unset RYE_SIGNING_KEY_DIR RYE_NODE XDG_DATA_HOME
mkdir "$HOME" "$T/bin"
NODE=$T/node
cd "$P" || exit 1
rye() { timeout 120 "$RYEFS" "$@" 2>&1; }
rye keygen >/dev/null
FP=$(rye keys --json | jq -r '[.[] | select(.status == "signing")][0].fingerprint')
printf '#!/bin/sh\nexec "%s" node --stdio "%s"\n' "$RYEFS" "$NODE" >"$T/bin/way"
chmod 755 "$T/bin/way"
rye node init "$NODE" >/dev/null
rye remote add --yes gpu "command:$T/bin/way" demo >/dev/null
rye node admit --dir "$NODE" "$FP" >/dev/null

# --- a tree: small files, a big one, and what must stay here ---
mkdir -p src/deep .ai/state/x .ai/config/keys/signing .ai/tools
for i in $(seq 60); do head -c "$((i * 97))" /dev/urandom | base64 >"src/deep/f$i.txt"; done
head -c 9000000 /dev/urandom >src/big.bin
printf '#!/bin/sh\n' >src/run.sh && chmod 755 src/run.sh
ln -s deep/f1.txt src/link
ln -s /etc/passwd src/out
plant=PLANTED-$$-$RANDOM
for f in .env src/.env.local src/a.secret .ai/state/x/y .ai/config/keys/signing/private_key.pem; do echo "$plant" >"$f"; done
printf -- '-----BEGIN OPENSSH PRIVATE KEY-----\n%s\n' "$plant" >src/id
push() { rye remote push --json gpu; }
room=$((1000 + 13 * ${RYE_ROUNDS:-6})) # MB: each of those that are cut off may be done
of() { jq -r "$1" <<<"$2"; }

first=$(push)
is 'the first push' "$(of '[.number, .project, .files] | map(tostring) | join(" ")' "$first")" '1 demo 63'
like 'what stayed here is named' "$(of '[.refused[].path] | sort | join(" ")' "$first")" '.ai/config/keys/signing .env src/.env.local src/a.secret src/id src/out'
is 'no planted value is on the node' "$(grep -rl "$plant" "$NODE" | wc -l)" 0
if command -v zstd >/dev/null; then
  is 'and no file of that name' "$(cat "$NODE"/store/manifests/*/* | zstd -dc | grep -cE 'env|secret|state|signing|src/id')" 0
fi
ok 'few files there' test "$(find "$NODE/store" -type f ! -name 'index.db*' | wc -l)" -le 12

second=$(push)
is 'nothing has changed: nothing is sent' "$(of '[.number, .packs, .sent] | map(tostring) | join(" ")' "$second")" '1 0 0'
sleep 1 # reason: times that are younger than this are not believed
push >/dev/null
is 'and no file is read' "$(of .hashed "$(push)")" 0
# what it asks first goes with its key: HELLO there and back, AUTH with HEADS there, READY with the answer back
cp "$T/bin/way" "$T/bin/near"
printf '#!/bin/sh\nexec python3 "%s/bench/relay.py" "%s" 100 "%s"\n' "$SRC" "$T/line" "$T/bin/near" >"$T/bin/way"
in_two_ways() { push >/dev/null && [ "$(jq -s '.[-1].turns' "$T/line")" -le 3 ]; }
ok 'it goes there and back twice' until_true in_two_ways
cp "$T/bin/near" "$T/bin/way"

echo changed >src/deep/f3.txt
mv src/deep/f60.txt src/moved.txt
rm src/deep/f59.txt
is 'diff tells what a push would change' "$(rye remote diff gpu | xargs)" \
  'removed src/deep/f59.txt removed src/deep/f60.txt changed src/deep/f3.txt new src/moved.txt'
third=$(push)
is 'a change, a move and a deletion are one blob' "$(of '[.number, .new_blobs, .files] | map(tostring) | join(" ")' "$third")" '2 1 62'
ok 'and few bytes' test "$(of .sent "$third")" -lt 4000

# 100 bytes into the middle of the big file
{ head -c 4500000 src/big.bin; head -c 100 /dev/zero; tail -c +4500001 src/big.bin; } >big && mv big src/big.bin
fourth=$(push)
ok 'an insertion sends what is around it' test "$(of .sent "$fourth")" -lt 6000000

# --- another clone of this person's ---
cp -a "$P" "$T/other"
rm -rf "$T/other/.ai/state/remotes"
echo theirs >"$T/other/src/theirs"
other() { (cd "$T/other" && rye remote push --json "$@" gpu); }
like 'one that was pushed from elsewhere is not overwritten' "$(other)" 'ryefs remote push --force gpu'
is 'unless that is wanted' "$(of .number "$(other --force)")" 4
like 'and then the first one is told' "$(rye remote push gpu)" 'was pushed by .* from elsewhere'
is 'no blob is sent twice' "$(of .new_blobs "$(rye remote push --json --force gpu)")" 0

# --- 6: one that is cut off, at each end; RYE_ROUNDS=100 is the full count ---
head_of() { python3 -c 'import sqlite3, sys
print(*sqlite3.connect(sys.argv[1]).execute("select number, manifest from head where project = ?", ("demo",)).fetchone())' "$NODE/board.db"; }
whole=0 other=0
for ((i = 0; i < ${RYE_ROUNDS:-6}; i++)); do
  head -c 12000000 /dev/urandom >src/huge.bin
  old=$(head_of)
  ms=$((RANDOM % 1200 + 5))
  if ((i % 2)); then
    timeout -s KILL "$(printf '0.%03d' "$ms")" "$RYEFS" remote push gpu
  else
    "$RYEFS" remote push gpu &
    pushes=$!
    sleep "$(printf '0.%03d' "$ms")" # reason: the moment at which it is cut
    door=$(pgrep -P "$pushes" -f "node --stdio $NODE") && kill -9 "$door"
    wait "$pushes"
  fi
  new=$(head_of)
  case $((${new%% *} - ${old%% *})) in
    0) [ "$new" = "$old" ] || other=$((other + 1)) ;;
    1) whole=$((whole + 1)) ;;
    *) other=$((other + 1)) ;;
  esac
done >/dev/null 2>&1
is 'pushes that were cut off leave the old head or the new one' "$other" 0
echo "# $whole of ${RYE_ROUNDS:-6} were done before they were cut"
like 'then one is made again' "$(rye remote push gpu)" '^gpu: .* at number'
is 'and there is nothing to do' "$(of .sent "$(push)")" 0
is 'what lies there is what is here' "$(rye remote diff gpu)" ''

# --- cut off when the head had moved, and nothing of it was kept here ---
state=.ai/state/remotes/gpu
cp "$state/manifest" "$T/manifest"
echo more >src/more.txt
push >/dev/null
cp "$T/manifest" "$state/manifest"
is 'the next one knows it for its own' "$(of .sent "$(push)")" 0
rm src/more.txt
push >/dev/null

# --- what was lost there ---
index() { python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db: print(db.execute(sys.argv[2]).rowcount)' "$NODE/store/index.db" "$1"; }
index "insert into hole values ('$FP', 'of another project')" >/dev/null
is 'that is not of this project: nothing is sent' "$(of '[.packs, .sent] | map(tostring) | join(" ")' "$(push)")" '0 0'
sha=$(sha256sum src/deep/f5.txt | cut -d' ' -f1)
is 'one that is of it' "$(index "delete from blob where sha = '$sha'")" 1
index "insert into hole values ('$FP', '$sha')" >/dev/null
is 'it alone is sent' "$(of .new_blobs "$(push)")" 1
is 'once' "$(of .sent "$(push)")" 0

# --- 10: two at once to one name; RYE_ROUNDS=100 is the full count ---
from=$(head_of) done=0 stale=0
for ((i = 0; i < ${RYE_ROUNDS:-3}; i++)); do
  echo "here $i" >src/turn
  echo "there $i" >"$T/other/src/turn"
  other --force >"$T/one" &
  pushes=$!
  push_said=$(rye remote push --json --force gpu)
  wait "$pushes"
  for said in "$push_said" "$(<"$T/one")"; do
    case $said in
      *'"number"'*) done=$((done + 1)) ;;
      *'you had number'*) stale=$((stale + 1)) ;;
    esac
  done
done
now=$(head_of)
is 'each is done, or told that the other was' "$((done + stale))" "$((2 * ${RYE_ROUNDS:-3}))"
is 'those that were done are a line without a gap' "$((${now%% *} - ${from%% *}))" "$done"

# --- 11: another principal ---
second() { (cd "$T/other" && export USER_SPACE=$T/second && rye "$@"); }
mkdir "$T/second"
second keygen >/dev/null
second remote add --yes gpu "command:$T/bin/way" demo >/dev/null
rye node admit --dir "$NODE" "$(ls "$NODE/asked" | sed 's/[.]pem$//' | head -n 1)" "bytes=${room}M" >/dev/null
rm -rf "$T/other/.ai/state/remotes" "$T/other/src/big.bin"
like "knows nothing of this one's name" "$(second remote diff --json gpu)" '"number":0'
files=$(second remote push --json gpu)
is 'and nothing of its files: all are sent' "$(of '.new_blobs >= .files - 2' "$files")" true
rye remote push --force gpu >/dev/null

# --- limits ---
rye node admit --dir "$NODE" "$FP" bytes=20M >/dev/null
head -c 20000000 /dev/urandom >src/more.bin
rye node init "$NODE" keep_new=0s keep_gone=0s >/dev/null
like 'more than the owner allows' "$(rye remote push gpu)" '^ryefs remote: [0-9.]+ of 20 MB of yours on gpu are used; ryefs remote gc gpu would free [0-9.]+'
rye node admit --dir "$NODE" "$FP" "bytes=${room}M" >/dev/null
like 'until it is allowed' "$(rye remote push gpu)" 'at number [0-9]+'

# --- 12, 6, 4: what no push of late needs goes; of this principal alone, and nothing in a dry run ---
rm src/more.bin src/huge.bin src/big.bin
for ((i = 0; i < 5; i++)); do echo "last $i" >src/turn && push >/dev/null; done
room() { find "$NODE/store" -type f ! -name 'index.db*' -printf '%s\n' | awk '{ n += $1 } END { print int(n / 1000000) }'; }
theirs=$(second remote gc --json --dry-run gpu)
before=$(room)
sleep 1.1 # reason: a second is how fine it is told what is new
dry=$(rye remote gc --json --dry-run gpu)
is 'a dry run frees nothing' "$(room)" "$before"
like 'a dry run says what would go' "$(rye remote gc --dry-run gpu)" '^gpu: [0-9.]+ MB would go: '
freed=$(rye remote gc --json gpu)
ok 'and that is what goes' test "$(of '.freed / 100000 | floor' "$freed")" -eq "$(of '.freed / 100000 | floor' "$dry")"
ok 'tens of megabytes' test "$(of .freed "$freed")" -gt 20000000
ok 'also on the disk' test "$(room)" -lt "$((before - 20))"
is 'what is there is what is here' "$(rye remote diff gpu)$(of .sent "$(push)")" 0
is "another's stays" "$(second remote gc --json --dry-run gpu)" "$theirs"
is 'all of it' "$(second remote diff gpu)" ''
is 'once more: nothing' "$(of .freed "$(rye remote gc --json gpu)")" 0
: >"$NODE/store/packs/$(ls "$NODE/store/packs" | head -n 1)/.rye-0123456789abcdef.tmp"
touch -d '1 hour ago' "$NODE/store/packs/$(ls "$NODE/store/packs" | head -n 1)"/*
like 'the owner frees what belongs to none, too' "$(rye node gc "$NODE")" ' have gone: .* objects deleted'
is 'nothing is left over' "$(find "$NODE/store" -name '.rye-*' | wc -l)" 0
ok 'and there are few files' test "$(find "$NODE/store" -type f ! -name 'index.db*' | wc -l)" -le 24
is 'that of both is there' "$(rye remote diff gpu)$(second remote diff gpu)" ''

# --- 12: beside runs and pushes what is dead goes, RYE_DEAD_MB of it, and nothing that is needed, for RYE_GC_S ---
dead_mb=${RYE_DEAD_MB:-30}
rye node admit --dir "$NODE" "$FP" "bytes=$((dead_mb + room))M" >/dev/null
rye node init "$NODE" keep_new=1h keep_gone=0s >/dev/null
mkdir -p .ai/tools/own
cat >.ai/tools/own/turn.yaml <<'Y'
version: "1.0.0"
tool_type: shell
category: own
description: shows which turn it is
executor_id: rye/core/primitives/execute
requires: [shell.execute]
config:
  command: /bin/cat
  args: [src/turn]
config_schema: {type: object, properties: {}}
Y
rye sign tool:own/turn >/dev/null
head -c "${dead_mb}000000" /dev/urandom >src/dead.bin && push >/dev/null && rm src/dead.bin
for ((i = 0; i < 5; i++)); do echo "last $i" >src/turn && push >/dev/null; done
python3 - "$NODE/store/index.db" <<'Y'
import sqlite3
import sys

with sqlite3.connect(sys.argv[1], timeout=30) as index:  # all of it was there two hours ago
    for table, column in (("blob", "seen"), ("pack", "made"), ("manifest", "made")):
        index.execute(f"UPDATE {table} SET {column} = {column} - 7200")
Y
before=$(room)
collect() { while [ ! -e "$T/over" ]; do rye node gc "$NODE" || break; done >"$T/collected"; }
collect &
collector=$!
end=$((SECONDS + ${RYE_GC_S:-4})) turns=0 wrong=
while [ "$turns" = 0 ] || [ "$SECONDS" -lt "$end" ]; do
  turns=$((turns + 1))
  echo "turn $turns" >src/turn
  said=$(RYE_NODE_IDLE_MS=2000 rye execute -q --target remote:gpu tool:own/turn)
  [ "$said" = "turn $turns" ] || wrong+="$said;"
done
: >"$T/over"
wait "$collector"
is "each of $turns runs found its files" "$wrong" ''
like 'collections went on meanwhile' "$(wc -l <"$T/collected") of $(grep -c ' have gone: ' "$T/collected")" '^([1-9][0-9]*) of \1$'
ok 'the dead went' test "$(room)" -lt "$((before - dead_mb + 5))"
is 'what is there is what is here, still' "$(rye remote diff gpu)$(second remote diff gpu)" ''
rye node init "$NODE" keep_new=0s keep_gone=0s >/dev/null

# --- one that is not known any more: what it has pushed goes, and another's stays ---
bytes() { find "$NODE/store" -type f ! -name 'index.db*' -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }'; }
head -c 2000000 /dev/urandom >src/own.bin
push >/dev/null
before=$(bytes)
like 'it is removed' "$(rye node remove --dir "$NODE" "$FP")" 'is not known any more; what it has pushed goes with ryefs node gc$'
gone() { rye node gc "$NODE" >/dev/null && [ "$(bytes)" -lt $((before - 2000000)) ]; }
ok 'and what it had pushed goes' until_true gone
is "another's is all there" "$(second remote diff gpu)" ''
like 'a time that is none' "$(rye node init "$NODE" keep_new=soon)" 'keep_new=soon: wanted is a time, as 90s, 15m, 24h or 30d'
finish
