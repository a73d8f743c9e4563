#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# walks.sh HEADING...: what docs/hacking.md says below each of these headings of "Your first change" is
# done as it stands there, one after another in one copy of the tree, each with a workspace and a home of
# its own. Then the lints that compare rooms, tables and documents have nothing to say.
: "${RYE_TEST_LIMIT:=600}" # nearly all is compiled
. "$(dirname "$0")/lib.sh"
[ -x /usr/bin/python3 ] || skip "/usr/bin/python3 is not installed"
command -v ninja >/dev/null || skip "ninja is not installed"

root=$(readlink -f "$SRC/..") build=$(dirname "$(readlink -f "$RYEFS")") here=$T/tree
# what a build tree says of its source is relative; what is not, is changed below
[ "$(dirname "$build")" = "$root" ] || skip "the build tree does not lie in the source tree"

# copied NAME... FROM TO: with their times, or meson would look at all anew
copied() {
  mkdir -p "$2"
  tar -C "$1" "${@:3}" -cf - . | tar -C "$2" -xf -
}
copied "$root" "$here" --exclude='./build*' --exclude=./.git --exclude=./tests/fuzz/corpus
copied "$build" "$here/build" --exclude=./tests --exclude=./meson-logs --exclude=./bundle --exclude='*.p' \
  --exclude='*.a' --exclude='.ninja_*'
sed -i "s#$root\\b#$here#g" "$here/build/build.ninja"
# No test is built here, and 250 programs less are most of what a changed list of sources has meson write anew.
grep -v "^subdir('tests')$" "$root/meson.build" >"$here/meson.build"
touch -r "$root/meson.build" "$here/meson.build"

# What is compiled here is run once: it need not be fast. And a compiler of rooms takes a fifth of the time
# of one of files, since what they include is read once. By the name, so that no command is another one.
mkdir "$T/bin"
compiler=$(sed -n 's/^ command = \(ccache \)\{0,1\}\([^ ]*\) \$ARGS -MD.*/\2/p' "$here/build/build.ninja" | head -n 1)
case ${compiler:=cc} in
  */*) ;;
  *)
    # not a link to ccache, which would look for the compiler itself and find the one below
    while read -r real; do
      case $(readlink -f "$real") in */ccache) ;; *) break ;; esac
    done < <(type -ap "$compiler")
    sed "s#@CC@#$real#; s#@ROOMS@#$(command -v clang || echo "$real")#; s#@T@#$T#" "$SRC/e2e/room_compiler.sh" >"$T/bin/$compiler"
    chmod 755 "$T/bin/$compiler"
    ;;
esac
# A store of compiled objects that begins empty would only have each source read twice.
export CCACHE_DISABLE=1

unset USER_SPACE RYE_SIGNING_KEY_DIR RYE_SYSTEM_SPACES
cd "$here" || exit 1
for heading in "$@"; do
  before=$N
  rm -rf "$T/try" "$T/home"
  mkdir "$T/home"
  while read -r status text; do
    case $status in
      '#') echo "# $text" ;;
      *) result "$status" "$heading: $text" ;;
    esac
  done < <(env HOME="$T/home" TMPDIR="$T" TYPIST_PATIENCE=500 PATH="$T/bin:$PATH" \
    /usr/bin/python3 "$SRC/e2e/typist.py" "$root/docs/hacking.md" /dev/null "Your first change" "$heading" 2>&1)
  ok "$heading: it was there to be followed" test $((N - before)) -ge 8
done
# the control file is beside notes, too, where both are made
sed -i '/^| `words` /s/| 0444 | knowledge |/| 0444 | knowledge, note |/' docs/files.md
for name in docs layers tables; do
  ok "lint $name" /usr/bin/python3 "$here/tests/lint/$name.py" "$here"
done
finish
