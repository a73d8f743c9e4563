# SPDX-License-Identifier: MIT
# lib.sh: what scripts/build, scripts/test and scripts/ci.sh share. Sourced by bash,
# from the top of the source tree.

# Debian's meson runs under Debian's python3; one found earlier on PATH may belong
# to a pyenv without the modules it wants.
MESON=/usr/bin/meson
[ -x "$MESON" ] || MESON=meson
PYTHON=/usr/bin/python3
[ -x "$PYTHON" ] || PYTHON=python3

# configure DIR ARG...: makes the build tree once, and again when it is asked for with other
# arguments. One that was made for another source tree (copied, moved) is made anew.
configure() {
  local dir=$1
  shift
  if [ -e "$dir" ] && ! grep -qF "\"source\": \"$PWD\"" "$dir/meson-info/meson-info.json" 2>/dev/null; then
    echo "configure: $dir is not a build tree of $PWD, making it anew"
    rm -rf "$dir"
  fi
  if [ ! -f "$dir/build.ninja" ]; then
    "$MESON" setup "$dir" "$@"
  elif [ $# != 0 ] && [ "$*" != "$(cat "$dir/asked-for" 2>/dev/null)" ]; then
    "$MESON" configure "$dir" "$@"
  fi
  [ $# = 0 ] || echo "$*" >"$dir/asked-for"
}

# compile DIR: JOBS limits the parallel compilers.
compile() {
  ninja -C "$1" ${JOBS:+-j "$JOBS"}
}
