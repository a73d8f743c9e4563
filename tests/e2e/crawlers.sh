#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that walk the whole mount must come to an end, run nothing and copy true bytes.
# (That removing a project removes nothing through a mount inside it is another test's.)
. "$(dirname "$0")/fixture.sh"

# crawl DESCRIPTION COMMAND...: ends in time; its status is not asked, since refused items
# make many crawlers say so
crawl() {
  local what=$1 r
  shift
  timeout -k 1 20 "$@" >"$T/said" 2>"$T/err" </dev/null
  r=$?
  if [ $r = 124 ] || [ $r = 137 ]; then bad "$what comes to an end"; else good "$what comes to an end"; fi
}

# copied DESCRIPTION DIR: the copy of the merged view holds the true bytes of every good item
copied() {
  local file bad=0
  while IFS= read -r file; do
    cmp -s "$T/truth/$file" "$2/$file" || { bad=1 && break; }
  done < <(cd "$T/truth" && find . -type f)
  if [ $bad = 0 ]; then good "$1 copies true bytes"; else bad "$1 copies true bytes" "$(cmp "$T/truth/$file" "$2/$file" 2>&1)"; fi
  is "$1 copies no refused text" "$(grep -r 'Secret of' "$2" 2>/dev/null | head -n 3)" ""
  is "$1 copies no half file" "$(find "$2" -type f -size 0 -not -name output -not -name trace.json \
    -not -path '*/state/threads/ctl' -not -path '*/state/threads/new' -not -path '*/state/threads/events' | head -n 3)" ""
}

copies() {
  mkdir "$T/cp" "$T/tar" "$T/rsync" "$T/git" "$T/py"
  crawl "cp -r" cp -r "$M/." "$T/cp"
  copied "cp -r" "$T/cp"
  crawl "cp -a" cp -a "$M/." "$T/cp-a"
  copied "cp -a" "$T/cp-a"
  crawl "cp -rL" cp -rL "$M/." "$T/cp-L"
  crawl "tar" sh -c 'tar -C "$1" -cf - . | tar -C "$2" -xf -' - "$M" "$T/tar"
  copied "tar" "$T/tar"
  crawl "tar to a pipe" sh -c 'tar -C "$1" -cf - . | cat >/dev/null' - "$M"
  is "tar is silent" "$(grep -v 'socket ignored' "$T/err")" ""
  if need rsync "rsync -a"; then
    crawl "rsync -a" rsync -a "$M/" "$T/rsync/"
    copied "rsync -a" "$T/rsync"
    is "rsync is silent" "$(cat "$T/err")" ""
    sleep 1.1 # it compares whole seconds
    crawl "rsync again" rsync -ain "$M/" "$T/rsync/"
    is "rsync finds nothing more to do" "$(grep -v ' \./$' "$T/said" | grep '^>f' | head -n 5)" ""
  fi
  if need git "git add"; then
    crawl "git add of a copy" sh -c 'cd "$1" && git init -q . && git add -A . && git -c user.name=t -c user.email=t@t commit -qm all' - "$T/cp"
    git clone -q "$T/cp" "$T/git/clone" 2>"$T/err"
    copied "git add and clone" "$T/git/clone"
    crawl "git add of the mount itself" git --git-dir="$T/git/dot" --work-tree="$M" -c core.bare=false \
      add -A .
    crawl "git status in the mount" git -C "$M" status
  fi
  if need busybox "busybox cp -r"; then
    crawl "busybox cp -r" busybox cp -r "$M/." "$T/bb"
    copied "busybox cp -r" "$T/bb"
  fi
  if need zip; then crawl "zip -r" sh -c 'cd "$1" && zip -qry "$2/all.zip" .' - "$M" "$T"; fi
  if need cpio; then crawl "cpio" sh -c 'cd "$1" && find . | cpio -o' - "$M"; fi
}

