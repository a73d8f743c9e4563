#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A swap between check and use: while somebody replaces an item's file as fast as the machine
# can, by rename, in place, by link and by directory, no read delivers and no run executes a
# byte that was not verified. (A .sh tool is opened by bash itself, which the security page
# says; so the tools here are Python's.)
. "$(dirname "$0")/fixture.sh"

# swap HOW: replaces project items until told to stop
swapper() {
  "$PY" -I - "$P/.ai" "$T/store" "$T/stop" <<'CODE'
import os, shutil, sys
ai, store, stop = sys.argv[1:]
def rename(name, what):
    tmp = ai + "/" + name + ".tmp"
    shutil.copyfile(store + "/" + what, tmp)
    os.rename(tmp, ai + "/" + name)
def inplace(name, what):
    with open(store + "/" + what, "rb") as f:
        data = f.read()
    f = os.open(ai + "/" + name, os.O_WRONLY)
    half = len(data) // 2
    os.pwrite(f, data[:half], 0)
    os.pwrite(f, data[half:], half)
    os.ftruncate(f, len(data))
    os.close(f)
def link(name, what):
    tmp = ai + "/" + name + ".lnk"
    os.symlink(store + "/" + what, tmp)
    os.rename(tmp, ai + "/" + name)
n = 0
while not os.path.exists(stop):
    for name in ("tools/race/fun.py", "tools/race/script.py", "knowledge/race/note.md"):
        base = name.split("/", 2)[2]
        how = (rename, inplace, link)[n % 3]
        how(name, "evil/" + base)
        if how is link:
            os.unlink(ai + "/" + name)
            shutil.copyfile(store + "/good/" + base, ai + "/" + name)
        how = (rename, inplace)[n % 2]
        how(name, "good/" + base)
    if n % 5 == 0:
        os.rename(ai + "/tools/race", ai + "/tools/race.away")
        os.symlink(store + "/evil", ai + "/tools/race")
        os.unlink(ai + "/tools/race")
        os.rename(ai + "/tools/race.away", ai + "/tools/race")
    n += 1
print(n)
CODE
}

# what came of 200 tries each: nothing but the verified text, or an error
racer() {
  "$PY" -I - "$M" "$T/store/truth" 200 <<'CODE'
import collections, json, os, sys
top, truth, tries = sys.argv[1], sys.argv[2], int(sys.argv[3])
seen = collections.Counter()
want = {p: open(truth + "/" + p, "rb").read() for p in ("fun.py", "script.py", "note.md")}
for i in range(tries):
    for path in ("tools/race/fun.py", "tools/race/script.py", "knowledge/race/note.md"):
        try:
            with open(top + "/" + path, "rb") as f:
                got = f.read()
            seen["read" if got == want[path.split("/", 2)[2]] else "WRONG BYTES"] += 1
        except OSError:
            seen["refused"] += 1
    for tool in ("fun", "script"):
        try:
            f = os.open(top + "/tools/race/" + tool + "/run", os.O_RDWR)
        except OSError:
            seen["refused"] += 1
            continue
        try:
            os.write(f, b"{}\n")
            reply = os.read(f, 1 << 20).decode()
            seen["ran" if "GOOD" in reply and "EVIL" not in reply else "WRONG REPLY"] += 1
        except OSError:
            seen["refused"] += 1
        os.close(f)
for word in ("WRONG BYTES", "WRONG REPLY"):
    print(word, seen[word])
print("read", seen["read"] > 0, "ran", seen["ran"] > 0, "refused", seen["refused"] > 0)
CODE
}

versions() { # WORD: the three items as good or evil ones
  fx_python "$P" race/fun <<TEXT
open(__import__("sys").argv[-1] + "/$1", "a").write("fun\\n")


def execute(params, project_path):
    return {"success": True, "output": "$1"}
TEXT
  fx_python "$P" race/script <<TEXT
print('{"success": true, "output": "$1"}')
open(__import__("sys").argv[-1] + "/$1", "a").write("script\\n")
TEXT
  sed -i 's,runtimes/python/function,runtimes/python/script,' "$P/.ai/tools/race/script.py"
  fx_knowledge "$P" race/note "This is $1."
}

keep() { # DIRECTORY
  mkdir -p "$T/store/$1" && cp "$P/.ai/tools/race/fun.py" "$P/.ai/tools/race/script.py" "$P/.ai/knowledge/race/note.md" "$T/store/$1"
}

fx_spaces
versions EVIL && keep evil
versions GOOD && fx_sign "$P" 'tool:race/*' 'knowledge:race/*' && keep good
# evil under the good one's signature
for f in fun.py script.py note.md; do
  { head -n 2 "$T/store/good/$f" && cat "$T/store/evil/$f"; } >"$T/x" && mv "$T/x" "$T/store/evil/$f"
done
keep truth
tail -n +3 "$T/store/good/note.md" >"$T/store/truth/note.md"
fx_mount
swapper >"$T/swaps" 2>&1 &
swap=$!
racer >"$T/got" 2>&1
: >"$T/stop"
wait "$swap"
is "no wrong byte was delivered, no wrong byte ran" "$(head -n 2 "$T/got" | xargs)" "WRONG BYTES 0 WRONG REPLY 0"
has "all came about: reads, runs, refusals" "$(tail -n 1 "$T/got")" "read True" "ran True" "refused True"
is "evil never ran" "$(find "$P" "$T/store" -name EVIL 2>/dev/null)" ""
like "the swapper was busy" "$(cat "$T/swaps")" "^[1-9][0-9]*$"
for f in fun.py script.py; do
  cp "$T/store/good/$f" "$P/.ai/tools/race/$f"
  fx_wait 2 cmp -s "$T/store/good/$f" "$M/tools/race/$f"
  same_file "after it all $f is served" "$T/store/good/$f" "$M/tools/race/$f"
done
finish
