#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `ryefs edit` with editors that are programs: what they save is checked, shown and, after a yes, signed;
# until then the item is as it was, and whatever goes wrong no text is lost. On a terminal and without one.
. "$(dirname "$0")/fixture.sh"
mkdir "$T/bin"
ln -s "$RYEFS" "$T/bin/ryefs"
export PATH="$T/bin:$PATH" RYE_SYSTEM_SPACES=$S
unset VISUAL
export EDITOR=$T/editor
ryefs init -q "$P" || exit 1
cd "$P" || exit 1
ryefs new -q tool my/hello && ryefs new -q knowledge my/notes && ryefs new -q directive my/greet || exit 1
ryefs new -q --space user knowledge mine
file=$P/.ai/tools/my/hello.py
copies=.ai/state/edits
copy=$copies/tools/my/hello.py/hello.py

editor() { # a program, with the file as $1
  { echo '#!/bin/sh' && cat; } >"$T/editor"
  chmod +x "$T/editor"
}
edits() { editor <<<"$1"; }
edit() { ryefs edit "$@" </dev/null 2>&1; } # its status is the function's
fresh() { # as it was at first
  cp -p "$T/first.py" "$file"
  rm -rf "$copies"
}
cp -p "$file" "$T/first.py"
same() { cmp -s "$file" "$T/first.py"; }
unkept() { [ ! -e "$copies" ]; }
# mend TEXT: types the remedy of an answer
mend() { (eval "$(sed -n 's/^mend with: //p' <<<"$1" | tail -n 1)") >"$T/mended" 2>&1 </dev/null; }

# --- well ---

edits 'cp "$1" "$T/seen"; pwd >"$T/where"; printf "%s\n" "$1" >"$T/name"; sed -i "s/Hello/Good day/" "$1"'
export T
said=$(edit --yes my/hello)
is "signed" "$?" 0
has "the difference is shown" "$said" '-    greeting = f"Hello, ' '+    greeting = f"Good day, ' "signed tool:my/hello"
is "it verifies" "$(ryefs verify my/hello)" "ok       tool:my/hello"
is "it runs" "$(ryefs execute my/hello name=Ann)" "Good day, Ann!"
is "the copy has the item's own name" "$(basename "$(<"$T/name")")" hello.py
lacks "and no header lines" "$(<"$T/seen")" rye:signed
is "the editor is where the caller is" "$(<"$T/where")" "$P"
ok "nothing is left of the copy" unkept
ok "one header" test "$(grep -c rye:signed "$file")" = 1
fresh

edits true
is "nothing was changed" "$(edit --yes my/hello)" "unchanged tool:my/hello"
ok "the file is as it was" same
ok "no copy" unkept
edits 'sed -i "s/fs.read/fs.write/" "$1"'
is "JSON" "$(ryefs edit --json --yes my/hello 2>/dev/null </dev/null | jq -r '.status, .ref, .path, .state')" "success
tool:my/hello
$file
signed"
fresh
edits 'echo "One line more." >>"$1"'
is "quiet" "$(edit -q --yes knowledge:my/notes)" ""
is "knowledge" "$(ryefs execute knowledge:my/notes | tail -n 1)" "One line more."
has "by a path" "$(edit --yes .ai/directives/my/greet.md)" "signed directive:my/greet"
has "in the user's space" "$(edit --yes "$U/.ai/knowledge/mine.md")" "signed knowledge:mine"
has "the same by its name" "$(edit --space user --yes mine)" "signed knowledge:mine"
VISUAL=$T/visual edits 'exit 9'
printf '#!/bin/sh\necho "$1" >"$T/words"\nexec sed -i s/Hello/Ahoi/ "$2"\n' >"$T/visual"
chmod +x "$T/visual"
has "VISUAL comes first, with words behind it" "$(VISUAL="'$T/visual' --wait" edit --yes my/hello)" "signed"
is "the words" "$(<"$T/words")" --wait
fresh

# --- what was unsigned, or changed, before ---

echo '# by another hand' >>"$file"
edits 'echo "# and mine" >>"$1"'
cp "$T/first.py" "$file~"
said=$(edit --yes my/hello)
has "the difference is to what was signed" "$said" "as it was" "+# by another hand" "+# and mine" "signed tool:my/hello"
rm "$file~"
fresh
sed -i '/rye:/d' "$file"
edits true
has "an unsigned item is signed unchanged" "$(edit --yes my/hello)" "signed tool:my/hello"
fresh

# --- without a terminal: only with --yes ---

