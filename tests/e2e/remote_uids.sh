#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# remote_uids.sh: a node whose worker is root gives each principal an account of its own: its runs, and whatever they
# start, read neither the node's keys and board nor what is another principal's.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "only root gives accounts"
command -v jq setpriv >/dev/null || skip "jq or setpriv is not installed"

export HOME=$T/home USER_SPACE=$U RYE_NODE_IDLE_MS=3000
unset RYE_SIGNING_KEY_DIR RYE_NODE XDG_DATA_HOME
mkdir "$HOME" "$T/second" "$T/theirs"
chmod 711 "$T"
NODE=$T/node
rye() { timeout 60 "$RYEFS" "$@" 2>&1 </dev/null; }
# side NAME DIR USER: a workspace whose person is a principal
side() {
  (
    export USER_SPACE=$3
    cd "$2" || exit 1
    mkdir -p .ai/tools
    [ -e "$3/.ai/config/keys/signing" ] || rye keygen >/dev/null
    printf '#!/bin/bash\n# __version__ = "1.0.0"\n# __tool_type__ = "shell"\n# __category__ = ""\n# __tool_description__ = "stays"\ncat >/dev/null\necho mine >secret\necho begun\nsleep 60\n' >.ai/tools/stay.sh
    printf '#!/bin/bash\n# __version__ = "1.0.0"\n# __tool_type__ = "shell"\n# __category__ = ""\n# __tool_description__ = "ends"\ncat >/dev/null\necho made >made\necho "%s"\n' "$1" >.ai/tools/end.sh
    rye sign tool:stay >/dev/null
    rye sign tool:end >/dev/null
    rye remote add --yes box "command:$RYEFS node --stdio $NODE" "$1" >/dev/null
    rye node admit --dir "$NODE" "$3/.ai/config/keys/signing/public_key.pem" >/dev/null
  )
}
at() { (cd "$1" && USER_SPACE=$2 && export USER_SPACE && shift 2 && rye "$@"); }

for bad in 0-10 5 100000-1 100000-x; do
  like "no range: $bad" "$(rye node init "$NODE" "uids=$bad")" 'wanted is a range of accounts that no person has'
done
mkdir -m 700 "$T/shut"
like 'a place that accounts cannot pass to' "$(rye node init "$T/shut/node" uids=100000-100001)" "cannot pass through $T/shut:"
is 'what is refused makes no node' "$(ls -A "$T/shut" && [ ! -e "$NODE" ])" ''
like 'where accounts cannot pass runs are root'"'"'s, which is told' "$(rye node init "$T/shut/own")" 'runs here will be root.s'
mapped() { awk '1879058191 >= $1 && 1879058191 - $1 < $3 { found = 1 } END { exit !found }' /proc/self/uid_map; }
if mapped; then
  rye node init "$T/free" >/dev/null
  like 'where they can, each has one by itself' "$(<"$T/free/node.toml")" 1879048192-1879058191
  rye node init "$T/plain" uids= >/dev/null
  is 'unless none is wanted' "$(grep -c uids "$T/plain/node.toml")" 0
fi
like 'a range' "$(rye node init "$NODE" uids=100000-100001)" "$NODE"
side demo "$P" "$U"
side other "$T/theirs" "$T/second"
is 'a run ends as any other' "$(at "$P" "$U" execute --json -q --target remote:box tool:end | jq -c '[.status,.data.stdout]')" '["success","demo\n"]'
like 'what it made comes back' "$(ls -t "$P"/.ai/state/threads/*/changes)" '^made$'
one=$(at "$P" "$U" execute --json -q --async --target remote:box tool:stay | jq -r .thread_id)
two=$(at "$T/theirs" "$T/second" execute --json -q --async --target remote:box tool:stay | jq -r .thread_id)
for id in "$one" "$two"; do ok 'a run begins' until_true eval 'ls -d "$NODE/work/runs/$id"/*/secret'; done
uid() { stat -c %u "$NODE/work/runs/$1"; }
a=$(uid "$one") b=$(uid "$two")
is 'each has an account' "$(printf '%s\n' "$a" "$b" | sort | xargs)" '100000 100001'
is 'its processes, too' "$(ps -o uid= -C sleep | tr -d ' ' | grep -cxE '10000[01]')" 2
is 'and what it makes' "$(stat -c %u "$NODE/work/runs/$one/demo/secret")" "$a"
as() { setpriv --reuid "$1" --regid "$1" --clear-groups --inh-caps=-all "${@:2}" 2>&1; }
is 'its own it reads' "$(as "$a" cat "$NODE/work/runs/$one/demo/secret")" mine
for path in keys/private_key.pem keys/box_key.pem board.db card.json node.toml principals store uids work/executed.db \
  "work/runs/$two/other/secret" "work/users/$(ls "$NODE/work/users" | while read -r user; do [ "$(stat -c %u "$NODE/work/users/$user")" = "$b" ] && echo "$user"; done | head -n 1)/.ai"; do
  ok "there is $path" test -e "$NODE/$path"
  not_ok "which it does not read" as "$a" find "$NODE/$path" -type f -exec cat {} +
done
for path in . work work/runs work/users "work/runs/$two"; do
  like "nor what is in $path" "$(as "$a" ls "$NODE/$path")" 'Permission denied'
done
for dir in "$P $U $one" "$T/theirs $T/second $two"; do
  read -r where user id <<<"$dir"
  (cd "$where" && USER_SPACE=$user rye threads cancel "$id") >/dev/null
  is 'it is cancelled as any other' "$(at "$where" "$user" threads wait "$id" | xargs | grep -oE 'cancelled' | head -n 1)" cancelled
done
is 'nothing of it is left' "$(ls "$NODE/work/runs")" ''
mkdir "$T/third" "$T/thirds"
side third "$T/thirds" "$T/third"
like 'no account is left for a third' "$(at "$T/thirds" "$T/third" execute -q --target remote:box tool:end)" 'uids of the node are used up'
finish
