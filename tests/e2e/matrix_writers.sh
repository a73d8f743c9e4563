#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs as writers: each saves an item through spaces/project. The bytes on disk must be
# exactly what a save beside the mount would have left, the merged view must follow (refused
# as changed until it is signed), and signing, by writing to `sign` or by the command line,
# must serve it again.
. "$(dirname "$0")/fixture.sh"

# Each writer puts the line "Saved." at the end of the file $1, its own way; the name behind
# the colon is the program it needs.
WRITERS='append:bash rewrite:bash dash_append:dash tee:tee tee_a:tee ed:ed sed_i:sed perl_i:perl
cp:cp cp_remove:cp mv:mv install:install dd:dd dd_notrunc:dd rsync:rsync rsync_inplace:rsync
py_write_text:python3 py_append:python3 py_replace:python3 py_mmap:python3 py_pwrite:python3
node_write:node node_append:node perl_append:perl sponge:sponge patch:patch git_apply:git
vim:vim vim_backupcopy:vim emacs:emacs nano:nano truncate_then_write:truncate tar_x:tar
link_append:ln link_exclusive:ln ln_f:ln cp_l:cp busybox_sed:busybox busybox_cp:busybox zsh_append:zsh fish_append:fish tcsh_append:tcsh'

# what the saved file must be, made beside the mount
wanted() { { cat -- "$1" && echo Saved.; } >"$T/want"; }

