#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every example of ryefs(7) is typed at a mount of the sample workspace, and works.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

export HOME=$T USER_SPACE=$T/home
m=$T/mount
mkdir "$m" "$T/bin" "$USER_SPACE"
ln -s "$RYEFS" "$T/bin/ryefs"
export PATH="$T/bin:$PATH"
ryefs init -q --sample "$T/work" >/dev/null && ryefs "$T/work" "$m" 2>/dev/null || {
  echo "Bail out! cannot mount"
  exit 1
}
cd "$T/work" || exit 1

# examples about threads want one that has just been started
thread() {
  echo "{\"command\":\"$1\"}" >"$m/tools/rye/bash/async"
  id=$(jq -r .thread_id "$m/tools/rye/bash/async")
}
thread 'sleep 1; echo done'

while IFS= read -r line; do
  case $line in
    *'/fork' | 'tail -f '* | 'vi '*) continue ;; # a model, an endless follower, a person
    'less '*) command -v less >/dev/null || continue ;;
    'echo cancel '*) thread 'sleep 60' ;;
    # however slow the machine is, it has not ended when it is looked for
    'grep -l running '*) thread 'sleep 2; echo done' ;;
  esac
  typed=${line//\/m\/t\//$m/tools/sample/count-words/}
  eval "${typed//\/m\//$m/}" >"$T/said" 2>&1 </dev/null
  rc=$?
  result "$rc" "$line"
  [ "$rc" = 0 ] || sed 's/^/# /' "$T/said" | head -5
done < <(sed -n 's/^\t\*\(.*\)\*$/\1/p' "$SRC/../docs/man/ryefs.7.scd" | sed 's/\\\([*]\)/\1/g')
ok "umount" ryefs umount "$m"
finish
