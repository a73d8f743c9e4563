#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs as readers: each must see the true bytes of a good item, an error from open for a
# refused one (never empty success, never a byte), and the usage text of a control file
# without running anything.
. "$(dirname "$0")/fixture.sh"

# A reader writes the bytes of $1 to standard output. The name behind the colon is the program
# it needs; with "!" its words about an errno are not looked at.
READERS='cat:cat cp:cp dd:dd dd_odd:dd head:head head_n:head tail:tail tail_all:tail sed:sed
awk:awk perl:perl perl_slurp:perl tar:tar! rsync:rsync! git_hash:git! grep:grep sort:sort
tee:tee split:split gzip:gzip base64:base64 od:od
bash:bash bash_subst:bash bash_mapfile:bash dash:dash dash_subst:dash zsh:zsh zsh_subst:zsh
mksh:mksh mksh_subst:mksh fish:fish tcsh:tcsh busybox:busybox busybox_cp:busybox
busybox_tail:busybox busybox_grep:busybox
py_open:python3 py_text:python3 py_pathlib:python3 py_mmap:python3 py_copyfile:python3
py_os_read:python3 py_linecache:python3!
node_sync:node! node_promises:node! node_stream:node!
jq:jq rg:rg ed:ed! vim:vim! emacs:emacs! emacs_visit:emacs! socat:socat curl:curl!
openssl:openssl'

