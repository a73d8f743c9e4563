#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# remote_follow.sh: what a run elsewhere prints comes here once and in order, however often the connection is killed;
# and an order that is sent often, over several connections, is one run.
. "$(dirname "$0")/fixture.sh"
need jq pgrep || finish
export RYE_NODE_IDLE_MS=3000
CUTS=${RYE_CUTS:-10} # 20 with RYE_WIDE=33000: ten megabytes
WIDE=${RYE_WIDE:-200}

fx_spaces
fx_tool "$P" lines 'cat >/dev/null' 'echo begun >>begun' \
  'for i in $(seq 1 300); do echo "line $i: $(printf "%0'$WIDE'd" "$i")"; sleep 0.03; done'
fx_tool "$P" note 'cat >/dev/null' 'echo noted >>notes' 'echo here'
fx_sign "$P" tool:lines tool:note
allow '^ryefs: (info refused: )?(tool|directive|execute)'
fx_mount
"$RYEFS" node init "$T/node" --system "$S" >/dev/null
remote() { timeout 60 "$RYEFS" remote "$@" --project "$P" --user "$U" --system "$S" 2>&1; }
like 'a node is pinned' "$(remote add --yes node "command:$RYEFS node --stdio $T/node")" 'node is pinned'
FP=$(ls "$T/node/asked" | sed 's/[.]pem$//')
ok 'and knows us' "$RYEFS" node admit --dir "$T/node" "$FP" --system "$S"
there=$T/node/work/projects/$FP/$(basename "$P")
mkdir -p "$there"
cp -r "$P/.ai" "$there/.ai"
rm -rf "$there/.ai/state" "$there/.ai/config"

# --- killed connections ---
id=$(jq -r .thread_id <<<"$(converse "$M/remotes/node/tools/lines/async")")
live=$M/state/threads/$id/live
cuts=0
cut_one() { # the door of the one connection
  local door
  door=$(pgrep -f "node --stdio $T/node" | head -n 1)
  [ -n "$door" ] && kill -9 "$door" 2>/dev/null
}
more_than() { [ "$(stat -c %s "$P/.ai/state/threads/$id/live")" -gt "$1" ]; }
ok 'it prints' until_true more_than 0
for ((i = 0; i < CUTS; i++)); do
  at=$(stat -c %s "$P/.ai/state/threads/$id/live")
  until_true cut_one && cuts=$((cuts + 1))
  until_true more_than "$at"
done
is 'connections were killed' "$cuts" "$CUTS"
is 'it has ended well' "$(<"$M/state/threads/$id/wait")" completed
is 'every byte came once, in order' "$(sha256sum <"$live")" \
  "$(for i in $(seq 1 300); do echo "line $i: $(printf "%0${WIDE}d" "$i")"; done | sha256sum)"
is 'and it was begun once' "$(<"$P/.ai/state/threads/$id/changes/begun")" begun

# --- 23: this machine, or its mount ---
dir() { echo "$P/.ai/state/threads/$id"; }
follower() { jq .pid "$(dir)/runner.json"; }
more_than() { [ "$(stat -c %s "$(dir)/live")" -gt "$1" ]; }
async() { id=$(jq -r .thread_id <<<"$(converse "$M/remotes/node/tools/$1/async")"); }
whole() { for i in $(seq 1 300); do echo "line $i: $(printf "%0${WIDE}d" "$i")"; done | sha256sum; }
async lines
ok 'one that is to outlive this machine prints' until_true more_than 0
kill -9 "$DAEMON" "$(follower)"
umount_dead() { fusermount3 -qzu "$M" || umount -lq "$M"; }
umount_dead

fx_mount
is 'a later mount follows it to its end' "$(<"$M/state/threads/$id/wait")" completed
is 'each byte came once, in order, all the same' "$(sha256sum <"$(dir)/live")" "$(whole)"
is 'it was begun once' "$(<"$(dir)/changes/begun")" begun
is 'and its receipt is here' "$(jq -r .receipt.status "$(dir)/receipt.json")" completed
async lines
ok 'another prints' until_true more_than 0
umount_rye
kill -9 "$(follower)"
is 'wait alone does as well' "$("$RYEFS" threads wait "$id" --project "$P" --user "$U" --system "$S" 2>&1 | tail -n 1)" completed
is 'with each byte once' "$(sha256sum <"$(dir)/live")" "$(whole)"
fx_mount
async lines
ok 'a third one prints' until_true more_than 0
old=$(follower)
kill "$old"
another() { [ "$(follower)" != "$old" ]; }
ok 'a signal ends what follows it alone' until_true another
echo cancel >"$M/state/threads/$id/ctl"
is 'a cancel is meant' "$(<"$M/state/threads/$id/wait")" cancelled
is 'and told there' "$(jq -r .receipt.status "$(dir)/receipt.json")" cancelled
# what did not come from a process of this person's is not gone by
async lines
ok 'a fourth one prints' until_true more_than 0
umount_rye
kill -9 "$(follower)"
sed -i 's/"chain":/"chained":/; s/"remote": *"node"/"remote": "other"/' "$(dir)/.follow.json"
fx_mount
is 'a note that is not signed leads nowhere' "$(<"$M/state/threads/$id/wait")" error

# --- 14: one order, sent often ---
KEY=$U/.ai/config/keys/signing/private_key.pem
ask() {
  local verb=$1

  shift
  "$ASK_NODE" "$verb" "$T/node" "$KEY" "$@"
}
sha=$(sha256sum <"$(ls "$there"/.ai/tools/note.*)" | cut -d' ' -f1)
ask sign tool:note "$sha" "$(basename "$P")" '{}' 1 >"$T/order"
send_often() { # 5 connections, ten times over each
  local i pids=()

  for i in 1 2 3 4 5; do
    ask send "$RYEFS" "$T/order" 10 >"$T/sent$i" 2>&1 &
    pids+=($!)
  done
  wait "${pids[@]}"
}
send_often
is 'all are answered' "$(cat "$T"/sent[1-5] | grep -c '"state"')" 50
order=$(jq -r .order.id "$T/order")
is 'with the one run' "$(cat "$T"/sent[1-5] | jq -r .id | sort -u)" "$order"
ended() { ask state "$order" | grep -q '^done completed'; }
ok 'it ends' until_true ended
send_often
is 'then 50 answers are equal' "$(cat "$T"/sent[1-5] | uniq -c | awk '{ print $1 }')" 50
is 'with one receipt' "$(jq -r '.receipt | fromjson | .receipt.status' "$T/sent1" | uniq)" completed
is 'it ran once' "$(<"$there/notes")" noted
ask sign tool:note "$sha" "$(basename "$P")" '{"other":1}' 1 "id=$order" >"$T/other"
has 'another order has not its id' "$(ask send "$RYEFS" "$T/other" 1 2>&1)" "another order has the id $order"
head -c 400 "$T/order" >"$T/torn"
like 'a torn one is refused' "$(ask send "$RYEFS" "$T/torn" 1 2>&1)" 'ask_node: [a-z_]+: .*ORDER'
finish