edits 'sed -i "s/Hello/Servus/" "$1"'
said=$(edit my/hello)
is "a yes is wanted: denied" "$?" 5
has "and says so" "$said" "it takes a yes" "your text is kept in $P/$copy" "mend with: ryefs edit --yes my/hello"
ok "the item is as it was" same
ok "the text is kept" grep -q Servus "$copy"
is "for its owner alone" "$(stat -c %a "$copy" "$(dirname "$copy")" | tr '\n' ' ')" "600 700 "
edits true
mend "$said" && good "the remedy works" || bad "the remedy works" "$(<"$T/mended")"
has "it went on with the text" "$(<"$T/mended")" "going on with the text that was left" "signed tool:my/hello"
ok "then nothing is kept" unkept
fresh

# --- what does not pass ---

edits 'sed -i "/^__version__/d; s/my\"/other\"/" "$1"'
said=$(edit --yes my/hello)
is "checks: the status" "$?" 2
has "checks: all of them" "$said" "cannot be signed: " "Missing required field: version" "must match path category" "kept in $P/$copy"
is "in one line" "$(grep -c '^ryefs edit: ' <<<"$said")" 1
ok "the item is as it was" same
cat >"$T/editor" <<'SH'
#!/bin/sh
sed -i 's/^__tool_type__/__version__ = "1.0.1"\n&/; s/other"/my"/' "$1"
SH
mend "$said" && good "the remedy goes on" || bad "the remedy goes on" "$(<"$T/mended")"
ok "it is signed" ryefs verify -q my/hello
fresh
edits 'sed -i "s/^def execute.*:/def execute(params, project_path)/" "$1"'
said=$(edit --yes my/hello)
is "Python that does not compile is not signed" "$?" 2
like "and told with its line" "$said" 'tool:my/hello cannot be signed: line [0-9]*: this is not Python: .*your text is kept in'
ok "the item is as it was" same
n=$(sed -n 's/.*line \([0-9]*\): this is not.*/\1/p' <<<"$said")
is "the line is the copy's" "$(sed -n "${n}p" "$P/$copy")" "def execute(params, project_path)"
fresh
edits 'sed -i "s/type=\"string\"/type=\"strin\"/; s/{input:tone}/{input:tune}/" "$1"; cp "$1" "$T/seen"'
said=$(edit --yes my/greet)
has "remarks have lines, the copy's" "$said" "type 'strin'" "line $(grep -n 'input:tune' "$T/seen" | cut -d: -f1): there is no input 'tune'"

# --- the editor ---

mistake() { # STATUS SENTENCE ARGUMENTS...
  local status=$1 what=$2 text
  shift 2
  text=$(edit "$@")
  is "edit $*: status" $? "$status"
  has "edit $*: says" "$text" "$what"
  edits true
  mend "$text" && good "edit $*: the remedy works" || bad "edit $*: the remedy works" "$text" "$(<"$T/mended")"
}
fresh
has "a missing editor" "$(EDITOR=no-such-editor edit my/hello)" 'the editor "no-such-editor" cannot be started' 'mend with: VISUAL=/'
has "no editor is named" "$(EDITOR='' edit my/hello)" 'neither VISUAL nor EDITOR' 'mend with: VISUAL=/'
ok "no copy is left" unkept
edits 'exit 3'
mistake 1 'the editor ended with status 3' my/hello
edits 'echo "# half" >>"$1"; exit 3'
mistake 1 'your text is kept' --yes my/hello
ok "it is there" grep -q '# half' "$file"
fresh
edits 'kill -9 $$'
mistake 1 'ended by signal 9' my/hello
edits 'rm "$1"'
has "a copy that is gone" "$(edit my/hello)" "cannot read $P/$copy: No such file"
fresh

# --- which item ---

edits true
mistake 5 "is the system space's, which is read only" rye/bash/bash
rm -rf .ai/tools/rye
mistake 3 'there is no knowledge:my/none-such-as-this' knowledge:my/none-such-as-this
mistake 3 'did you mean tool:my/hello?' tool:my/helo
mistake 3 'is in the project space, not in the user space' --space user tool:my/hello
mkdir -p .ai/knowledge/linked && ln -s ../my/notes.md .ai/knowledge/linked/notes.md
mistake 2 'is a link' knowledge:linked/notes
rm -r .ai/knowledge/linked
mkdir "$T/empty"
has "no workspace" "$(cd "$T/empty" && edit my/hello)" "there is no .ai in" "mend with: ryefs init"

# --- others at the same time ---

