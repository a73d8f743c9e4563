#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two people work on the same items by git. What they changed at different places is merged without a
# conflict and wants a signature; what only one has changed keeps that one's; a conflict is git's, and is
# not signed. git shows texts without signatures.
. "$(dirname "$0")/lib.sh"
command -v git >/dev/null || skip "git is not installed"

unset USER_SPACE RYE_SIGNING_KEY_DIR
mkdir "$T/ann" "$T/bob" "$T/bin"
ln -s "$RYEFS" "$T/bin/ryefs"
export PATH="$T/bin:$PATH" RYE_SYSTEM_SPACES=$S GIT_CONFIG_GLOBAL=$T/gitconfig GIT_CONFIG_NOSYSTEM=1
cat >"$T/gitconfig" <<'TEXT'
[user]
	name = somebody
	email = somebody@example.org
[init]
	defaultBranch = main
TEXT
A=$T/work B=$T/copy
ann() { (cd "$A" && env HOME="$T/ann" "$@"); }
bob() { (cd "$B" && env HOME="$T/bob" "$@"); }
says() { "$@" >"$T/said" 2>&1; }
text() { # PATH [FROM TO]...: an entry of nine lines, some of them other ones
  {
    printf '# Lines\n\n```yaml\nname: %s\ntitle: Lines\ncategory: sample\n' "$(basename "$1" .md)"
    printf 'version: "1.0.0"\nentry_type: reference\n```\n\n'
    printf 'line %s\n' 1 2 3 4 5 6 7 8 9 | sed -e "s/line ${2:-x}\$/${3:-}/"
  } >"$1"
}
commit() { "$1" git add -A && "$1" git commit -qm "$2"; }
headers() { grep -c 'rye:' "$1"; }

# ---- the project, and a clone of it ----

mkdir "$A"
ok "a project in git" git -C "$A" init -q
echo '*.png binary' >"$A/.gitattributes"
printf '*.c diff=cpp' >>"$A/.gitattributes"
ok "becomes a workspace" ann ryefs init -q --sample
is "items are merged by ryefs, and what stood there stays" "$(<"$A/.gitattributes")" \
  "$(printf '*.png binary\n*.c diff=cpp\n.ai/** merge=ryefs diff=ryefs')"
ok "again: nothing changes" ann ryefs init -q
is "one line" "$(grep -c ryefs "$A/.gitattributes")" 1
mkdir "$T/plain"
ok "where git is not" env HOME="$T/ann" ryefs init -q "$T/plain"
is "nothing is written" "$(ls -A "$T/plain")" .ai
for name in apart same mine resigned; do text "$A/.ai/knowledge/sample/$name.md"; done
ok "items are signed" ann ryefs sign -q --all
ok "and committed" commit ann first
ok "cloned" git clone -q "$A" "$B"

lacks() { "$1" ryefs doctor 2>&1 | grep -A1 ' git: '; }
like "doctor tells a clone whose git does not know" "$(lacks bob)" "mend with: ryefs init $B\$"
ok "which is typed" bob ryefs init -q
is "and is told no more" "$(lacks bob)" ""
is "nor where it was made" "$(lacks ann)" ""
FP=$(ls "$T/ann/.ai/config/keys/trusted" | cut -c1-16)
ok "the reader trusts the signer" bob ryefs trust --yes "$FP"

# ---- both change things ----

text "$A/.ai/knowledge/sample/apart.md" 2 'two of Ann'
text "$A/.ai/knowledge/sample/same.md" 5 'five of Ann'
text "$A/.ai/knowledge/sample/mine.md" 3 'three of Ann'
text "$A/.ai/knowledge/sample/resigned.md" 4 'four of Ann'
ok "Ann signs four" ann ryefs sign -q --all
ok "and commits" commit ann ann
text "$B/.ai/knowledge/sample/apart.md" 8 'eight of Bob'
text "$B/.ai/knowledge/sample/same.md" 5 'five of Bob'
ok "Bob signs two" bob ryefs sign -q 'knowledge:sample/apart' 'knowledge:sample/same'
ok "and one that he has not changed" bob ryefs sign -q knowledge:sample/resigned
ok "and commits" commit bob bob
cp "$A/.ai/knowledge/sample/mine.md" "$T/mine.md"
cp "$A/.ai/knowledge/sample/resigned.md" "$T/resigned.md"
allow '.*'

