#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What runs without a mount, by `ryefs execute` or in a thread: when it is killed its tools end, and
# the orphans of a tool are reaped while it runs. An orderly end kills nothing.
. "$(dirname "$0")/fixture.sh"

gone() { ! kill -0 "$1" 2>/dev/null; }
zombies_of() { ps --no-headers -o stat= --ppid "$1" | grep -c Z; }
no_zombies() { [ "$(zombies_of "$1")" = 0 ]; }
execute() { exec "$RYEFS" execute "tool:$1" --project "$P" --user "$U" --system "$S" "${@:2}" >/dev/null 2>&1; }

"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
# shellcheck disable=SC2016
fx_tool "$P" t/stays 'echo $$ >"$2/one"' '(setsid sleep 88 </dev/null >/dev/null 2>&1 & echo $! >"$2/two.new"; mv "$2/two.new" "$2/two")' 'sleep 89'
# shellcheck disable=SC2016
fx_tool "$P" t/orphans 'for i in $(seq 50); do (sleep 0.1 </dev/null >/dev/null 2>&1 &); done' 'sleep 1; touch "$2/one"; sleep 30'
# shellcheck disable=SC2016
fx_tool "$P" t/leaves '(setsid sleep 87 </dev/null >/dev/null 2>&1 & echo $! >"$2/two")'
fx_sign "$P" tool:t/stays tool:t/orphans tool:t/leaves

execute t/stays &
ok "execute runs a tool" until_true test -s "$P/two"
minder=$(pgrep -P $! -x ryefs-minder)
like "beside it waits another process" "$minder" '^[0-9]+$'
is "which is the program anew" "$(tr '\0' ' ' <"/proc/$minder/cmdline")" "ryefs minder $! "
is "without the engine's environment" "$(wc -c <"/proc/$minder/environ")" 0
kill -9 $!
ok "killed, its tool ends" until_true gone "$(<"$P/one")"
ok "and the tool's own child" until_true gone "$(<"$P/two")"
ok "nothing waits for it any more" until_true gone "$minder"
rm -f "$P/one"
execute t/orphans &
ok "a tool that leaves dead orphans" until_true test -e "$P/one"
ok "they are reaped while it runs" until_true no_zombies $!
kill -TERM $!
wait $!
rm -f "$P/two"
(execute t/leaves)
ok "what an orderly end leaves behind lives on" kill -0 "$(<"$P/two")"
kill "$(<"$P/two")"

# ---- a thread whose daemon has ended before it ----
rm -f "$P/one" "$P/two"
fx_mount sandbox=off
echo '{}' >"$M/tools/t/stays/async"
ok "a thread" until_true test -s "$P/two"
runner=$(ps -o ppid= -p "$(<"$P/one")" | tr -d ' ')
like "of a runner" "$(tr '\0' ' ' <"/proc/$runner/cmdline")" thread-run
ok "the mount ends" umount_rye
ok "the thread goes on" kill -0 "$runner"
kill -9 "$runner"
ok "killed, its tool ends" until_true gone "$(<"$P/one")"
ok "and the tool's own child" until_true gone "$(<"$P/two")"
finish
