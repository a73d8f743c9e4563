#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many threads whose runners are gone, on a busy disk: a mount is there before their ends are recorded,
# a thread that is waited for does not stand behind them, and each gets one end, over two mounts.
. "$(dirname "$0")/agent_lib.sh"

MANY=${RYE_THREADS:-60}
SLOW=$T/slow
fx_tool "$P" t/nap 'sleep 60.'$$
fx_sign "$P" tool:t/nap
id=$(run execute tool:t/nap --async -q)
like "one of them" "$id" '^[0-9a-f-]{36}$'
started() { [ "$(row registry "select status from threads")" = running ] && pgrep -f "sleep 60[.]$$" >/dev/null; }
ok "it runs" until_true started
kill -9 "$(jq .pid "$P/.ai/state/threads/$id/runner.json")"
until_true eval "! kill -0 $(jq .pid "$P/.ai/state/threads/$id/runner.json")"
clone() {
  "$PY" - "$P/.ai/state/threads" "$id" "$1" <<'CODE'
import os, shutil, sqlite3, sys
threads, ident, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
with sqlite3.connect(threads + "/registry.db") as db:
    names = [row[1] for row in db.execute("pragma table_info(threads)") if row[1] != "thread_id"]
    for i in range(1, n):
        shutil.copytree(f"{threads}/{ident}", f"{threads}/clone-{i}")
        db.execute(f"insert into threads (thread_id, {', '.join(names)}) select ?, {', '.join(names)} from threads "
                   "where thread_id = ?", (f"clone-{i}", ident))
CODE
}
clone "$MANY"
open_rows() { row registry "select count(*) from threads where status = 'running'"; }
is "none has an end" "$(open_rows)" "$MANY"

touch "$SLOW"
preloaded slow_sync SLOW_SYNC="$SLOW" fx_mount
open=$(open_rows)
ok "the mount is there before all have one ($open have none)" test "$open" -gt 0
last=$(row registry "select thread_id from threads where status = 'running' order by created_at, thread_id desc")
is "one that is waited for has it at once" "$(exchange 20 "$M/state/threads/$last/wait")" error
ok "others have none yet" test "$(open_rows)" -gt 0
ok "the mount ends meanwhile" umount_rye
left=$(open_rows)
ok "and leaves what it has not come to ($left)" test "$left" -gt 0
preloaded slow_sync SLOW_SYNC="$SLOW" fx_mount
rm "$SLOW"
all_ended() { [ "$(open_rows)" = 0 ]; }
ok "the next one goes on" until_true all_ended
is "each has its result" "$(jq -r .error "$P"/.ai/state/threads/*/result.json | sort | uniq -c | xargs)" "$MANY Process died"
is "and one end" "$(jq -r 'select(.event == "error") | .thread_id' "$P/.ai/state/threads/events.jsonl" | sort | uniq -c | awk '{ print $1 }' | sort | uniq -c | xargs)" "$MANY 1"
finish