edits 'echo "# mine" >>"$1"; echo "# theirs" >>.ai/tools/my/hello.py'
said=$(edit --yes my/hello)
is "changed meanwhile" "$?" 1
has "is told" "$said" "hello.py was changed meanwhile; your text is kept in" "mend with: ryefs edit --yes my/hello"
is "nothing is lost" "$(tail -qn 1 "$file" "$copy")" "# theirs
# mine"
edits true
said=$(edit --yes my/hello)
is "without a terminal the other's change is not taken back" "$? $(tail -n 1 "$file")" "5 # theirs"
mend "$said" && good "its remedy begins anew" || bad "its remedy begins anew" "$(<"$T/mended")"
is "with the other's text" "$(grep -c '# theirs' "$file")$(grep -c '# mine' "$file")" 10
fresh
edits 'echo "# mine" >>"$1"; rm .ai/tools/my/hello.py'
has "removed meanwhile" "$(edit --yes my/hello)" "was removed meanwhile" "kept in"
fresh
edits 'rm "$1"'
said=$(edit --yes my/hello)
is "an editor that removes what it was given" "$?" 1
has "leaves no text" "$said" "cannot read " "tool:my/hello is as it was"
lacks "and none is kept" "$said" "kept in"
fresh
edits 'until [ -e "$T/go" ]; do sleep 0.05; done; echo "# first" >>"$1"'
(edit --yes my/hello >"$T/first.said") &
until_true test -e "$copy"
said=$(edit --yes my/hello)
has "two at once: the second is told" "$said" "is being edited already" "mend with: flock "
(sleep 0.3; touch "$T/go") &
mend "$said" && good "its remedy waits" || bad "its remedy waits" "$(<"$T/mended")"
wait
has "the first was signed" "$(<"$T/first.said")" "signed tool:my/hello"
fresh
edits 'echo "# typed" >>"$1"; kill -9 $PPID; sleep 0.2'
edit --yes my/hello >/dev/null
ok "killed: the item is as it was" same
edits true
has "and the text is there" "$(edit --yes my/hello)" "going on with" "+# typed" "signed tool:my/hello"
fresh
mkdir "$T/keyless"
edits 'echo "# typed" >>"$1"'
has "no key" "$(USER_SPACE=$T/keyless edit --yes my/hello)" "No signing keypair" "your text is kept" "mend with: ryefs keygen"
fresh

# --- on a terminal ---

screen() { "$PY" "$E2E/screen.py" "$1" ryefs edit "${@:2}"; }
edits 'sed -i "s/Hello/Moin/" "$1"'
has "y" "$(screen $'rop: \ty\\n' my/hello)" '[y]es, [e]dit again, [l]eave it unsigned, [d]rop' "+    greeting = f\"Moin" "signed tool:my/hello" "[0]"
fresh
has "d" "$(screen $'rop: \td\\n' my/hello)" "unchanged tool:my/hello" "[0]"
ok "dropped" same
ok "and no copy" unkept
has "l" "$(screen $'rop: \tl\\n' my/hello)" "unsigned tool:my/hello" "[0]"
is "left unsigned, with its text" "$(grep -c 'Moin' "$file")$(grep -c rye: "$file")" 10
fresh
editor <<'SH'
if grep -q __version__ "$1"; then sed -i '/^__version__/d' "$1"; else sed -i 's/^__tool_type__/__version__ = "2.0.0"\n&/' "$1"; fi
SH
said=$(screen $'rop: \ty\\n\nrop: \te\\n\nrop: \ty\\n' my/hello)
has "what does not pass goes back to the editor" "$said" "tool:my/hello cannot be signed: Validation failed: Missing required field: version" "signed tool:my/hello" "[0]"
lacks "there a yes is none" "$(sed '/sign it/,$d' <<<"$said")" "signed tool"
fresh
edits 'echo "# x" >>"$1"'
has "no answer: kept" "$(screen $'rop: \t\x04' my/hello)" "your text is kept in" "[1]"
ok "the text" grep -q '# x' "$copy"
fresh
edits 'sleep 0.3; echo "# x" >>"$1"'
ok "^C is the editor's" test "$(screen $'no such prompt\tx' --yes my/hello | grep -c 'signed tool')" = 1
fresh

# --- a directory that is read only ---

if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
  cat >"$T/readonly.sh" <<'SH'
mount --bind "$1/.ai" "$1/.ai" && mount -o remount,ro,bind "$1/.ai" && cd "$1" || exit 77
ryefs edit --yes my/hello </dev/null; echo "[$?]"
SH
  said=$(unshare -m bash "$T/readonly.sh" "$P" 2>&1)
  if [ $? = 77 ]; then
    without "read only" "nothing can be mounted"
  else
    has "read only" "$said" "cannot make a copy of $file: Read-only file system" "mend with: ryefs fetch --to user tool:my/hello && ryefs edit --space user tool:my/hello" "[1]"
  fi
fi

# --- through a mount ---

fx_mount
edits 'sed -i "s/Hello/Grias di/" "$1"'
has "by a path in a mount" "$(edit --yes "$M/tools/my/hello.py")" "signed tool:my/hello"
greets() { echo '{"name": "Ann"}' >"$M/tools/my/hello/run" && [ "$(<"$M/tools/my/hello/output")" = "Grias di, Ann!" ]; }
ok "the mount has it" until_true greets
finish
