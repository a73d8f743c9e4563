#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tools that try: signing keys, records of threads, trust, other people's shared memory.
. "$(dirname "$0")/fixture.sh"

"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
fx_tool "$P" t/tries \
  'cat "$HOME/.ai/config/keys/signing/"* 2>/dev/null && echo KEY' \
  'ls -A "$HOME/.ai/config/keys/signing" 2>/dev/null' \
  'mkdir -p .ai/state/threads 2>/dev/null; echo x 2>/dev/null >.ai/state/threads/registry.db && echo STATE' \
  'mv .ai .old 2>/dev/null && echo MOVED' \
  'mkdir -p "$HOME/.ai/config/keys/trusted" "$HOME/.ai/config/keys/automatic" 2>/dev/null' \
  'for sub in trusted automatic; do' \
  '  echo x 2>/dev/null >"$HOME/.ai/config/keys/$sub/0000000000000000.toml" && echo TRUST' \
  'done' \
  'cat "/dev/shm/rye-'$$'" 2>/dev/null && echo SHM' \
  'echo mine >/dev/shm/mine && cat /dev/shm/mine' \
  'cat "$PROBE/knowledge/good.md" | head -1' \
  'echo written >note && cat note'
fx_knowledge "$P" good "True."
sed -i "s#\"\$PROBE/#\"$M/#" "$P/.ai/tools/t/tries.sh"
fx_sign "$P" --all
echo others >"/dev/shm/rye-$$"

tries() {
  echo '{}' >"$M/tools/t/tries/run"
  is "$1: what it could do" "$(<"$M/tools/t/tries/output")" "$(printf 'mine\n%s\nwritten' "$(head -1 "$M/knowledge/good.md")")"
  lacks "$1: nothing was left out" "$(<"$M/tools/t/tries/run")" sandbox_skipped
}

fx_mount
if grep -q 'mount namespaces' "$M/.ryefs/doctor"; then
  rm -f "/dev/shm/rye-$$"
  umount_rye
  skip "no mount namespaces here"
fi
lacks "doctor has nothing to say" "$(<"$M/.ryefs/doctor")" "user space lies"
tries "a project"
tries "once more"
ok "the mount ends" umount_rye

# ---- what is mounted in the project keeps its own flags, and goes when it is unmounted ----
if [ "$(id -u)" = 0 ]; then
  # shellcheck disable=SC2016
  fx_tool "$P" t/mounts '# requires: [fs.write]' 'for d in ro rw; do (echo x >"$2/$d/x") 2>/dev/null && echo "$d written"; done' \
    'chmod 700 "$2/ro" 2>/dev/null && echo ro changed' 'true'
  fx_sign "$P" tool:t/mounts
  mkdir "$P/ro" "$P/rw"
  at_end 'umount -lq "$P/ro" "$P/rw"'
  mount -t tmpfs none "$P/rw" && mount -t tmpfs none "$P/ro" && mount -o remount,bind,ro "$P/ro"
  fx_mount
  has "a file system in the project is written to" "$(echo '{}' >"$M/tools/t/mounts/run"; cat "$M/tools/t/mounts/output")" "rw written"
  lacks "a read-only one is not" "$(<"$M/tools/t/mounts/output")" ro
  ok "they are unmounted" umount "$P/ro" "$P/rw"
  ok "the mount ends" umount_rye
fi

# the project is the home directory
allow "project key file .*: the user's or system's file decides"
cp -r "$U/.ai" "$P/"
U=$P
HOME=$U USER_SPACE=$U
fx_mount
tries "at home"
is "trust is as it was" "$(ls "$P/.ai/config/keys/trusted")" f0ff50dacf109dea.toml
has "doctor says so" "$(<"$M/.ryefs/doctor")" "the user space lies in the project"
has "the verb as well" "$("$RYEFS" doctor --project "$P" --user "$U" --system "$S" 2>&1)" "your user space lies in it"
rm -f "/dev/shm/rye-$$"
finish
