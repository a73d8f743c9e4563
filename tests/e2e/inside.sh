#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A mount inside the project: nothing that walks over the project is lost in it or through it.
. "$(dirname "$0")/lib.sh"
command -v git >/dev/null || skip "git is not installed"

V=$SRC/vectors/binding
mkdir -p "$P/.ai"/{directives,tools,knowledge}/vec "$P/src"
cp "$V/b2.py" "$P/.ai/tools/vec/"
cp "$V/b1.md" "$P/.ai/directives/vec/"
cp "$V/b3.md" "$U/.ai/"
mkdir -p "$U/.ai/knowledge/vec"
mv "$U/.ai/b3.md" "$U/.ai/knowledge/vec/"
put tools/vec/bad.py 'print(1)'
echo 'int main;' >"$P/src/main.c"
git -C "$P" init -q
git -C "$P" add src .ai
git -C "$P" -c user.name=x -c user.email=x@x commit -qm x
mount_rye
scanned

tree() { (cd "$P" && find .ai src -type f | sort | xargs -d '\n' md5sum) && (cd "$U" && find . -type f | sort | xargs -d '\n' md5sum); }
before=$(tree)

ok "git add of the mount ends" timeout 30 git -C "$P" add -A mnt/tools mnt/knowledge
is "true bytes were added" "$(git -C "$P" show :mnt/tools/vec/b2.py | md5sum)" "$(md5sum <"$V/b2.py")"
is "a refused item is its reason" "$(git -C "$P" show :mnt/tools/vec/bad.py | cut -c1-19)" ".why/ENODATA: unsig"
git -C "$P" reset -q
ok "git status ends" timeout 30 git -C "$P" status
timeout 30 git -C "$P" clean -fdxq >/dev/null 2>&1
is "git clean -fdx deletes nothing of the sources" "$(tree)" "$before"
ok "the mount is whole" cmp "$M/tools/vec/b2.py" "$V/b2.py"
timeout 30 git -C "$P" clean -ffdxq >/dev/null 2>&1
is "git clean -ffdx neither" "$(tree)" "$before"
timeout 30 rm -rf "$M" >/dev/null 2>&1
is "rm -rf of the mount deletes nothing" "$(tree)" "$before"
ok "the mount is whole" cmp "$M/tools/vec/b2.py" "$V/b2.py"
timeout 30 find "$M" -delete >/dev/null 2>&1
is "find -delete deletes nothing" "$(tree)" "$before"
ok "cp -r of the project" timeout 30 sh -c "cp -r '$P' '$T/copy' 2>/dev/null; cmp '$T/copy/mnt/tools/vec/b2.py' '$V/b2.py'"
ok "tar of the project" timeout 30 sh -c "tar -C '$P' -cf '$T/p.tar' . && tar -tf '$T/p.tar' | grep -q mnt/directives/vec/b1.md"
ok "grep -r over the project" timeout 30 grep -rqs 'int main' "$P"
ok "find over the project" timeout 30 find "$P" -name '*.md'
command -v rsync >/dev/null && ok "rsync of the project" timeout 30 sh -c "rsync -a '$P/' '$T/rsync/'; cmp '$T/rsync/mnt/tools/vec/b2.py' '$V/b2.py'"
is "none of that ran anything" "$(stat_of runs)" 0

# another mount of ours, of a project that holds this one
mkdir -p "$T/outer/.ai/tools" "$T/second" "$T/outer/.ai/knowledge/link"
env USER_SPACE="$U" "$RYEFS" "$P" "$T/second" -o "userspace=$U,system=$S" 2>"$T/second.err"
ok "two mounts of one project" cmp "$T/second/tools/vec/b2.py" "$V/b2.py"
ok "one mount walks over the other" timeout 30 sh -c "find '$M' '$T/second' | wc -l; ls -lR '$T/second' >/dev/null"
if [ "$(id -u)" = 0 ]; then
  # bound below .ai, where a daemon that walked in would wait for itself
  mkdir -p "$P/.ai/tools/loop"
  mount --bind "$M" "$P/.ai/tools/loop" 2>/dev/null && {
    ok "a mount bound into its own sources is not entered" timeout 30 sh -c "ls -lR '$M/tools' '$M/spaces/project/tools' >/dev/null 2>&1; ls '$M/tools' | grep -q vec"
    ok "nor by the scan" timeout 30 sh -c "touch '$P/.ai/tools/vec/b2.py'; sleep 0.2; cmp '$M/tools/vec/b2.py' '$V/b2.py'"
    umount "$P/.ai/tools/loop"
  }
fi
umount "$T/second"

timeout 30 rm -rf "$P" >/dev/null 2>&1
is "rm -rf of the project removes the sources, as asked" "$(find "$P" -xdev -type f 2>/dev/null | grep -vc '^'"$M")" 0
is "and nothing beyond them" "$(cd "$U" && find . -name b3.md)" "./.ai/knowledge/vec/b3.md"
ok "the mount stays" test -r "$M/README.md"
finish
