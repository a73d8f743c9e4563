#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# remote_secrets.sh: of the person's secrets a run elsewhere gets those that its tool asks for and the remote's entry
# lists, sealed to that node; and keys of others, by the asker's word and the node's entry.
. "$(dirname "$0")/fixture.sh"
need jq || finish
export RYE_NODE_IDLE_MS=3000

fx_spaces
fx_put "$P" tools/uses.yaml <<'TOOL'
tool_id: uses
tool_type: bash
version: "1.0.0"
category: ""
description: says what it has
executor_id: rye/core/runtimes/bash/bash
config:
  env: [LISTED_TOKEN, UNLISTED_TOKEN]
  script: |
    cat >/dev/null
    echo "has ${#LISTED_TOKEN} ${#UNLISTED_TOKEN} ${#OTHER_TOKEN}"
    printf %s "$LISTED_TOKEN" | sha256sum | cut -c 1-16
TOOL
fx_tool "$P" plain 'cat >/dev/null' 'echo "has ${#LISTED_TOKEN}"'
fx_sign "$P" tool:uses tool:plain
NODE=$T/node
rye() { timeout 60 "$RYEFS" "$@" --project "$P" --user "$U" --system "$S"; }
"$RYEFS" node init "$NODE" --system "$S" >/dev/null
like 'a node is pinned' "$(rye remote add --yes node "command:$RYEFS node --stdio $NODE" 2>&1)" 'node is pinned'
FP=$(ls "$NODE/asked" | sed 's/[.]pem$//')
ok 'and knows us' "$RYEFS" node admit --dir "$NODE" "$FP" --system "$S"
sed -i 's|^\( *node: {.*\)}|\1, secrets: [LISTED_TOKEN, OTHER_TOKEN]}|' "$U/.ai/config/remotes/remotes.yaml"
has 'the entry lists two' "$(cat "$U/.ai/config/remotes/remotes.yaml")" 'secrets: [LISTED_TOKEN'
like 'which is signed' "$(rye sign --space user config:remotes/remotes)" 'signed config:remotes/remotes'
for name in LISTED UNLISTED OTHER; do
  printf 'planted-%s-value-93f1' "$name" | rye secret set "${name}_TOKEN" >/dev/null
done

cli() { rye execute -q --json --target remote:node "$@" 2>/dev/null; }
out() { jq -r '.data.stdout // .error' | xargs; }
sum=$(printf planted-LISTED-value-93f1 | sha256sum | cut -c 1-16)
is 'asked for and listed: it is there' "$(cli tool:uses | out)" "has 25 0 0 $sum"
is 'one that does not ask has none' "$(cli tool:plain | out)" 'has 0'
names() { for order in "$P"/.ai/state/remotes/node/outbox/*; do jq -c .order.secrets "$order"; done | sort | xargs; }
is 'the orders name what they ask for' "$(names)" '[LISTED_TOKEN] []'
board() { "$PY" -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "$NODE/board.db" "$1"; }
planted() { grep -rlaE 'planted-[A-Z]*-value' "$NODE" "$P/.ai/state" 2>/dev/null; }
is 'no file of either side has a value' "$(planted)" ''
is 'nor is a box kept, once it is over' "$(board "SELECT count(*) FROM run WHERE sealed IS NOT NULL")" 0
is 'the run has no user space left' "$(find "$NODE/work/users" -name store.enc)" ''
is 'the worker has none in its environment' \
  "$(for pid in $(pgrep -f "node-work $NODE"); do tr '\0' '\n' <"/proc/$pid/environ"; done | grep -c planted)" 0

# --- keys of others ---
fx_tool "$P" lent 'cat >/dev/null' 'echo lent'
"$PY" "$E2E/signer.py" keys "$U" 77
"$PY" "$E2E/signer.py" sign 77 "$P" tools/lent.sh
reply=$(cli tool:lent)
OTHER=$(ls "$U/.ai/config/keys/trusted" | sed 's/[.]toml$//' | grep -v "$FP" | head -n 1)
has 'its entry does not let us vouch for them' "$(out <<<"$reply")" \
  "node: the order vouches for the key $OTHER, for which the entry of $FP here may not vouch"
is 'the code is the one of keys' "$(jq -r .code "$P/.ai/state/threads/$(jq -r .thread_id <<<"$reply")/result.json")" untrusted_key
ok 'it does now' "$RYEFS" node admit --dir "$NODE" "$FP" --system "$S" signers="$OTHER"
is 'and it is run' "$(cli tool:lent | out)" lent
finish