r_cat() { cat -- "$1"; }
r_cp() { rm -f "$T/copy" && cp -- "$1" "$T/copy" && cat "$T/copy"; }
r_dd() { dd if="$1" bs=4096 status=none; }
r_dd_odd() { dd if="$1" bs=977 status=none; }
r_head() { head -c 1000000000 -- "$1"; }
r_head_n() { head -n 1000000000 -- "$1"; }
r_tail() { tail -c 1000000000 -- "$1"; }
r_tail_all() { tail -n +1 -- "$1"; }
r_sed() { sed '' -- "$1"; }
r_awk() { awk 1 "$1"; }
r_perl() { perl -e 'open(F, "<", $ARGV[0]) or die "$!\n"; print while <F>' "$1"; }
r_perl_slurp() { perl -e 'open(F, "<", $ARGV[0]) or die "$!\n"; local $/; print <F>' "$1"; }
r_tar() { tar -C "$(dirname "$1")" -chf "$T/copy.tar" "$(basename "$1")" && tar -xOf "$T/copy.tar"; }
r_rsync() { rm -f "$T/copy" && rsync -L -- "$1" "$T/copy" && cat "$T/copy"; }
r_git_hash() {
  local want got
  got=$(git hash-object --no-filters -- "$1") || return
  want=$(git hash-object --no-filters -- "$TRUTH")
  [ "$want" = "$got" ] && cat "$TRUTH"
}
r_grep() { grep '' -- "$1"; }
r_sort() { sort -o "$T/copy" -- "$1" && sort -- "$TRUTH" | cmp -s - "$T/copy" && cat "$TRUTH"; }
r_tee() { tee <"$1"; }
r_split() { rm -f "$T"/part.* && split -b 300000 -- "$1" "$T/part." && cat "$T"/part.*; }
r_gzip() { gzip -c -- "$1" >"$T/copy.gz" && gzip -dc "$T/copy.gz"; }
r_base64() { base64 -- "$1" >"$T/copy.b64" && base64 -d "$T/copy.b64"; }
r_od() { od -An -v -tx1 -- "$1" >"$T/copy.od" && tr -d ' \n' <"$T/copy.od" | perl -ne 'print pack("H*", $_)'; }
r_bash() { bash -c 'exec 3<"$1" && cat <&3' - "$1"; }
r_bash_subst() { bash -c 'x=$(<"$1") && printf "%s\n" "$x"' - "$1"; }
r_bash_mapfile() { bash -c 'exec 3<"$1" && mapfile x <&3 && printf "%s" "${x[@]}"' - "$1"; }
r_dash() { dash -c 'exec 3<"$1" && cat <&3' - "$1"; }
r_dash_subst() { dash -c 'x=$(cat "$1") && printf "%s\n" "$x"' - "$1"; }
r_zsh() { zsh -fc 'cat <"$1"' - "$1"; }
r_zsh_subst() { zsh -fc 'x=$(<"$1") && printf "%s\n" "$x"' - "$1"; }
r_mksh() { mksh -c 'cat <"$1"' - "$1"; }
r_mksh_subst() { mksh -c 'x=$(<"$1") && print -r -- "$x"' - "$1"; }
r_fish() { fish --no-config -c 'cat <$argv[1]' "$1"; }
r_tcsh() { tcsh -fc "cat < '$1'"; }
r_busybox() { busybox cat "$1"; }
r_busybox_cp() { rm -f "$T/copy" && busybox cp "$1" "$T/copy" && cat "$T/copy"; }
r_busybox_tail() { busybox tail -n +1 "$1"; }
r_busybox_grep() { busybox grep '' "$1"; }
py() { "$PY" -I -c "import sys; out = sys.stdout.buffer; name = sys.argv[1]
$1" "$2"; }
r_py_open() { py 'out.write(open(name, "rb").read())' "$1"; }
r_py_text() { py 'out.write(open(name, newline="").read().encode())' "$1"; }
r_py_pathlib() { py 'import pathlib; out.write(pathlib.Path(name).read_text().encode())' "$1"; }
r_py_mmap() { py 'import mmap; f = open(name, "rb")
out.write(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:])' "$1"; }
r_py_copyfile() { py 'import shutil; shutil.copyfile(name, "copy"); out.write(open("copy", "rb").read())' "$1"; }
r_py_os_read() { py 'import os; f = os.open(name, os.O_RDONLY); n = os.fstat(f).st_size
while n > 0:
    b = os.read(f, 10007); n -= len(b); out.write(b)
assert os.read(f, 1) == b""' "$1"; }
r_py_linecache() { py 'import linecache; x = linecache.getlines(name); out.write("".join(x).encode()); sys.exit(not x)' "$1"; }
r_node_sync() { node -e 'process.stdout.write(require("fs").readFileSync(process.argv[1]))' "$1"; }
r_node_promises() { node -e 'require("fs").promises.readFile(process.argv[1]).then(b => process.stdout.write(b))' "$1"; }
r_node_stream() { node -e 'require("fs").createReadStream(process.argv[1]).pipe(process.stdout)' "$1"; }
r_jq() { command jq -Rr . "$1"; }
r_rg() { rg -N --no-config '' -- "$1"; }
r_ed() { printf '%s\n' "w $T/copy" q | { rm -f "$T/copy"; ed -s "$1" >&2; } && [ -s "$T/copy" ] && cat "$T/copy"; }
r_vim() {
  rm -f "$T/copy"
  vim -nes -u NONE -i NONE -c "w! $T/copy" -c 'qa!' -- "$1" </dev/null >&2
  [ -s "$T/copy" ] && cat "$T/copy"
}
r_emacs() { emacs -Q --batch --eval "(with-temp-buffer (set-buffer-multibyte nil) (let ((coding-system-for-read 'binary) (coding-system-for-write 'binary)) (insert-file-contents-literally \"$1\") (write-region nil nil \"$T/copy\" nil 'quiet)))" >&2 && cat "$T/copy"; }
r_emacs_visit() {
  rm -f "$T/copy"
  emacs -Q --batch --eval "(progn (setq coding-system-for-read 'utf-8-unix) (find-file \"$1\") (if (= (point-max) 1) (kill-emacs 3)) (write-region nil nil \"$T/copy\" nil 'quiet))" >&2 && cat "$T/copy"
}
r_socat() { socat -u "OPEN:$1,rdonly" -; }
r_curl() { curl -sS "file://$1"; }
r_openssl() { openssl enc -base64 -in "$1" >"$T/copy.b64" && openssl enc -d -base64 -in "$T/copy.b64"; }

# each READER calls this with its name and program
reads() {
  local what=$1 small=knowledge/good.md big=tools/big.sh
  for TRUTH in "$T/truth/$small" "$T/truth/$big"; do
    # a start of an editor is slow, and one file shows what it does
    [ "$TRUTH" = "$T/truth/$big" ] && case $what in vim | emacs* | node_* ) continue ;; esac
    if "r_$what" "$M/${TRUTH#"$T/truth/"}" >"$T/got" 2>"$T/err"; then
      same_file "$what reads ${TRUTH##*/} as it is" "$TRUTH" "$T/got"
    else
      bad "$what reads ${TRUTH##*/}" "status $?" "$(cat "$T/err")"
    fi
  done
}

# refused READER PATH WORDS
refused() {
  local r
  TRUTH=/dev/null
  rm -f "$T"/copy*
  "r_$1" "$M/$2" >"$T/got" 2>"$T/err" </dev/null
  r=$?
  if [ $r = 0 ] || [ -s "$T/got" ]; then
    bad "$1 fails on ${2##*/} and gets no byte" "status $r" "$(head -c 200 "$T/got")" "$(cat "$T/err")"
  elif [ -n "$3" ] && ! grep -qi "$3" "$T/err"; then
    bad "$1 is told: $3" "$(cat "$T/err")"
  else
    good "$1 on ${2##*/}: ${3:-fails}"
  fi
}

control() {
  local r
  TRUTH=$T/usage
  "r_$1" "$M/tools/count/run" >"$T/got" 2>"$T/err" </dev/null
  r=$?
  if [ $r = 0 ] && cmp -s "$T/usage" "$T/got"; then
    good "$1 reads the usage of run"
  else
    bad "$1 reads the usage of run" "status $r" "$(cat "$T/err")" "$(head -c 200 "$T/got")"
  fi
}

all_readers() {
  local row name prog words
  for row in $READERS; do
    name=${row%%:*} prog=${row#*:} words='Permission denied'
    case $prog in *!) words= prog=${prog%!} ;; esac
    need "$prog" "$name" || continue
    reads "$name"
    refused "$name" knowledge/refused/tampered.md "$words"
    case $name in vim | emacs* | node_promises | node_stream) ;; *) control "$name" ;; esac
  done
}

