#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `ryefs verify --changed-since`: what a pull request and a commit change is looked at, and nothing else; a CI
# job and a pre-commit hook end as they should, SARIF has what code hosts ask for. No program that a repository
# configures is started.
. "$(dirname "$0")/fixture.sh"
need git || finish
mkdir "$T/bin"
ln -s "$RYEFS" "$T/bin/ryefs"
export PATH="$T/bin:$PATH" RYE_SYSTEM_SPACES=$S
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
mkdir -p "$P/sub"
ryefs init -q "$P/sub" || exit 1
cd "$P/sub" || exit 1
git -C .. init -q -b main . && ryefs init -q
for n in a b c 'ü d'; do ryefs new -q knowledge "my/${n// /-}"; done
git add -A && git commit -qm begin
changed() { ryefs verify --json --changed-since "$1" | jq -r '.[] | "\(.verdict) \(.ref)"' | sort; }

is "nothing" "$(ryefs verify --changed-since main) [$?]" "0 good, 0 refused [0]"
echo old >>.ai/knowledge/my/a.md
git commit -qam 'unsigned on main'
git checkout -qb topic HEAD~1
echo signed >>.ai/knowledge/my/b.md && ryefs sign -q my/b
echo unsigned >>.ai/knowledge/my/ü-d.md
git rm -q .ai/knowledge/my/c.md
echo '{}' >.ai/tools/data.json
git add -A && git commit -qm topic
is "what the branch changes: not what main does, nor what is gone or no item" "$(changed main)" "modified knowledge:my/ü-d
ok knowledge:my/b"
has "for people" "$(ryefs verify --changed-since main) [$?]" "refused  knowledge:my/ü-d" "1 good, 1 refused [1]"
ryefs verify -q --changed-since main >/dev/null
is "its exit status" "$?" 1
ryefs sign -q my/ü-d && git commit -qam 'signed now'
ryefs verify -q --changed-since main >/dev/null
is "and once it is signed" "$?" 0

# before a commit
echo staged >>.ai/knowledge/my/b.md
is "what is not in the index is not asked" "$(changed HEAD)" ""
git add .ai/knowledge/my/b.md
is "what waits in it is" "$(changed HEAD)" "modified knowledge:my/b"
cat >"$P/.git/hooks/pre-commit" <<'SH'
#!/bin/sh
cd sub && exec ryefs verify -q --changed-since HEAD
SH
chmod +x "$P/.git/hooks/pre-commit"
git commit -qm 'not signed' >"$T/said" 2>&1
is "a hook stops it" "$? $(git log -1 --format=%s)" "1 signed now"
has "and says why" "$(<"$T/said")" "refused  knowledge:my/b" "mend with: ryefs sign knowledge:my/b"
ryefs sign -q my/b && git add -A
ok "signed, it is committed" git commit -qm 'signed'

# the hook that init writes: verified is what lies there, so that has to be what is staged
ryefs init -q --hooks
has "a hook that is there stays" "$(<"$P/.git/hooks/pre-commit")" "cd sub && exec"
rm "$P/.git/hooks/pre-commit"
is "init writes one" "$(ryefs init --json --hooks | jq -c .made) $(ls "$P/.git/hooks/pre-commit")" \
  "[\"../.git/hooks/pre-commit\"] $P/.git/hooks/pre-commit"
echo staged >>.ai/knowledge/my/b.md && git add -A
git commit -qm 'not signed' >"$T/said" 2>&1
is "it stops what is not signed" "$? $(git log -1 --format=%s)" "1 signed"
ryefs sign -q my/b
git commit -qm 'signed since' >"$T/said" 2>&1
has "and what was signed only after it was staged" "$? $(<"$T/said")" "1 ryefs: staged" "mend with: git add -u :/"
ok "the remedy" git add -u :/
ok "mends it" git commit -qm 'hooked'
rm "$P/.git/hooks/pre-commit"

# keys of a change are told, too: they count for nothing until they are trusted
mkdir "$T/bob"
USER_SPACE=$T/bob ryefs keygen -q >/dev/null 2>&1
echo bob >>.ai/knowledge/my/b.md && USER_SPACE=$T/bob ryefs sign -q my/b && git add -A && git commit -qm bob --no-verify
is "another key, and what it signed" "$(changed HEAD~1 | sed 's|keys/trusted/.*|keys/trusted/KEY|')" "untrusted_key config:keys/trusted/KEY
untrusted_key knowledge:my/b"

# --- SARIF ---

ryefs verify --sarif --changed-since HEAD~1 >"$T/sarif"
is "SARIF has the same exit status" "$?" 1
is "what the format asks for" "$(jq -r '.version, .runs[0].tool.driver.name, (.runs[0].results | length),
  ([.runs[0].results[] | select(.message.text == "" or .level != "error")] | length),
  ([.runs[0].results[].ruleId] - [.runs[0].tool.driver.rules[].id] | length),
  ([.runs[0].tool.driver.rules[].shortDescription.text | select(. == null or . == "")] | length)' "$T/sarif" | tr '\n' ' ')" "2.1.0 ryefs 2 0 0 0 "