w_append() { echo Saved. >>"$1"; }
w_rewrite() { cat "$T/want" >"$1"; }
w_dash_append() { dash -c 'echo Saved. >>"$1"' - "$1"; }
w_tee() { tee "$1" <"$T/want" >/dev/null; }
w_tee_a() { echo Saved. | tee -a "$1" >/dev/null; }
w_ed() { printf '$a\nSaved.\n.\nw\nq\n' | ed -s "$1" >/dev/null; }
# shellcheck disable=SC1003
w_sed_i() { sed -i '$a\Saved.' "$1"; }
w_perl_i() { perl -i -pe 'END { print "" } $_ .= "Saved.\n" if eof' "$1"; }
w_cp() { cp "$T/want" "$1"; }
w_cp_remove() { cp --remove-destination "$T/want" "$1"; }
w_mv() { cp "$T/want" "$1.new" && mv "$1.new" "$1"; }
w_install() { install -m 644 "$T/want" "$1"; }
w_dd() { dd if="$T/want" of="$1" bs=7 status=none; }
w_dd_notrunc() { dd if="$T/want" of="$1" bs=4096 conv=notrunc status=none; }
w_rsync() { rsync -I "$T/want" "$1"; }
w_rsync_inplace() { rsync -I --inplace "$T/want" "$1"; }
py() { "$PY" -I -c "import sys, os, pathlib, mmap; p = pathlib.Path(sys.argv[1]); want = open('want', 'rb').read()
$1" "$2"; }
w_py_write_text() { py 'p.write_text(want.decode())' "$1"; }
w_py_append() { py 'open(p, "a").write("Saved.\n")' "$1"; }
w_py_replace() { py 'q = p.with_suffix(".tmp"); q.write_bytes(want); os.fsync(os.open(q, os.O_RDWR)); os.replace(q, p)' "$1"; }
w_py_mmap() { py 'f = open(p, "r+b"); f.truncate(len(want)); m = mmap.mmap(f.fileno(), 0); m[:] = want; m.flush()' "$1"; }
w_py_pwrite() { py 'f = os.open(p, os.O_RDWR); os.pwrite(f, b"Saved.\n", os.fstat(f).st_size); os.fsync(f)' "$1"; }
w_node_write() { node -e 'const fs = require("fs"); fs.writeFileSync(process.argv[1], fs.readFileSync("want"))' "$1"; }
w_node_append() { node -e 'require("fs").appendFileSync(process.argv[1], "Saved.\n")' "$1"; }
w_perl_append() { perl -e 'open(F, ">>", $ARGV[0]) or die $!; print F "Saved.\n"; close F or die $!' "$1"; }
w_sponge() { sponge "$1" <"$T/want"; }
w_patch() {
  cp "$1" "$T/before"
  diff -u "$T/before" "$T/want" >"$T/diff"
  patch -s "$1" "$T/diff"
}
w_git_apply() {
  local dir=${1%/*} name=${1##*/}
  cp "$1" "$T/$name" && (cd "$T" && diff -u --label "a/$name" --label "b/$name" "$name" want >diff)
  (cd "$dir" && GIT_CEILING_DIRECTORIES=$dir git apply "$T/diff")
}
w_vim() { vim -es -u NONE -i NONE -c '$put =\"Saved.\"' -c wq -- "$1" </dev/null; }
w_vim_backupcopy() { vim -es -u NONE -i NONE -c 'set backupcopy=yes' -c '$put =\"Saved.\"' -c wq -- "$1" </dev/null; }
w_emacs() { emacs -Q --batch "$1" --eval '(progn (goto-char (point-max)) (insert "Saved.\n") (save-buffer))' 2>/dev/null; }
w_nano() {
  command -v tmux >/dev/null || return
  tmux -L "rye$$" -f /dev/null new-session -d -x 100 -y 40 "nano -I '$1'"
  fx_wait 5 sh -c "tmux -L rye$$ capture-pane -p | grep -q 'About'"
  tmux -L "rye$$" send-keys 'M-/' 'Saved.' C-s C-x
  fx_wait 5 sh -c "! tmux -L rye$$ has-session"
  tmux -L "rye$$" kill-server 2>/dev/null
  true
}
w_truncate_then_write() { truncate -s 0 "$1" && cat "$T/want" >>"$1"; }
w_tar_x() { cp "$T/want" "$T/${1##*/}" && tar -C "$T" -cf - "${1##*/}" | tar -C "${1%/*}" -xf -; }
# a save by hard link, and an edit of what it left
w_link_append() { ln "$1" "$1.tmp" && rm "$1" && ln "$1.tmp" "$1" && rm "$1.tmp" && cat "$1" >/dev/null && echo Saved. >>"$1"; }
w_link_exclusive() { cp "$T/want" "$1.new" && rm "$1" && ln "$1.new" "$1" && rm "$1.new"; }
w_ln_f() { cp "$T/want" "$1.new" && ln -f "$1.new" "$1" && rm "$1.new"; }
w_cp_l() { cp "$T/want" "$1.new" && cp -lf "$1.new" "$1" && rm "$1.new"; }
# shellcheck disable=SC1003
w_busybox_sed() { busybox sed -i '$a\Saved.' "$1"; }
w_busybox_cp() { busybox cp "$T/want" "$1"; }
w_zsh_append() { zsh -fc 'echo Saved. >>"$1"' - "$1"; }
w_fish_append() { fish --no-config -c 'echo Saved. >>$argv[1]' "$1"; }
w_tcsh_append() { tcsh -fc "echo Saved. >> '$1'"; }

# soon WORDS ITEM: what cat says, as soon as these words are in it: a change shows within
# milliseconds, which a busy machine may not have
soon() {
  local text i
  for i in 1 2 3 4 5 6 7 8 9 10; do
    text=$(cat "$M/knowledge/$2" 2>&1)
    case $text in *"$1"*) break ;; esac
    sleep 0.05
  done
  printf '%s\n' "$text"
}

saves() {
  local name=$1 file=$P/.ai/knowledge/save/$1.md text r
  wanted "$file"
  "w_$name" "$M/spaces/project/knowledge/save/$name.md" >"$T/said" 2>&1
  r=$?
  if [ $r != 0 ]; then
    bad "$name saves" "status $r" "$(cat "$T/said")"
    return
  fi
  same_file "$name saves exactly" "$T/want" "$file"
  same_file "$name: spaces shows what is on disk" "$file" "$M/spaces/project/knowledge/save/$name.md"
  text=$(soon "Permission denied" "save/$name.md")
  has "$name: the merged view refuses it until it is signed" "$text" "Permission denied"
}

