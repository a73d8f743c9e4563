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
like "a setting that is none" "$("$RYEFS" node init "$NODE" colour=red 2>&1)" "there is no colour: board and labels are there"
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
is "by the machine that has it" "$(cat "$OTHER/work/projects/$FP/demo/effects")" '{"n": 0}'
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
finish
