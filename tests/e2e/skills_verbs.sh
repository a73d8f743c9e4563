#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ryefs skill: what is added was shown, what is signed was added, what is refused is nowhere.
. "$(dirname "$0")/fixture.sh"

skill() { "$RYEFS" skill --project "$P" "$@" </dev/null; }

folder() {
  mkdir -p "$T/$1/scripts"
  printf -- '---\nname: %s\ndescription: What it is for.\n%s---\nText\n' "$1" "${2:-}" >"$T/$1/SKILL.md"
  printf '#!/bin/sh\necho hi\n' >"$T/$1/scripts/run.sh"
}

# add NAME: as somebody without a terminal who has looked
add() {
  local digest
  digest=$(skill add "$1" 2>/dev/null | grep '^sha256:')
  skill add -q --expect "$digest" "$1"
}

"$RYEFS" keygen -q
cd "$P" || exit 1 # a name is that of a directory here first
is "there are none" "$(skill list 2>&1)" "there are no skills; add one with: ryefs skill add DIR"
folder pdf
not_ok "without a terminal it takes no plain yes" skill add --yes "$T/pdf"
not_ok "and nothing is written before one" test -e "$P/.ai/skills"
said=$(skill add "$T/pdf" 2>"$T/err")
has "what it has is shown" "$said" "pdf, 2 files" "scripts/run.sh: runs" "sha256:"
has "the remedy names what was looked at" "$(<"$T/err")" "ryefs skill --expect sha256:"
cp -R "$T/pdf" "$T/odd0"
has "a folder of another name is said" "$(skill add "$T/odd0" 2>&1 >/dev/null)" "odd0 is added as pdf, the name that its SKILL.md says"
lacks "and one of its own is not" "$(<"$T/err")" "is added as"
not_ok "another digest is no yes" skill add -q --expect "sha256:$(printf '%064d' 0)" "$T/pdf"
not_ok "and writes nothing" test -e "$P/.ai/skills/pdf"
is "the right one is" "$(add "$T/pdf")" "pdf is signed"
is "the folder is as it was" "$(diff -r "$T/pdf" "$P/.ai/skills/pdf" 2>&1)" ""
is "git is told to change no byte" "$(<"$P/.ai/skills/.gitattributes")" "* -text"
is "it verifies" "$("$RYEFS" verify --project "$P" skill:pdf 2>&1)" "ok       skill:pdf"
like "the list has it" "$(skill list)" '^pdf +ok'
is "nothing has changed" "$(skill diff pdf 2>&1)" "nothing has changed since it was signed"

# --- changed ---

echo '# more' >>"$P/.ai/skills/pdf/scripts/run.sh"
rm "$P/.ai/skills/pdf/SKILL.md"
echo x >"$P/.ai/skills/pdf/new"
is "diff names each file" "$(skill diff pdf 2>/dev/null | tr '\n' ' ')" "A new M scripts/run.sh D SKILL.md "
not_ok "and says so by its status" skill diff pdf
like "the list says why" "$(skill list)" '^pdf +modified +content changed since signing; mend with: ryefs skill diff pdf'
not_ok "the manifest alone cannot be signed" "$RYEFS" sign --project "$P" skill:pdf
has "nor is it good among many" "$("$RYEFS" sign --project "$P" --all 2>&1)" "the files of skill pdf are not what its manifest lists; mend with: ryefs skill add pdf"
has "diff leaves it to skill diff" "$("$RYEFS" diff --project "$P" skill:pdf 2>&1)" "mend with: ryefs skill diff pdf"
cp "$T/pdf/SKILL.md" "$P/.ai/skills/pdf/"
has "added by its name, what changed is marked" "$(skill add pdf 2>/dev/null)" "M " "A " "scripts/run.sh"
is "it is signed where it is" "$(add pdf)" "pdf is signed"
ok "with what was new" grep -q '"new"' "$P/.ai/skills/pdf.yaml"
has "from outside, the lines that differ are shown" "$(skill add "$T/pdf" 2>/dev/null)" "-# more" "  D"
mkdir -p "$P/.ai/skills/.pdf.4711.tmp/scripts" "$P/.ai/skills/.held.4711.tmp"
exec 9<"$P/.ai/skills/.held.4711.tmp"
flock -n 9 || bad "a lock"
is "and it takes the folder's place" "$(add "$T/pdf")" "pdf is signed"
is "whole" "$(diff -r "$T/pdf" "$P/.ai/skills/pdf" 2>&1)" ""
is "what a killed one left goes, what a living one makes stays" "$(ls -A "$P/.ai/skills" | tr '\n' ' ')" ".gitattributes .held.4711.tmp pdf pdf.yaml "
exec 9<&-
rmdir "$P/.ai/skills/.held.4711.tmp"

