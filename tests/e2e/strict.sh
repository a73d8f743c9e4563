#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A layer of whose changes nobody tells (here: one that lies on FUSE itself): every lookup looks.
. "$(dirname "$0")/lib.sh"

L=.ai/tools/base/.ai/knowledge
mkdir -p "$P/$L/d" "$T/p2/.ai/tools" "$T/mnt2"
echo one >"$P/$L/one.md"
echo one >"$P/$L/d/one.md"
mount_rye devmode
K=$T/mnt2
USER_SPACE='' "$RYEFS" "$T/p2" "$K" -o "userspace=$M/spaces/project/tools/base,system=$S,devmode" 2>"$T/said"
ok "a user space on FUSE" test -r "$K/README.md"
at_end 'fusermount3 -u -q -z "$K"'

# what lies beneath is a mount, too, and is told of an edit a moment later
edit() { echo "$1" >"$P/$L/$2" && sleep 0.03; }

is "its items" "$(ls "$K/knowledge" | tr '\n' ' ')" "d one.md "
is "their text" "$(<"$K/knowledge/one.md")" one
exec 5<"$K/knowledge/one.md"
edit two one.md
is "an edit shows at the next lookup" "$(<"$K/knowledge/one.md")" two
is "an open one keeps its text" "$(cat <&5)" one
exec 5<&-
not_ok "a name that is not there" test -e "$K/knowledge/two.md"
echo new >"$P/$L/two.md"
is "comes" "$(<"$K/knowledge/two.md")" new
is "and is listed" "$(ls "$K/knowledge" | tr '\n' ' ')" "d one.md two.md "
echo new >"$P/$L/d/two.md"
is "below as well" "$(ls "$K/knowledge/d" | tr '\n' ' ')" "one.md two.md "
rm "$P/$L/one.md"
errno "and goes" ENOENT cat "$K/knowledge/one.md"
is "also from the listing" "$(ls "$K/knowledge" | tr '\n' ' ')" "d two.md "
for i in 1 2 3 4 5; do
  edit "round $i" two.md
  is "round $i" "$(<"$K/knowledge/two.md")" "round $i"
done
ok "the second mount ends" fusermount3 -u "$K"

# ---- a file that has another name elsewhere: writes through that one are told to nobody ----
Q=$M/knowledge
printf one >"$T/outside" && ln "$T/outside" "$P/.ai/knowledge/hard.md"
printf 'a: 1\n' >"$T/config" && mkdir -p "$P/.ai/config/web" && ln "$T/config" "$P/.ai/config/web/hard.yaml"
ok "a file with two names" until_true grep -qx one "$Q/hard.md"
grep -q 1 "$M/config/web/hard.yaml"
exec 5<"$Q/hard.md"
for i in 1 2 3; do
  printf "by the other name $i" >"$T/outside"
  is "what is written by the other name shows at the next lookup, $i" "$(<"$Q/hard.md")" "by the other name $i"
done
printf 'a: 2\n' >"$T/config"
is "as well in configuration" "$(<"$M/config/web/hard.yaml")" 'a: 2'
is "and in a listing" "$(stat -c %s "$Q/hard.md")" "$(stat -c %s "$T/outside")"
is "an open one keeps its text" "$(cat <&5)" one
exec 5<&-
sleep 0.1 # the times of the file have to be old
cat "$Q/hard.md" >/dev/null
before=$(stat_of verifications)
for i in 1 2 3 4 5; do cat "$Q/hard.md" >/dev/null; done
is "unchanged, it is not verified again" "$(stat_of verifications)" "$before"
finish
