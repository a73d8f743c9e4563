#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A project on a disk that does not answer: more readers than the mount has threads stop
# neither .ryefs nor the person's own space nor what is known.
. "$(dirname "$0")/agent_lib.sh"

for i in $(seq 40); do put "knowledge/k/n$i.md" "text $i"; done
for i in $(seq 10); do put "knowledge/d$i/n.md" "text"; done
mkdir -p "$U/.ai/knowledge/u"
echo mine >"$U/.ai/knowledge/u/n.md"
SLOW=$T/slow
export SLOW
SLOW_PATH=/project/.ai preloaded slow_disk SLOW_DISK="$SLOW" mount_rye
scanned
ls "$M/spaces/user/knowledge/u" >/dev/null
touch "$SLOW"
readers=()
for i in $(seq 40); do
  timeout 100 cat "$M/spaces/project/knowledge/k/n$i.md" 3>&- >/dev/null 2>&1 &
  readers+=("$!")
done
for i in $(seq 10); do
  timeout 100 ls "$M/spaces/project/knowledge/d$i" 3>&- >/dev/null 2>&1 &
  readers+=("$!")
done
waiting() { [ "$(for pid in $(pgrep -P $$ timeout); do cat /proc/"$(pgrep -P "$pid")"/wchan 2>/dev/null && echo; done | grep -c request_wait_answer)" -ge 20 ]; }
ok "readers wait" until_true waiting
# with its threads in their looks the daemon would answer one of these in ten seconds
began=$SECONDS
ok ".ryefs" timeout 60 cat "$M/.ryefs/stats.json" "$M/.ryefs/version"
ok "the person's own space" timeout 60 cat "$M/spaces/user/knowledge/u/n.md"
ok "the root" timeout 60 stat "$M/README.md" "$M/knowledge"
ok "none waits for the disk ($((SECONDS - began)) s)" test $((SECONDS - began)) -lt $((5 * PATIENCE))
rm "$SLOW"
for pid in "${readers[@]}"; do wait "$pid"; done
is "and lists are" "$(timeout 20 ls "$M/spaces/project/knowledge/d10")" n.md
is "and the readers are served" "$(cat "$M/spaces/project/knowledge/k/n40.md")" "text 40"
finish
