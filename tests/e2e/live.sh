#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a tool prints is seen while it runs: by `execute --output`, in a thread's `live` and
# spawn.log on disk and through the mount. Each line carries the time at which it was printed.
. "$(dirname "$0")/fixture.sh"

LATE=50000000 # nanoseconds a line may need, beside what a pipe without us needs just now
mkdir -p "$P/.ai/tools/t"
yaml() { # NAME SCRIPT
  printf 'tool_id: %s\ntool_type: bash\nversion: "1.0.0"\ncategory: t\ndescription: a test\nexecutor_id: rye/core/runtimes/bash/bash\nrequires: [shell.execute]\nconfig:\n  timeout: 20\n  script: |\n    %s\n' "$1" "$2" >"$P/.ai/tools/t/$1.yaml"
}
# shellcheck disable=SC2016
yaml clock 'until [ -e "$1/go" ]; do sleep 0.05; done; for i in 1 2 3 4 5; do date +%s%N; sleep 0.2; done'
yaml merged 'echo out; sleep 0.1; echo err >&2; sleep 0.1; printf "\351 end"'
yaml answer "echo '{\"success\":true,'; sleep 0.1; echo '\"output\":\"plain\"}'"
yaml endless 'while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done'
yaml much 'head -c 12000000 /dev/zero | tr "\0" y'
"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
fx_sign "$P" tool:t/clock tool:t/merged tool:t/answer tool:t/endless tool:t/much
fx_mount
state=$P/.ai/state/threads

# Adds to each line how much later than printed it was seen.
stamp() {
  while read -r at; do
    echo "$at $(($(date +%s%N) - at))"
  done
}
# The same clock without us: how late a busy machine makes a line.
control() {
  for _ in 1 2 3 4 5; do
    date +%s%N
    sleep 0.2
  done | stamp >"$T/control"
}
# prompt TEXT FILE: five lines, at most one of which came late; five came at the end before
prompt() {
  local late most
  most=$(awk -v most=$LATE '$2 > worst { worst = $2 } END { printf "%d", most + 4 * worst }' "$T/control")
  late=$(awk -v most="$most" '$2 > most' "$2" | wc -l)
  is "$1: five lines" "$(wc -l <"$2")" 5
  if [ "$late" -le 1 ]; then
    good "$1: each as it was printed"
  else
    bad "$1: each as it was printed" "$(<"$2")" "without us:" "$(<"$T/control")"
  fi
}
ryefs() { timeout 30 "$RYEFS" "$@" --project "$P" --system "$S"; }
start() { ryefs execute "$1" --async --json | sed -n 's/.*"thread_id": *"\([^"]*\)".*/\1/p'; }
# follow FILE: until its tool has had its time
follow() { timeout 4 tail -n +1 -s 0.01 -f "$1" 2>/dev/null | grep --line-buffered '^[0-9][0-9]*$' | stamp; }

touch "$P/go"
control &
ryefs execute tool:t/clock --output | stamp >"$T/direct"
wait $!
prompt "execute --output" "$T/direct"

rm "$P/go"
id=$(start tool:t/clock)
until_true test -e "$state/$id/live"
follow "$state/$id/live" >"$T/disk" &
follow "$state/$id/spawn.log" >"$T/log" &
follow "$M/state/threads/$id/live" >"$T/mounted" &
follow "$M/state/threads/$id/spawn.log" >"$T/mounted.log" &
follow_all() {
  local pid n=0
  for pid in $(pgrep -f "^tail .*/$id/"); do
    find "/proc/$pid/fd" -lname "*/$id/*" | grep -q . && n=$((n + 1))
  done
  [ $n = 4 ]
}
ok "all of them follow" until_true follow_all
touch "$P/go" # the tool begins then
control &
wait $(jobs -p | grep -vx "$DAEMON")
prompt "live" "$T/disk"
prompt "spawn.log" "$T/log"
prompt "live through the mount" "$T/mounted"
prompt "spawn.log through the mount" "$T/mounted.log"
same_file "the mount shows the same" "$M/state/threads/$id/live" "$state/$id/live"
is "live is listed" "$(ls "$M/state/threads/$id" | grep -cx live)" 1

