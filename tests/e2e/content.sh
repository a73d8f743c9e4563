#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Verified content, refused items, listings, changes from outside.
. "$(dirname "$0")/lib.sh"

V=$SRC/vectors/binding
mkdir -p "$P/.ai"/{directives,tools,knowledge}/vec "$U/.ai/knowledge/vec" "$S/.ai/tools/vec"
cp "$V/b1.md" "$P/.ai/directives/vec/"
cp "$V/b2.py" "$P/.ai/tools/vec/"
cp "$V/b3.md" "$U/.ai/knowledge/vec/"
cp "$V/b8.sh" "$S/.ai/tools/vec/"
cp "$V/b1-body-edited.md" "$P/.ai/directives/vec/edited.md"
put tools/vec/unsigned.py 'print("ran")
'
put tools/vec/shell.sh 'echo ran
'
put tools/lib/data.bin 'not an item'
put tools/vec/__pycache__/x.pyc 'junk'
mount_rye

# ---- bytes ----
ok "a tool is served byte for byte" cmp "$M/tools/vec/b2.py" "$V/b2.py"
ok "a tool of the system space too" cmp "$M/tools/vec/b8.sh" "$V/b8.sh"
not_ok "a directive is served without its signature line" grep -q rye:signed "$M/directives/vec/b1.md"
is "the size is exact" "$(stat -c %s "$M/directives/vec/b1.md")" "$(wc -c <"$M/directives/vec/b1.md")"
is "modes of items" "$(stat -c %a "$M/tools/vec/b2.py")" 444
is "modes of directories" "$(stat -c %a "$M/tools/vec")" 755
is "modes of control files" "$(stat -c %a "$M/tools/vec/b2/run")" 600
ok "mmap" python3 -c "
import mmap,sys
f=open(sys.argv[1],'rb'); m=mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ)
assert m[:]==open(sys.argv[2],'rb').read()" "$M/tools/vec/b2.py" "$V/b2.py"
is "O_DIRECT" "$(dd if="$M/tools/vec/b2.py" bs=4096 iflag=direct 2>/dev/null | md5sum)" "$(md5sum <"$V/b2.py")"
is "sendfile, splice, copy_file_range" "$(cp "$M/tools/vec/b2.py" "$T/c1" && cat "$M/tools/vec/b2.py" | cat >"$T/c2" && cat "$T/c1" "$T/c2" | md5sum)" \
  "$(cat "$V/b2.py" "$V/b2.py" | md5sum)"
like "a directory's time is no accident" "$(stat -c %Y "$M/config" "$M/tools" | sort -n | head -1)" '^[1-9][0-9]{8}'
ok "lseek to data and hole" python3 -c "
import os,sys
fd=os.open(sys.argv[1],os.O_RDONLY); n=os.fstat(fd).st_size
assert os.lseek(fd,0,os.SEEK_DATA)==0 and os.lseek(fd,0,os.SEEK_HOLE)==n" "$M/tools/vec/b2.py"

# ---- refused ----
like "a refused item is a link to its reason" "$(readlink "$M/tools/vec/unsigned.py")" \
  '^\.why/ENODATA: unsigned; mend with: ryefs sign tool:vec/unsigned$'
