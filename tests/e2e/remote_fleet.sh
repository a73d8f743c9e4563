#!/bin/bash
# SPDX-License-Identifier: MIT
# remote_fleet.sh: a board in PostgreSQL with workers of two machines (two directories with one node's keys): what
# holds for a board in a file holds there, labels say who takes what, a hand in the database gets nothing run.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/remote_lib.sh"
. "$(dirname "$0")/postgres_lib.sh"
at_end pg_end
export RYE_NODE_LEASE_MS=20000 RYE_NODE_SILENT_MS=20000 # nothing is to be lost here, however slow the machine

gone() { ! kill -0 "$1" 2> /dev/null; }
effects() { cat "$DEMO/effects" "$OTHER/work/projects/$FP/demo/effects" 2> /dev/null | grep -c .; }
OTHER=$T/other
ask init
remote_tool mark 'cat >> "$1/effects"; echo >> "$1/effects"; echo marked'
remote_tool nap 'cat > /dev/null; echo began >> "$1/naps"; sleep 4; echo slept'

# ---- what is wrong is said at once ----
like "a board that is none" "$("$RYEFS" node init "$NODE" board=redis:x 2>&1)" "no board can be opened at redis:x: wanted sqlite:PATH or postgresql://"
like "a setting that is none" "$("$RYEFS" node init "$NODE" colour=red 2>&1)" "there is no colour: board, store, labels, uids, keep_new, keep_gone and keep_runs are there"
like "a label that is none" "$("$RYEFS" node init "$NODE" 'labels=a b' 2>&1)" "wanted are names"
not_ok "none of it is kept" test -e "$NODE/node.toml"

# ---- an idle worker that ends, and an order at that moment ----
export RYE_NODE_IDLE_MS=1
for _ in 1 2 3; do
	began=$(date +%s%N)
	id=$(order mark '{"n":1}')
	ok "an order is taken" until_true state_is "$id" "$("$RYEFS" node-work "$NODE" 1; echo "done completed")"
done
unset RYE_NODE_IDLE_MS
is "each once" "$(effects)" 3

if ! pg_begin; then
	result 0 "PostgreSQL # SKIP it is not installed"
	finish
fi
like "one that cannot be reached" "$("$RYEFS" node init "$NODE" "board=postgresql://rye@127.0.0.1:1/x" 2>&1)" "the board's database: connection to server"
"$RYEFS" node init "$NODE" "board=$BOARD" > /dev/null
board_test=$(dirname "$RYEFS")/tests/unit/test_board
[ ! -x "$board_test" ] || ok "the board's own test passes there" env RYE_TEST_BOARD="$BOARD" "$board_test"

# ---- two machines: the keys and the principals of one node, labels of their own ----
mkdir -m 700 "$OTHER" && cp -r "$NODE"/{card.json,keys,principals,node.toml} "$OTHER"
mkdir -p "$OTHER/work/projects" && cp -r "$NODE/work/projects/$FP" "$OTHER/work/projects/"
rm -f "$OTHER/work/projects/$FP/demo/effects"
"$RYEFS" node init "$OTHER" labels=a100,fast > /dev/null
work
here=$BESIDE
NODE=$OTHER work
there=$BESIDE
id=$(order mark '{"n":1}' 1 label=a100)
ok "an order with a label is run" until_true state_is "$id" "done completed"
is "by the machine that has it" "$(<"$OTHER/work/projects/$FP/demo/effects")" '{"n": 0}'
id=$(order mark '{"n":1}' 1 label=none)
ids=
for _ in 1 2 3 4; do ids="$ids $(order mark '{"n":1}')"; done
for one in $ids; do ok "one without is run" until_true state_is "$one" "done completed"; done
is "each once" "$(effects)" 8
like "one that nobody has waits" "$(ask state "$id")" "^queued"
not_ok "no two places have one name" cmp -s "$NODE/work/seat" "$OTHER/work/seat"

