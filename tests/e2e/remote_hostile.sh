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
finish
