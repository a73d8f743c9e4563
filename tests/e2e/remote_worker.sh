#!/bin/bash
# SPDX-License-Identifier: MIT
# remote_worker.sh: orders and their worker: run once and settled with a receipt; what was planted in the
# database, or exceeds what the principal may, never runs; cancel, a killed worker, lost and late.
. "$(dirname "$0")/lib.sh"
# whatever this run's own key is called, another one's file comes before it: whose project it is tells the key that signs
cp "$U/.ai/config/keys/trusted/f0ff50dacf109dea.toml" "$U/.ai/config/keys/trusted/0000000000000000.toml"
. "$(dirname "$0")/remote_lib.sh"

ask init
remote_tool mark 'cat >> "$1/effects"; echo >> "$1/effects"; echo marked'
remote_tool nap 'cat > /dev/null; echo "began" >> "$1/naps"; sleep 4; echo "slept"'
remote_tool long 'cat > /dev/null; echo "began" >> "$1/longs"; setsid sleep 60.0212 & sleep 60.0211'
remote_tool same 'cat > /dev/null; echo "began" >> "$1/same"; sleep 1' $'idempotent: true\nrequires: [shell.execute, fs.write]'
gone() { ! kill -0 "$1" 2> /dev/null; }
effects() { cat "$DEMO/effects" 2> /dev/null | grep -c .; }

# ---- one order ----
id=$(order mark '{"n":0}')
is "an order waits" "$(ask state "$id")" "queued "
work
worker=$BESIDE
ok "it is run" until_true state_is "$id" "done completed"
is "once" "$(effects)" 1
like "its result is on the board" "$(ask file "$id" result.json)" '"marked'
like "so is what it printed" "$(ask file "$id" live)" marked

# ---- a node by its name from here ----
kill "$worker"
until_true gone "$worker"
cd "$T" || exit 1
NODE=node work
worker=$BESIDE
id=$(order mark '{"n":0}')
ok "an order is run of a node that is named from here" until_true state_is "$id" "done completed"
is "as any other" "$(effects)" 2

# ---- 17: what a hand in the database does ----
row "UPDATE run SET state='queued', gen=0, receipt=NULL WHERE id='$id'"
ok "an executed one that is played again is refused" until_true eval 'ask state "$id" | grep -q "^refused refused: order .* was begun here before"'
refused() { # TEXT ID SQL WHY
	row "$3"
	until_true eval 'ask state "$2" | grep -q "^refused"'
	like "$1" "$(ask state "$2")" "$4"
}
kill -STOP "$worker"
id=$(order mark '{"n":1}')
row "UPDATE run SET body=replace(body, '\"n\":0', '\"n\":7') WHERE id='$id'"
other=$(order mark '{"n":2}')
row "UPDATE run SET sha='0000000000000000000000000000000000000000000000000000000000000000' WHERE id='$other'"
stranger=$(order mark '{"n":3}')
row "UPDATE run SET body=replace(body, '$FP', '0123456789abcdef') WHERE id='$stranger'"
kill -CONT "$worker"
ok "changed parameters are refused" until_true eval 'ask state "$id" | grep -q "^refused refused: order .* is not signed by"'
ok "another digest is refused" until_true eval 'ask counts | grep -q "queued=0 running=0"'
ok "another principal's name is refused" until_true eval 'ask counts | grep -q "refused=4"'
is "none of them ran" "$(effects)" 2

sha=$(sha_of mark)
remote_tool mark 'cat >> "$1/effects"; echo >> "$1/effects"; echo changed'
id=$(ask submit tool:mark "$sha" demo '{"n":4}' 1)
ok "another version of the item is refused" until_true eval 'ask state "$id" | grep -q "another version here"'
echo "# more" >> "$DEMO/.ai/tools/mark.yaml"
id=$(order mark '{"n":5}')
ok "an item that is not as it was signed is refused" until_true eval 'ask state "$id" | grep -q "^refused refused: tool:mark"'
"$RYEFS" sign --project "$DEMO" tool:mark > /dev/null

# ---- 26: the node's own key orders nothing ----
as_node() { local verb=$1; shift; "$ASK_NODE" "$verb" "$NODE" "$NODE/keys/private_key.pem" "$@"; }
id=$(as_node submit tool:mark "$(sha_of mark)" demo '{"n":9}' 1)
ok "an order that the node's key has signed is refused" until_true eval 'as_node state "$id" | grep -q "^refused refused: does not know your key"'
is "nothing ran of it" "$(effects)" 2