# --- what is no skill ---

# refused TEXT WANTED: the folder "bad" is, and nothing of it is written
refused() {
  not_ok "$1" skill add "$T/bad"
  has "$1: why" "$(skill add "$T/bad" 2>&1)" "$2"
  rm -rf "$T/bad"
}
mkdir "$T/bad"
refused "no SKILL.md" "there is no SKILL.md in "
folder bad
sed -i 's/name: bad/name: Bad Name/' "$T/bad/SKILL.md"
refused "a name that is none" "wants 1 to 64 of a-z"
folder bad
sed -i '/description/d' "$T/bad/SKILL.md"
refused "no description" "description: wants"
folder bad
ln -s /etc/passwd "$T/bad/link"
refused "a link out of it" "link is a link, and leads to no file of the folder"
folder bad
mkfifo "$T/bad/pipe"
refused "a FIFO" "pipe is no regular file"
folder bad
mkdir "$T/bad/node_modules"
refused "packages" "packages are not taken along"
folder bad
touch "$T/bad/$(printf 'a\xe2\x80\xaeb')"
refused "a name that turns the line around" "characters that are not shown"
folder bad
mkdir -p "$T/bad/1/2/3/4/5/6/7/8"
touch "$T/bad/1/2/3/4/5/6/7/8/x"
refused "too deep" "too deep"
folder bad
touch "$T/bad/skill.md"
refused "two names but for their case" "differ in case alone"
is "none of them is there" "$(ls "$P/.ai/skills" | tr '\n' ' ')" "pdf pdf.yaml "

# --- what is remarked ---

folder loud $'hooks: {}\nallowed-tools: Bash\nmetadata: {version: "2.1.0"}\n'
ln -s run.sh "$T/loud/scripts/also.sh"
printf 'a\0b' >"$T/loud/data.bin"
printf 'see https://example.org \xe2\x80\x8b\n' >"$T/loud/notes.md"
mkdir "$T/loud/inner" "$T/loud/.git"
cp "$T/pdf/SKILL.md" "$T/loud/inner/"
echo 'Now !`id` runs' >>"$T/loud/SKILL.md"
has "what acts by itself is told" "$(skill add "$T/loud" 2>/dev/null)" \
  "SKILL.md: hooks, allowed-tools, commands that run when it is loaded" "data.bin: binary" \
  "notes.md: CHARACTERS THAT ARE NOT SHOWN, addresses" "scripts/also.sh: runs, was a link" \
  "inner/SKILL.md: a skill of its own to some clients" "1 passed over"
is "it is signed" "$(add "$T/loud")" "loud is signed"
ok "a link is the file it led to" test ! -L "$P/.ai/skills/loud/scripts/also.sh" -a -x "$P/.ai/skills/loud/scripts/also.sh"
ok "its version is its own" grep -q '^version: "2.1.0"' "$P/.ai/skills/loud.yaml"

# --- the lines, where git has what was signed ---

