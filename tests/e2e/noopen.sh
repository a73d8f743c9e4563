#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the kernel sends once OPEN, OPENDIR and FLUSH were refused; measured in requests.
. "$(dirname "$0")/lib.sh"

mkdir -p "$P/.ai/knowledge/vec" "$P/.ai/tools/vec"
cp "$SRC/vectors/binding/b3.md" "$P/.ai/knowledge/vec/"
cp "$SRC/vectors/binding/b2.py" "$P/.ai/tools/vec/"
for i in $(seq 20); do put "knowledge/many/k$i.md" "text $i"; done
mount_rye devmode
scanned

# reads of the counters themselves: LOOKUP of the file and READ
base() { # NAME: what one `mark` costs
  mark
  since "$1"
}
LOOKUP0=$(base lookup)
GETATTR0=$(base getattr)
READ0=$(base read)

is "one OPEN was sent, by ourselves" "$(stat_of open)" 1
is "one OPENDIR was sent, by ourselves" "$(stat_of opendir)" 1
is "one FLUSH was sent" "$(stat_of flush)" 1

cat "$M/knowledge/vec/b3.md" >/dev/null
is "still one OPEN" "$(stat_of open)" 1
is "no RELEASE ever" "$(stat_of release)" 0

reads() {
  local n=$1 file=$2
  python3 - "$n" "$file" <<'PY'
import os, sys
for _ in range(int(sys.argv[1])):
    fd = os.open(sys.argv[2], os.O_RDONLY)
    while os.read(fd, 65536):
        pass
    os.close(fd)
PY
}

stat "$M/tools/vec" >/dev/null
mark
reads 50 "$M/tools/vec/b2.py"
now=$(cat "$M/.ryefs/stats.json")
count() { echo $(($(printf %s "$now" | sed "s/.*\"$1\":\([0-9]*\).*/\1/") - $(printf %s "$MARK" | sed "s/.*\"$1\":\([0-9]*\).*/\1/"))); }
is "50 x open+read+close: one LOOKUP" "$(($(count lookup) - LOOKUP0))" 1
like "50 x open+read+close: at most one GETATTR" "$(($(count getattr) - GETATTR0))" '^[01]$'
is "50 x open+read+close: one READ" "$(($(count read) - READ0))" 1
mark
reads 50 "$M/tools/vec/b2.py"
is "50 x again: no LOOKUP" "$(($(since lookup) - LOOKUP0))" 0
mark
reads 50 "$M/tools/vec/b2.py"
is "50 x again: no GETATTR" "$(($(since getattr) - GETATTR0))" 0
mark
reads 50 "$M/tools/vec/b2.py"
is "50 x again: no READ" "$(($(since read) - READ0))" 0

ls -lR "$M/knowledge" >/dev/null
mark
find "$M/knowledge" -size +0 >/dev/null
is "find of a listed directory sends no LOOKUP" "$(($(since lookup) - LOOKUP0))" 0
mark
find "$M/knowledge" >/dev/null
is "find of a listed directory sends no READDIRPLUS" "$(since readdirplus)" 0
mark
ls -l "$M/knowledge/many" >/dev/null
is "ls -l of a listed directory sends no GETATTR" "$(($(since getattr) - GETATTR0))" 0

mark
stat "$M/knowledge/vec/nothing.md" >/dev/null 2>&1
stat "$M/knowledge/vec/nothing.md" >/dev/null 2>&1
stat "$M/knowledge/vec/nothing.md" >/dev/null 2>&1
is "a name that is not there is asked for once" "$(($(since lookup) - LOOKUP0))" 1

# a CREATE, the first of this mount, carries no handle
echo one >"$M/spaces/project/knowledge/new.md"
is "a CREATE brings no RELEASE" "$(stat_of release)" 0
is "a CREATE brings no FLUSH" "$(stat_of flush)" 1

errno "open(O_TRUNC) on content" "$NOWRITE" sh -c ": > '$M/tools/vec/b2.py'"
is "the content is whole after that" "$(cat "$M/tools/vec/b2.py" | cmp - "$P/.ai/tools/vec/b2.py" && echo same)" same

mark
echo a >>"$M/spaces/project/knowledge/new.md"
is "a write asks for no xattr" "$(since xattr)" 0