like "ls -l shows it" "$(ls -l "$M/tools/vec")" '^l.* unsigned\.py -> \.why/ENODATA: '
errno "cat" EACCES cat "$M/tools/vec/unsigned.py"
errno "sh" EACCES sh "$M/tools/vec/shell.sh"
errno "python" EACCES python3 "$M/tools/vec/unsigned.py"
errno "wc -c" EACCES wc -c "$M/tools/vec/unsigned.py"
errno "a changed one" EACCES cat "$M/directives/vec/edited.md"
ok "test -e" test -e "$M/tools/vec/unsigned.py"
is "and its link names the errno" "$(readlink "$M/directives/vec/edited.md" | cut -d: -f1)" .why/EKEYREJECTED
ok "find and ls go over it" sh -c "ls -lR '$M/tools' && find '$M/tools' -type f"
like "verify stays readable" "$(cat "$M/tools/vec/unsigned/verify")" '^unsigned'
ok "info.json stays readable" grep -q '"verdict": "unsigned"' "$M/tools/vec/unsigned/info.json"
ok "source leads to the bytes" cmp "$M/tools/vec/unsigned/source" "$P/.ai/tools/vec/unsigned.py"
errno "schema.json is refused alike" EACCES cat "$M/tools/vec/unsigned/schema.json"
ok "tar carries the reason along" sh -c "tar -C '$M' -cf - tools | tar -tvf - | grep -q 'ENODATA: unsigned'"
is ".why is empty" "$(ls -A "$M/tools/vec/.why")" ""
errno ".why knows errors by name" EACCES cat "$M/tools/vec/.why/EUCLEAN"
errno ".why knows nothing else" ENOENT cat "$M/tools/vec/.why/hello"
like "doctor lists it" "$(cat "$M/.ryefs/doctor")" '^tools/vec/unsigned.py: ENODATA: unsigned'

# ---- listings ----
is "the root" "$(ls -A "$M" | tr '\n' ' ')" \
  "README.md config directives execute fetch knowledge search sign skills state tools "
is "one name per item" "$(ls -A "$M/tools/vec" | tr '\n' ' ')" "b2.py b8.sh shell.sh unsigned.py "
is "no other files" "$(ls -A "$M/tools" | tr '\n' ' ')" "vec "
is "an item's directory lists what it has" "$(ls "$M/tools/vec/b2" | tr '\n' ' ')" \
  "async chain.json dry_run info.json output run schema.json source trace.json verify "
is "a directive's" "$(ls "$M/directives/vec/b1" | tr '\n' ' ')" \
  "async dry_run fork info.json output prompt.md run schema.json source verify "
is "a knowledge entry's" "$(ls "$M/knowledge/vec/b3" | tr '\n' ' ')" \
  "data.json info.json output run source verify "
is "hidden but there" "$(ls -d "$M/spaces" "$M/.ryefs" | wc -l)" 2
is "d_type and lstat agree" "$(cd "$M" && find . -type f | sort | md5sum)" \
  "$(cd "$M" && find . | sort | while read -r f; do [ -f "$f" ] && [ ! -L "$f" ] && echo "$f"; done | md5sum)"
is "d_ino and st_ino agree" "$(cd "$M" && ls -i . | sort -k2)" "$(cd "$M" && stat -c '%i %n' * | sort -k2 | sed 's/^ *//')" 
is "the tree is finite" "$(find "$M" | wc -l)" "$(find "$M" | sort -u | wc -l)"
is "st_ino is stable" "$(stat -c %i "$M/tools/vec/b2/run")" "$(stat -c %i "$M/tools/vec/b2/run")"

# ---- read-only ----
errno "rm" EROFS rm -f "$M/tools/vec/b2.py"
errno "mv" EROFS mv "$M/tools/vec/b2.py" "$M/tools/vec/b9.py"
errno "ln" EROFS ln "$M/tools/vec/b2.py" "$M/tools/vec/b9.py"
errno "ln -s" EROFS ln -s x "$M/tools/vec/b9.py"
errno "mkdir" EROFS mkdir "$M/tools/new"
errno "rmdir" EROFS rmdir "$M/tools/vec"
errno "touch" "$NOWRITE" touch "$M/tools/vec/b2.py"
errno "chmod" EROFS chmod 600 "$M/tools/vec/b2.py"
errno "a new file" EROFS sh -c "echo x > '$M/tools/vec/new.py'"
like "which says where it goes" "$(tail -n 1 "$M/.ryefs/errors")" 'tools/vec/new.py: .* write spaces/project/tools/vec/new.py, and sign it$'
errno "appending" "$NOWRITE" bash -c "echo x >> '$M/tools/vec/b2.py'"
errno "rm of a refused item" EROFS rm "$M/tools/vec/unsigned.py"
errno "mv out of the mount" EROFS mv "$M/tools/vec/b2.py" "$T/"
errno "rm of run" EROFS rm -f "$M/tools/vec/b2/run"
rm -f "$T/b2.py"

