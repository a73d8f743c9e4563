#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The disk of a project fails with EIO for a while, and things change meanwhile: what is asked then fails
# and says why; when the disk works again all is there, as it is by then, and nothing stays refused.
. "$(dirname "$0")/agent_lib.sh"

fx_spaces
for i in 1 2 3; do
  fx_knowledge "$P" "k/n$i" "text $i"
  fx_tool "$P" "k/s$i" "echo said $i"
done
fx_sign "$P" 'knowledge:k/*' 'tool:k/*'
FAIL=$T/fail
preloaded failing_disk FAILING_DISK="$FAIL" fx_mount
said() { converse "$M/tools/k/s$1/run" '{}'; }
text() { timeout 60 tail -n 1 "$M/knowledge/$1.md" 2>&1; }
is "at first" "$(text k/n1)" "text 1"
has "a call, at first" "$(said 1)" "said 1"

touch "$FAIL"
# its events come while nothing can be looked at
fx_knowledge "$P" k/n1 "text one"
fx_knowledge "$P" k2/n4 "text 4"
fx_tool "$P" k/s1 'echo said one'
touch "$P/.ai/knowledge/k/n2.md" "$P/.ai/tools/k/s2.sh"
rm "$P/.ai/knowledge/k/n3.md"
fx_sign "$P" knowledge:k/n1 knowledge:k2/n4 tool:k/s1
unread() { ! cat "$M/knowledge/k/$1.md"; }
for n in n1 n2; do ok "$n cannot be read" until_true unread $n; done
like "in the space's own tree, too" "$(cat "$M/spaces/project/knowledge/k/n2.md" 2>&1)" 'Input/output error$'
ok ".ryefs" timeout 60 cat "$M/.ryefs/stats.json"
rm "$FAIL"

is "what has changed" "$(text k/n1)" "text one"
is "what was touched" "$(text k/n2)" "text 2"
is "what was made" "$(text k2/n4)" "text 4"
errno "what was removed" ENOENT cat "$M/knowledge/k/n3.md"
is "and the listing" "$(ls "$M/knowledge/k" | tr '\n' ' ')" "n1.md n2.md "
has "a tool that has changed" "$(said 1)" "said one"
has "one that was touched" "$(said 2)" "said 2"
has "one that was asked" "$(said 3)" "said 3"
fx_knowledge "$P" k/n2 "text two"
fx_sign "$P" knowledge:k/n2
is "changes are seen as before" "$(text k/n2)" "text two"

# a name beside the item's that cannot be looked at is not there twice
echo names >"$FAIL"
said=$(preloaded failing_disk FAILING_DISK="$FAIL" run execute tool:k/s3 2>&1)
is "it is not told as ambiguous" "$said" "said 3"
rm "$FAIL"
finish
