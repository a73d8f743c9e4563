#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A caller in a sandbox, as agents put their shells into one: the mount refuses it and says what
# to do instead, and that works: `ryefs execute` inside, however little may be written there.
. "$(dirname "$0")/fixture.sh"
need unshare || finish
CAGE=(unshare -m)
"${CAGE[@]}" true 2>/dev/null || CAGE=(unshare -Urm)
"${CAGE[@]}" true 2>/dev/null || skip "no mount namespaces here"

"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
fx_tool "$P" t/where \
  'echo "in ${TMPDIR:-nowhere}"' \
  'if (echo x >"$TMPDIR/x") 2>/dev/null; then echo written; else echo "not written"; fi'
fx_tool "$P" t/keys 'ls -A "$HOME/.ai/config/keys/signing"'
fx_knowledge "$P" good "True."
fx_sign "$P" --all

# caged WRITABLE COMMAND...: everything is read-only but a fresh file system at WRITABLE, if any
cat >"$T/cage" <<'SH'
mount --make-rprivate /
open=$1
shift
while read -r _ _ _ _ point _; do
  mount -o remount,bind,ro "$(printf %b "$point")" 2>/dev/null
done </proc/self/mountinfo
[ -z "$open" ] || mount -t tmpfs none "$open" || exit 9
for place in /tmp /dev/shm /var/tmp "$HOME" "$PWD"; do
  [ "$place" = "$open" ] || ! (echo >"$place/rye-probe") 2>/dev/null || exit 9
done
exec "$@"
SH
caged() { (cd "$P" && env -u TMPDIR "${CAGE[@]}" bash "$T/cage" "$@"); }
caged "" true
[ $? != 9 ] || skip "not everything can be made read-only here"
execute() { caged "$1" "$RYEFS" execute tool:t/where "${@:2}" 2>&1; }

# ---- the command line inside ----

is "nothing may be written: it runs" "$(execute "" --output)" "$(printf 'in nowhere\nnot written')"
has "and says what it did without" "$(execute "" --json)" '"sandbox_skipped":["temporary directories"]'
lacks "unless it may write" "$(cd "$P" && "$RYEFS" execute tool:t/where --json)" sandbox_skipped
is "signing keys are hidden there, too" "$(caged "" "$RYEFS" execute tool:t/keys --output 2>&1)" ""
# a chroot: its root is not the namespace's, where /media is empty
cat >"$T/chroot" <<'SH'
mount --make-rprivate / && mount --rbind / "$1" && mount -t tmpfs none "$1/media" && cp -a .ai "$1/media" || exit 9
cd / && exec chroot "$1" env -C /media "${@:2}"
SH
chrooted() { (cd "$P" && mkdir -p "$T/top" && "${CAGE[@]}" bash "$T/chroot" "$T/top" "$@"); }
if [ "$(id -u)" = 0 ]; then
  is "root in a chroot: a tool stays in it" "$(chrooted "$RYEFS" execute tool:t/where --output 2>&1 | tail -n 1)" written
fi
has "strict wants one, and says so" "$(caged "" bash -c '
  "$1" "$2" "$3" -f -o "sandbox=strict,system=$4" 2>/dev/null &
  for _ in {1..500}; do [ -e "$3/tools" ] && break; sleep 0.01; done
  echo "{}" >"$3/tools/t/where/run"
  cat "$3/.ryefs/errors"
  kill $! && wait $!' - "$RYEFS" "$P" "$M" "$S" 2>/dev/null)" "no temporary directory can be made in"
has "/dev/shm alone will do" "$(execute /dev/shm --output)" "in /dev/shm/ryefs-" "
written"
has "TMPDIR that is not there, neither" \
  "$(cd "$P" && TMPDIR=$T/nowhere "$RYEFS" execute tool:t/where --output)" "/ryefs-" "
written"
has "TMPDIR below /dev/shm is what the tool sees" \
  "$(cd "$P" && TMPDIR=/dev/shm "$RYEFS" execute tool:t/where --output)" "in /dev/shm/ryefs-" "
written"
has "a directive" "$(caged "" "$RYEFS" execute knowledge:good --output 2>&1)" "True."
has "search" "$(caged "" "$RYEFS" search true 2>&1)" "knowledge:good"

if need bwrap && bwrap --ro-bind / / true 2>/dev/null; then
  jail=(bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all --die-with-parent --chdir "$P" --)
  is "bubblewrap" "$(env -u TMPDIR "${jail[@]}" "$RYEFS" execute tool:t/where --output 2>&1 | tail -1)" written
  is "bubblewrap, no_new_privs, and a TMPDIR that is not there" \
    "$(TMPDIR=/tmp/nowhere "${jail[@]}" setpriv --no-new-privs "$RYEFS" execute tool:t/where --output 2>&1 | tail -1)" \
    written
fi

# The root of a container is no root: of what is the person's own it sees, and changes, as little.
if unshare -Urmpf --mount-proc true 2>/dev/null; then
  fx_tool "$P" t/root '# requires: [fs.write]' 'id -u; ls -A "$HOME/.ai/config/keys/signing"' \
    '(echo x >"$HOME/outside") 2>/dev/null || echo refused'
  fx_sign "$P" tool:t/root
  is "root of a user namespace" "$(unshare -Urmpf --mount-proc "$RYEFS" execute tool:t/root --project "$P" --output 2>&1)" "0
refused"
fi

# Landlock alone, which also forbids to mount anything: only /dev/null may be written to.
cat >"$T/landlock.py" <<'PY'
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
rules = libc.syscall(444, struct.pack("Q", 0x1ff2), 8, 0)
null = os.open("/dev/null", os.O_PATH)
if rules < 0 or libc.syscall(445, rules, 1, struct.pack("=Qi", 2, null), 0):
    sys.exit(77)
libc.prctl(38, 1, 0, 0, 0)
if libc.syscall(446, rules, 0):
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
PY
landlocked() { (cd "$P" && env -u TMPDIR "$PY" -I "$T/landlock.py" "$RYEFS" "$@" 2>&1); }
said=$(landlocked execute tool:t/where --output)
if [ $? = 77 ]; then
  without "Landlock" "the kernel lacks it"
else
  is "Landlock" "$said" "$(printf 'in nowhere\nnot written')"
  has "and what was done without" "$(landlocked execute tool:t/where --json)" \
    '"sandbox_skipped":["mount namespaces","temporary directories"]'
fi

# ---- what the mount says to it ----

fx_mount
shut() { "${CAGE[@]}" "$@"; }
if [ "${CAGE[1]}" = -m ]; then
  fails "a caller in its own mount namespace is refused" shut sh -c "echo '{}' > '$M/tools/t/where/run'"
  text=$(shut cat "$M/.ryefs/errors")
  has "the first thing to do is execute, in there" "$text" "mend with: ryefs execute KIND:ID, which works inside"
  has "beside the item that it wants, by its name" "$(shut cat "$M/tools/t/where/output")" \
    "mend with: ryefs execute tool:t/where, which works inside"
  like "the last is trust_callers" "$text" "trust_callers=any\$"
  has "which works" "$(cd "$P" && shut "$RYEFS" execute tool:t/where --output)" written
  works "reading does" "${CAGE[@]}" cat "$M/knowledge/good.md"
fi
finish