every_verdict() {
  local verdict name at tool
  while read -r verdict name _; do
    at=knowledge/refused/$verdict
    [ "$verdict" = unparsable ] && at=directives/refused/$verdict
    refused cat "$at.md" "Permission denied"
    refused py_open "$at.md" "Permission denied"
    has "ls -l says why: $verdict" "$(ls -l "$M/$at.md" 2>&1)" " -> .why/$name: " "mend with: "
    is "ls -l does not complain: $verdict" "$(ls -l "$M/$at.md" 2>&1 >/dev/null)" ""
    has "verify tells: $verdict" "$(cat "$M/$at/verify" 2>&1)" "mend with: "
    works "info.json is readable: $verdict" "$PY" -m json.tool "$M/$at/info.json"
    tool=$M/tools/refused/$verdict.sh
    [ -L "$tool" ] || continue
    fails "bash does not run a tool that is $verdict" bash "$tool"
    fails "source does not: $verdict" bash -c ". '$tool'"
    fails "nor is it executed: $verdict" "$tool"
  done <<<"$FX_VERDICTS"
  is "no refused script ran" "$(cat ran.log "$P/ran.log" 2>/dev/null)" ""
}

# numbers and names that programs go by, not bytes
facts() {
  local size
  size=$(stat -c %s "$T/truth/tools/big.sh")
  is "wc -c counts the bytes" "$(wc -c <"$M/tools/big.sh")" "$size"
  is "wc -c on a name counts the bytes" "$(wc -c "$M/tools/big.sh" | cut -d' ' -f1)" "$size"
  is "stat has the size" "$(stat -c %s "$M/tools/big.sh")" "$size"
  fails "wc -c fails on a refused item" wc -c "$M/tools/refused/tampered.sh"
  is "test -s on run" "$([ -s "$M/tools/count/run" ] && echo yes)" yes
  is "run has the size of its text" "$(stat -c %s "$M/tools/count/run")" "$(wc -c <"$T/usage")"
  is "test -e says yes on a refused item" "$([ -e "$M/tools/refused/tampered.sh" ] && echo yes)" yes
  is "test -r says no" "$([ -r "$M/tools/refused/tampered.sh" ] || echo no)" no
  is "test -L says yes on a refused item" "$([ -L "$M/tools/refused/tampered.sh" ] && echo yes)" yes
  is "modes" "$(stat -c %a "$M/knowledge/good.md" "$M/tools/count/run" \
    "$M/tools/count/output" "$M/tools/count/info.json" "$M/tools/refused" | xargs)" "444 600 400 444 755"
  is "bash globs see every item" "$(cd "$M/tools" && echo *)" "big.sh count.sh halfread.py refused rye"
  is "find -size sees it" "$(find "$M/tools" -maxdepth 1 -size +40k)" "$M/tools/big.sh"
  touch -d '1 hour ago' "$T/older"
  is "find -newer sees it" "$(find "$M/knowledge" -maxdepth 1 -newer "$T/older" -name 'good*')" \
    "$M/knowledge/good.md"
  is "find -L takes a refused item for a file" "$(find -L "$M/knowledge/refused" -name 'tamp*' -type f 2>&1)" \
    "$M/knowledge/refused/tampered.md"
  is "find does not fail" "$(find "$M" >/dev/null 2>&1; echo $?)" 0
  is "grep -r finds a text once" "$(grep -rl 'Every byte of this is true' "$M" | wc -l)" 1
  is "grep -r finds no refused text" "$(grep -r 'Secret of' "$M" 2>/dev/null)" ""
}

