#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every command of docs/skills.md is typed as it stands there, in a fresh home, and says what is shown.
. "$(dirname "$0")/lib.sh"
[ -x /usr/bin/python3 ] || skip "/usr/bin/python3 is not installed"
mkdir "$T/home"
: >"$T/instead"
unset USER_SPACE RYE_SIGNING_KEY_DIR RYE_SYSTEM_SPACES
cd "$T" || exit 1
while read -r status text; do
  case $status in
    '#') echo "# $text" ;;
    *) result "$status" "$text" ;;
  esac
done < <(env HOME="$T/home" TMPDIR="$T" PATH="$(dirname "$RYEFS"):$PATH" \
  /usr/bin/python3 "$SRC/e2e/typist.py" "$SRC/../docs/skills.md" "$T/instead" 2>&1)
ok "all of it was typed" test "$N" -ge "$(grep -c '^\$ ' "$SRC/../docs/skills.md")"
finish
