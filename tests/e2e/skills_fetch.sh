#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ryefs skill add and update from git repositories: one commit is fetched, looked at and signed, with nothing of the
# repository's own run; what would take another's place is refused; a killed one leaves no half.
. "$(dirname "$0")/fixture.sh"
need git "git repositories" || finish

skill() { "$RYEFS" skill --project "$P" "$@" </dev/null; }
digest() { skill "$@" 2>/dev/null | grep '^sha256:' | paste -sd,; }
# add SOURCE [OPTION...]: as somebody without a terminal who has looked
add() { skill add -q --expect "$(digest add "$@")" "$@"; }
upstream() { git -C "$T/github/acme/skills.git" "$@"; }
commit() { upstream add -A && upstream commit -qm "$1"; }
folder() {
  mkdir -p "$1/scripts"
  printf -- '---\nname: %s\ndescription: What it is for.\n---\nText\n' "${1##*/}" >"$1/SKILL.md"
  printf '#!/bin/sh\r\necho hi $Id$\n' >"$1/scripts/run.sh"
}

# every address of github is a directory here: nothing leaves this machine
mkdir -p "$T/github/acme"
git config --global url."file://$T/github/".insteadOf https://github.com/
git config --global user.name t
git config --global user.email t@t
git init -q -b main "$T/github/acme/skills.git"
UP=$T/github/acme/skills.git
echo '* -text -filter -ident' >"$UP/.git/info/attributes"
folder "$UP/skills/pdf"
folder "$UP/skills/docx"
chmod +x "$UP/skills/pdf/scripts/run.sh"
commit one
# attributes that would change bytes or start programs, if they were heeded
printf '*.sh text eol=lf ident filter=run\n' >"$UP/.gitattributes"
git config --global filter.run.smudge "touch $T/smudged; cat"
git config --global filter.run.clean cat
printf '#!/bin/sh\ntouch "%s/hooked"\n' "$T" >"$UP/.git/hooks/post-checkout"
chmod +x "$UP/.git/hooks/post-checkout"
commit attributes
upstream tag v1
"$RYEFS" keygen -q >/dev/null
cd "$P" || exit 1

# --- where it is from ---

said=$(skill add github:acme/skills 2>&1)
has "a repository of several says which" "$said" "no SKILL.md at its top; it has 2: in skills/docx, skills/pdf" \
  "mend with: ryefs skill add github:acme/skills/skills/docx"
has "so does one without the folder" "$(skill add github:acme/skills/nope 2>&1)" "no SKILL.md in nope"
has "one that is not there" "$(skill add github:acme/none/x 2>&1)" "cannot fetch github:acme/none: "
has "and a branch that is not" "$(skill add github:acme/skills/skills/pdf@none 2>&1)" "cannot fetch github:acme/skills@none: "
for word in github:acme http://h/x https://u:p@h/x 'ext::sh -c id' 'github:acme/skills/../x' 'github:acme/skills@--x'; do
  not_ok "$word is none" skill add "$word"
done
said=$(skill add github:acme/skills/skills/pdf 2>&1)
has "it is shown with its commit" "$said" "pdf, 2 files" "from github:acme/skills, commit $(upstream rev-parse HEAD)" \
  "scripts/run.sh: runs" "skill --expect sha256:" " add github:acme/skills/skills/pdf"
not_ok "nothing is written before the yes" test -e "$P/.ai/skills"
is "it is signed" "$(add github:acme/skills/skills/pdf)" "pdf is signed"
is "byte for byte" "$(diff -r "$UP/skills/pdf" "$P/.ai/skills/pdf" 2>&1)" ""
not_ok "no filter and no hook has run" test -e "$T/smudged" -o -e "$T/hooked"
has "its manifest tells the source" "$(<"$P/.ai/skills/pdf.yaml")" \
  "source: {from: \"github:acme/skills\", path: \"skills/pdf\", commit: \"$(upstream rev-parse HEAD)\"}"
is "and verifies" "$("$RYEFS" verify --project "$P" skill:pdf 2>&1)" "ok       skill:pdf"
is "nothing stays of the fetch" "$(ls -A "$U/.ai/state/skills")" ""
is "an address of git is the same" "$(digest add "file://$UP#v1:skills/docx")" "$(digest add github:acme/skills/skills/docx@main)"
is "a plain directory by file:, too" "$(digest add "file://$UP/skills/docx")" "$(digest add "$UP/skills/docx")"

# --- update ---

