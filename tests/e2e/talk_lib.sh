# SPDX-License-Identifier: MIT
# talk_lib.sh: for the talk_*.sh tests: lib.sh, and a mount of nothing but conversations with a
# fake engine (tests/fake/talkfs.c) that logs every message it is given.
#
#   start_talks [SECONDS]   mounts it (a write waits that long) and goes there
#   stop_talks              ends it; a sanitizer's complaint is a failure
#   ran TEXT [LINE...]      these messages and no others were run since the last `ran`
#   same GOT WANTED         for ok
. "$(dirname "$0")/lib.sh"
[ -x "${TALKFS:-}" ] || skip "no talkfs"
[ -x /usr/bin/python3 ] || skip "no python3"

LOG=$T/log
export LOG

start_talks() {
  : >"$LOG"
  FAKE_LOG=$LOG MALLOC_PERTURB_=$PERTURB "$TALKFS" "$M" "$@" 2>>"$ERR" </dev/null 3>&- &
  DAEMON=$!
  export DAEMON
  echo "$DAEMON" >"$T/pid"
  until_true test -e "$M/run" || skip "cannot mount here"
  cd "$M" || exit 1
}

stop_talks() {
  cd /
  fusermount3 -u -q "$M" || fusermount3 -u -q -z "$M"
  wait "$DAEMON"
  DAEMON=
}

end_talks() {
  stop_talks
  # its own sentences speak of errors all the time
  ALLOWED="$ALLOWED|^talkfs: "
  finish
}

same() {
  [ "$1" = "$2" ] || {
    printf 'got:    %s\nwanted: %s\n' "$1" "$2"
    return 1
  }
}

ran() {
  local text=$1 got wanted=
  shift
  got=$(cat "$LOG")
  [ $# = 0 ] || wanted=$(printf '%s\n' "$@")
  : >"$LOG"
  is "$text: what ran" "$got" "$wanted"
}
