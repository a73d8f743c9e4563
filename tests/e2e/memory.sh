#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What many readers have read does not stay in memory; whoever has it open reads it to the end all
# the same, and it is not verified again.
. "$(dirname "$0")/lib.sh"

MANY=${RYE_TEST_MANY:-2000}
K=$P/.ai/knowledge/many
mkdir -p "$K" "$T/tmp"
python3 - "$K" "$MANY" <<'PY'
import sys
for i in range(int(sys.argv[2])):
    open("%s/item-%05d.md" % (sys.argv[1], i), "w").write("text %d of many\n" % i * 300)
PY
TMPDIR=$T/tmp mount_rye devmode
scanned
D=$M/knowledge/many
total=$(cat "$K"/* | wc -c)

drop_caches() {
  [ "$(id -u)" = 0 ] && [ -w /proc/sys/vm/drop_caches ] && echo 3 >/proc/sys/vm/drop_caches
  return 0
}
sum() { cat "$@" | sha256sum; }

# ---- texts leave memory ----
exec 5<"$D/item-00001.md" 6<"$D/item-00002.md" 7<"$D/item-00003.md" 8<"$D/item-00004.md"
head -c 100 <&5 >/dev/null
is "all of it is as on the disk" "$(sum "$D"/item-*)" "$(sum "$K"/item-*)"
moved() { [ "$(stat_of texts_memory)" -le $((4 << 20)) ]; }
ok "4 MB of texts stay in memory" until_true moved
ok "and the others are in the file" [ "$(stat_of texts_file)" -gt $((total - (6 << 20))) ]
is "which has no name" "$(ls -A "$T/tmp")" ""

# ---- an open file is the version that was opened ----
sum "$K/item-00001.md" >"$T/1" && sum "$K/item-00002.md" >"$T/2"
sum "$K/item-00003.md" >"$T/3" && sum "$K/item-00004.md" >"$T/4"
drop_caches
printf 'another' >"$T/new" && mv "$T/new" "$K/item-00001.md"
printf 'in place' >"$K/item-00002.md"
rm "$K/item-00003.md"
ok "a changed file is another" until_true grep -qx another "$D/item-00001.md"
ok "one changed in place" until_true grep -qx 'in place' "$D/item-00002.md"
ok "a removed one is gone" until_true test ! -e "$D/item-00003.md"
drop_caches
for n in 1 2 3 4; do
  is "who had number $n open reads what it was" "$(dd bs=4096 status=none <"/proc/self/fd/$((4 + n))" | sha256sum)" "$(<"$T/$n")"
done
exec 5<&- 6<&- 7<&- 8<&-

# ---- and is not verified again ----
cat "$D"/item-* >/dev/null
before=$(stat_of verifications)
for _ in 1 2 3; do
  drop_caches
  is "read anew it is the same" "$(sum "$D"/item-*)" "$(sum "$K"/item-*)"
done
is "and nothing of it was verified again" "$(stat_of verifications)" "$before"

# ---- a removed directory costs what was removed, not what there is ----
for ((i = 0; i < 100; i++)); do
  mkdir -p "$P/.ai/knowledge/gone/g$i"
  echo "text $i" >"$P/.ai/knowledge/gone/g$i/g$i.md"
done
listed() { [ "$(find "$M/knowledge/gone" -name 'g*.md' 2>/dev/null | wc -l)" = "$1" ]; }
ok "a hundred more" until_true listed 100
ls -lR "$D" "$M/knowledge/gone" >/dev/null
before=$(stat_of looked)
rm -r "$P/.ai/knowledge/gone"
ok "are gone" until_true listed 0
not_ok "every one of them" sh -c "ls '$M/knowledge/gone/'g*/g*.md 2>/dev/null | grep ."
ok "and the directory" until_true test ! -e "$M/knowledge/gone"
looked=$(($(stat_of looked) - before))
like "of all nodes a few were looked at for each" "$((looked > 1000)) $looked" "^0 "

# ---- with a bad place for the file, or none ----
ok "the mount ends" umount_rye
is "and leaves nothing" "$(ls -A "$T/tmp")" ""
mkdir "$P/.ai/tmp"
TMPDIR=$M/spaces/project/tmp mount_rye devmode
scanned
is "the mount itself is no place for the file" "$(sum "$D"/item-*)" "$(sum "$K"/item-*)"
drop_caches
is "all can be read again" "$(sum "$D"/item-*)" "$(sum "$K"/item-*)"
ok "it is somewhere else" [ "$(stat_of texts_file)" -gt 0 ]
ok "the mount ends" umount_rye
ulimit -S -f 8
mount_rye devmode
ulimit -S -f unlimited
scanned
is "where no file may grow, texts stay" "$(sum "$D"/item-*)" "$(sum "$K"/item-*)"
ok "in memory" [ "$(stat_of texts_memory)" -gt $((total - (1 << 20))) ]
finish