id=$(start tool:t/merged)
is "it ends" "$(exchange 20 "$M/state/threads/$id/wait")" completed
is "live is text, both streams" "$(<"$state/$id/live")" "$(printf 'out\nerr\n\357\277\275 end')"
is "an answer is printed as its plain output" "$(ryefs execute tool:t/answer --output)" plain
is "and a line that was not ended is" "$(ryefs execute tool:t/merged --output | tail -c 5 | od -An -c | tr -d ' ')" 'end\n'

# rye/bash/bash answers with JSON; what its command prints is printed all the same, and once
bash() { ryefs execute tool:rye/bash/bash "$@" 2>"$T/said"; }
control &
bash command='for i in 1 2 3 4 5; do date +%s%N; sleep 0.2; done' | stamp >"$T/direct"
wait $!
prompt "a command's output" "$T/direct"
is "its standard error behind it" "$(bash command='echo a; echo b >&2; sleep 0.1; echo c' | xargs)" 'a c [stderr] b'
is "as with --json" "$(bash --json command='echo a; echo b >&2; sleep 0.1; echo c; env' | grep -c 'RYE_LIVE\|ryefs live')" 0
bash command="printf '\\377 \\303'; sleep 0.1; printf '\\244 '; yes ä | head -c 60000" >"$T/shown"
bash --json command="printf '\\377 \\303'; sleep 0.1; printf '\\244 '; yes ä | head -c 60000" |
  "$PY" -c 'import json, sys; print(json.load(sys.stdin)["data"]["output"])' >"$T/whole"
same_file "the same text, cut characters and the note at the end included" "$T/shown" "$T/whole"
is "of a command that fails" "$(bash command='echo a; exit 3') $(<"$T/said")" 'a ryefs execute: Command exited with code 3'
timeout -s INT 2 "$RYEFS" execute --project "$P" --system "$S" tool:rye/bash/bash command='echo a; sleep 20' >"$T/shown" 2>"$T/said"
is "of one that ^C ends" "$(<"$T/shown") $(head -n 1 "$T/said")" 'a ryefs execute: Run was cancelled'

# in a thread what its command prints is seen all the same
id=$(ryefs execute tool:rye/bash/bash command='echo seen; sleep 2' --async --json | sed -n 's/.*"thread_id": *"\([^"]*\)".*/\1/p')
ok "a command's output too" until_true grep -qx seen "$state/$id/live"
is "before it ends" "$(<"$M/state/threads/$id/status")" running

# a reader that has gone: the tool is ended
before=$(date +%s)
timeout 20 "$RYEFS" execute --project "$P" --system "$S" tool:t/endless --output 2>/dev/null | head -n 1 >"$T/first"
[ $(($(date +%s) - before)) -lt 15 ] && good "a reader that leaves ends the tool" ||
  bad "a reader that leaves ends the tool" "$(($(date +%s) - before)) s"
is "having seen something" "$(wc -l <"$T/first")" 1

id=$(start tool:t/endless)
sleep 3 # what is not bounded grows further meanwhile
echo cancel >"$M/state/threads/$id/ctl"
is "an endless tool can be cancelled" "$(exchange 20 "$M/state/threads/$id/wait")" cancelled
# the runner's log has the reply behind what was printed, and with it the same 10 MiB once more
for f in live:10485760 spawn.log:22020096; do
  most=${f#*:} f=${f%:*}
  [ "$(stat -c %s "$M/state/threads/$id/$f")" -le "$most" ] && good "$f is bounded" ||
    bad "$f is bounded" "$(stat -c %s "$M/state/threads/$id/$f")"
done
id=$(start tool:t/much)
exchange 30 "$M/state/threads/$id/wait" >/dev/null
has "F39 who follows live is told that more was left out" "$(tail -n 1 "$M/state/threads/$id/live")" \
  "what follows 10 MiB is left out here"
ok "F39 what stands before it is whole" test "$(head -n 1 "$M/state/threads/$id/live" | tr -d y | wc -c)" = 1
finish
