#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What was changed through the mount is what the next read gives: edits, saves, signing, removal.
. "$(dirname "$0")/lib.sh"

ROUNDS=${RYE_FRESH_ROUNDS:-300}
mkdir -p "$S/.ai/knowledge"
ok "a key" env USER_SPACE="$U" HOME="$U" "$RYEFS" keygen --project "$P" -q
mount_rye
scanned
timeout 100 python3 "$SRC/e2e/fresh.py" "$M" "$S/.ai/knowledge" "$ROUNDS" >"$T/rounds" 2>"$T/trouble"
ok "every case was tried" test "$(grep -c '^\(not \)\?ok' "$T/rounds")" = 20
sed 's/^/# /' "$T/trouble"
while read -r line; do
  ok "${line#* - }" test "${line%%ok*}" = ""
done <"$T/rounds"
finish
