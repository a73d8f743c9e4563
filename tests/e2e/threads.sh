#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# state/threads: how a thread that was ended from outside is recorded, what a refused verb says. The
# races are run RYE_ROUNDS times; by hand 200 are a few minutes.
. "$(dirname "$0")/lib.sh"
ROUNDS=${RYE_ROUNDS:-6}

S=$(dirname "$RYEFS")/bundle
[ -d "$S/.ai/tools/rye/bash" ] || skip "no bundle"
mount_rye

# The answer's thread of a detached command.
start() {
  sh -c "echo '{\"command\":\"$1\"}' > $M/tools/rye/bash/async && cat $M/tools/rye/bash/async" |
    sed -n 's/.*"thread_id": *"\([^"]*\)".*/\1/p'
}

# Whoever records it first, the mount that waits or the one that killed, says the same.
# Another waiter stands beside it before the kill is written.
killed=
for i in $(seq "$ROUNDS"); do
  id=$(start "sleep 60")
  exchange 40 "$M/state/threads/$id/wait" >"$T/beside" &
  beside=$!
  echo kill >"$M/state/threads/$id/ctl" || killed="$killed $i:refused"
  told="$(exchange 40 "$M/state/threads/$id/wait") $(<"$M/state/threads/$id/status")"
  wait $beside
  [ "$told $(<"$T/beside")" = "killed killed killed" ] || killed="$killed $i:$told"
done
is "a killed thread is recorded as killed" "$killed" ""
is "with its reason" "$(<"$M/state/threads/$id/error")" "Killed by request"

# A thread can be ended as soon as it is seen: its row is there before its runner is known.
refused=
for i in $(seq "$ROUNDS"); do
  before=$(ls "$M/state/threads")
  id=$(start "sleep 60") &
  starter=$!
  for _ in $(seq 500); do
    new=$(ls "$M/state/threads" | grep -vxF -- "$before")
    [ -z "$new" ] || break
  done
  echo kill >"$M/state/threads/$new/ctl" || refused="$refused $(tail -n 1 "$M/.ryefs/errors")"
  refused="$refused$(timeout 40 cat "$M/state/threads/$new/wait" | grep -vx killed)"
  wait $starter
done
is "a thread that is only seen is killed" "$refused" ""

# Without the mount: the command line starts, waits and kills; the runner's launcher is gone then.
cli() { timeout 10 "$RYEFS" threads --project "$P" --user "$U" --system "$S" "$@" 2>&1; }
ended=
for i in $(seq $((ROUNDS + 4))); do
  id=$("$RYEFS" execute --project "$P" --user "$U" --system "$S" tool:rye/bash/bash command='sleep 60' --async --json |
    sed -n 's/.*"thread_id": *"\([^"]*\)".*/\1/p')
  cli wait "$id" >"$T/waited" &
  waiting=$!
  if [ $((i % 2)) = 0 ]; then
    kill -9 "$(<"$M/state/threads/$id/pid")"
    want=error
  else
    cli kill "$id" >/dev/null
    want=killed
  fi
  wait $waiting
  [ "$(<"$T/waited") $(cli wait "$id")" = "$want $want" ] || ended="$ended $id: $(<"$T/waited")"
done
is "the command line's wait ends with the runner" "$ended" ""

# What a killed runner leaves falls to the daemon, which waits for it.
zombies() {
  cat /proc/"$DAEMON"/task/*/children | tr ' ' '\n' | while read -r pid; do
    [ -n "$pid" ] && grep -h '^State:.*zombie' "/proc/$pid/status" 2>/dev/null
  done
}
ok "killed threads leave no zombies" until_true eval '[ -z "$(zombies)" ]'

# A thread that is only just starting can be cancelled.
id=$(start "sleep 60")
ok "cancel at once" sh -c "echo cancel > $M/state/threads/$id/ctl"
is "is a cancel" "$(exchange 40 "$M/state/threads/$id/wait")" cancelled

# A time is there when there is one.
id=$(start "sleep 0.7; echo told")
D=$M/state/threads/$id
is "while it runs it has not completed" "$(ls "$D" | grep completed)" ""
errno "nor by name" ENOENT cat "$D/completed"
exchange 40 "$D/wait" >/dev/null
is "then it has" "$(ls "$D" | grep completed)" completed
like "at some time" "$(<"$D/completed")" "^20..-..-..T"

# The runner's own signal, sent by somebody else, ends nothing.
id=$(start "sleep 0.7; echo kept")
until_true grep -q . "$M/state/threads/$id/pid"
kill -USR2 "$(<"$M/state/threads/$id/pid")"
is "a stray signal does no harm" "$(exchange 40 "$M/state/threads/$id/wait") $(<"$M/state/threads/$id/output")" "completed kept"

errno "an unknown verb" EINVAL bash -c "echo explode > $M/state/threads/$id/ctl"
like "and the sentence" "$(tail -n 1 "$M/.ryefs/errors")" "thread $id ctl: unknown verb explode"
not_ok "a verb that comes too late" sh -c "echo cancel > $M/state/threads/$id/ctl"
like "and its sentence" "$(tail -n 1 "$M/.ryefs/errors")" "has ended already"
like "to one that has ended nothing is said" "$("$RYEFS" threads --project "$P" say "$id" x 2>&1)" "mend with: ryefs threads show $id"
like "without words there is nothing to resume" "$("$RYEFS" threads --project "$P" resume "$id" 2>&1)" "mend with: ryefs threads resume $id TEXT"

finish