says bob git pull -q --no-rebase
is "a merge with a conflict" $? 1
is "only one file has it" "$(bob git diff --name-only --diff-filter=U)" .ai/knowledge/sample/same.md
like "what is to be signed is told" "$(<"$T/said")" '^mend with: ryefs sign knowledge:sample/apart$'
like "also of the conflict" "$(<"$T/said")" \
  '^ryefs merge: \.ai/knowledge/sample/same\.md has 1 conflict: settle it, then sign it$'

merged=$B/.ai/knowledge/sample/apart.md
is "different lines: both are there" "$(grep -c 'of Ann\|of Bob' "$merged")" 2
is "without marks" "$(grep -c '<<<\|>>>' "$merged")" 0
is "and without a signature" "$(headers "$merged")" 0
not_ok "so it is not good" bob ryefs verify knowledge:sample/apart
ok "the command that was told signs it" bob $(sed -n 's/^mend with: \(.*apart\)$/\1/p' "$T/said")
ok "then it is" bob ryefs verify knowledge:sample/apart

ok "what only one has changed stays byte for byte" cmp "$B/.ai/knowledge/sample/mine.md" "$T/mine.md"
ok "and good" bob ryefs verify knowledge:sample/mine
ok "also where the other has only signed it" cmp "$B/.ai/knowledge/sample/resigned.md" "$T/resigned.md"
ok "and good" bob ryefs verify knowledge:sample/resigned

open=$B/.ai/knowledge/sample/same.md
is "the same line: git's marks" "$(grep -c '^<<<<<<< \|^=======$\|^>>>>>>> ' "$open")" 3
is "around the line alone" "$(grep -c rye: "$open")" 0
not_ok "which nobody can sign" says bob ryefs sign knowledge:sample/same
like "for that reason" "$(<"$T/said")" 'conflict marks of a merge'
text "$open" 5 'five of both'
ok "settled, it is signed" bob ryefs sign -q knowledge:sample/same
ok "and the merge is done" commit bob merged

# ---- what git shows ----

is "git's diff has no signatures" "$(bob git diff HEAD~1 HEAD -- .ai/knowledge/sample | grep -c rye:)" 0
is "but the lines" "$(bob git diff HEAD~1 HEAD -- .ai/knowledge/sample/same.md | grep -c '^+five of both')" 1

# ---- an item in a directory below, something that is none, and what is no text ----

mkdir "$T/sides"
printf 'a\nb\nc\nd\ne\n' >"$T/sides/base"
sed 's/a/A/' "$T/sides/base" >"$T/sides/ours"
sed 's/e/E/' "$T/sides/base" >"$T/sides/theirs"
(cd "$T/sides" && ryefs merge base ours theirs sub/.ai/tools/x.json) >"$T/said" 2>&1
is "what is no item is merged" "$(tr -d '\n' <"$T/sides/ours")" AbcdE
is "and is not to be signed" "$(<"$T/said")" ""
printf 'a\0b\n' >"$T/sides/ours"
not_ok "what is no text is not merged" says ryefs merge "$T"/sides/{base,ours,theirs} .ai/tools/x.sh
is "and stays as it was" "$(od -An -c "$T/sides/ours" | tr -d ' ')" 'a\0b\n'
for side in base ours theirs; do echo $side >"$T/$side"; done
like "of a skill's file the remedy signs the skill" "$(ann ryefs merge "$T/base" "$T/ours" "$T/theirs" .ai/skills/pdf/notes.md 2>&1)" 'mend with: ryefs skill add pdf$'
finish
