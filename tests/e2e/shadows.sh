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
  rm "$upper"
  ok "$what: the user's entry shows again" until_true shows
done

umount_rye
finish
