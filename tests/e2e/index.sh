#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The catalogue in the root, index.md and index.json: true for the mount, fresh, made only when it is
# asked for; and README.md, which teaches a reader who has never seen such a mount.
. "$(dirname "$0")/fixture.sh"

fx_spaces
fx_mount
has "README.md names the catalogue" "$(<"$M/README.md")" index.md index.json
has "and that item directories are not listed" "$(<"$M/README.md")" "not listed" schema.json
has "and how to change an item" "$(<"$M/README.md")" "spaces/project" "> sign" verify
has "and how to call with file tools alone" "$(<"$M/README.md")" calls/NAME/request.json replies/NAME/output
is "the catalogue is not listed" "$(ls -a "$M" | grep -c '^index')" 0

page=$(<"$M/index.md")
has "items that verify, in a line" "$page" '- `tool:count` A tool of the tests' '- `knowledge:deep/er/note` About note'
# shellcheck disable=SC2016
has "with parameters" "$page" '`tool:rye/bash/bash` Run' '`command` (string, required)'
# shellcheck disable=SC2016
has "directives' inputs, too" "$page" '`directive:hello` Greet somebody. — parameters: `who` (string)'
has "a refused one is named with its reason" "$page" 'tool:refused/tampered` content changed since signing'
lacks "and with nothing of its text" "$page$(<"$M/index.json")" Secret
cat >"$T/same.py" <<'CODE'
import json
import os
import sys

mount = sys.argv[1]
text = open(mount + "/index.json", "rb").read()
assert os.stat(mount + "/index.json").st_size == len(text)
index = json.loads(text)
page = open(mount + "/index.md").read()
assert index["more"] == 0
for item in index["items"]:
    assert "- `%s`" % item["item_id"] in page, item
    assert os.path.exists("%s/%s" % (mount, item["path"])), item
    run = os.path.splitext("%s/%s" % (mount, item["path"]))[0] + "/verify"
    assert open(run).read().startswith("ok"), item
    assert item["description"] == item["description"].strip()
for item in index["refused"]:
    assert item["reason"] and item["item_id"].split(":")[1].startswith("refused/"), item
names = [item["item_id"] for item in index["items"]]
assert len(names) == len(set(names))
bash = [i for i in index["items"] if i["item_id"] == "tool:rye/bash/bash"][0]
assert {"name": "command", "type": "string", "required": True} in bash["parameters"], bash
count = {}
for root, dirs, files in os.walk(mount + "/tools"):
    for name in files:
        count[name] = os.path.islink(os.path.join(root, name))
assert len([n for n in names if n.startswith("tool:")]) <= len(count)
CODE
works "and true for this mount" "$PY" "$T/same.py" "$M"

# ---- fresh ----

index_has() { grep -q "$1" "$M/index.md"; }
# shellcheck disable=SC2016
gone() { ! grep -q '^- `'"$1"'`' "$M/index.md"; }
echo '# one line more' >>"$P/.ai/tools/count.sh"
ok "an item that changes is refused there" until_true index_has 'tool:count` content changed'
fx_sign "$P" tool:count
ok "and back when it is signed" until_true index_has 'tool:count` A tool of the tests'
fx_tool "$P" brand/new 'echo new'
fx_sign "$P" tool:brand/new
ok "a new one appears" until_true index_has 'tool:brand/new` A tool'
rm "$P/.ai/tools/brand/new.sh"
ok "one that is removed goes" until_true gone tool:brand/new
read_files() { echo $(($(stat_of verifications) + $(stat_of hits))); }
cat "$M/index.md" >"$T/before"
files=$(read_files)
sed -i 's/^# tool:count.*/&/; $a # another line' "$P/.ai/tools/count.sh"
fx_sign "$P" tool:count
ok "after a change it is made again" until_true index_has 'tool:count` A tool of the tests'
now=$(read_files) all=$(grep -c '^- ' "$T/before")
ok "of what changed, and of its own rows ($((now - files)) files for $all items)" test $((2 * (now - files))) -lt "$all"
is "which say what they said" "$(<"$M/index.md")" "$(<"$T/before")"
exec 5<"$M/index.md"
rm "$P/.ai/knowledge/good.md"
until_true index_has 'knowledge:good` About good' # the user's own is behind it
has "an open one stays what it was" "$(cat <&5)" 'knowledge:deep/er/note'
exec 5<&-

# ---- nothing runs, crawlers do not meet it ----

is "nothing ran" "$(stat_of runs)" 0
timeout 30 grep -rlF 'A tool of the tests' "$M" --include='index.*' >"$T/found" 2>/dev/null
is "grep -r does not meet it" "$(<"$T/found")" ""
errno "it cannot be written" "$NOWRITE" bash -c "echo x >'$M/index.md'"

# ---- many readers at once, an end in the middle ----

touch "$P/.ai/tools/big.sh"
pids=
for i in 1 2 3 4 5 6 7 8; do
  cat "$M/index.md" >"$T/copy$i" &
  pids="$pids $!"
done
# shellcheck disable=SC2086
wait $pids
is "many readers have the same" "$(cat "$T"/copy? | md5sum)" "$(for i in 1 2 3 4 5 6 7 8; do cat "$M/index.md"; done | md5sum)"

fx_tool "$P" brand/new 'echo new'
fx_sign "$P" tool:brand/new
until_true index_has 'tool:brand/new` A tool'
cat "$M/index.md" "$M/index.json" >"$T/many_times"
umount_rye
fx_mount norun nosign
is "made anew it is the same" "$(cat "$M/index.md" "$M/index.json")" "$(<"$T/many_times")"
has "README.md says what this mount does not do" "$(<"$M/README.md")" "Nothing can be run" "Nothing can be signed"
lacks "and nothing else" "$(<"$M/README.md")" "## Run something"
has "the catalogue is there, too" "$(<"$M/index.md")" 'tool:count'
finish
