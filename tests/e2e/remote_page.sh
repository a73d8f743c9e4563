#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# remote_page.sh: every command of docs/remote.md is typed as it stands there and says what is shown, both
# machines being this one.
. "$(dirname "$0")/lib.sh"
[ -x /usr/bin/python3 ] || skip "/usr/bin/python3 is not installed"

PAGE=$SRC/../docs/remote.md
mkdir "$T/home" "$T/bin" "$T/here"
ln -s "$RYEFS" "$T/bin/ryefs"
cat >"$T/bin/ssh" <<'FAKE'
#!/bin/sh
# the machine at the other end is this one: the last word is what its shell is told
for last; do :; done
exec sh -c "$last"
FAKE
chmod 755 "$T/bin/ssh"
export RYE_NODE_IDLE_MS=3000
unset USER_SPACE RYE_SIGNING_KEY_DIR RYE_NODE XDG_DATA_HOME
cd "$T/here" || exit 1
while read -r status text; do
  case $status in
    '#') echo "# $text" ;;
    *) result "$status" "$text" ;;
  esac
done < <(env HOME="$T/home" TMPDIR="$T" PATH="$T/bin:$PATH" /usr/bin/python3 "$SRC/e2e/typist.py" "$PAGE" 2>&1)
ok "all of it was typed" test "$N" -ge "$(grep -c '^\$ ' "$PAGE")"
finish