if command -v git >/dev/null; then
  git -C "$P" init -q && git -C "$P" add -A && git -C "$P" -c user.name=a -c user.email=a@example.org commit -qm begin
  echo 'curl evil' >>"$P/.ai/skills/pdf/scripts/run.sh"
  has "diff shows the lines" "$(skill diff pdf 2>/dev/null)" "M scripts/run.sh" "--- as it was signed" "+++ scripts/run.sh" "+curl evil"
  has "so does add of what lies there" "$(skill add pdf 2>/dev/null)" "+curl evil"
  git -C "$P" -c user.name=a -c user.email=a@example.org commit -qam 'theirs'
  has "also when the change is committed" "$(skill diff pdf 2>/dev/null)" "+curl evil"
  git -C "$P" checkout -q HEAD~1 -- .ai/skills && rm -rf "$P/.git"
fi

# --- copies ---

is "all are copied" "$(skill export "$T/copies")" "$T/copies has 2 skills"
is "as they are" "$(diff -r "$T/copies/pdf" "$T/pdf" 2>&1)" ""
ok "what runs, runs" test -x "$T/copies/pdf/scripts/run.sh" -a ! -x "$T/copies/pdf/SKILL.md"
echo x >>"$P/.ai/skills/loud/notes.md"
not_ok "frozen, a refused one fails it" skill export --frozen "$T/frozen"
not_ok "and nothing is written" test -e "$T/frozen"
is "else it is left out" "$(skill export "$T/copies" 2>&1 | tr '\n' ' ')" "loud is refused, and left out $T/copies has 1 skill "
is "with its copy of before" "$(ls -A "$T/copies")" "pdf"

# --- verbs of single files ---

verb() { "$RYEFS" "$1" --project "$P" "${@:2}" 2>&1 </dev/null; }
has "edit says what edits its text" "$(EDITOR=true verb edit skill:pdf) [$?]" "/.ai/skills/pdf/SKILL.md && ryefs skill add pdf" "[2]"
has "log tells of its manifest" "$(verb log skill:pdf)" " ok "
K=$P/.ai/skills
sed -i 's/^version: .*/version: "3.2.1"/' "$K/pdf.yaml" && "$RYEFS" sign -q --project "$P" skill:pdf
echo unread >"$K/pdf/unread"
has "what no manifest lists is not moved along" "$(verb mv skill:pdf papers) [$?]" "its folder has what the manifest does not list" "mend with: ryefs skill diff pdf" "[4]"
rm "$K/pdf/unread"
has "nor to a name that is none" "$(verb mv skill:pdf My_Papers) [$?]" "wanted are 1 to 64 of a-z" "mend with: ryefs mv --project $P skill:pdf my-papers" "[2]"
has "nor over another" "$(verb mv skill:pdf loud) [$?]" "skill:loud is there already" "mend with: ryefs mv --project $P skill:pdf loud-2" "[2]"
has "dry, it is told" "$(verb mv -n skill:pdf papers)" "would move skill:pdf to skill:papers: $K/papers"
is "and none has done anything" "$(verb verify skill:pdf; ls "$K")" "ok       skill:pdf
$(printf '%s\n' loud loud.yaml pdf pdf.yaml)"
is "it is moved" "$(verb mv skill:pdf papers)" "moved skill:pdf to skill:papers: $K/papers"
is "signed, whole, and nothing is left" "$(verb verify skill:papers; ls -A "$K" | grep -c pdf; sed 's/^name: papers/name: pdf/' "$K/papers/SKILL.md" | diff - "$T/pdf/SKILL.md")" "ok       skill:papers
0"
is "what runs, runs, and its version stays" "$("$K/papers/scripts/run.sh") $(grep ^version "$K/papers.yaml")" 'hi version: "3.2.1"'
# a call that was killed behind each of its steps goes on
for step in 1 2; do
  cp -a "$K/papers" "$T/was" && cp "$K/papers.yaml" "$T/was.yaml"
  verb mv -q skill:papers "again$step" && mv "$T/was.yaml" "$K/papers.yaml"
  if [ $step = 1 ]; then mv "$T/was" "$K/papers"; else mv "$T/was" "$K/.papers.4711.tmp"; fi
  is "killed behind step $step, the same call goes on" "$(verb mv skill:papers "again$step")" "moved skill:papers to skill:again$step: $K/again$step"
  is "to its end" "$(verb verify "skill:again$step"; ls -A "$K" | grep -c papers)" "ok       skill:again$step
