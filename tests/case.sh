#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# case.sh golden|should-fail DIR: runs DIR/cmd in a private copy of DIR.
#
# golden:      cmd must end with 0 and print exactly DIR/expect.
# should-fail: cmd must end with 1..125 and say, on stderr, every line of DIR/why.
# 77 from cmd is a skip. $RYEFS is the binary and `ryefs` is on PATH.
set -u
kind=$1
dir=$(cd "$2" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
cp -R "$dir/." "$tmp/case" || exit 1
mkdir "$tmp/home" "$tmp/bin"
ln -s "$RYEFS" "$tmp/bin/ryefs"
export HOME="$tmp/home" PATH="$tmp/bin:$PATH" LC_ALL=C TZ=UTC
unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME XDG_RUNTIME_DIR

cd "$tmp/case" || exit 1
sh ./cmd >"$tmp/out" 2>"$tmp/err" </dev/null
rc=$?
[ "$rc" = 77 ] && exit 77

fault() {
  echo "$dir: $*"
  echo "--- stdout"
  cat "$tmp/out"
  echo "--- stderr"
  cat "$tmp/err"
  exit 1
}

grep -qE 'Sanitizer|runtime error:' "$tmp/err" && fault "a sanitizer complains"
if [ "$kind" = golden ]; then
  [ "$rc" = 0 ] || fault "exit $rc, wanted 0"
  diff -u "$dir/expect" "$tmp/out" || fault "stdout differs from expect"
  exit 0
fi
[ "$rc" -ge 1 ] && [ "$rc" -le 125 ] || fault "exit $rc, wanted a refusal"
while IFS= read -r line; do
  grep -qF -- "$line" "$tmp/err" || fault "stderr does not say: $line"
done <"$dir/why"
exit 0