py_facts() {
  need "$PY" "python facts" || return
  "$PY" -I - "$M" >"$T/got" 2>&1 <<'CODE'
import errno, glob, os, pathlib, sys
top = pathlib.Path(sys.argv[1])
def told(fn, *a):
    try:
        return fn(*a)
    except OSError as e:
        return errno.errorcode[e.errno]
good, bad = top / "knowledge/good.md", top / "knowledge/refused/tampered.md"
print(good.exists(), good.is_file(), len(good.read_bytes()) == good.stat().st_size)
print(told(bad.read_text), told(open, bad), bad.stat().st_mode & 0o7777, bad.is_symlink(), bad.exists(), bad.is_file())
print([p.name for p in (top / "knowledge/deep").rglob("*.md")])
print([p.name for p in (top / "knowledge").rglob("tamp*")])
print([os.path.basename(n) for n in glob.glob(str(top / "knowledge/**/tamp*"), recursive=True)])
print(os.readlink(bad).split(":")[0])
print(sum(len(f) for _, _, f in os.walk(top / "knowledge/deep")))
CODE
  same_file "python: open, pathlib, rglob, readlink" - "$T/got" <<'WANT'
True True True
EACCES EACCES 0 True True True
['note.md']
['tampered.md']
['tampered.md']
.why/EBADMSG
1
WANT
}

node_facts() {
  need node "node facts" || return
  node -e '
const fs = require("fs"), top = process.argv[1];
console.log(fs.readdirSync(top + "/knowledge").filter(n => n != "rye").sort().join(" "));
console.log(fs.existsSync(top + "/knowledge/good.md"), fs.existsSync(top + "/knowledge/refused/tampered.md"));
console.log(fs.statSync(top + "/knowledge/good.md").size === fs.readFileSync(top + "/knowledge/good.md").length);
try { fs.readFileSync(top + "/knowledge/refused/tampered.md"); console.log("read") } catch (e) { console.log(Math.abs(e.errno)) }
fs.promises.readdir(top + "/tools", { withFileTypes: true })
  .then(a => console.log(a.filter(e => e.isFile()).map(e => e.name).sort().join(" ")));
' "$M" >"$T/got" 2>&1
  same_file "node: readdir, exists, stat, errno" - "$T/got" <<'WANT'
deep good.md halfread.md mine.md refused
true true
true
13
big.sh count.sh halfread.py
WANT
}

# nano wants a terminal
nano_reads() {
  need nano && need tmux "nano" || return
  tmux -L "rye$$" -f /dev/null new-session -d -x 100 -y 40 "nano -v '$M/knowledge/good.md'" || return
  if fx_wait 5 sh -c "tmux -L rye$$ capture-pane -p | grep -q 'Every byte of this is true'"; then
    good "nano shows a good item"
  else
    bad "nano shows a good item" "$(tmux -L "rye$$" capture-pane -p)"
  fi
  tmux -L "rye$$" kill-server 2>/dev/null
  tmux -L "bad$$" -f /dev/null new-session -d -x 100 -y 40 "nano '$M/knowledge/refused/tampered.md'" || return
  fx_wait 5 sh -c "tmux -L bad$$ capture-pane -p | grep -q tampered"
  lacks "nano shows no byte of a refused item" "$(tmux -L "bad$$" capture-pane -p)" "Secret of"
  tmux -L "bad$$" kill-server 2>/dev/null
}

# who carries links along keeps the reason
carriers() {
  mkdir "$T/carried"
  tar -C "$M" -cf - knowledge/refused | tar -C "$T/carried" -xf -
  is "tar keeps the reason" "$(readlink "$T/carried/knowledge/refused/moved.md")" \
    "$(readlink "$M/knowledge/refused/moved.md")"
  if need rsync "rsync keeps the reason"; then
    rsync -a "$M/tools/refused" "$T/carried/"
    is "rsync keeps the reason" "$(readlink "$T/carried/refused/moved.sh")" "$(readlink "$M/tools/refused/moved.sh")"
  fi
  if need git "git keeps the reason"; then
    (cd "$T/carried" && git init -q . && git add -A) >/dev/null 2>&1
    is "git keeps the reason" "$(cd "$T/carried" && git ls-files -s | grep refused/moved.md | cut -c1-6)" "120000"
  fi
}

fx_spaces
fx_mount
runs=$(stat_of runs)
cat "$M/tools/count/run" >"$T/usage"
has "run tells how to use it" "$(cat "$T/usage")" "tool count" "Write one JSON object"
all_readers
every_verdict
facts
py_facts
node_facts
nano_reads
carriers
is "nothing ran" "$(stat_of runs)" "$runs"
is "the counting tool did not run" "$(cat "$P/ran.log" 2>/dev/null)" ""
finish
