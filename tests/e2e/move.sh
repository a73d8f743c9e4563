#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `ryefs mv` and `ryefs rm`: an item of every kind and language is moved, verifies and runs under its new id,
# what names it is told, and nothing is lost or written over: at a place that is taken, by an item that does
# not verify, by another program meanwhile, by a kill at any write.
. "$(dirname "$0")/fixture.sh"
mkdir "$T/bin"
ln -s "$RYEFS" "$T/bin/ryefs"
export PATH="$T/bin:$PATH" RYE_SYSTEM_SPACES=$S
ryefs init -q "$P" || exit 1
cd "$P" || exit 1
items=$P/.ai
# mend TEXT: types the remedy of an answer
mend() { (eval "$(sed -n 's/.*mend with: //p' <<<"$1" | tail -n 1)") 2>&1 </dev/null; }
fresh() { # one tool, and nothing else
  rm -rf "$items"/{tools,knowledge,directives}/my
  ryefs new -q tool my/hello
}

# --- every kind and language ---

words() { tr -d , | sed 's/ or / /'; }
langs() { ryefs new "$1" x --lang no-such 2>&1 | sed -n 's/.* can be begun in \(.*\), not in .*/\1/p' | words; }
for kind in tool directive knowledge graph http; do
  for lang in $(langs "$kind"); do
    last=a-$lang
    [ "$kind" = directive ] && last=a_$lang
    ref=$(ryefs new "$kind" "from/$kind/$last" --lang "$lang" 2>&1 | sed -n 's/^signed \([^ ]*\): .*/\1/p')
    for to in "to/other-place/b$last" "b$last" "2/true/x$last"; do
      said=$(ryefs mv "$ref" "$to" 2>&1)
      is "$kind $lang to $to: moved, without a remark" "$? ${said%%:*}" "0 moved ${ref%%:*}"
      is "$kind $lang to $to: verifies" "$(ryefs verify "${ref%%:*}:$to" 2>&1)" "ok       ${ref%%:*}:$to"
      is "$kind $lang to $to: signs again without a remark" "$(ryefs sign "${ref%%:*}:$to" 2>&1)" "signed ${ref%%:*}:$to"
      ok "$kind $lang to $to: the old file is gone" test "$(find "$items" -path "*/${ref#*:}.*" | wc -l)" = 0
      ref=${ref%%:*}:$to
    done
    ryefs rm -yq "$ref" || bad "$kind $lang: removed" "$ref"
  done
done
ok "directories that are empty go along" test ! -e "$items/tools/from" -a ! -e "$items/tools/2"
ok "the kinds' own stay" test -d "$items/tools"

fresh
before=$(grep -v '^# rye:\|__category__' "$items/tools/my/hello.py")
chmod 755 "$items/tools/my/hello.py"
is "by paths" "$(ryefs mv .ai/tools/my/hello.py .ai/tools/my/greet.py 2>&1)" "moved tool:my/hello to tool:my/greet: $items/tools/my/greet.py"
is "nothing else is changed" "$(grep -v '^# rye:\|__category__' "$items/tools/my/greet.py")" "$before"
is "a program stays one" "$(stat -c %a "$items/tools/my/greet.py")" 755
is "it runs" "$(ryefs execute my/greet name=Ann 2>&1)" "Hello, Ann!"
is "into a directory" "$(ryefs mv my/greet other/ 2>&1)" "moved tool:my/greet to tool:other/greet: $items/tools/other/greet.py"
is "JSON" "$(ryefs mv --json other/greet my/hello | jq -r '.status, .moved, .to, .path, (.mentions | length)' | tr '\n' ' ')" \
  "success tool:other/greet tool:my/hello $items/tools/my/hello.py 0 "
ryefs new -q --space user tool mine
is "the user's own" "$(ryefs mv mine yours 2>&1)" "moved tool:mine to tool:yours: $U/.ai/tools/yours.py"

# --- who names it ---

fresh
mkdir -p "$items/directives/my" "$items/knowledge/my"
ryefs new -q graph my/flow && ryefs new -q directive my/base && ryefs new -q directive my/child && ryefs new -q knowledge my/notes &&
  ryefs new -q tool my/hello-too && ryefs new -q tool my/user || exit 1
sed -i 's|tool:rye/core/system/system|tool:my/hello|; s|rye.execute.tool.rye.core.system.system|rye.execute.tool.my.hello|' "$items/tools/my/flow.yaml"
sed -i 's|<metadata>|<metadata>\n    <extends>my/base</extends>|' "$items/directives/my/child.md"
sed -i 's|<tool>rye/file-system/\*</tool>|<tool>my/hello</tool>|' "$items/directives/my/base.md"
echo 'See tool:my/hello, and .ai/tools/my/hello.py; not tool:my/hello-too, knowledge:my/hello or my/hello/more.' >>"$items/knowledge/my/notes.md"
sed -i 's|^__executor_id__ = .*|__executor_id__ = "my/hello"|' "$items/tools/my/user.py"
echo 'It is not about my/hello-too alone, or xmy/hello.' >"$T/none"
ryefs sign -q my/flow my/child my/base my/notes 2>/dev/null
said=$(ryefs mv -n my/hello my/greet 2>&1)
has "a dry run tells, in order" "$said" "would move tool:my/hello to tool:my/greet: " \
  "directive:my/base names tool:my/hello in line" "; mend with: ryefs edit directive:my/base" \
  "tool:my/flow names tool:my/hello in line" "tool:my/user names tool:my/hello in line" \
  "knowledge:my/notes names tool:my/hello in line"
lacks "not what has a longer name" "$said" "tool:my/hello-too names"
lacks "nor itself" "$said" "tool:my/hello names"
is "and does nothing" "$(ryefs verify my/hello)" "ok       tool:my/hello"
line=$(grep -n my.hello "$items/tools/my/flow.yaml" | head -n 1 | cut -d: -f1)
has "the line is the file's" "$said" "tool:my/flow names tool:my/hello in line $line;"
is "who extends a directive" "$(ryefs mv --json directive:my/base directive:my/root 2>/dev/null | jq -r '.mentions[].ref')" directive:my/child
is "an entry that names a tool as knowledge is no mention" "$(ryefs mv --json knowledge:my/notes my/remarks 2>/dev/null | jq -r '.mentions[].ref')" ""
said=$(ryefs rm my/hello 2>&1 </dev/null)
has "rm tells before it asks" "$said [$?]" "tool:my/flow names tool:my/hello" "it takes a yes, and standard input is not a terminal" "mend with: ryefs rm --yes my/hello" "[5]"
ok "and has done nothing" test -f "$items/tools/my/hello.py"
has "its remedy removes it" "$(mend "$said")" "removed tool:my/hello: $items/tools/my/hello.py"
ok "it is gone" test ! -e "$items/tools/my/hello.py"
is "once more: there is none" "$(ryefs rm -y tool:my/no-such 2>&1 >/dev/null | head -n 1) $?" "ryefs rm: Tool not found: my/no-such 0"
ok "the others are as they were" ryefs verify -q my/flow

# --- what stays ---

fresh
ryefs new -q tool my/greet --lang shell
sum=$(cat "$items"/tools/my/* | sha256sum)
said=$(ryefs mv my/hello my/greet 2>&1)
has "a place that is taken, by another language, too" "$said [$?]" "tool:my/greet is there already: $items/tools/my/greet.sh" "mend with: ryefs mv my/hello my/greet-2" "[2]"
is "both are as they were" "$(cat "$items"/tools/my/* | sha256sum)" "$sum"
has "the remedy moves it" "$(mend "$said")" "moved tool:my/hello to tool:my/greet-2"

fresh
echo '# more' >>"$items/tools/my/hello.py"
sum=$(sha256sum <"$items/tools/my/hello.py")
said=$(ryefs mv my/hello my/greet 2>&1)
has "what does not verify is not moved" "$said [$?]" "tool:my/hello is not moved: Content modified since signing" "mend with: ryefs sign tool:my/hello" "[4]"
is "it is as it was" "$(sha256sum <"$items/tools/my/hello.py") $(ls "$items/tools/my")" "$sum hello.py"
has "but it can be removed" "$(ryefs rm -y my/hello 2>&1)" "removed tool:my/hello"

fresh
has "of a bundle" "$(ryefs mv tool:rye/bash/bash my/bash 2>&1) [$?]" "is the system space's, which is read only" \
  "mend with: ryefs fetch --to project tool:rye/bash/bash && ryefs mv tool:rye/bash/bash my/bash --space project" "[5]"
has "no removal of a bundle's" "$(ryefs rm -y tool:rye/bash/bash 2>&1) [$?]" "is the system space's, which is read only" "[5]"
has "another kind" "$(ryefs mv my/hello knowledge:my/hello 2>&1) [$?]" "tool:my/hello is a tool, and knowledge:my/hello would be a knowledge" "[2]"
has "another language" "$(ryefs mv my/hello .ai/tools/my/hello.sh 2>&1) [$?]" "tool:my/hello is written in .py, not in .sh" "[2]"
has "its own id" "$(ryefs mv my/hello my/hello 2>&1) [$?]" "tool:my/hello is its id already" "[2]"
has "no id" "$(ryefs mv my/hello ../x 2>&1) [$?]" '"../x" is no id' "[2]"
ryefs new -q directive my/greet
said=$(ryefs mv directive:my/greet my/Greet-All 2>&1)
has "a name that the kind does not take" "$said [$?]" "directive:my/greet cannot be called my/Greet-All" "mend with: ryefs mv directive:my/greet my/greet_all" "[2]"
has "the remedy" "$(mend "$said")" "moved directive:my/greet to directive:my/greet_all"
has "a key is no item to remove" "$(ryefs rm -y "config:keys/trusted/$(basename "$items"/config/keys/trusted/*.toml .toml)" 2>&1)" "ryefs untrust"
cp "$items/tools/my/hello.py" "$U/.ai/tools/x.py"
is "a weaker space's counts then" "$(ryefs fetch -q --to user my/hello; ryefs rm -y my/hello 2>&1 | tail -n 1)" "tool:my/hello of the user space counts now"
ryefs rm -yq --space user my/hello
rm -f "$U/.ai/tools/x.py"

# --- a kill at any write, and a full disk ---

need strace "kills in between" || finish
fresh
want=$(ryefs mv -q my/hello my/greet && grep -v '^# rye:' "$items/tools/my/greet.py" | sha256sum)
for call in openat:O_TMPFILE renameat2 linkat rename renameat unlinkat fsync fdatasync; do
  name=${call%%:*}
  for nth in 1 2 3; do
    fresh
    (strace -f -qq -o /dev/null -e trace="$name" -e inject="$name:signal=KILL:when=$nth" ryefs mv -q my/hello my/greet & wait $!) >/dev/null 2>&1
    ok "killed at $name $nth: the text is at one of the two places" eval "ryefs verify -q my/hello || ryefs verify -q my/greet"
    [ -e "$items/tools/my/hello.py" ] && ok "killed at $name $nth: the same call goes on" ryefs mv -q my/hello my/greet
    is "killed at $name $nth: the end is the same" "$(ls "$items/tools/my") $(grep -v '^# rye:' "$items/tools/my/greet.py" | sha256sum)" "greet.py $want"
  done
done
fresh
strace -f -qq -o /dev/null -e trace=fsync -e inject=fsync:error=ENOSPC ryefs mv my/hello my/greet >"$T/said" 2>&1
has "a full disk" "$(<"$T/said")" "cannot write $items/tools/my/greet.py: No space left on device"
is "nothing is half done" "$(ls "$items/tools/my") $(ryefs verify my/hello)" "hello.py ok       tool:my/hello"
finish
