#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The commands of the README's screen of shell, typed one after another, all work.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"
command -v make >/dev/null || skip "make is not installed"

export HOME=$T USER_SPACE=$T/home
m=$T/mount
mkdir "$m" "$T/bin" "$T/work" "$USER_SPACE"
ln -s "$RYEFS" "$T/bin/ryefs"
export PATH="$T/bin:$PATH"
printf 'all check:\n\t@echo $@\n' >"$T/work/Makefile"
cd "$T" || exit 1

while IFS= read -r line; do
  eval "${line//\/mnt\/rye/$m}" >"$T/said" 2>&1 </dev/null
  rc=$?
  result "$rc" "$line"
  [ "$rc" = 0 ] || sed 's/^/# /' "$T/said" | head -5
done < <(sed -n '/^## A screen of shell/,/^## /s/^    \$ //p' "$SRC/../README.md")
not_ok "it has ended with umount" mounted "$m"
finish
