#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# new/ of a mount: what `ryefs new` writes is there to be read, for every kind in every language; put below
# spaces/ and signed it runs. Nothing is listed that a crawler could walk without end.
. "$(dirname "$0")/fixture.sh"
mkdir "$T/bin"
ln -s "$RYEFS" "$T/bin/ryefs"
export PATH="$T/bin:$PATH" RYE_SYSTEM_SPACES=$S
ryefs init -q "$P" || exit 1
cd "$P" || exit 1
fx_mount

words() { tr -d , | sed 's/ or / /'; }
kinds=$(ryefs new 2>&1 | sed -n 's/.*where KIND is //p' | words)
langs() { ryefs new "$1" x --lang no-such 2>&1 | sed -n 's/.* can be begun in \(.*\), not in .*/\1/p' | words; }

is "new lists the kinds" "$(ls "$M/new" | sort | tr '\n' ' ')" "$(tr ' ' '\n' <<<"$kinds" | sort | tr '\n' ' ')"
is "nothing below them" "$(find "$M/new" -mindepth 2 | wc -l)" 0
lacks "the root does not list it" "$(ls -a "$M")" "new"
for kind in $kinds; do
  for lang in $(langs "$kind"); do
    id=t/greet_$lang
    [ "$kind" = directive ] || id=t/greet-$lang
    [ "$kind" = mcp ] || [ "$kind" = skill ] && id=greet
    made=$(ryefs new --json -n "$kind" "$id" --lang "$lang" | jq '.would_make[0]')
    path=$(jq -r .path <<<"$made")
    is "$kind $lang: the same text" "$(cat "$M/new/$kind/$id$(case $kind in skill) echo /SKILL.md ;; *) echo ".${path##*.}" ;; esac)")" "$(jq -r .text <<<"$made")"
  done
done
is "stat tells its size" "$(stat -c %s "$M/new/tool/a/b.py")" "$(wc -c <"$M/new/tool/a/b.py")"

mkdir -p "$M/spaces/project/tools/my"
cat "$M/new/tool/my/hello.py" >"$M/spaces/project/tools/my/hello.py"
is "not signed yet" "$(readlink "$M/tools/my/hello.py")" ".why/ENODATA: unsigned; mend with: ryefs sign tool:my/hello"
is "it signs without a remark" "$(ryefs sign tool:my/hello 2>&1)" "signed tool:my/hello"
until_true test -f "$M/tools/my/hello.py"
echo '{"name":"Ann"}' >"$M/tools/my/hello/run"
is "and runs" "$(<"$M/tools/my/hello/output")" "Hello, Ann!"

for name in nothing tool/hello.rb tool/.git tool/package.json skill/a.md; do
  ok "there is no $name" test ! -e "$M/new/$name"
done
# BAD GOOD WANTED: the first is refused with the reason, and the name that it says is one
while read -r bad good wanted; do
  errno "$bad cannot be begun" EACCES cat "$M/new/$bad"
  why=$(readlink "$M/new/$bad")
  like "$bad: with what is wanted, and a name" "$why" "^\\.why/EINVAL: [^ ]* is no good name: wanted $wanted; [^ ]* is one\$"
  ok "$bad: which is one" test -s "$M/new/$good"
  has "$bad: as the caller's errors say" "$(cat "$M/.ryefs/errors")" "${why#.why/}"
done <<'BAD'
tool/a_b.py tool/a-b.py small letters, digits and - in its last part
tool/my/Hello.py tool/my/hello.py small letters, digits and - in its last part
directive/Greet.md directive/greet.md small letters, digits and _ in its last part, and a letter first
mcp/a/b.yaml mcp/b.yaml small letters, digits and -, without a directory
skill/a_b/SKILL.md skill/a-b/SKILL.md small letters, digits and -, without a directory
skill/a/b/SKILL.md skill/b/SKILL.md small letters, digits and -, without a directory
BAD
ok "a directory that could go on" test -d "$M/new/tool/some/where"
is "it is empty" "$(ls -a "$M/new/tool/some/where" | tr '\n' ' ')" ". .. "
for name in tool/my/other.py tool/more; do
  (: >"$M/new/$name") 2>/dev/null && bad "new/$name was written to" || good "new/$name cannot be written to"
done
mkdir "$M/new/tool/made" 2>/dev/null && bad "a directory was made" || good "no directory is made"
rm "$M/new/tool/my/hello.py" 2>/dev/null && bad "a skeleton was removed" || good "none is removed"
finish