is "places are in the project" "$(jq -r '.runs[0].results[].locations[].physicalLocation.artifactLocation | "\(.uriBaseId) \(.uri)"' "$T/sarif" | grep knowledge)" \
  "%SRCROOT% .ai/knowledge/my/b.md"
is "nothing refused is a run without results" "$(ryefs verify --sarif --changed-since HEAD | jq -c '.runs[0].results')" "[]"
echo x >>.ai/knowledge/my/ü-d.md
is "a place is a URI" "$(ryefs verify --sarif my/ü-d | jq -r '.runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri')" ".ai/knowledge/my/%C3%BC-d.md"
git checkout -q .

# --- skills: each file of a folder is its skill's ---

skill_add() { ryefs skill add -q --expect "$(ryefs skill add "$1" 2>/dev/null </dev/null | grep ^sha256:)" "$1" >/dev/null; }
ryefs new -q skill pdf && mkdir .ai/skills/pdf/scripts && echo 'echo hi' >.ai/skills/pdf/scripts/run.sh
skill_add pdf && git add -A && git commit -qm skill
is "a skill that has come is told once" "$(changed HEAD~1)" "ok skill:pdf"
echo evil >>.ai/skills/pdf/scripts/run.sh && git add -A
is "a file of its folder that waits in the index" "$(changed HEAD)" "modified skill:pdf"
git commit -qm evil
is "one that was changed" "$(changed HEAD~1)" "modified skill:pdf"
has "with the remedy of a skill" "$(ryefs verify --changed-since HEAD~1) [$?]" "refused  skill:pdf" "mend with: ryefs skill diff pdf" "0 good, 1 refused [1]"
is "in SARIF" "$(ryefs verify --sarif --changed-since HEAD~1 | jq -r '.runs[0].results[] | .ruleId')" modified
ryefs init -q --hooks
echo more >>.ai/skills/pdf/scripts/run.sh && git add -A
not_ok "the hook stops it" git commit -qm more
rm "$P/.git/hooks/pre-commit"
is "its path names the skill, too" "$(ryefs verify -q .ai/skills/pdf/scripts/run.sh >/dev/null 2>&1; echo $?)" "$(ryefs verify -q skill:pdf >/dev/null 2>&1; echo $?)"
for n in one two; do ryefs new -q skill $n && echo more >>.ai/skills/$n/SKILL.md; done
has "of many, each is told: signing manifests does not mend them" "$(ryefs verify)" "ryefs skill diff pdf" "ryefs skill diff one" "ryefs skill diff two"
rm -r .ai/skills/one* .ai/skills/two*
git reset -q --hard HEAD~1 && git rm -q .ai/skills/pdf/scripts/run.sh
is "one that is gone" "$(changed HEAD)" "modified skill:pdf"
git reset -q --hard && git rm -q .ai/skills/pdf.yaml && git commit -qm bare
is "a manifest that is gone" "$(changed HEAD~1)" "unsigned skill:pdf"
has "what mends it" "$(ryefs verify --changed-since HEAD~1) [$?]" "mend with: ryefs skill add pdf" "[1]"
skill_add pdf
is "mends it" "$(changed HEAD~1)" "ok skill:pdf"
rm .ai/skills/pdf.yaml && git rm -rq .ai/skills/pdf && git commit -qm gone
is "all of it gone is nothing" "$(changed HEAD~2)" ""

# --- what is wrong ---

has "no such commit" "$(ryefs verify --changed-since no-such 2>&1) [$?]" "git has no commit in $P/sub that no-such and HEAD both come from" "[2]"
has "no option of git's" "$(ryefs verify --changed-since --output=x 2>&1) [$?]" "[2]"
has "no REF with it" "$(ryefs verify --changed-since main my/b 2>&1) [$?]" "no REF with it" "[2]"
mkdir "$T/plain" && ryefs init -q "$T/plain"
has "no git" "$(ryefs verify --project "$T/plain" --changed-since main 2>&1) [$?]" "lies in no repository" "[2]"
printf '#!/bin/sh\ntouch "%s"\ncat\n' "$T/ran" >"$T/evil"
chmod +x "$T/evil"
git config core.fsmonitor "$T/evil"
git config diff.external "$T/evil"
git config filter.evil.clean "$T/evil"
git config diff.ryefs.textconv "$T/evil"
echo '*.md filter=evil' >>"$P/.git/info/attributes"
touch .ai/knowledge/my/*.md
ryefs verify -q --changed-since main >/dev/null
ok "no program of the repository was started" test ! -e "$T/ran"
finish
