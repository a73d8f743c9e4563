#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# remote_hostile.sh: clients that mean no good at a node, and nodes that are none at a client.
. "$(dirname "$0")/lib.sh"
[ -x /usr/bin/python3 ] && command -v jq openssl >/dev/null || skip "python3, jq or openssl is not installed"

export HOME=$T/home USER_SPACE=$U
unset RYE_SIGNING_KEY_DIR RYE_NODE XDG_DATA_HOME
mkdir "$HOME" "$T/bin"
cd "$P" || exit 1
rye() { timeout 60 "$RYEFS" "$@" 2>&1 </dev/null; }
rye keygen >/dev/null
KEYS=$U/.ai/config/keys/signing
rye node init "$T/node" >/dev/null
rye node admit --dir "$T/node" "$KEYS/public_key.pem" >/dev/null

# --- clients ---
while read -r status text; do
  case $status in
    ok) result 0 "$text" ;;
    *) result 1 "$text" ;;
  esac
done < <(timeout 150 /usr/bin/python3 "$SRC/e2e/hostile_client.py" "$RYEFS" "$T/node" "$KEYS/private_key.pem" 2>&1)
ok 'all of them were tried' test "$N" -ge 29
is 'no order of theirs lies there' "$(rye node list --dir "$T/node" --json | jq length)" 1

# --- nodes ---
way() { printf '#!/bin/sh\nexec %s\n' "$1" >"$T/bin/way" && chmod 755 "$T/bin/way"; }
way "'$RYEFS' node --stdio '$T/node'"
rye remote add --yes gpu "command:$T/bin/way" >/dev/null
while read -r mode wanted; do
  way "/usr/bin/python3 '$SRC/e2e/hostile_node.py' $mode '$T/node'"
  is "a node that is none: $mode" "$(rye remote status --json gpu | jq -r '.[0].code // "ok"')" "$wanted"
done <<'MODES'
copied key_changed
changed invalid
long unreachable
ready unreachable
words denied
cut unreachable
MODES
way "/usr/bin/python3 '$SRC/e2e/hostile_node.py' words '$T/node'"
is 'what it says is one line, without control characters' "$(rye remote status gpu | grep -c '[[:cntrl:]]')" 0

# --- nodes that have the pinned key, and lie ---
export RYE_NODE_IDLE_MS=3000
mkdir -p .ai/tools
printf '#!/bin/bash\n# __version__ = "1.0.0"\n# __tool_type__ = "shell"\n# __category__ = ""\n# __tool_description__ = "writes"\ncat >/dev/null\necho made >made\necho here\n' >.ai/tools/make.sh
rye sign tool:make >/dev/null
# lies MODE: one run there; its reply
lies() {
  way "/usr/bin/python3 '$SRC/e2e/lying_node.py' $1 '$T/kept' '$RYEFS' '$T/node'"
  rye execute --json -q --target remote:gpu tool:make
}
changes() { cat .ai/state/threads/"$(jq -r .thread_id <<<"$1")"/changes.json 2>/dev/null; }
reply=$(lies honest)
is 'one that does not' "$(jq -r '.status' <<<"$reply") $(changes "$reply" | jq -r '.changed[0].path')" 'success made'
reply=$(lies keep)
# 25: MODE, what is said
while read -r mode text; do
  reply=$(lies "$mode")
  like "25: a receipt that is $mode" "$(jq -r '.status + " " + .error' <<<"$reply")" "^error .*$text"
  not_ok "is not kept: $mode" test -e ".ai/state/threads/$(jq -r .thread_id <<<"$reply")/receipt.json"
done <<'MODES'
receipt the receipt of [0-9a-f-]* was changed
another the receipt is of another order
none without a receipt
MODES
reply=$(lies result)
like '25: a result that its receipt does not name' "$(jq -r '.status + " " + .error' <<<"$reply")" '^error .*the result is not the one that its receipt names'
reply=$(lies endless)
like 'a result without an end' "$(jq -r '.status + " " + .error' <<<"$reply")" '^error .*a file of the run is too big'
for mode in pull manifest flood; do
  reply=$(lies $mode)
  is "27: files that are not as they were named: $mode" "$(jq -r .status <<<"$reply") $(changes "$reply" | jq -r 'has("error")')" 'success true'
  not_ok "none of them is there: $mode" test -e ".ai/state/threads/$(jq -r .thread_id <<<"$reply")/changes"
done
while read -r mode wanted; do
  way "/usr/bin/python3 '$SRC/e2e/lying_node.py' $mode '$T/kept' '$RYEFS' '$T/node'"
  is "a node that lies: $mode" "$(rye remote status --json gpu | jq -r '.[0].code // "ok"')" "$wanted"
done <<'MODES'
long unreachable
nonsense io
mute unreachable
MODES
finish
