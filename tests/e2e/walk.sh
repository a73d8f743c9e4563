#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# walk.sh HEADING: what docs/hacking.md says below this heading of "Your first change" is done as it
# stands there, in a copy of the tree, whose objects come along: only what changes is compiled. Then
# the lints that compare rooms, tables and documents have nothing to say.
: "${RYE_TEST_LIMIT:=600}" # a kind of items has nearly all compiled
. "$(dirname "$0")/lib.sh"
[ -x /usr/bin/python3 ] || skip "/usr/bin/python3 is not installed"
command -v ninja >/dev/null || skip "ninja is not installed"

root=$(readlink -f "$SRC/..") build=$(dirname "$(readlink -f "$RYEFS")") here=$T/tree
# what a build tree says of its source is relative; what is not, is changed below
[ "$(dirname "$build")" = "$root" ] || skip "the build tree does not lie in the source tree"

# copied NAME... FROM TO: with their times, or all would be built
copied() {
  mkdir -p "$2"
  tar -C "$1" "${@:3}" -cf - . | tar -C "$2" -xf -
}
copied "$root" "$here" --exclude='./build*' --exclude=./.git --exclude=./tests/fuzz/corpus
copied "$build" "$here/build" --exclude=./tests --exclude=./meson-logs --exclude=./bundle
sed -i "s#$root\\b#$here#g" "$here/build/build.ninja"

# What is compiled here is run once: it need not be fast. By the name, so that no command is another one.
mkdir "$T/home" "$T/bin"
compiler=$(sed -n 's/^ command = \(ccache \)\{0,1\}\([^ ]*\) \$ARGS -MD.*/\2/p' "$here/build/build.ninja" | head -n 1)
case ${compiler:=cc} in
  */*) ;;
  *)
    printf '#!/bin/sh\nexec %s "$@" -O0 -g0 -U_FORTIFY_SOURCE -Wno-format-truncation\n' "$(command -v "$compiler")" >"$T/bin/$compiler"
    chmod 755 "$T/bin/$compiler"
    ;;
esac
# A store of compiled objects that begins empty would only have each source read twice.
export CCACHE_DISABLE=1

unset USER_SPACE RYE_SIGNING_KEY_DIR RYE_SYSTEM_SPACES
cd "$here" || exit 1
while read -r status text; do
  case $status in
    '#') echo "# $text" ;;
    *) result "$status" "$text" ;;
  esac
done < <(env HOME="$T/home" TMPDIR="$T" TYPIST_PATIENCE=500 PATH="$T/bin:$PATH" \
  /usr/bin/python3 "$SRC/e2e/typist.py" "$root/docs/hacking.md" /dev/null "Your first change" "$1" 2>&1)
ok "it was there to be followed" test "$N" -ge 8
for name in docs layers tables; do
  ok "lint $name" /usr/bin/python3 "$here/tests/lint/$name.py" "$here"
done
finish