# ---- the database ends and begins again ----
nap=$(order nap)
ok "a run begins" until_true eval 'cat "$DEMO/naps" "$OTHER/work/projects/$FP/demo/naps" 2>/dev/null | grep -q .'
pg_kill
ok "the database comes back" pg_start
ok "the run ends with its result" until_true state_is "$nap" "done completed"
is "begun once" "$(cat "$DEMO/naps" "$OTHER/work/projects/$FP/demo/naps" 2> /dev/null | grep -c .)" 1

# ---- 17: a hand in the database ----
refused() { # TEXT ID WHY
	ok "$1" until_true eval "ask state $2 | grep -q '^refused refused: .*$3'"
}
before=$(effects)
pg_row "UPDATE run SET labels='[]' WHERE id='$id'"
pg_row "SELECT pg_notify('ryefs_board', '')"
refused "labels taken away" "$id" "workers with the label none"
kill -STOP "$here" "$there"
one=$(order mark '{"n":1}')
two=$(order mark '{"n":1}')
three=$(order mark '{"n":1}' 1 reserve=2)
pg_row "UPDATE run SET body=replace(body, '\"n\":0', '\"n\":7') WHERE id='$one'"
pg_row "UPDATE run SET sha=repeat('0', 64) WHERE id='$two'"
ask admit spend_month=1
"$RYEFS" node list --dir "$NODE" > /dev/null
cp "$NODE"/principals/* "$OTHER/principals/"
pg_row "INSERT INTO account VALUES ('$FP', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM'), -100, 0, 0)
	ON CONFLICT (principal, month) DO UPDATE SET spend = -100"
pg_row "INSERT INTO run (id, principal, body, sha, labels, again, jobs, state, made)
	SELECT '00000000-0000-4000-8000-000000000000', '$FP', body, sha, '[]', 0, 9, 'queued', 0 FROM run WHERE id='$two'"
kill -CONT "$here" "$there"
refused "changed parameters" "$one" "is not signed by"
ok "another digest and a planted row" until_true eval 'ask counts | grep -q "queued=0 running=0 silent=0"'
refused "an account that was lowered" "$three" "dollars of this month"
is "nothing of it ran" "$(effects)" "$before"
kill "$here" "$there"
wait "$here" "$there" 2> /dev/null

# ---- 33: what was pushed to one machine is in a store that both have; only one of them has a worker ----
if [ ! -x /usr/bin/python3 ] || ! command -v jq > /dev/null; then
	result 0 "a store of both # SKIP python3 or jq is not installed"
	finish
fi
export S3_PAGE=3
SECRET=S3cret-$$/x
beside s3 /usr/bin/python3 "$SRC/fake/s3_server.py" fleet KEYID "$SECRET" "$T/s3_faults" "$T/s3_log"
until_true grep -q http "$T/s3.log"
S3=$(head -n 1 "$T/s3.log")
# the commands of the page, as far as they need no other machine
page() { # WHICH MACHINE: a block of it, typed by that machine's user
	awk -v which="$1" '/^```/ { on = $0 == "```sh " which; next } on' "$SRC/../docs/remote.md" |
		sed -e "s|postgresql://rye@db.lan/rye|${BOARD/dbname=postgres/dbname=fleet}|; s|https://s3.lan|$S3|" \
			-e "s|KEY_ID SECRET|KEYID '$SECRET'|; s|scp -rpq first.lan:|cp -rp $T/first/|; s|^ryefs node --work.*||" > "$T/$1.sh"
	HOME=$2 PATH="$T/bin:$PATH" bash -e "$T/$1.sh" 2>&1
}
mkdir "$T/bin" "$T/first" "$T/second" && ln -s "$RYEFS" "$T/bin/ryefs"
HERE=$T/first/.local/share/ryefs/node THERE=$T/second/.local/share/ryefs/node
pg_row "CREATE DATABASE fleet"
like "the first machine, as the page has it" "$(page first "$T/first")" "^made node "
(umask 077 && printf 'aws_access_key_id = KEYID\naws_secret_access_key = other\n' > "$T/s3_wrong")
like "a wrong secret is told at once" "$("$RYEFS" node init "$HERE" "store=s3://fleet?endpoint=$S3&credentials=$T/s3_wrong" 2>&1)" \
	"^ryefs node: store s3://fleet at $S3: the secret to the key is not right: look into credentials="
not_ok "and not kept" grep -q s3_wrong "$HERE/node.toml"
printf '#!/bin/sh\nexec "%s" node --stdio "$1"\n' "$RYEFS" > "$T/way" && chmod 755 "$T/way"
cd "$P" || exit 1
mkdir -p .ai/tools src
printf 'one\n' > src/one.txt
head -c 300000 /dev/urandom > src/noise.bin
cat > .ai/tools/count.yaml <<'TOOL'
tool_id: count
tool_type: bash
version: "1.0.0"
category: ""
description: for a test
executor_id: rye/core/runtimes/bash/bash
requires: [shell.execute, fs.write]
config:
  script: |
    cat > /dev/null; cd "$1"; sha256sum < src/noise.bin; echo made > src/made.txt
TOOL
"$RYEFS" sign tool:count > /dev/null
like "it is pinned" "$("$RYEFS" remote add --yes here "command:$T/way $HERE" demo 2>&1)" "here is pinned"
"$RYEFS" node admit --dir "$HERE" "$FP" > /dev/null
mkdir -p "$T/second/.config" && cp -p "$T/first/.config/ryefs-s3" "$T/second/.config/"
like "the second machine, as the page has it" "$(page second "$T/second")" "^node "
for dir in "$HERE" "$THERE"; do "$RYEFS" node init "$dir" keep_new=0s keep_gone=0s > /dev/null; done
"$RYEFS" remote add --yes there "command:$T/way $THERE" demo > /dev/null 2>&1
like "it is pushed by one door" "$("$RYEFS" remote push here 2>&1)" "demo is at number 1"
is "none of it lies on that machine" "$(find "$HERE/store" -type f ! -name 'index.db*' 2> /dev/null | wc -l)" 0
ok "the bucket has it" grep -q -E '^PUT /fleet/packs/packs/../[0-9a-f]{64} 200' "$T/s3_log"
like "the other door knows it" "$("$RYEFS" remote diff there --json 2>&1)" '"number":1'
export RYE_NODE_IDLE_MS=3000
for name in there here; do
	sha=$(sha256sum < src/noise.bin)
	like "a worker of the other machine runs with it" "$("$RYEFS" execute --target "remote:$name" tool:count 2>&1)" "${sha%% *}"
done
thread=$(ls -t .ai/state/threads | grep -E '^[0-9a-f]{8}-' | head -n 1)
is "what it made comes back" "$(cat ".ai/state/threads/$thread/changes/src/made.txt" 2>&1)" made
for ((i = 0; i < 6; i++)); do
	head -c 300000 /dev/urandom > src/noise.bin
	"$RYEFS" remote push here > /dev/null 2>&1
done
sleep 1.1 # reason: a second is how fine it is told what is new
"$RYEFS" node init "$THERE" keep_runs=0s > /dev/null
freed=$("$RYEFS" remote gc there --json 2>&1)
ok "garbage is collected there, of what was pushed here" test "$(jq .freed <<< "$freed")" -gt 200000
ok "in the bucket, too" grep -q -E '^DELETE /fleet/packs/packs/../[0-9a-f]{64} 204' "$T/s3_log"
is "and no more" "$("$RYEFS" remote diff here 2>&1)" ''
like "what is left can be run" "$("$RYEFS" execute --target remote:there tool:count 2>&1)" "$(sha256sum < src/noise.bin | cut -d' ' -f1)"
board_test=$(dirname "$RYEFS")/tests/unit/test_depot_gc
[ ! -x "$board_test" ] || ok "the test of the collection passes on this database" env RYE_TEST_BOARD="$BOARD" "$board_test"
echo 500 > "$T/s3_faults"
like "a bucket that does not answer is told" "$(echo x > src/x; "$RYEFS" remote push here 2>&1)" "store s3://fleet: $S3 answers with status 500.*try again later"
rm "$T/s3_faults"
ok "then it goes on" "$RYEFS" remote push here
is "the secret is nowhere" "$(grep -rlF "$SECRET" "$HERE" "$THERE" "$P" "$U" "$T"/s3_log | wc -l)" 0
finish
