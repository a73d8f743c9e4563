#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the pages of docs/ show is typed: their examples saved, signed and run in a fresh workspace.
. "$(dirname "$0")/lib.sh"
command -v setpriv >/dev/null || skip "setpriv is not installed"
[ -x /usr/bin/python3 ] || skip "/usr/bin/python3 is not installed"

mkdir "$T/bin"
ln -s "$RYEFS" "$T/bin/ryefs"
unset USER_SPACE RYE_SIGNING_KEY_DIR RYE_SYSTEM_SPACES

for page in errors files items mcp security tools; do
  mkdir "$T/$page" "$T/$page/mnt" "$T/$page-home"
  cd "$T/$page" || exit 1
  at=(env HOME="$T/$page-home" PATH="$T/bin:$PATH")
  "${at[@]}" ryefs init -q . >/dev/null
  n=$N
  while read -r status text; do
    case $status in
      '#') echo "# $text" ;;
      *) result "$status" "$page: $text" ;;
    esac
  done < <("${at[@]}" /usr/bin/python3 "$SRC/e2e/typist.py" "$SRC/../docs/$page.md" 2>&1)
  ok "$page.md: all of it was typed" test $((N - n)) = "$(grep -c '^\$ ' "$SRC/../docs/$page.md")"
  mounted "$T/$page/mnt" && fusermount3 -u "$T/$page/mnt"
done
finish
