#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The same attacks where the mount and its tools are an ordinary user's. Root becomes one here, in
# mount namespaces of their own whose /dev/fuse is for everybody: nothing of that is left behind.
skip() {
  echo "1..0 # SKIP $*"
  exit 0
}
[ "$(id -u)" = 0 ] || skip "attacks, attacks_inside, attacks_own and attacks_thread are an ordinary user's already"
[ -c /dev/fuse ] || skip "/dev/fuse cannot be used"
[ -u "$(command -v fusermount3)" ] || skip "fusermount3 is not installed for users"
for program in setpriv unshare; do
  command -v "$program" >/dev/null || skip "$program is not installed"
done
unshare -m true 2>/dev/null || skip "no mount namespaces here"
HERE=$(cd "$(dirname "$0")" && pwd)
T=$(mktemp -d "${TMPDIR:-/tmp}/ryefs-user.XXXXXX") || exit 1
trap 'rm -rf --one-file-system "$T"' EXIT
# a checkout in a home that is closed to others
chmod 755 "$T"
mkdir "$T/build" "$T/tests" "$T/dev" && mkdir -m 1777 "$T/tmp" && cp "${RYEFS:?}" "$T/build/ryefs" &&
  cp -R "$(dirname "$RYEFS")/bundle" "$T/build/" && cp -R "$HERE" "$T/tests/e2e" &&
  cp -R "$HERE/../fake" "$T/tests/fake" && mkdir -p "$T/build/tests/fake" &&
  cp "$(command -v exchange)" "$(command -v limit)" "$T/build/tests/fake" || exit 1

# as_user SCRIPT: status 77 where nobody can be one
as_user() {
  # shellcheck disable=SC2016
  unshare -m --propagation slave bash -c '
    mount -t tmpfs -o mode=755 dev "$1/dev" &&
      mknod -m 666 "$1/dev/fuse" c "$((0x$(stat -c %t /dev/fuse)))" "$((0x$(stat -c %T /dev/fuse)))" &&
      mount --bind "$1/dev/fuse" /dev/fuse && mount --make-rshared / || exit 77
    exec setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$1/tmp" TMPDIR="$1/tmp" \
      RYEFS="$1/build/ryefs" RYE_TEST_SRC="$1/tests" bash "$1/tests/e2e/$2.sh"' - "$T" "$1"
}

as_user attacks >"$T/1" 2>&1 &
as_user attacks_inside >"$T/2" 2>&1 &
as_user attacks_thread >"$T/3" 2>&1 &
as_user attacks_own >"$T/4" 2>&1 &
wait -n
r=$?
wait
[ $r != 77 ] || skip "no mount namespaces here"
# one list of all; each has to come to its end
awk '/^(not )?ok / { n++; sub(/ok [0-9]+ - /, "ok " n " - "); print; next }
  /^1\.\.0 # SKIP/ { skipped = $0; ended++; next }
  /^1\.\./ { ended++; next } { print "# " $0 }
  END { if (ended < 4) print "not ok " ++n " - all came to their ends"
    if (n) print "1.." n; else print skipped }' "$T"/[1-4]
