# SPDX-License-Identifier: MIT
# lib.sh: what every end-to-end test starts with: `. "$(dirname "$0")/lib.sh"`.
#
# Each test has a directory of its own ($T) with a project, a user space, a system space and a
# mountpoint inside the project ($M); nothing of the person's own is seen. The daemon runs in
# the foreground; whatever it writes to stderr is kept, and a test whose daemon said "error" or
# "warning" fails. Results are TAP; the last command of a test is `finish`.
#
#   ok TEXT CMD...          CMD succeeds
#   not_ok TEXT CMD...      CMD fails
#   is TEXT GOT WANTED      two texts are the same
#   like TEXT GOT REGEX     a text matches (grep -E)
#   errno TEXT NAME CMD...  CMD fails and says the errno's text on stderr
#   mount_rye [OPTION...]   mounts; options are words for -o, behind those of RYE_TEST_MOUNT_OPTIONS
#   umount_rye              ends the daemon; its exit status
#   stat_of NAME            a counter of .ryefs/stats.json
#   since NAME              how much it grew since the last `mark`
#   mark                    takes down all counters
#   allow REGEX             lines of the daemon's stderr that are as they should be
#   until_true CMD...       waits 20 s, and as long as the looking takes, for CMD to succeed
#   nap MS                  the same as sleep, without a process
#   put PATH TEXT           a file below the project's .ai (directories are made)
#   beside NAME CMD...      a process that ends with the test, its output in $T/NAME.log; its id in BESIDE
#   at_end CODE             runs when the test ends, before its files are removed; FAILED and rc tell how
#   converse FILE TEXT      writes a message, reads its reply by the same descriptor
#   exchange SECONDS FILE [TEXT]  the same, within so many seconds; without TEXT the file is read to its end
#   limit SECONDS CMD...    becomes CMD, which is ended if it takes longer

