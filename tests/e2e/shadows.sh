#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What cannot be an item in a higher space is refused; the one below it never shows instead.
. "$(dirname "$0")/lib.sh"

V=$SRC/vectors/binding
mkdir -p "$U/.ai/knowledge/vec" "$P/.ai/knowledge/vec"
cp "$V/b3.md" "$U/.ai/knowledge/vec/"
upper=$P/.ai/knowledge/vec/b3.md
mount_rye
scanned
view=$M/knowledge/vec/b3.md

shows() { cmp -s "$view" "$V/b3.md" || grep -q . "$view" 2>/dev/null; }
refused() { [ -L "$view" ] && ! cat "$view" >/dev/null 2>&1; }
# By name: through the mount's primitives and on the command line, which looks by itself.
by_name() { echo '{"item_id":"knowledge:vec/b3"}' >"$M/$1" && cat "$M/$1"; }
by_verb() { "$RYEFS" "$1" knowledge:vec/b3 --project "$P" --user "$U" --system "$S"; }

ok "the user's entry shows" shows
for what in escape nowhere loop fifo; do
  case $what in
    escape) ln -s /etc/hostname "$upper" ;;
    nowhere) ln -s nothing-here "$upper" ;;
    loop) ln -s b3.md "$upper" ;;
    fifo) mkfifo "$upper" ;;
  esac
  ok "$what: refused in its place" until_true refused
  ok "$what: ls says why" sh -c "ls -l '$view' | grep -q '\.why/'"
  for how in execute fetch; do
    not_ok "$what: $how by name is refused, too" by_name $how
    like "$what: $how names the file and its fault" "$(<"$M/$how")" "project/.ai/knowledge/vec/b3.md"
    not_ok "$what: so does the verb $how" by_verb $how
  done
  rm "$upper"
  ok "$what: the user's entry shows again" until_true shows
done

# A directory of the higher space that is a link out of it, or to nowhere.
rmdir "$P/.ai/knowledge/vec"
mkdir -p "$T/outside"
for what in outside gone; do
  ln -s "$T/$what" "$P/.ai/knowledge/vec"
  ok "$what: refused beneath" until_true refused
  like "$what: and why" "$(readlink "$view")" 'leads out of'
  not_ok "$what: execute by name is refused, too" by_name execute
  not_ok "$what: so does the verb execute" by_verb execute
  rm "$P/.ai/knowledge/vec"
  ok "$what: the user's entry shows again" until_true shows
done

umount_rye
finish
