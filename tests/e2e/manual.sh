#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every example of ryefs(7) is typed at a mount of the sample workspace, and works; so are those of
# ryefs(1).
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

PAGE=$SRC/../docs/man/ryefs.7.scd
# shown SECTION...: the commands of its literal blocks
shown() {
  awk -v want=" $* " '/^# / { section = " " substr($0, 3) " " }
    /^```$/ { inside = !inside }
    inside && /^\$ / && index(want, section) { print substr($0, 3) }' "$PAGE" | sed 's/\\\\/\\/g'
}
type_it() {
  local rc typed=${1//\/m\/t\//$m/tools/sample/count-words/}
  eval "${typed//\/m\//$m/}" >"$T/said" 2>&1 </dev/null
  rc=$?
  result "$rc" "$1"
  [ "$rc" = 0 ] || sed 's/^/# /' "$T/said" | head -5
}

while IFS= read -r line; do
  case $line in
    *'/fork' | 'tail -f '* | 'vi '*) continue ;; # a model, an endless follower, a person
    'less '*) command -v less >/dev/null || continue ;;
    'echo cancel '*) thread 'sleep 60' ;;
    # however slow the machine is, it has not ended when it is looked for
    'grep -l running '*) thread 'sleep 2; echo done' ;;
  esac
  type_it "$line"
done < <(sed -n 's/^\t\*\(.*\)\*$/\1/p' "$PAGE" | sed 's/\\\([*]\)/\1/g')
mapfile -t lines < <(shown MESSAGES CONVERSATIONS FROM A SANDBOX)
is "the literal blocks have commands, too" "${#lines[@]}" 6
for line in "${lines[@]}"; do
  type_it "$line"
done

# ---- what it says of programs and refused items ----
item=knowledge/sample/house-rules
echo '- changed' >>"$T/work/.ai/$item.md"
until_true test -L "$m/$item.md"
reason="content changed since signing; mend with: ryefs sign knowledge:sample/house-rules"
mapfile -t lines < <(shown REFUSED ITEMS)
is "three lines show a refused item" "${#lines[@]}" 3
type_it "${lines[0]}"
like "as it is shown" "$(<"$T/said")" "house-rules.md -> \.why/EBADMSG: $reason\$"
is "the next cannot be read" "$(eval "${lines[1]//\/m\//$m/}" 2>&1)" "cat: $m/$item.md: Permission denied"
type_it "${lines[2]}"
is "as it is shown" "$(<"$T/said")" "$reason"
like "the reason is one read away" "$(<"$m/$item/verify")" "^content changed since signing; mend with: ryefs sign knowledge:sample/house-rules\$"
if command -v node >/dev/null; then
  like "node names a refused item's errno" "$(node -e 'require("fs").readFileSync(process.argv[1])' "$m/$item.md" 2>&1)" "EACCES: permission denied"
fi
if command -v vim >/dev/null; then
  echo '{"text":" "}' >"$T/message"
  vim -es -u NONE -c "e $T/message" -c "w! $m/tools/sample/count-words/run" -c "redir! > $T/vim" -c messages -c 'qa!' >/dev/null 2>&1 </dev/null
  like "vim has other words for a run that failed" "$(<"$T/vim")" "E514"
  like "and here is why" "$(tail -n 1 "$m/.ryefs/errors")" "the text holds no word"
fi
if command -v zip >/dev/null; then
  zip -qr "$T/short.zip" "$m/knowledge/sample" >"$T/said" 2>&1
  is "zip leaves a refused item out and ends with 18" "$?" 18
  like "and says so" "$(<"$T/said")" "zip warning: Permission denied"
  not_ok "it is not there" sh -c "/usr/bin/python3 -m zipfile -l '$T/short.zip' | grep house-rules"
  ok "zip -y keeps the link" sh -c "zip -qry '$T/whole.zip' '$m/knowledge/sample' && /usr/bin/python3 -m zipfile -l '$T/whole.zip' | grep house-rules"
fi
ok "shutil.copytree raises, or keeps links" /usr/bin/python3 -c '
import os, shutil, sys
shutil.copytree(sys.argv[1], sys.argv[2] + "/links", symlinks=True)
assert os.path.islink(sys.argv[2] + "/links/house-rules.md")
try:
    shutil.copytree(sys.argv[1], sys.argv[2] + "/rest")
except shutil.Error:
    sys.exit(0)
sys.exit(1)' "$m/knowledge/sample" "$T"
not_ok "ryefs verify is not content" ryefs verify
ok "umount" ryefs umount "$m"

# ---- ryefs(1) ----
PAGE=$SRC/../docs/man/ryefs.1.scd
export HOME=$T/home
mapfile -t lines < <(shown EXAMPLES)
is "ryefs(1) has examples" "${#lines[@]}" 6
for line in "${lines[@]}"; do
  type_it "$line"
done
not_ok "the last one was umount" mounted "$HOME/rye"
finish
