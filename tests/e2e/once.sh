#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What was verified is not verified again: neither for readers nor for the chain of a run.
. "$(dirname "$0")/lib.sh"

S=$(dirname "$RYEFS")/bundle
[ -d "$S/.ai/tools/rye/bash" ] || skip "no bundle"
V=$SRC/vectors/binding
mkdir -p "$P/.ai"/{directives,tools}/vec
cp "$V/b1.md" "$P/.ai/directives/vec/"
cp "$V/b2.py" "$P/.ai/tools/vec/"
put config/web/z.yaml 'a: 1
'
mount_rye "system=$S"
scanned

# how many verifications it takes to run a command
cost() {
  local before
  before=$(stat_of verifications)
  "$@" >/dev/null
  echo $(($(stat_of verifications) - before))
}

read_often() {
  local i
  for ((i = 0; i < 100; i++)); do cat "$M/$1" || return; done
}

like "doctor tells of unsigned configuration" "$(<"$M/.ryefs/doctor")" \
  '^config/web/z.yaml: served, but unsigned: '
is "100 reads of a tool" "$(cost read_often tools/vec/b2.py)" 0
is "100 reads of a directive" "$(cost read_often directives/vec/b1.md)" 0
is "100 reads of unsigned configuration" "$(cost read_often config/web/z.yaml)" 0
like "other views of it: the file once more at most" \
  "$(cost cat "$M/directives/vec/b1/"{source,schema.json,info.json,verify,prompt.md})" '^[01]$'

# the kernel has forgotten names and pages: nothing has changed, so nothing is verified
read_anew() {
  [ "$(id -u)" != 0 ] || [ ! -w /proc/sys/vm/drop_caches ] || echo 3 >/proc/sys/vm/drop_caches
  find "$M"/{tools,directives} -type f -print0 | head -zn 160 | xargs -0 cat
}
like "160 files, read for the first time" "$(cost read_anew)" '^[0-9]+$'
is "and anew" "$(cost read_anew)" 0

cp "$V/b2.py" "$T/new" && mv "$T/new" "$P/.ai/tools/vec/b2.py"
until_true sh -c '[ "$(stat -c %i "$1")" ] && cat "$1" >/dev/null' - "$M/tools/vec/b2.py"
like "a new file: once, however often it is read" "$(cost read_often tools/vec/b2.py)" '^[01]$'

run_often() {
  local i
  for ((i = 0; i < $1; i++)); do run_tool || return; done
}

run_tool() {
  echo '{"command": "true"}' >"$M/tools/rye/bash/bash/run"
}

sleep 0.2 # the times of what it stands on have to be old
first=$(cost run_often 1)
like "the first run verifies its chain" "$first" '^[0-9]+$'
is "100 more verify nothing" "$(cost run_often 100)" 0
ok "and were runs" [ "$(stat_of runs)" -ge 101 ]

finish