# all that was saved, half by the mount, half by the command line
signs() {
  local name i=0
  for name in "$@"; do
    i=$((i + 1))
    if [ $((i % 2)) = 0 ]; then
      echo "{\"item_id\":\"knowledge:save/$name\"}" >"$M/sign" 2>"$T/err" ||
        bad "sign accepts knowledge:save/$name" "$(cat "$T/err" "$M/.ryefs/errors")"
    else
      fx_sign "$P" "knowledge:save/$name"
    fi
    tail -n +3 "$P/.ai/knowledge/save/$name.md" >"$T/want"
    fx_wait 2 cmp -s "$T/want" "$M/knowledge/save/$name.md"
    same_file "$name: served again once it is signed" "$T/want" "$M/knowledge/save/$name.md"
  done
  is "every saved text is there" "$(grep -l '^Saved.$' "$M"/knowledge/save/*.md | wc -l)" "$#"
}

# The merged view is no place to write, least of all a refused name, which is a link: every
# writer fails there, and nothing changes anywhere.
spares() {
  local name item before after
  before=$(find "$P/.ai" -type f -exec sha256sum {} + | sort | sha256sum)
  for name in "$@"; do
    [ "$name" = nano ] && continue # it would have to be waited for
    for item in knowledge/good.md knowledge/refused/tampered.md knowledge/save/new.md; do
      echo Saved. >"$T/want"
      if "w_$name" "$M/$item" >"$T/said" 2>&1 </dev/null; then
        case $name in
          # which say so, or (Python's destructor) do not, and end well
          vim* | ed | emacs | perl_i | py_append) ;;
          *) bad "$name cannot write ${item##*/}" "$(cat "$T/said")" ;;
        esac
      fi
    done
  done
  after=$(find "$P/.ai" -type f -exec sha256sum {} + | sort | sha256sum)
  is "no writer changed a thing through the merged view" "$after" "$before"
  same_file "the good item is whole" "$M/knowledge/good.md" "$T/truth/knowledge/good.md"
  is "nothing is in .why" "$(ls -A "$M/knowledge/refused/.why")" ""
  is "no name has come" "$(ls "$M/knowledge" | tr '\n' ' ')" "deep good.md halfread.md mine.md refused rye save "
}

# spaces/ is the place to make and drop items, too
makes() {
  local at=$M/spaces/project/knowledge
  mkdir "$at/fresh" && fx_knowledge "$T/aside" fresh/one "New." &&
    cp "$T/aside/.ai/knowledge/fresh/one.md" "$at/fresh/one.md"
  has "a new item is refused" "$(soon "Permission" fresh/one.md)" "Permission denied"
  has "as unsigned" "$(readlink "$M/knowledge/fresh/one.md")" "ENODATA: unsigned"
  works "and signed by a pattern" sh -c "echo '{\"item_id\":\"knowledge:fresh/*\"}' > '$M/sign'"
  has "and served" "$(soon "New." fresh/one.md)" "New."
  mv "$at/fresh/one.md" "$at/fresh/two.md"
  has "a renamed item is refused" "$(soon "Permission" fresh/two.md)" "Permission denied"
  has "its old name is gone" "$(soon "No such" fresh/one.md)" "No such file"
  mv "$at/fresh/two.md" "$at/fresh/one.md"
  has "and moved back it is served" "$(soon "New." fresh/one.md)" "New."
  rm -r "$at/fresh"
  has "a removed item is gone" "$(soon "No such" fresh/one.md)" "No such file"
  fails "the merged view is read only" sh -c "echo x > '$M/knowledge/good.md'"
  fails "so are its directories" sh -c "echo x > '$M/knowledge/other.md'"
  fails "nothing can be removed there" rm -f "$M/knowledge/good.md"
  fails "the system space is read only" sh -c "echo x > \"$(echo "$M"/spaces/system/*)/x\""
  fails "trusted keys are read only" sh -c "echo x > '$M/spaces/user/config/keys/trusted/x.toml'"
  is "private keys are not there" "$(ls "$M/spaces/user/config/keys/signing" 2>/dev/null)" ""
  fails "not even by name" cat "$M/spaces/user/config/keys/signing/private_key.pem"
}

fx_spaces
names=()
for row in $WRITERS; do
  need "${row#*:}" "${row%%:*}" || continue
  names+=("${row%%:*}")
  fx_knowledge "$P" "save/${row%%:*}" "Before: é."
done
fx_sign "$P" 'knowledge:save/*'
fx_mount
for name in "${names[@]}"; do
  saves "$name"
done
signs "${names[@]}"
spares "${names[@]}"
makes
finish
