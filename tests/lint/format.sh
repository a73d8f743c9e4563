#!/bin/sh
# SPDX-License-Identifier: MIT
# format.sh ROOT: every C file is as clang-format leaves it. Versions format differently, so any
# but version 14 is a skip.
set -eu
want=14
cd "$1"
tool=
for t in clang-format-$want clang-format; do
  if command -v "$t" >/dev/null 2>&1 && "$t" --version | grep -q " version $want\."; then
    tool=$t
    break
  fi
done
if [ -z "$tool" ]; then
  echo "clang-format $want is not installed"
  exit 77
fi
find engine fs tests -name corpus -prune -o -name vectors -prune -o \
  -name '*.[ch]' -print0 2>/dev/null |
  xargs -0 -r -n 24 -P 2 "$tool" --dry-run -Werror