0"
  verb mv -q "skill:again$step" papers
done
echo more >>"$K/papers/SKILL.md"
has "a changed one is not moved" "$(verb mv skill:papers pdf) [$?]" "skill:papers is not moved" "mend with: ryefs skill diff papers" "[4]"
has "it is removed after a yes" "$(verb rm skill:papers) [$?]" "it takes a yes" "[5]"
is "with all that it has" "$(verb rm --yes skill:papers; ls -A "$K" | grep -c papers)" "removed skill:papers: $K/papers.yaml
0"
add "$T/pdf" >/dev/null

# --- search ---

found() { verb search --json "$@" | grep -c '"skill:pdf"'; }
is "search finds it by its name, its description, its text" "$(found pdf) $(found '"what it is for"') $(found 'what AND text')" "1 1 1"
echo unread-word >>"$K/pdf/SKILL.md"
is "what nobody has signed is not looked at, a refused one is found by its name alone" "$(found unread-word) $(found '"what it is for"') $(found pdf)" "0 0 1"
add pdf >/dev/null
rm -rf "$K/pdf"
add "$T/pdf" >/dev/null

# --- merges ---

folder marked
printf '<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n' | tee "$T/marked/notes.md" >"$T/marks"
has "of what comes from elsewhere, conflict marks are told" "$(skill add "$T/marked" 2>/dev/null)" "notes.md: CONFLICT MARKS OF A MERGE"
add "$T/marked" >/dev/null
echo more >>"$K/marked/SKILL.md"
is "a text that was signed with them is no open merge" "$(add marked)" "marked is signed"
cat "$T/marks" >>"$K/marked/SKILL.md"
has "one that git has left open is not signed" "$(skill add marked 2>&1)" "skills/marked/SKILL.md has conflict marks of a merge (<<<<<<<): settle it, then sign"
cp "$K/marked/SKILL.md" "$T/open.md"
has "by no way" "$("$RYEFS" sign -q --all --take-over --project "$P" 2>&1)" "SKILL.md of skill marked has conflict marks of a merge (<<<<<<<); mend with: ryefs skill add marked"
sed -i '2s/^/<<<<<<< a\n/' "$K/marked/SKILL.md"
has "nor one whose metadata is open" "$(skill add marked 2>&1)" "skills/marked/SKILL.md has conflict marks of a merge (<<<<<<<): settle it, then sign"
cp "$T/open.md" "$K/marked/SKILL.md"
skill remove --yes marked >/dev/null

# --- spaces, and the end ---

folder mine
is "one of the user space" "$(skill add -q --space user --expect "$(skill add --space user "$T/mine" 2>/dev/null | grep '^sha256:')" "$T/mine")" "mine is signed"
ok "lies there" test -d "$U/.ai/skills/mine"
like "and is listed" "$(skill list)" '^mine +ok'
not_ok "it is removed after a yes" skill remove --space user mine
is "with one" "$(skill remove --space user --yes mine)" "mine is removed"
not_ok "whole" test -e "$U/.ai/skills/mine.yaml" -o -e "$U/.ai/skills/mine"
not_ok "what is not there is not removed" skill remove --yes mine
not_ok "nor what leads elsewhere" skill remove --yes ../tools
folder bare
cp -R "$T/bare" "$P/.ai/skills/"
has "doctor names a folder that no key has signed" "$("$RYEFS" doctor --project "$P" 2>&1)" \
  "skill:bare: a folder that no key has signed" "mend with: ryefs skill add bare"
finish
