#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The first search reads every item: whoever asks waits and can be ended, nobody else waits.
. "$(dirname "$0")/lib.sh"

MANY=5000
mkdir -p "$P/.ai/knowledge/many" "$P/.ai/knowledge/few"
python3 - "$P/.ai/knowledge/many" "$MANY" <<'PY'
import sys
text = "".join("filler %d goes on and on, " % i for i in range(700))
for i in range(int(sys.argv[2])):
    words = " needle-%d" % i + (" alpha" if i % 1000 == 7 else "")
    open("%s/item-%05d.md" % (sys.argv[1], i), "w").write("text %d\n%s%s\n" % (i, text, words))
PY
for i in $(seq 40); do put "knowledge/few/f$i.md" "few $i"; done
# while there is that file, no search comes to its end
SLOW=$T/slow
slow_mount() { SLOW_PART=/knowledge/many preloaded slow_disk SLOW_DISK="$SLOW" mount_rye devmode && scanned; }
slow_mount

# As many as would keep every thread of the mount busy, were it they who search.
asked=()
ask() {
  ls "$M/search/$1" >"$T/hits-$1" 2>&1 &
  asked+=($!)
}
all_ask() { kill -0 "${asked[@]}" 2>/dev/null; }
some_ask() { for pid in "${asked[@]}"; do kill -0 "$pid" 2>/dev/null && return; done; return 1; }

touch "$SLOW"
for word in alpha needle-4999 nothing-like-it beta gamma; do ask $word; done
sleep 0.05 # they have begun
cat "$M"/knowledge/few/f{1..20}.md >"$T/read"
stat "$M"/knowledge/few/f{21..40}.md "$M/knowledge/many/item-00001.md" >/dev/null
ok "others read while the first search goes on" all_ask
is "and read what is there" "$(grep -o few "$T/read" | wc -l)" 20
kill -TERM "${asked[4]}"
wait "${asked[4]}"
unset 'asked[4]'
ok "who is interrupted does not wait for it" all_ask
rm "$SLOW"
wait "${asked[@]}"
is "what is found in the end" "$(wc -l <"$T/hits-alpha") $(<"$T/hits-needle-4999") $(wc -l <"$T/hits-beta")" \
  "5 01-knowledge:many:item-04999 0"
ok "a hit is a link to it" grep -q needle-4999 "$M/search/needle-4999/01-knowledge:many:item-04999"

ok "as it was spelt once" grep -q needle-4999 "$M/search/needle-4999/01-knowledge:many%2Fitem-04999"

echo "quite another text" >"$P/.ai/knowledge/many/item-00003.md"
ok "a change is found" until_true sh -c "ls '$M/search/quite another' | grep -q item-00003"
is "what was there before is not" "$(ls "$M/search/needle-3" | grep -c item-00003)" 0
is "texts in memory are bounded, what is left out is found all the same" \
  "$(ls "$M/search/needle-1234")" "01-knowledge:many:item-01234"
ok "the mount ends" umount_rye

slow_mount
touch "$SLOW"
asked=()
ask alpha
sleep 0.05 # it has begun
kill -TERM "${asked[0]}"
wait "${asked[0]}"
rm "$SLOW"
is "a search that was given up finds nothing" "$(<"$T/hits-alpha")" ""
is "the next one finds all" "$(ls "$M/search/alpha" | wc -l)" 5
ask gamma
ok "a mount with a search under way ends" umount_rye
finish
