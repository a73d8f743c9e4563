#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .ryefs/changes: a line for each change below the kinds' directories, for `tail -f`. Who sees the line
# sees the change; followers lose no line and see no NUL.
. "$(dirname "$0")/fixture.sh"

"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
for i in 1 2 3; do fx_knowledge "$P" "k/item-$i" "Round 0."; done
fx_sign "$P" --all
allow 'a project cannot vouch for its own keys'
fx_mount
C=$M/.ryefs/changes
is "modes" "$(stat -c %a "$C")" 400
ok "it is listed" sh -c "ls '$M/.ryefs' | grep -qx changes"
beside tail timeout 100 tail -n +1 -s 0.05 -f "$C"
F=$T/tail.log
told() { [ "$(grep -c " $1\$" "$F")" -gt "${2:-0}" ]; }

seen() { # PATH: how often so far
  grep -c " $1\$" "$F"
}
n=$(seen knowledge/k/item-1.md)
cat "$M/knowledge/k/item-1.md" >/dev/null
fx_knowledge "$P" k/item-1 "Round 1."
ok "an edit outside is told" until_true told knowledge/k/item-1.md "$n"
ok "who sees the line sees the change: it is refused" test -L "$M/knowledge/k/item-1.md"
n=$(seen knowledge/k/item-1.md)
fx_sign "$P" knowledge:k/item-1
ok "signing is told" until_true told knowledge/k/item-1.md "$n"
ok "and seen" until_true grep -q "Round 1" "$M/knowledge/k/item-1.md"
n=$(seen knowledge/k/item-2.md)
echo more >>"$M/spaces/project/knowledge/k/item-2.md"
ok "an edit through spaces/ is told" until_true told knowledge/k/item-2.md "$n"
mv "$(mktemp "$P/.ai/knowledge/k/.it-XXXXXX")" "$P/.ai/knowledge/k/item-4.md"
ok "a save is told by its name" until_true told knowledge/k/item-4.md
not_ok "not by that of its temporary file, nor is signing's" grep -q '/\.' "$F"
rm "$P/.ai/knowledge/k/item-3.md"
ok "so is what goes" until_true told knowledge/k/item-3.md
fx_knowledge "$U" mine/new "Of the user's space."
ok "what comes in another space" until_true grep -q ' knowledge/mine' "$F"
mv "$P/.ai/knowledge/k" "$P/.ai/knowledge/q"
ok "a directory under another name" until_true grep -q ' knowledge/q' "$F"
name=$(printf 'knowledge/q/two\nlines.md')
echo x >"$P/.ai/$name"
ok "a name of two lines has one" until_true grep -q ' knowledge/q/two?lines.md$' "$F"
rm "$U/.ai/config/keys/trusted/"*.toml
ok "where anything may have changed, a dot" until_true grep -q 'Z \.$' "$F"

# ---- many, while it is followed ----
for i in $(seq 300); do echo "$i" >"$P/.ai/tools/t$i.sh"; done
for i in $(seq 300); do told "tools/t$i.sh" || until_true told "tools/t$i.sh" || break; done
ok "of 300 none is lost" told tools/t300.sh
is "each has its line" "$(grep -oE ' tools/t[0-9]+\.sh$' "$F" | sort -u | wc -l)" 300
is "no NUL is seen" "$(tr -dc '\000' <"$F" | wc -c)" 0
is "each line has a time and a path" "$(grep -cvE '^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z [^ ]' "$F")" 0
ok "what was followed is what is there" until_true cmp "$F" "$C"
kill "$BESIDE"
finish
