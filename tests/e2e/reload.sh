#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ryefs reload: another program takes a living mount over: root's by a mount in its place, a user's by going on
# with its connection. Paths lead to one of the two daemons at any
# moment, what is open and who stands inside stays with the one before, a run goes on and is answered,
# nothing is refused meanwhile, and nothing is left when the last has gone. $RYE_ROUNDS (5); $RYE_BEFORE: another
# build, by turns with this one.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" != 0 ] || printf '6.5\n%s\n' "$(uname -r)" | sort -CV || skip "Linux 6.5 is wanted"
export HOME=$T USER_SPACE=$T/home
mnt=$T/mnt rounds=${RYE_ROUNDS:-5}
mkdir "$mnt" "$USER_SPACE" "$T/bin"
# A program that is replaced: a link beside it leads to its bundle.
cp "$RYEFS" "$T/bin/ryefs"
[ -d "${RYEFS%/*}/bundle" ] && ln -s "${RYEFS%/*}/bundle" "$T/bin/bundle"
program=$T/bin/ryefs
ok "a sample workspace" "$program" init -q --sample "$T/work"
pid_of() { sed 's/.*"pid":\([0-9]*\).*/\1/' "$mnt/.ryefs/stats.json"; }
ours() { pgrep -f -- "($T/bin/ryefs work|mount-again [0-9]* $T/work|ryefs $T/work) "; }
none_of_ours() { ! ours >/dev/null; }
ended() { ! kill -0 "$1" 2>/dev/null; }
at_end 'touch "$T/stop"; for p in $(ours); do kill "$p" 2>/dev/null; done'

ok "a mount by a relative path" sh -c "cd '$T' && '$program' work mnt -o userspace=home,jobs=3 2>/dev/null"
first=$(pid_of)
mount_id() { sed -n "s|^\([0-9]*\) .* $mnt .*|\1|p" /proc/self/mountinfo; }
id=$(mount_id)

# ---- who is inside stays with the first ----
exec 5<"$mnt/README.md" 6<>"$mnt/tools/rye/bash/run" 7<>"$mnt/tools/rye/bash/run"
read -r head <&5
echo '{"command":"echo said before"}' >&6
(cd "$mnt/knowledge" && exec sleep 60.$$) &
inside=$!
mkfifo "$T/go"
echo '{"command":"touch begun; read x <../go; echo went on"}' >"$T/message"
(cat "$T/message" >"$mnt/tools/rye/bash/run" && cat "$mnt/tools/rye/bash/output" >/dev/null; echo "status $?" >"$T/ran") 2>/dev/null &
ok "a run is under way" until_true test -e "$T/work/begun"
cp "$program" "$T/bin/next" && mv "$T/bin/next" "$program"
is "reload" "$("$program" reload --json "$mnt")" "{\"status\":\"success\",\"reloaded\":\"$mnt\"}"
second=$(pid_of)
not_ok "another daemon" test "$first" = "$second"
ok "of the program that lies there now" test "/proc/$second/exe" -ef "$program"
not_ok "as the first one is not" test "/proc/$first/exe" -ef "$program"
ok "the log says from which" grep -q "took over from process $first" "$mnt/.ryefs/log"
is "one mount at the path" "$(grep -c " $mnt " /proc/self/mountinfo)" 1
is "no daemon has died" "$(jq .deaths "$mnt/.ryefs/stats.json")" null
ok "the first one lives on" kill -0 "$first"
[ "$(id -u)" = 0 ] || is "it is the same mount" "$(mount_id)" "$id"
not_ok "what is open is read on" test -z "$(cat <&5)"
like "a reply as well" "$(cat <&6)" "said before"
head -c 90000 /dev/zero | tr '\0' ' ' >"$T/long"
echo '{"command":"echo said behind"}' >>"$T/long"
ok "a conversation goes on, with long messages, too" eval 'cat "$T/long" >&7'
like "and is answered" "$(cat <&7)" "said behind"
ok "a directory that is stood in as well" test -e "/proc/$inside/cwd/sample/house-rules.md"
ok "the run goes on" sh -c "echo >'$T/go'"
ok "and its writer is answered" until_true test -e "$T/ran"
exec 5<&- 6<&- 7<&-
kill $inside
wait $inside 2>/dev/null
ok "with the last one inside the first daemon ends" until_true ended "$first"
ok "and the second serves" grep -q . "$mnt/knowledge/sample/house-rules.md"
ok "it runs things" sh -c "echo '{\"command\":\"echo hi\"}' >'$mnt/tools/rye/bash/run'"

