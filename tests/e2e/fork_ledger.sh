#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_ledger.sh: a ledger of the threads' money that cannot be read, in its first page or behind it: who is
# told, what goes on, what the next thread makes of it, and what it does not while one that counts on it runs.
. "$(dirname "$0")/agent_lib.sh"

agent_model '{"by": "turn", "lanes": {
  "lane_quick": [{"text": "quick", "usage": {"input": 100, "output": 10}}],
  "lane_nap": [{"calls": [{"name": "t_nap", "arguments": {}}]}, {"text": "awake"}]}}'
agent_naps
agent_directive lane_quick '    <limits spend="5"/>
  </metadata>' <<<'Be quick.'
agent_directive lane_nap '    <permissions><execute><tool>t.nap</tool></execute></permissions>
  </metadata>' <<<'Nap.'
agent_sign tool:t/nap
fx_mount
L=$P/.ai/state/threads/budget_ledger.db
cli() { timeout 20 "$RYEFS" "$@" --project "$P" --user "$U" --system "$S" 2>&1; }
rows() { "$PY" -c 'import sqlite3, sys; print(*("%s %.6f" % r for r in sqlite3.connect(sys.argv[1]).execute("select thread_id, actual_spend from budget_ledger")))' "$L"; }
logged() { events "$1" '.payload.usage.spend // empty' | jq -s add | xargs printf '%s %.6f' "$1"; }
first() { rm -f "$L-wal" "$L-shm"; echo "this is no database, however long one reads on and on" >"$L"; }
behind() { # whole in its first page alone
  rm -f "$L-wal" "$L-shm"
  "$PY" -c 'import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.execute("pragma wal_checkpoint(truncate)"); c.execute("pragma journal_mode=delete"); c.close()
f = open(sys.argv[1], "r+b"); f.seek(4096); f.write(b"\xff" * 4096)' "$L"
}

id=$(fork lane_quick | jq -r .thread_id)
spent=$(logged "$id")
is "what was spent is in the ledger" "$(rows)" "$spent"
for page in first behind; do
  $page
  has "$page: doctor says so" "$(cli doctor)" "budget_ledger.db is damaged"
  has "$page: threads are listed" "$(cli threads)" "$id"
  is "$page: what one has spent is read from its record" \
    "$(awk '$1 == "actual" {printf "%.6f", $2}' "$M/state/threads/$id/budget")" "${spent##* }"
  reply=$(fork lane_quick)
  id=$(jq -r .thread_id <<<"$reply")
  is "$page: the next thread runs" "$(jq -r .result <<<"$reply")" quick
  is "$page: its cost is all that the new one has" "$(rows)" "$(logged "$id")"
  has "$page: it warns" "$(<"$M/state/threads/$id/warnings")" "begun anew"
  ok "$page: the damaged one is kept" test -s "$L.damaged"
  lacks "$page: doctor is content" "$(cli doctor)" damaged
  spent=$(logged "$id")
done

nap=$(fork_async lane_nap | jq -r .thread_id)
ok "one runs" fx_wait 20 test -e "$P/naps"
first
said=$(fork lane_quick | jq -r .error)
has "no thread begins beside it" "$said" "budget_ledger.db is damaged, and thread $nap, which counts on it, still runs"
is "the damaged one lies where it was" "$(head -c 7 "$L")" "this is"
touch "$P/wake"
# what it says works as it stands
remedy=$(sed -n 's/^mend with: ryefs //p' <<<"$said")
# shellcheck disable=SC2086
cli $remedy >"$T/waited"
like "the remedy ends with the thread" "$(<"$M/state/threads/$nap/status")" "error|completed"
is "and then the next one begins" "$(fork lane_quick | jq -r .result)" quick
finish