is "nothing has moved" "$(skill update --check 2>&1)" "pdf is what github:acme/skills has"
echo more >>"$UP/skills/docx/SKILL.md"
commit other
ok "nor by a commit of another folder" skill update --check -q
echo more >>"$UP/skills/pdf/SKILL.md"
rm "$UP/skills/pdf/scripts/run.sh"
commit two
is "what has moved is told" "$(skill update --check | tr '\n' ' ')" "pdf M SKILL.md D scripts/run.sh "
not_ok "by its status" skill update --check
has "without a yes it is shown" "$(skill update 2>&1)" "+more" "  D" "skill --expect sha256:" " update"
ok "and is as it was" "$RYEFS" verify -q --project "$P" skill:pdf
echo mine >>"$P/.ai/skills/pdf/SKILL.md"
has "what was changed here is not lost" "$(skill update --yes pdf 2>&1)" "pdf was changed here since it was signed" "ryefs skill diff pdf"
sed -i '$d' "$P/.ai/skills/pdf/SKILL.md"
like "with one it is updated" "$(skill update --yes pdf)" 'pdf is signed$'
is "to what there is now" "$(diff -r "$UP/skills/pdf" "$P/.ai/skills/pdf" 2>&1)" "Only in $UP/skills/pdf: scripts"
rmdir "$UP/skills/pdf/scripts"
folder "$T/own"
is "one from a directory" "$(add "$T/own")" "own is signed"
has "is from nowhere" "$(skill update own 2>&1)" "own is from no repository" "ryefs skill add own"
ok "and passed over with all" skill update -q
is "one at a tag" "$(add github:acme/skills/skills/docx@v1)" "docx is signed"
has "stays there" "$(skill update docx 2>&1)" "docx is what"
sed -i 's/^---$/&\nmetadata: {version: "2.0.0"}/;' "$UP/skills/pdf/SKILL.md"
sed -i '0,/^metadata/!{/^metadata/d}' "$UP/skills/pdf/SKILL.md"
commit version
skill update -q --yes pdf >/dev/null
sed -i 's/2.0.0/1.9.9/' "$UP/skills/pdf/SKILL.md"
commit lower
has "a lower version is asked about" "$(skill update --expect "$(digest update)" pdf 2>&1)" "version \"1.9.9\", and 2.0.0 is signed" "it takes a yes"
like "and taken after a yes" "$(skill update --yes pdf 2>/dev/null)" 'pdf is signed$'

# --- in whose place ---

git clone -q "$UP" "$T/github/acme/fork.git" 2>/dev/null
has "a name that is there from elsewhere" "$(skill add github:acme/fork/skills/pdf 2>&1)" "there is a skill pdf already, from github:acme/skills" \
  "ryefs skill --as OTHER " "add github:acme/fork/skills/pdf"
is "is another with another name" "$(add github:acme/fork/skills/pdf --as pdf-2)" "pdf-2 is signed"
is "which its text says, and nothing else" "$(diff "$UP/skills/pdf/SKILL.md" "$P/.ai/skills/pdf-2/SKILL.md" | tr '\n' ' ')" \
  "3c3 < name: pdf --- > name: pdf-2 "
is "it is updated as that" "$(skill update pdf-2 2>&1)" "pdf-2 is what github:acme/fork has"
folder "$P/.ai/skills/mine"
echo more >>"$P/.ai/skills/mine/SKILL.md"
folder "$T/mine"
has "an unsigned folder is not replaced" "$(skill add "$T/mine" 2>&1)" "no key has signed it" "ryefs skill add mine"
rm -r "$P/.ai/skills/mine"

# --- whose signature ---

key=$U/.ai/config/keys/signing
cp -R "$key" "$T/key"
rm -r "$key"
"$RYEFS" keygen -q >/dev/null
echo x >>"$UP/skills/pdf/SKILL.md"
commit signer
has "another key than before is told" "$(skill update --yes pdf 2>&1)" "pdf was signed by " "ryefs skill --signer "
ok "and nothing is written" "$RYEFS" verify -q --project "$P" skill:pdf
not_ok "a wrong one is none" skill update --yes --signer 0123456789abcdef pdf
own=$("$RYEFS" keys --project "$P" --json | "$PY" -c 'import json, sys; print([k["fingerprint"] for k in json.load(sys.stdin) if k["status"] == "signing"][0])')
like "with its name it signs" "$(skill update --yes --signer "$own" pdf)" 'pdf is signed$'
# the author of `theirs` has it in a project of their own, and signed it there
folder "$T/theirs"
"$RYEFS" init -q "$T/author" >/dev/null
"$RYEFS" skill add -q --project "$T/author" --expect "$(digest add "$T/theirs")" "$T/theirs" </dev/null >/dev/null
rm -r "$key"
cp -R "$T/key" "$key"
has "its author's manifest stays, if the key counts" "$(skill add "$T/author/.ai/skills/theirs" 2>/dev/null)" "signed by its author, key $own"
add "$T/author/.ai/skills/theirs" >/dev/null
is "as it is" "$(cmp "$T/author/.ai/skills/theirs.yaml" "$P/.ai/skills/theirs.yaml" 2>&1)" ""
is "and verifies" "$("$RYEFS" verify --project "$P" skill:theirs 2>&1)" "ok       skill:theirs"
"$RYEFS" untrust --project "$P" "$own" >/dev/null
skill remove -q --yes theirs >/dev/null
has "else who has signed is told" "$(skill add "$T/author/.ai/skills/theirs" 2>&1)" "signed it with $own, which does not count here"