# ---- under load nothing is refused ----
reader() {
  while [ ! -e "$T/stop" ]; do
    [ -n "$(ls "$mnt/knowledge/sample")" ] && cat "$mnt/README.md" "$mnt/knowledge/sample/house-rules.md" >/dev/null || echo "reader"
  done
}
writer() {
  local n=0
  while [ ! -e "$T/stop" ]; do
    n=$((n + 1))
    echo $n >"$mnt/spaces/project/knowledge/sample/w.md" && [ "$(cat "$T/work/.ai/knowledge/sample/w.md")" = $n ] || echo "writer $n"
  done
}
runner() {
  local n=0
  while [ ! -e "$T/stop" ]; do
    n=$((n + 1))
    echo "{\"command\":\"echo $n >>runs\"}" >"$mnt/tools/rye/bash/run" && echo $n >>"$T/wanted" || echo "runner $n"
  done
}
: >"$T/wanted"
stander() { # stands inside, and looks about from there; now and then it comes in anew
  while [ ! -e "$T/stop" ]; do
    cd "$mnt/knowledge" || echo "stander"
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
      [ -n "$(ls sample)" ] && cat sample/house-rules.md ../README.md >/dev/null || echo "stander"
    done
  done
}
signaller() { # a write that is interrupted goes on
  while [ ! -e "$T/stop" ]; do
    timeout -s INT 0.1 sh -c "echo '{\"command\":\"sleep 5\"}' >'$mnt/tools/rye/bash/run'"
    [ $? = 124 ] || echo "signaller"
  done
}
{ reader & reader & writer & runner & stander & signaller & wait; } >"$T/refused" 2>&1 &
load=$!
done_of() { [ "$(wc -l <"$T/wanted")" -gt "$1" ]; }
failed=0
turn() { # NUMBER
  local from=$RYEFS
  [ -z "${RYE_BEFORE:-}" ] || [ $(($1 % 2)) = 0 ] || from=$RYE_BEFORE
  cp "$from" "$T/bin/next" && mv "$T/bin/next" "$program"
}
for n in $(seq "$rounds"); do
  turn "$n"
  before=$(pid_of)
  "$program" reload -q "$mnt" || failed=$((failed + 1))
  [ "$(pid_of)" != "$before" ] || failed=$((failed + 1))
  until_true done_of "$(wc -l <"$T/wanted")" || failed=$((failed + 1))
done
touch "$T/stop"
wait $load
turn 0
is "$rounds times it was taken over" "$failed" 0
is "nobody was refused" "$(sort "$T/refused" | uniq -c | head -5)" ""
is "each run was done once" "$(cat "$T/work/runs")" "$(cat "$T/wanted")"
one_daemon() { [ "$(ours | wc -l)" = 2 ]; }
exec 5<&-
ok "one daemon is left, and its watchdog" until_true one_daemon

# ---- one of two that have the same connection is killed: each request is answered ----
waiting() { # NAME: a run that waits in the daemon of now
  (echo "{\"command\":\"touch $1; sleep 60.$$\"}" >"$mnt/tools/rye/bash/run") 2>"$T/$1" &
  waiter=$!
  until_true test -e "$T/work/$1"
}
if [ "$(id -u)" != 0 ] && mended; then
  ok "a run" waiting one
  first=$(pid_of)
  ok "reload" "$program" reload -q "$mnt"
  second=$(pid_of)
  kill -9 "$first"
  wait "$waiter"
  like "the one before is killed: the newest answers" "$(cat "$T/one")" "Input/output error"
  is "and goes on" "$(pid_of)" "$second"
  ok "with one daemon" until_true one_daemon
  ok "another run" waiting two
  first=$second
  ok "reload" "$program" reload -q "$mnt"
  second=$(pid_of)
  kill -9 "$second"
  wait "$waiter"
  like "the newest is killed: the one before ends its runs, or the next answers" "$(cat "$T/two")" "Operation canceled|Input/output error"
  another_than() { local now; now=$(pid_of 2>/dev/null) && [ "$now" != "$1" ] && [ "$now" != "$2" ]; }
  ok "which is neither of the two" until_true another_than "$first" "$second"
  ok "the other ends" until_true ended "$first"
  ok "no run is left" until_true sh -c "! pgrep -f 'sleep 60[.]$$'"
fi

# ---- what follows is as with any mount ----
if [ "$(id -u)" = 0 ] || mended; then
  last=$(pid_of)
  kill -9 "$last"
  another() { [ "$(pid_of 2>/dev/null || echo "$last")" != "$last" ]; }
  ok "it is mounted again when it is killed" until_true another
fi
ok "umount" "$RYEFS" umount "$mnt"
ok "nothing is left" until_true none_of_ours
"$RYEFS" reload "$mnt" 2>"$T/said"
like "what is no mount is told" "$(cat "$T/said")" "is not a mount of ryefs"
"$RYEFS" "$T/work" "$mnt" -f 2>/dev/null &
until_true test -r "$mnt/.ryefs/version"
"$RYEFS" reload "$mnt" 2>"$T/said"
like "one in the foreground is its starter's" "$(cat "$T/said")" "that takes a mount in the background"
ok "umount" "$RYEFS" umount "$mnt"

# a ring is one process's
over_ring || again_as_user
finish
