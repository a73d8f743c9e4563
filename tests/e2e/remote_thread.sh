#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# remote_thread.sh: a run elsewhere goes on without whom began it: its follower, the mount, the connection killed;
# a later mount shows it as the same thread, every byte once.
. "$(dirname "$0")/fixture.sh"
need jq pgrep || finish
export RYE_NODE_IDLE_MS=3000

fx_spaces
fx_tool "$P" lines 'cat >/dev/null' 'echo begun >>begun' \
  'for i in $(seq 1 80); do echo "line $i: $(printf "%0200d" "$i")"; sleep 0.05; done'
fx_sign "$P" tool:lines
allow '^ryefs: (info refused: )?(tool|directive|execute)'
fx_mount
NODE=$T/node
"$RYEFS" node init "$NODE" --system "$S" >/dev/null
remote() { timeout 60 "$RYEFS" remote "$@" --project "$P" --user "$U" --system "$S" 2>&1; }
like 'a node is pinned' "$(remote add --yes node "command:$RYEFS node --stdio $NODE")" 'node is pinned'
FP=$(ls "$NODE/asked" | sed 's/[.]pem$//')
ok 'and knows us' "$RYEFS" node admit --dir "$NODE" "$FP" --system "$S"

# --- 23: what follows it is killed ---
id=$(jq -r .thread_id <<<"$(converse "$M/remotes/node/tools/lines/async")")
dir=$P/.ai/state/threads/$id
follower() { jq .pid "$dir/runner.json"; }
more_than() { [ "$(stat -c %s "$dir/live")" -gt "$1" ]; }
follows() { # another than PID, and lives
  [ "$(follower)" != "$1" ] && kill -0 "$(follower)"
}
ok 'it prints' until_true more_than 0
first=$(follower)
pass_second() { [ $(($(date +%s) - $(stat -c %Y "$dir/runner.json"))) -gt 1 ]; }
until_true pass_second
kill -9 "$first"
ok 'another one follows it on' until_true follows "$first"
ok 'what was printed meanwhile comes' until_true more_than "$(stat -c %s "$dir/live")"
like 'it is no lost thread' "$(cat "$M/state/threads/$id/status")" running
second=$(follower)
until_true pass_second
umount_rye
kill -9 "$second"
for door in $(pgrep -f "node --stdio $NODE"); do kill -9 "$door"; done
ended() { [ "$("$PY" -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute("SELECT state FROM run").fetchone())' "$NODE/board.db")" = done ]; }
ok 'it goes on there' until_true ended
fx_mount
is 'a later mount shows its end' "$(timeout 60 cat "$M/state/threads/$id/wait")" completed
is 'every byte came once, in order' "$(sha256sum <"$M/state/threads/$id/live")" \
  "$(for i in $(seq 1 80); do echo "line $i: $(printf "%0200d" "$i")"; done | sha256sum)"
is 'and it was begun once' "$(cat "$dir/changes/begun")" begun
is 'its receipt is here' "$(jq -r .receipt.status "$dir/receipt.json")" completed
finish