set -u
: "${RYEFS:?the program under test}"
SRC=${RYE_TEST_SRC:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
# Each program that is started takes longer than what it does here: what bash can do itself, it does.
NAME=${0##*/} NAME=${NAME%.sh}
LIMIT=${RYE_TEST_LIMIT:-200} # seconds without a result; stacks are dumped then
N=0
FAILED=0
DAEMON=
ALL_BESIDE=
AT_END=
ALLOWED='^$'
export LC_ALL=C
umask 022
# what the malloc of daemons fills memory with that it gives and takes back; 0: nothing (tests/meson.build)
PERTURB=$((RANDOM % 255 + 1))

# What reads JSON for the tests themselves: gojq begins within 3 ms, jq 1.6 within 30. It sorts an
# object's keys: where their order counts it is `command jq`, as where jq is tested, a client of the mount.
JQ=jq
if command -v gojq >/dev/null; then
  JQ=gojq
  jq() { gojq "$@"; }
fi

# how one ends that took longer than `limit` and `exchange` (tests/fake) let it
LIMITED=142
command -v exchange >/dev/null || PATH=$PATH:${RYEFS%/*}/tests/fake

skip() {
  echo "1..0 # SKIP $*"
  exit 0
}

[ -c /dev/fuse ] && [ -r /dev/fuse ] && [ -w /dev/fuse ] || skip "/dev/fuse cannot be used"
command -v fusermount3 >/dev/null || skip "fusermount3 is not installed"

T=$(mktemp -d "${TMPDIR:-/tmp}/ryefs-$NAME.XXXXXX") || exit 1
P=$T/project
U=$T/user
S=$T/system
M=$P/mnt
ERR=$T/stderr
mkdir -p "$P/.ai"/{directives,tools,knowledge,config} "$U/.ai/config/keys/trusted" "$S/.ai/tools" "$M"
mkfifo "$T/.nothing" || exit 1

# A version manager's python3 is a shell script, which takes ten times as long to start.
if [ -x /usr/bin/python3 ] && [ ! /usr/bin/python3 -ef "$(command -v python3)" ]; then
  mkdir "$T/python"
  ln -s /usr/bin/python3 "$T/python/python3"
  PATH=$T/python:$PATH
fi

# the key that signed tests/vectors: Ed25519 seed 00 01 … 1f
trust_key() {
  cat >"$T/key" <<'KEY'
fingerprint = "f0ff50dacf109dea"
owner = "test"
attestation = ""

[public_key]
pem = """
-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=
-----END PUBLIC KEY-----
"""
KEY
  mv "$T/key" "$U/.ai/config/keys/trusted/f0ff50dacf109dea.toml"
}
trust_key

# ---- what a failure leaves behind ----

dump_stacks() {
  echo "# --- stacks after $LIMIT s"
  for pid in $DAEMON; do
    for task in /proc/"$pid"/task/*; do
      echo "# $task $(cat "$task/comm" 2>/dev/null) $(cat "$task/wchan" 2>/dev/null)"
      sed 's/^/#   /' "$task/stack" 2>/dev/null
    done
    command -v gdb >/dev/null && timeout 20 gdb -p "$pid" -batch -ex 'thread apply all bt 12' 2>/dev/null | sed 's/^/# /'
  done
}

# The last resort: a test that hangs ends, and says where everybody stood. One that is only slow, since the
# machine is busy, has had a result meanwhile.
watchdog() {
  # neither the sleep nor the output it would hold open outlives the test
  trap 'kill "$nap" 2>/dev/null; exit' TERM
  while
    : >"$T/watched"
    sleep "$LIMIT" >/dev/null 2>&1 &
    nap=$!
    wait "$nap"
    [ "$T/result" -nt "$T/watched" ]
  do :; done
  DAEMON=$(cat "$T/pid" 2>/dev/null) dump_stacks
  kill -9 $(cat "$T/pid" 2>/dev/null) 2>/dev/null
  kill -TERM $$
}

cleanup() {
  local rc=$?
  trap - EXIT
  cd /
  eval "$AT_END"
  [ -n "$DAEMON" ] && kill "$DAEMON" 2>/dev/null && for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -0 "$DAEMON" 2>/dev/null || break
    sleep 0.1
  done
  [ -n "$DAEMON" ] && kill -9 "$DAEMON" 2>/dev/null
  # shellcheck disable=SC2086
  [ -z "$ALL_BESIDE" ] || kill $ALL_BESIDE 2>/dev/null
  grep -qF " $M " /proc/self/mounts && fusermount3 -u -q -z "$M"
  kill "$WATCHDOG" 2>/dev/null
  if [ "$FAILED" -gt 0 ] || [ "$rc" -ne 0 ] || [ -n "${RYE_TEST_KEEP:-}" ]; then
    echo "# left behind: $T (repro.sh, stderr)"
  else
    rm -rf --one-file-system "$T"
  fi
  exit "$rc"
}
trap cleanup EXIT
trap 'exit 1' TERM INT HUP
watchdog >&2 3>&- &
WATCHDOG=$!
disown "$WATCHDOG"

at_end() { AT_END="$AT_END$1; "; }

beside() {
  local name=$1
  shift
  "$@" 3>&- >"$T/$name.log" 2>&1 &
  BESIDE=$!
  ALL_BESIDE="$ALL_BESIDE $BESIDE"
  disown
}

converse() {
  exchange 60 "$1" "${2:-{\}}" 2>/dev/null
}

# ---- results ----

result() { # STATUS TEXT
  N=$((N + 1))
  if [ "$1" -eq 0 ]; then
    echo "ok $N - $2"
  else
    FAILED=$((FAILED + 1))
    echo "not ok $N - $2"
  fi
  : >"$T/result"
}

ok() {
  local text=$1
  shift
  "$@" >"$T/out" 2>&1 </dev/null
  local rc=$?
  result "$rc" "$text"
  # one that was ended by `timeout` (124) has often said nothing
  [ "$rc" -eq 0 ] || { echo "# status $rc" && sed "s/^/# [$rc] /" "$T/out"; }
}

not_ok() {
  local text=$1
  shift
  "$@" >"$T/out" 2>&1 </dev/null
  local rc=$?
  result $((rc == 0)) "$text"
  [ "$rc" -ne 0 ] || sed 's/^/# succeeded: /' "$T/out"
}

is() {
  local rc=0
  [ "$2" = "$3" ] || rc=1
  result "$rc" "$1"
  [ "$rc" -eq 0 ] || printf '# got:    %s\n# wanted: %s\n' "$(printf %s "$2" | head -c 600 | tr '\n' '~')" \
    "$(printf %s "$3" | head -c 600 | tr '\n' '~')"
}

like() {
  local rc=1 line
  while [ $rc = 1 ] && IFS= read -r line; do
    [[ ! $line =~ $3 ]] || rc=0
  done <<<"$2"
  [ $rc = 0 ] || { printf '%s\n' "$2" | grep -qE -- "$3" && rc=0; }
  result "$rc" "$1"
  [ "$rc" -eq 0 ] || printf '# got: %s\n# wanted: %s\n' "$(printf %s "$2" | head -c 600 | tr '\n' '~')" "$3"
}

# errno_text NAME: what strerror() says of it becomes $want
errno_text() {
  case $1 in
    EACCES) want='Permission denied' ;;
    EAGAIN) want='Resource temporarily unavailable' ;;
    EBUSY) want='Device or resource busy' ;;
    EBADMSG) want='Bad message' ;;
    EEXIST) want='File exists' ;;
    EFBIG) want='File too large' ;;
    EHOSTUNREACH) want='No route to host' ;;
    EINVAL) want='Invalid argument' ;;
    EKEYREJECTED) want='Key was rejected by service' ;;
    EISDIR) want='Is a directory' ;;
    ENODATA) want='No data available' ;;
    ENOENT) want='No such file or directory' ;;
    ENOKEY) want='Required key not available' ;;
    ENOTCONN) want='Transport endpoint is not connected' ;;
    ENOTDIR) want='Not a directory' ;;
    ENOTEMPTY) want='Directory not empty' ;;
    EROFS) want='Read-only file system' ;;
    EUCLEAN) want='Structure needs cleaning' ;;
    EXDEV) want='Invalid cross-device link' ;;
    *) want=$1 ;;
  esac
}

# What writing answers where no permission to write is shown: it stops all but root.
NOWRITE=EACCES
[ $EUID != 0 ] || NOWRITE=EROFS

errno() {
  local text=$1 want
  errno_text "$2"
  shift 2
  local out rc
  out=$("$@" 2>&1 >/dev/null </dev/null)
  rc=$?
  if [ "$rc" -ne 0 ] && [[ $out == *"$want"* ]]; then
    result 0 "$text"
  else
    result 1 "$text"
    printf '# exit %s, said: %s\n# wanted: %s\n' "$rc" "$(printf %s "$out" | tr '\n' '~')" "$want"
  fi
}

# A sanitizer wants to be the first library; what is preloaded here is built without.
preloaded() { # NAME VARIABLE=VALUE CMD...
  local so=$PRELOADED/$1.so
  local -x "$2" LD_PRELOAD="${so:?}${LD_PRELOAD:+:$LD_PRELOAD}" ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
  "${@:3}"
}

# nap MS: no process is started for it; nothing is ever written to that pipe
nap() {
  local s
  printf -v s '%d.%03d' $(($1 / 1000)) $(($1 % 1000))
  read -rt "$s" _ <>"$T/.nothing"
  [ $? -gt 128 ] || sleep "$s"
}

# Looks often at first, then less so: looking costs the processor what is waited for.
until_true() {
  local ms=10 waited
  for ((waited = 0; waited < 20000; waited += ms)); do
    "$@" >/dev/null 2>&1 && return 0
    nap $ms
    [ $waited -lt $((ms * 10)) ] || [ $ms -ge 100 ] || ms=$((ms + 10))
  done
  "$@" >/dev/null 2>&1
}

allow() {
  ALLOWED="$ALLOWED|$1"
}

# ---- mounting ----

put() {
  local path=$P/.ai/$1
  [ -d "${path%/*}" ] || mkdir -p "${path%/*}"
  printf '%s' "$2" >"$path"
}

mounted() {
  local all
  read -rd '' all </proc/self/mounts
  [[ $all == *" ${1:-$M} fuse.ryefs "* ]]
}

answers() {
  [ -r "$M/.ryefs/version" ]
}

mount_rye() {
  local list="userspace=$U,system=$S${RYE_TEST_MOUNT_OPTIONS:+,$RYE_TEST_MOUNT_OPTIONS}" word
  for word in "$@"; do
    list="$list,$word"
  done
  printf '#!/bin/sh\nexec env -i PATH="$PATH" HOME=%q %q %q %q -f -o %q\n' "$U" "$RYEFS" "$P" "$M" "$list" >"$T/repro.sh"
  env USER_SPACE="$U" HOME="$U" MALLOC_PERTURB_=$PERTURB "$RYEFS" "$P" "$M" -f -o "$list" 2>>"$ERR" >>"$T/stdout" 3>&- &
  DAEMON=$!
  echo "$DAEMON" >"$T/pid"
  local i
  for ((i = 0; i < 1000; i++)); do
    mounted && answers 2>/dev/null && return 0
    kill -0 "$DAEMON" 2>/dev/null || break
    nap $((i < 20 ? 10 : 50))
  done
  echo "Bail out! the mount does not come up: $(tail -3 "$ERR" | tr '\n' ' ')"
  FAILED=1
  exit 1
}

# Waits for the first scan, so that counters stand still.
scanned() {
  until_true grep -q '"scanned":true' "$M/.ryefs/stats.json"
}

unmounted() {
  umount "$M" 2>/dev/null || fusermount3 -u "$M"
}

# Whoever has just ended may still be leaving: busy is not busy for good.
umount_rye() {
  local rc
  until_true unmounted || return 1
  wait "$DAEMON"
  rc=$?
  DAEMON=
  return "$rc"
}

# ---- kernels, users ----

# Can a daemon go on with a dead one's connection here? What fs/mount/kept.c asks.
mended() {
  local release
  release=$(uname -r) release=${release%%[!0-9.]*}
  case $release in
    6.12.* | 6.18.*) printf '%s\n' "6.${release#6.}" | awk -F. '{ exit !($2 == 12 ? $3 >= 96 : $3 >= 39) }' ;;
    *) printf '7.1.4\n%s\n' "$release" | sort -CV ;;
  esac
}

# Has each mount a ring, whatever its options say (meson test --setup ring)?
over_ring() { [ -n "${RYE_TEST_RING:-}" ]; }

# root's: the whole test once more, by one who may not mount
again_as_user() {
  [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && unshare -m true 2>/dev/null || return 0
  mkdir -p "$T/theirs/tests"
  cp "$RYEFS" "$T/theirs/ryefs"
  cp -rL "${RYEFS%/*}/bundle" "$T/theirs/bundle"
  cp "$0" "${BASH_SOURCE[0]}" "$T/theirs/tests/"
  chmod 755 "$T"
  chown -R 65534 "$T/theirs"
  cat >"$T/as_user" <<EOF
mount -t tmpfs -o mode=755 none /dev && mknod -m 666 /dev/fuse c 10 229 && mknod -m 666 /dev/null c 1 3 &&
  mknod -m 666 /dev/zero c 1 5 && mknod -m 666 /dev/urandom c 1 9 && ln -s /proc/self/fd /dev/fd || exit
TMPDIR=$T/theirs RYEFS=$T/theirs/ryefs setpriv --reuid 65534 --regid 65534 --clear-groups bash "$T/theirs/tests/${0##*/}" 2>&1
EOF
  unshare -m bash "$T/as_user" >"$T/said" </dev/null
  is "a user's: nothing fails" "$(grep -A5 '^not ok' "$T/said")" ""
  like "and all of it was tried" "$(grep '^1\.\.' "$T/said")" '^1\.\.[2-9][0-9]$'
}

# ---- counters ----

stat_of() {
  sed "s/.*\"$1\":\([0-9]*\).*/\1/" "$M/.ryefs/stats.json"
}

mark() {
  MARK=$(cat "$M/.ryefs/stats.json")
}

# The counters are read by two LOOKUPs (the directory is remembered, the file is not) and one
# READ: what reading them costs by itself is measured by `mark; mark`-like pairs in the tests.
since() {
  local now
  now=$(stat_of "$1")
  echo $((now - $(printf '%s' "$MARK" | sed "s/.*\"$1\":\([0-9]*\).*/\1/")))
}

finish() {
  if [ -n "$DAEMON" ]; then
    ok "the mount ends cleanly" umount_rye
  fi
  if [ -f "$ERR" ] && grep -iE 'error|warning|sanitizer' "$ERR" | grep -vE "$ALLOWED" >"$T/complaints"; then
    result 1 "the daemon had nothing to complain of"
    sed 's/^/# /' "$T/complaints" | head -50
  else
    result 0 "the daemon had nothing to complain of"
  fi
  echo "1..$N"
  exit 0
}