# --- what others have locked ---

locked() { (cd "$UP/$1" && find . -type f | sed 's|^\./||' | LC_ALL=C sort | while read -r f; do printf %s "$f"; cat "$f"; done | sha256sum | cut -c1-64); }
cat >"$T/skills-lock.json" <<END
{"version": 1, "skills": {
  "docx": {"source": "acme/skills", "sourceType": "github", "computedHash": "$(locked skills/docx)"},
  "own-2": {"source": "acme/skills", "sourceType": "github", "skillPath": "skills/own-2/SKILL.md", "ref": "main", "computedHash": "HASH"}}}
END
folder "$UP/skills/own-2"
echo x >"$UP/skills/own-2/a_b"
echo x >"$UP/skills/own-2/B"
commit locked
# in the order of the installer's language: a_b, B, scripts/run.sh, SKILL.md
hash=$(cd "$UP/skills/own-2" && for f in a_b B scripts/run.sh SKILL.md; do printf %s "$f"; cat "$f"; done | sha256sum | cut -c1-64)
sed -i "s/HASH/$hash/" "$T/skills-lock.json"
skill remove -q --yes docx >/dev/null
said=$(skill add "$T/skills-lock.json" 2>&1)
has "each is shown, one yes is for all" "$said" "docx, 2 files" "own-2, 4 files" "$(digest add "$T/skills-lock.json")"
is "with it all are signed" "$(add "$T/skills-lock.json" | tr '\n' ' ')" "docx is signed own-2 is signed "
echo x >>"$UP/skills/docx/SKILL.md"
commit after
has "what has changed since is refused" "$(skill add "$T/skills-lock.json" 2>&1)" "docx is not what skills-lock.json has the digest of" \
  "ryefs skill add github:acme/skills/skills/docx"

# --- killed ---

mkdir "$UP/skills/big"
printf -- '---\nname: big\ndescription: Many.\n---\n' >"$UP/skills/big/SKILL.md"
for i in $(seq 60); do head -c 20000 /dev/zero >"$UP/skills/big/$i"; done
commit big
before=$(digest add github:acme/skills/skills/big)
cp -R "$UP/skills/big" "$T/big"
for i in $(seq 60); do echo "$i" >>"$UP/skills/big/$i"; done
commit bigger
after=$(digest add github:acme/skills/skills/big)
whole() { ! [ -e "$P/.ai/skills/big" ] || diff -rq "$T/big" "$P/.ai/skills/big" || diff -rq "$UP/skills/big" "$P/.ai/skills/big"; }
# killed SECONDS DIGEST SOURCE
killed() { timeout -s KILL "$1" "$RYEFS" skill --project "$P" add -q --expect "$2" "$3" </dev/null; }
# a fetch that is killed, then writing that is, at times that grow
halves=0
for ms in 50 $(seq 2 4 62); do
  case $ms in
    50) killed 0.05 "$after" github:acme/skills/skills/big ;;
    *[26]) killed "0.0$((ms / 10))$((ms % 10))" "$before" "$T/big" ;;
    *) killed "0.0$((ms / 10))$((ms % 10))" "$after" "$UP/skills/big" ;;
  esac
  whole || halves=$((halves + 1))
done >/dev/null 2>&1
is "a killed one leaves no half of a folder" "$halves" 0
next() { skill add -q --expect "$after" "$UP/skills/big" 2>&1; }
said=$(next)
# killed between folder and signature: whole, and as a folder that a person may have written; as the sentence says
if [[ $said == *'no key has signed it: sign it as it is, or move it away'* ]]; then
  mv "$P/.ai/skills/big" "$T/away"
  said=$(next)
fi
like "the next is whole" "$said" 'big is signed$'
digest add github:acme/skills/skills/pdf >/dev/null
is "and has taken away what was left" "$(ls -A "$P/.ai/skills" "$U/.ai/state/skills" | grep '^\.[a-z-]*\.[0-9]*\.tmp$')" ""
finish
