#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `ryefs log`: which key has signed an item and when, by git's history of its file: through a move, a commit
# that nobody signed, another person's key, a merge and names that git would quote; from the file alone where
# there is no git. Nothing that a repository configures is run.
. "$(dirname "$0")/fixture.sh"
need git || finish
mkdir "$T/bin"
ln -s "$RYEFS" "$T/bin/ryefs"
export PATH="$T/bin:$PATH" RYE_SYSTEM_SPACES=$S
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
ryefs init -q "$P" || exit 1
cd "$P" || exit 1
me=$(ryefs keys --json | jq -r '.[] | select(.status == "signing") | .fingerprint' | head -n 1)
ryefs new -q tool my/hello
rows() { ryefs log --json "$1" | jq -r '.[] | "\(.verdict) \(.key) \(.author // "-") \(.subject // "-") \(.ref // "-")"'; }

is "without git: the file alone" "$(rows my/hello)" "ok $me - - tool:my/hello"
has "for people" "$(ryefs log my/hello)" "SIGNED" "KEY" "$me" "ok" "not committed"

git init -q . && ryefs init -q && git add -A && git commit -qm 'begin it'
echo '# a change' >>.ai/tools/my/hello.py
git commit -qam 'change it, unsigned'
ryefs sign -q my/hello
git commit -qam 'sign it'
ryefs mv -q my/hello "my/grüße-2" && git add -A && git commit -qm 'move it'
echo '# more' >>".ai/tools/my/grüße-2.py"
is "the working file first, then each commit, under its old name, too" "$(rows "my/grüße-2")" \
  "modified $me - - tool:my/grüße-2
ok $me Ann move it tool:my/grüße-2
ok $me Ann sign it tool:my/hello
modified $me Ann change it, unsigned tool:my/hello
ok $me Ann begin it tool:my/hello"
is "so many" "$(ryefs log --json --limit 1 "my/grüße-2" | jq length)" 2
has "a limit that is none" "$(ryefs log --limit x "my/grüße-2" 2>&1) [$?]" "--limit x: wanted a number from 1" "[2]"
git checkout -q .

# another person, whose key is trusted and is not any more
mkdir "$T/bob"
USER_SPACE=$T/bob ryefs keygen -q --owner Bob
key=$(USER_SPACE=$T/bob ryefs keys --json | jq -r '.[] | select(.status == "signing") | .fingerprint' | head -n 1)
echo '# of Bob' >>".ai/tools/my/grüße-2.py"
USER_SPACE=$T/bob ryefs sign -q "my/grüße-2" && git add -A && GIT_AUTHOR_NAME=Bob git commit -qm 'a line of Bob'
is "a key that does not count here" "$(rows "my/grüße-2" | head -n 1)" "untrusted_key $key Bob a line of Bob tool:my/grüße-2"
ryefs trust -yq "$key"
is "and does now" "$(ryefs log --json "my/grüße-2" | jq -r '.[0] | "\(.verdict) \(.owner)"')" "ok Bob"

# what the repository says is not run
cat >"$T/evil" <<SH
#!/bin/sh
touch "$T/ran"
SH
chmod +x "$T/evil"
git config log.showSignature true
git config gpg.program "$T/evil"
git config diff.external "$T/evil"
git config core.fsmonitor "$T/evil"
git config core.pager "$T/evil"
git config diff.ryefs.textconv "$T/evil"
is "as before" "$(rows "my/grüße-2" | wc -l)" 5
ok "nothing was run" test ! -e "$T/ran"
# a skill: its list of files is another text by each move
cd "$P" && git checkout -q . && ryefs new -q skill hello && git add -A && git commit -qm 'a skill'
ryefs mv -q skill:hello skill:hail && git add -A && git commit -qm 'by another name'
ryefs mv -q skill:hail skill:greet && git add -A && git commit -qm 'and another'
is "a skill is followed by its SKILL.md" "$(rows skill:greet)" "ok $me Ann and another skill:greet
ok $me Ann by another name skill:hail
ok $me Ann a skill skill:hello"
is "so far" "$(ryefs log --json --limit 2 skill:greet | jq length)" 2
has "one that is not there" "$(ryefs log my/no-such 2>&1) [$?]" "ryefs log: " "[3]"
has "of a bundle" "$(ryefs log tool:rye/bash/bash 2>&1) [$?]" " ok " "came with the program" "[0]"
has "but not of another space" "$(ryefs log tool:rye/bash/bash --space project 2>&1) [$?]" "is in the system space, not in the project space" "[3]"
finish
