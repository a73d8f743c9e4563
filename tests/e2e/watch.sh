#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `ryefs watch`: what is saved, in whatever way editors save, is checked, signed and run, a line each; what git
# put there, another key signed or a script wrote is left. ^C ends it, and nothing is left behind.
. "$(dirname "$0")/fixture.sh"
need git || finish
mkdir "$T/bin"
ln -s "$RYEFS" "$T/bin/ryefs"
export PATH="$T/bin:$PATH" RYE_SYSTEM_SPACES=$S
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
ryefs init -q "$P" || exit 1
cd "$P" || exit 1
git init -q . && ryefs init -q
ryefs new -q tool my/hello && ryefs new -q knowledge my/notes && ryefs new -q tool other/hello || exit 1
git add -A && git commit -qm begin
tool=.ai/tools/my/hello.py

watch() { # OPERAND...: in the background, ready when it returns
  : >"$T/lines"
  : >"$T/watch.err"
  ryefs watch "$@" >"$T/lines" 2>"$T/watch.err" &
  watcher=$!
  until_true grep -q '^watching ' "$T/watch.err"
}
stop() { # SIGNAL: its exit status
  kill -"${1:-INT}" "$watcher"
  wait "$watcher"
}
lines() { cut -c 11- "$T/lines"; }
told() { until_true grep -qF -- "$2" "$T/lines" && good "$1" || bad "$1" "wanted: $2" "got: $(<"$T/lines")"; }

watch .ai/tools
sed -i 's/Hello/Good day/' "$tool"
told "sed -i" "signed   tool:my/hello"
ok "it verifies" ryefs verify -q my/hello
echo '# in place' >>"$tool"
until_true ryefs verify -q my/hello
is "in place" "$(lines | grep -c 'signed   tool:my/hello')" 2
cp "$tool" "$T/new.py" && echo '# by rename' >>"$T/new.py" && cp "$T/new.py" "$tool.tmp" && mv "$tool.tmp" "$tool"
until_true ryefs verify -q my/hello
ok "by rename" ryefs verify -q my/hello
echo 'def broken(:' >>"$tool"
told "what is no Python is not signed" "refused  tool:my/hello: line "
ok "and stays as it is" test "$(tail -n 1 "$tool")" = 'def broken(:'
sed -i '$d' "$tool"
told "and when it is as it was signed, that is said" "good     tool:my/hello"
until_true ryefs verify -q my/hello
sed -i 's/__category__ = "my"/__category__ = "your"/' "$tool"
told "what cannot be signed" "refused  tool:my/hello: Validation failed"
sed -i 's/__category__ = "your"/__category__ = "my"/' "$tool"
until_true ryefs verify -q my/hello
echo 'More.' >>.ai/knowledge/my/notes.md
ryefs new -q tool my/third
rm .ai/tools/my/third.py
told "one that is gone" "gone     tool:my/third"
lacks "what lies elsewhere is not its own" "$(lines)" knowledge:my/notes
lacks "what another call signed is no event" "$(lines)" "signed   tool:my/third"

# what others wrote
git checkout -q .ai/knowledge && git commit -qam mine && git checkout -qb other
echo '# unread' >>.ai/tools/other/hello.py
until_true ryefs verify -q other/hello
git commit -qam 'theirs' && sed -i '$d' .ai/tools/other/hello.py && sed -i 's/^# rye.*//' .ai/tools/other/hello.py
until_true ryefs verify -q other/hello
git commit -qam 'back'
git checkout -q HEAD~1
until_true ryefs verify -q other/hello
stop && good "^C ends it well" || bad "^C ends it well" "$?"
sed -i 's/^# unread/# changed by a pull/' .ai/tools/other/hello.py
git commit -qam 'theirs, unsigned' && git tag theirs && git checkout -q master 2>/dev/null || git checkout -q main
watch .
git checkout -q theirs
told "what git put there is left" "left     tool:other/hello: git has put it there"
ok "it is not signed" test "$(ryefs verify -q other/hello >/dev/null 2>&1; echo $?)" = 4
ryefs new -q skill some && git add -A && git commit -qm skill
echo more >>.ai/skills/some/SKILL.md
told "a skill is looked at before it is signed" "left     skill:some: not what was signed; see ryefs skill diff, then ryefs skill add"
git rm -rqf .ai/skills && git commit -qm 'no skill'
stop TERM
is "SIGTERM" "$?" 0
git checkout -q -

mkdir "$T/bob"
USER_SPACE=$T/bob ryefs keygen -q 2>/dev/null
USER_SPACE=$T/bob ryefs sign -q my/hello
watch .
echo '# mine' >>"$tool"
told "what another key signed is left" "left     tool:my/hello: another key signed it"
text=$(<"$tool")
for n in 1 2 3 4 5 6 7 8 9 10; do printf '%s\n' "${text//hello/hello-$n}" >".ai/tools/my/hello-$n.py"; done
is "it is told once" "$(lines | grep -c 'another key')" 1
told "many at once are left" "left     all: many files changed at once"
stop
is "none of them is signed" "$(for n in 1 5 10; do ryefs verify -q my/hello-$n >/dev/null 2>&1; echo $?; done | tr '\n' ' ')" "4 4 4 "
rm .ai/tools/my/hello-*.py
ryefs sign -q my/hello

# --- run ---

watch --run my/hello name=Ann
sed -i 's/Good day/Welcome/' "$tool"
told "it runs" "ran      tool:my/hello: exit status 0"
has "its output" "$(<"$T/lines")" "Welcome, Ann!"
sed -i 's/Welcome/Hello/' .ai/tools/other/hello.py
stop
lacks "no other item" "$(<"$T/lines")" other/hello
watch --json --run my/hello
sed -i 's/Welcome/Hi/' "$tool"
until_true grep -q '"event":"ran"' "$T/lines"
is "JSON: one object a line, and the run's own" "$(grep '"event"' "$T/lines" | jq -r '"\(.event) \(.ref)"' | tr '\n' ' ')" "signed tool:my/hello ran tool:my/hello "
has "a run that fails" "$(<"$T/lines")" "exit status 2"
stop
has "parameters without --run" "$(ryefs watch my/hello name=Ann 2>&1) [$?]" "parameters are for --run" "[2]"
has "nothing of that name" "$(timeout 20 ryefs watch my/no-such 2>&1) [$?]" "not found: my/no-such" "[3]"
ok "no process is left" test -z "$(jobs -r | grep watch)"
finish