looks() {
  crawl "grep -r" grep -r . "$M"
  crawl "grep -R" grep -R . "$M"
  crawl "find -exec cat" find "$M" -type f -exec cat {} +
  crawl "find -exec cat one by one" find "$M/tools" -maxdepth 1 -type f -exec cat {} \;
  crawl "find -L" find -L "$M" -type f -newer / -size +0
  crawl "find -exec with the names of directories" find "$M" -type d -exec ls -la {} +
  crawl "du" du -a "$M"
  is "du says nothing" "$(cat "$T/err")" ""
  crawl "ls -lR" ls -lR "$M"
  is "ls -lR says nothing" "$(cat "$T/err")" ""
  crawl "ls -laRZ" ls -laRZ --color=always "$M"
  crawl "tree of item directories" find "$M/tools/count" "$M/knowledge/good" "$M/directives/hello" -type f -exec head -c 100 {} +
  crawl "file" sh -c 'find "$1" -type f -exec file {} + 2>&1' - "$M"
  crawl "sha256sum" sh -c 'find "$1" -type f -exec sha256sum {} +' - "$M"
  if need rg; then
    crawl "rg --files" rg --files --hidden --no-ignore "$M"
    crawl "rg" rg -uuu . "$M"
  fi
  if need fdfind; then crawl "fd" fdfind -uu . "$M"; fi
  if need busybox "busybox grep -r"; then crawl "busybox grep -r" busybox grep -r . "$M"; fi
  if need emacs "emacs directory-files-recursively"; then
    crawl "emacs directory-files-recursively" emacs -Q --batch --eval "(dolist (f (directory-files-recursively \"$M\" \".\")) (ignore-errors (with-temp-buffer (insert-file-contents f))))"
  fi
  if need node "node readdir recursive"; then
    # shellcheck disable=SC2016
    crawl "node walk" node -e 'const fs = require("fs"), path = require("path");
function walk(d) { for (const e of fs.readdirSync(d, { withFileTypes: true })) {
  const p = path.join(d, e.name);
  if (e.isDirectory()) walk(p); else try { fs.readFileSync(p) } catch (e) {} } }
walk(process.argv[1])' "$M"
  fi
  crawl "python os.walk" "$PY" -I -c 'import os, sys
for d, _, names in os.walk(sys.argv[1]):
    for n in names:
        try:
            b = open(os.path.join(d, n), "rb").read()
            assert len(b) == os.stat(os.path.join(d, n)).st_size, n
        except OSError:
            pass
print("done")' "$M"
  is "python os.walk finds every size exact" "$(cat "$T/said")" done
  crawl "bash globstar" bash -c 'shopt -s globstar dotglob; for f in "$1"/**; do [ -f "$f" ] && x=$(<"$f"); done' - "$M"
}

# what is not listed, for a crawler that was pointed at it
hidden() {
  crawl "grep -r in spaces" grep -r . "$M/spaces"
  crawl "find in .ryefs" find "$M/.ryefs" -type f -exec cat {} +
  crawl "probes of a search directory" sh -c 'cd "$1/search" && git rev-parse 2>/dev/null; ls -la; test -e package.json' - "$M"
  is "a search directory has no .git" "$([ -e "$M/search/.git" ] || echo no)" no
  is "spaces and .ryefs are not listed" "$(ls -A "$M" | grep -x 'spaces\|\.ryefs')" ""
}

fx_spaces
fx_mount list=items
runs=$(stat_of runs)
looks
copies
hidden
is "nothing ran" "$(stat_of runs)" "$runs"
is "no tool ran" "$(cat "$P/ran.log" 2>/dev/null)" ""
is "the daemon has no child but its watchdog" \
  "$(cat /proc/"$DAEMON"/task/*/children | xargs -r ps -o comm= -p)" "ryefs-watchdog"
umount_rye
fx_mount list=all
crawl "grep -r with list=all" grep -r . "$M"
crawl "tar with list=all" sh -c 'tar -C "$1" -cf - . | cat >/dev/null' - "$M"
crawl "rsync with list=all" rsync -a "$M/" "$T/all/"
is "nothing ran with list=all" "$(stat_of runs)" 0
is "no tool ran with list=all" "$(cat "$P/ran.log" 2>/dev/null)" ""
finish