# ---- changes from outside ----
exec 5<"$M/tools/vec/b2.py"
old=$(md5sum <"$M/tools/vec/b2.py")
inode=$(stat -c %i "$M/tools/vec/b2.py")
cp "$V/b2-shebang-edited.py" "$P/.ai/tools/vec/b2.py"
gone() { ! cat "$M/tools/vec/b2.py"; }
ok "an edit shows" until_true gone
errno "a signed tool whose shebang changed is refused" EACCES cat "$M/tools/vec/b2.py"
is "st_ino is the same" "$(stat -c %i "$M/tools/vec/b2.py")" "$inode"
is "the old descriptor reads the old bytes" "$(md5sum <&5)" "$old"
exec 5<&-
cp "$V/b2.py" "$P/.ai/tools/vec/b2.py"
ok "it comes back" until_true cmp "$M/tools/vec/b2.py" "$V/b2.py"
exec 5<"$M/tools/vec/b2.py"
rm "$P/.ai/tools/vec/b2.py"
ok "a deleted item goes" until_true sh -c "! test -e '$M/tools/vec/b2.py'"
echo 3 >/proc/sys/vm/drop_caches 2>/dev/null
is "the old descriptor outlives deletion and dropped caches" "$(md5sum <&5)" "$old"
exec 5<&-
is "the listing follows" "$(ls -A "$M/tools/vec" | tr '\n' ' ')" "b8.sh shell.sh unsigned.py "
not_ok "its directory has gone too" test -e "$M/tools/vec/b2/run"
cp "$V/b2.py" "$P/.ai/tools/vec/"
ok "a new item comes, where the name was looked for before" until_true cmp "$M/tools/vec/b2.py" "$V/b2.py"
ok "its directory too" until_true test -e "$M/tools/vec/b2/run"
not_ok "a directory that is not there" test -e "$M/tools/fresh/deep/x.sh"
put tools/fresh/deep/x.sh 'echo x'
ok "directories come" until_true test -L "$M/tools/fresh/deep/x.sh"
ok "and are listed" until_true sh -c "ls '$M/tools' | grep -q fresh"
mv "$P/.ai/tools/fresh" "$T/moved"
ok "directories go" until_true sh -c "! test -d '$M/tools/fresh'"
mv "$T/moved" "$P/.ai/tools/fresh"
ok "and come back with all that is in them" until_true test -L "$M/tools/fresh/deep/x.sh"
# a higher space takes over, and gives back
cp "$V/b8.sh" "$P/.ai/tools/vec/"
echo '#' >>"$P/.ai/tools/vec/b8.sh"
ok "the project's bad item is no fall-through to the system's" until_true sh -c "! cat '$M/tools/vec/b8.sh'"
rm "$P/.ai/tools/vec/b8.sh"
ok "without it the system's is back" until_true cmp "$M/tools/vec/b8.sh" "$V/b8.sh"
put tools/vec/b8.py 'print(1)'
ok "another extension wins: the old name goes" until_true sh -c "! test -e '$M/tools/vec/b8.sh'"
ok "and the new one is there" until_true test -L "$M/tools/vec/b8.py"
rm "$P/.ai/tools/vec/b8.py"
ok "back again" until_true cmp "$M/tools/vec/b8.sh" "$V/b8.sh"

# a space that is not there yet is no reason to ask at every lookup
cat "$M/knowledge/vec/b3.md" >/dev/null
before=$(stat_of lookup)
for i in 1 2 3 4 5 6 7 8 9; do cat "$M/knowledge/vec/b3.md"; done >/dev/null
like "with all layers watched nothing is asked again" "$(($(stat_of lookup) - before))" '^[0-3]$'

# ---- a change of everything: a key ----
cd "$M/tools/vec" || exit 1
rm "$U/.ai/config/keys/trusted/f0ff50dacf109dea.toml"
ok "without its key an item is refused" until_true sh -c "! cat '$M/tools/vec/b2.py'"
like "for the right reason" "$(readlink "$M/tools/vec/b2.py")" '^\.why/ENOKEY: '
like "verify says so" "$(cat "$M/tools/vec/b2/verify")" 'ryefs trust f0ff50dacf109dea'
like "doctor names the key" "$(cat "$M/.ryefs/doctor")" "most would be mended by: ryefs trust f0ff50dacf109dea"
is "a shell in the tree keeps its place" "$(/bin/pwd)" "$M/tools/vec"
trust_key
ok "with it, it is back" until_true cmp b2.py "$V/b2.py"
is "the place is the same" "$(/bin/pwd)" "$M/tools/vec"
cd "$T" || exit 1