# ---- 18, 19: what the principal may ----
ask admit allow=rye.execute.tool.nap
id=$(order mark '{"n":6}')
ok "what it may not is not run" until_true eval 'ask state "$id" | grep -q "^done error"'
like "and says why" "$(ask file "$id" result.json)" "not covered by capabilities|Permission denied"
is "nothing ran of all these" "$(effects)" 2
ask admit 'allow=rye.*' spend_month=1
id=$(order mark '{"n":6}' 1 above=rye.execute.tool.nap)
ok "18: what a thread above it may not is not run" until_true eval 'ask state "$id" | grep -q "^done error"'
is "nothing ran of it" "$(effects)" 2
id=$(order mark '{"n":7}' 1 reserve=2)
ok "more than the month's money is refused" until_true eval 'ask state "$id" | grep -q "^refused refused: 0.00 of 1.00 dollars"'
id=$(order mark '{"n":8}' 1 reserve=0.5)
ok "less is run" until_true state_is "$id" "done completed"
is "what it did not use goes back" "$(ask spent)" 0.00

# ---- 21: cancel ----
id=$(order long)
ok "a long one runs" until_true test -s "$DEMO/longs"
began=$(date +%s%N)
ask cancel "$id"
ok "it is cancelled" until_true state_is "$id" "cancelled cancelled"
took=$((($(date +%s%N) - began) / 1000000))
is "within 2 s" "$((took < 2000 * ${RYE_TEST_SLOW:-4}))" 1
none_is_left() { ! pgrep -f '^sleep 60[.]021[12]$' > /dev/null; }
ok "what it had begun is gone, too" until_true none_is_left

# ---- a worker that is killed: its successor takes up what goes on ----
id=$(order nap '{}' 1 reserve=0.5)
ok "a run begins" until_true test -s "$DEMO/naps"
kill -9 "$worker"
until_true gone "$worker" # its name is free once it is
work
worker=$BESIDE
ok "it ends with its result" until_true state_is "$id" "done completed"
is "and was begun once" "$(grep -c . "$DEMO/naps")" 1
is "its money was reserved once" "$(ask spent)" 0.00
is "on this machine, too" "$(python3 -c 'import sqlite3, sys
print("%.2f" % sqlite3.connect(sys.argv[1]).execute("SELECT sum(spend) FROM spent").fetchone()[0])' "$NODE/work/executed.db")" 0.00

# ---- an idempotent one that is begun again where it was begun: what that comes to is its result ----
id=$(order same '{}' 1 again)
ok "an idempotent one begins" until_true test -s "$DEMO/same"
kill -STOP "$worker"
work
ok "it ends with its result, though its worker is silent" until_true state_is "$id" "done completed"
kill -9 "$worker"
until_true gone "$worker"
worker=$BESIDE

# ---- 16: lost, and late ----
id=$(order nap)
ok "another begins" until_true eval '[ "$(grep -c . "$DEMO/naps")" = 2 ]'
kill -STOP "$worker"
work
second=$BESIDE
ok "its worker is silent: it is lost" until_true state_is "$id" "lost "
kill -CONT "$worker"
ok "what it came to is kept as late" until_true state_is "$id" "lost  late"
is "it was not begun again" "$(grep -c . "$DEMO/naps")" 2

# ---- a check-out from a disk that does not answer: others do not wait for it ----
printf '#!/bin/sh\nexec "%s" node --stdio "%s"\n' "$RYEFS" "$NODE" > "$T/way"
chmod 755 "$T/way"
mkdir -p "$P/.ai/tools"
cp "$DEMO/.ai/tools/mark.yaml" "$P/.ai/tools/"
cd "$P" || exit 1
"$RYEFS" remote add --yes gpu "command:$T/way" demo > /dev/null 2>&1
manifest=$("$RYEFS" remote push --json gpu | grep -o '"manifest":"[0-9a-f]*' | cut -d'"' -f4)
kill "$worker" "$second"
until_true gone "$worker"
until_true gone "$second"
touch "$T/held"
SLOW_PATH=/store/packs/ preloaded slow_disk SLOW_DISK="$T/held" work
worker=$BESIDE
slow=$(order mark '{"n":9}' 1 "manifest=$manifest")
ok "its check-out has begun" until_true test -d "$NODE/work/runs/$slow/demo"
id=$(order nap)
ok "another order is begun" until_true eval '[ "$(grep -c . "$DEMO/naps")" = 3 ]'
ask cancel "$id"
ok "and cancelled" until_true state_is "$id" "cancelled cancelled"
sleep 1.5 # reason: longer than a lease, which is 1 s here
is "meanwhile the claim of the slow one is kept" "$(ask state "$slow")" "running "
ask cancel "$slow"
rm "$T/held"
like "it is cancelled before it was begun" "$(until_true eval '! state_is "$slow" "running "'; ask state "$slow")" "^cancelled cancelled: it was cancelled"
slow=$(order mark '{"n":9}' 1 "manifest=$manifest")
ok "another one is checked out and run" until_true state_is "$slow" "done completed"
ok "and its directory goes" until_true eval '[ ! -e "$NODE/work/runs/$slow" ]'
like "every receipt is good" "$(ask check)" "receipts are good"
kill "$worker"
finish
