#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every example of ryefs(7) is typed at a mount of the sample workspace and must work.
set -u
(exec 3<>/dev/fuse) 2>/dev/null || exit 77
command -v jq >/dev/null || exit 77
tmp=$(mktemp -d)
export HOME=$tmp
m=$tmp/mount
trap '"$RYEFS" umount "$m" >/dev/null 2>&1; rm -rf "$tmp"' EXIT
mkdir "$m" "$tmp/bin"
ln -s "$RYEFS" "$tmp/bin/ryefs"
export PATH="$tmp/bin:$PATH"
cd "$tmp" || exit 1
ryefs init -q --sample work >/dev/null && ryefs work "$m" 2>/dev/null || {
  echo "manual: cannot mount"
  exit 1
}
cd work || exit 1

# examples about threads want one that has just been started
echo '{"command":"sleep 1; echo done"}' >"$m/tools/rye/bash/async"
id=$(jq -r .thread_id "$m/tools/rye/bash/async")
export id

failed=0
while IFS= read -r line; do
  case $line in
    *' /m/'*'/fork' | 'tail -f '* | 'vi '*) continue ;; # a model, an endless follower, a person
    'echo cancel '*) # of the one above, which has ended meanwhile
      echo '{"command":"sleep 60"}' >"$m/tools/rye/bash/async"
      id=$(jq -r .thread_id "$m/tools/rye/bash/async")
      ;;
    less\ *) command -v less >/dev/null || continue ;;
  esac
  typed=${line//\/m\/t\//$m/tools/sample/count-words/}
  said=$(eval "${typed//\/m\//$m/}" 2>&1 </dev/null) || {
    echo "manual: $line"
    echo "$said" | head -5
    failed=$((failed + 1))
  }
done < <(sed -n 's/^\t\*\(.*\)\*$/\1/p' "$RYE_TEST_SRC/../docs/man/ryefs.7.scd" | sed 's/\\\([*]\)/\1/g')
[ "$failed" = 0 ]
