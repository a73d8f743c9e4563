#!/bin/sh
# SPDX-License-Identifier: MIT
# room_compiler.sh: stands for the compiler @CC@ in walks.sh. The sources of a library that lie in one directory
# are compiled as one, in the place of their first; the objects of the others are empty files. The first is compiled
# again when the list of the room changes: by @ROOMS@, since clang, where it is, needs three fifths of the time.
# Whatever else is asked for, the compiler does as it is asked.
src= out= dep= before=
for word; do
  case $before in
    -o) out=$word ;;
    -MF) dep=$word ;;
    -c) src=$word ;;
  esac
  before=$word
done
case $out in
  *.a.p/*.c.o) ;;
  *) exec @CC@ "$@" -O0 -g0 -U_FORTIFY_SOURCE -Wno-format-truncation ;;
esac

# for each directory a source with its list, made when the build is configured: "// FIRST", then includes
rooms=@T@/rooms
if [ ! -e $rooms/made ] || [ build.ninja -nt $rooms/made ]; then
  mkdir -p $rooms
  now=$(mktemp -d $rooms/now.XXXXXX)
  touch -r build.ninja $now/made
  awk -v now="$now" -v top="$PWD/" '/^build [^ ]*\.a\.p\/[^ ]*\.c\.o: c_COMPILER / {
    dir = $4; sub(/[^\/]*$/, "", dir); gsub("/", "_", dir)
    lib = $2; sub(/\/[^\/]*$/, "", lib); gsub("/", "_", lib)
    to = now "/" lib "." dir ".c"
    if (!(to in seen)) print "// " $4 > to
    seen[to]
    print "#include \"" top $4 "\"" > to
  }' build.ninja
  mv $now/*.c $now/made $rooms/ && rmdir $now
fi
lib=${out%/*} dir=${src%/*}/ room=
flat() { # WORD: its slashes
  room=
  set -- "$1"
  while case $1 in */*) ;; *) false ;; esac do
    room=${room}${1%%/*}_
    set -- "${1#*/}"
  done
  room=$room$1
}
flat "$lib" && lib=$room
flat "$dir" && dir=$room
room=$rooms/$lib.$dir.c
read -r _ first <"$room" || exit 1
# compile SOURCE OBJECT ARG...: what is asked for, with another source and object
compile() {
  to_src=$1 to_out=$2 n=$(($# - 2))
  shift 2
  while [ $n -gt 0 ]; do
    word=$1
    shift
    case $before in
      -o) word=$to_out ;;
      -c) word=$to_src ;;
    esac
    before=$word
    [ "$word" != "$to_out" ] || before=
    set -- "$@" "$word"
    n=$((n - 1))
  done
  @ROOMS@ "$@" -O0 -g0 -w -U_FORTIFY_SOURCE
}
if [ "$first" != "$src" ]; then
  printf '%s: %s\n' "$out" "$src" >"$dep"
  : >"$out"
  exit
fi
if ! compile "$room" "$out" "$@" 2>/dev/null; then
  # two of them use a name that is their own, or there is a fault to show
  objects=
  : >"$dep.all"
  for one in $(sed -n 's/^#include "\(.*\)"$/\1/p' "$room"); do
    compile "$one" "$room.${one##*/}.o" "$@" || exit
    cat "$dep" >>"$dep.all"
    objects="$objects $room.${one##*/}.o"
  done
  # shellcheck disable=SC2086
  ld -r -o "$out" $objects || exit
  mv "$dep.all" "$dep"
fi
[ ! -e "${src%/*}/meson.build" ] || printf '%s: %s\n' "$out" "${src%/*}/meson.build" >>"$dep"
