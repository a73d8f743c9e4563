#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_nested.sh: tools that run tools through the mount, deeper than `jobs`: each waits for the
# next one, and none for a place that a run above it holds.
. "$(dirname "$0")/fixture.sh"
DEPTH=10
fx_spaces

link() { # ID NEXT: a tool that runs the next one and says what that said
  # shellcheck disable=SC2016
  fx_tool "$P" "$1" "# requires: ['rye.execute.tool.link*']" 'm=$2/mnt' \
    "echo {} > \"\$m/tools/$2/run\" || exit 1" "cat \"\$m/tools/$2/output\"" "echo $1"
}
refs=
for i in $(seq 1 $DEPTH); do
  link "link$i" "link$((i + 1))"
  refs="$refs tool:link$i"
done
fx_tool "$P" "link$((DEPTH + 1))" '# requires: []' 'echo bottom'
# two of its own at once, at one place: one after the other
# shellcheck disable=SC2016
fx_tool "$P" fork "# requires: ['rye.execute.tool.link*']" 'm=$2/mnt' \
  'for i in 9 10 11; do (echo {} > "$m/tools/link$i/run" && echo "done") & done' 'wait'
# shellcheck disable=SC2016
fx_tool "$P" loop '# requires: [rye.execute.tool.loop]' 'm=$2/mnt' \
  'echo {} > "$m/tools/loop/run" 2>"$2/loop.said.$$" || { cat "$2/loop.said.$$" >&2; exit 1; }'
# shellcheck disable=SC2086
fx_sign "$P" $refs tool:link$((DEPTH + 1)) tool:fork tool:loop
allow '^ryefs: (info refused: )?(tool|execute|sign)'

for jobs in 1 3; do
  fx_mount "jobs=$jobs"
  got=$(timeout 40 sh -c "echo {} > '$M/tools/link1/run' && cat '$M/tools/link1/output'")
  is "jobs=$jobs: $((DEPTH + 1)) runs deep" "$(printf '%s' "$got" | tr '\n' ' ')" \
    "bottom $(seq -f link%g -s ' ' $DEPTH -1 1)"
  got=$(timeout 40 sh -c "echo {} > '$M/tools/fork/run' && cat '$M/tools/fork/output'")
  is "jobs=$jobs: several of one run" "$(printf '%s' "$got" | grep -c done)" 3
  start=$SECONDS
  timeout 60 sh -c "echo {} > '$M/tools/loop/run'" 2>/dev/null
  is "jobs=$jobs: an item that runs itself fails" $? 1
  ok "jobs=$jobs: and soon" test $((SECONDS - start)) -lt 50
  ok "jobs=$jobs: the mount goes on" timeout 20 sh -c "echo {} > '$M/tools/link11/run'"
  umount_rye
done
finish