# what the kernel changed itself it is not told again; what another process changes, at once
D=$M/spaces/project/directives/saved O=$P/.ai/directives/saved
mkdir -p "$D"
sleep 0.2 # the new directory has been told by then
# a change that is on its way just then may be told, more often where all is slow: the best of five rounds
rounds=
for _ in 1 2 3 4 5; do
  mark
  python3 - "$D" <<'PY'
import os, sys, time
for i in range(20):
    with open(f"{sys.argv[1]}/{i}.tmp", "w") as file:
        file.write("text")
    os.rename(f"{sys.argv[1]}/{i}.tmp", sys.argv[1] + "/saved.txt")
    time.sleep(0.005)
time.sleep(0.1)  # what is told late is counted, too
PY
  told=$(since invalidations) rounds="$rounds $told"
  [ "$told" -gt 9 ] || break
done
like "20 saves need no notification" "$rounds " ' [0-9] '
is "the saved file is listed" "$(ls "$D")" saved.txt

# a temporary file may begin with a dot: nothing is asked of it again, though no item can have that name
mark
python3 - "$D" <<'PY'
import os, sys
for i in range(20):
    with open(f"{sys.argv[1]}/.{i}.tmp", "w") as file:
        file.write("text")
    os.rename(f"{sys.argv[1]}/.{i}.tmp", sys.argv[1] + "/saved.txt")
PY
now=$(cat "$M/.ryefs/stats.json")
like "20 saves by dot names: the two names are looked up" "$(($(count lookup) - LOOKUP0))" '^([1-3]?[0-9]|4[0-5])$'
like "20 saves by dot names: the directory's attributes, no more" "$(($(count getattr) - GETATTR0))" '^([1-3]?[0-9]|4[0-5])$'
soon() { # WHAT COMMAND…: well before the kernel asks by itself
  local what=$1 end=$(($(date +%s%N) + 600000000))
  shift
  until "$@"; do
    [ "$(date +%s%N)" -lt "$end" ] || break
    sleep 0.01
  done
  ok "$what" "$@"
}
said() { [ "$(cat "$D/saved.txt" 2>/dev/null)" = "$1" ]; }
there() { [ -e "$D/$1" ]; }
gone() { ! [ -e "$D/$1" ]; }
has_mode() { [ "$(stat -c %a "$D/d.tmp")" = "$1" ]; }
listed() { [ "$(echo $(ls "$D"))" = "$1" ]; }
printf 'their text' >"$O/saved.txt"
soon "a save, then another process writes" said "their text"
printf ours >"$D/a.tmp" && mv "$D/a.tmp" "$D/saved.txt" && ok "ours again" said ours
printf 'theirs' >"$O/b" && mv "$O/b" "$O/saved.txt"
soon "a save, then another process replaces it" said theirs
rm "$D/saved.txt" && printf back >"$O/saved.txt"
soon "removed, then another process makes it" said back
printf ours >"$D/c.tmp" && mv "$D/c.tmp" "$D/saved.txt" && ls "$D" >/dev/null && rm "$O/saved.txt"
soon "a save, then another process removes it" gone saved.txt
soon "and the listing knows" listed ""
printf x >"$D/d.tmp" && mv "$D/d.tmp" "$D/e" && ls "$D" >/dev/null && mv "$O/e" "$O/d.tmp"
soon "a rename, then another process turns it back" there d.tmp
soon "and the listing knows" listed d.tmp
soon "the other name is gone" gone e
chmod 600 "$O/d.tmp"
soon "another process changes the mode" has_mode 600
printf ours >"$D/.dot" && mv "$D/.dot" "$D/saved.txt" && printf ours >"$D/.dot"
printf 'their text' >"$O/.dot"
soon "another process writes a file whose name begins with a dot" grep -q their "$D/.dot"
rm "$O/.dot"
soon "and removes it" gone .dot

# forgetting: names that nobody holds
before=$(stat_of alive)
python3 - "$M" <<'PY'
import os, sys
for i in range(3000):
    os.stat(sys.argv[1] + "/tools/vec/b2/run")
PY
until_true sh -c '[ "$(sed "s/.*\"alive\":\([0-9]*\).*/\1/" "$1/.ryefs/stats.json")" -le "$2" ]' - "$M" $((before + 10))
like "3 000 conversations were forgotten at once" "$(($(stat_of alive) - before))" '^-?[0-9]$'

finish