# ---- the log ----
like "the log is there and has the size it has" "$(stat -c %s "$M/.ryefs/log")" "^$(wc -c <"$M/.ryefs/log")\$"

# ---- inputs in the name ----
ok "a query without inputs is the item" cmp "$M/directives/vec/b1.md?" "$M/directives/vec/b1.md"
errno "an unknown input" EINVAL cat "$M/directives/vec/b1.md?nonsense=1"
like "the reason is in .ryefs/errors" "$(cat "$M/.ryefs/errors")" 'nonsense'
errno "a query of nothing" ENOENT cat "$M/directives/vec/none.md?a=b"

# ---- search ----
is "probes are no queries" "$(ls -d "$M"/search/.git "$M"/search/package.json 2>/dev/null)" ""
is "an empty result is an empty directory" "$(ls -A "$M/search/zzzzqqqqxxxx")" ""
ok "a dot name is not there" sh -c "! ls '$M/search/.hidden'"

# ---- a layer that comes into being ----
finish_mount() { umount_rye; mount_rye "$@"; }
mv "$U/.ai" "$U/later"
finish_mount
not_ok "no user space: no item of it" test -e "$M/knowledge/vec/b3.md"
before=$(stat_of lookup)
for i in 1 2 3 4 5 6 7 8 9; do stat "$M/README.md" "$M/tools/vec/b8.sh"; done >/dev/null 2>&1
before=$(stat_of lookup)
for i in 1 2 3 4 5 6 7 8 9; do stat "$M/README.md" "$M/tools/vec/b8.sh"; done >/dev/null 2>&1
like "and yet nothing is asked again" "$(($(stat_of lookup) - before))" '^[0-3]$'
mv "$U/later" "$U/.ai"
ok "it shows when it comes" until_true cmp "$M/tools/vec/b2.py" "$V/b2.py"
ok "with its items" until_true cat "$M/knowledge/vec/b3.md"

# ---- more facts, more names ----
finish_mount list=all xattr
is "list=all lists directories of items" "$(ls -d "$M"/tools/vec/b8 2>/dev/null)" "$M/tools/vec/b8"
like "in their parent" "$(ls -A "$M/tools/vec" | tr '\n' ' ')" '^b2 b2.py b8 b8.sh '
ok "find ends with list=all" timeout 60 find "$M/tools" "$M/directives" -type f
if command -v getfattr >/dev/null; then
  is "xattr of an item" "$(getfattr --absolute-names --only-values -n user.rye.id "$M/tools/vec/b2.py")" vec/b2
  like "and all of them" "$(getfattr -d "$M/tools/vec/b2.py" 2>/dev/null)" 'user.rye.sha256="[0-9a-f]{64}"'
  not_ok "no others" getfattr -n user.other "$M/tools/vec/b2.py"
  not_ok "none are set" setfattr -n user.rye.id -v x "$M/tools/vec/b2.py"
  setfattr -n user.mine -v here "$P/.ai/tools/vec/b2.py" 2>/dev/null &&
    is "user.* passes through in spaces" "$(getfattr --absolute-names --only-values -n user.mine "$M/spaces/project/tools/vec/b2.py")" here
fi
finish_mount

# ---- nothing happens by reading ----
ok "grep -r ends" timeout 20 grep -rs text "$M" --include='*.md' --devices=skip -l
ok "cp -r ends" timeout 20 sh -c "cp -r '$M' '$T/copy' 2>/dev/null; test -f '$T/copy/README.md'"
ok "what was copied is true" cmp "$T/copy/tools/vec/b8.sh" "$V/b8.sh"
is "nothing ran" "$(stat_of runs)" 0

finish
