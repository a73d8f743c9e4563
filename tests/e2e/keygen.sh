#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Making a key never leaves half of one: not when the process is killed, not on a full disk.
# The old pair or the new one is there afterwards, whole, and no key material lies beside it.
. "$(dirname "$0")/lib.sh"

D=$U/.ai/config/keys/signing
rye() { env USER_SPACE="$U" HOME="$U" "$RYEFS" "$@"; }

# Both halves belong together: something that they sign verifies.
pair_works() {
  printf '# version: "1.0.0"\n# tool_type: bash\n# description: says nothing\n# category: t\n# executor_id: rye/core/runtimes/bash/bash\n:\n' >"$P/.ai/tools/t/a.sh"
  if ! rye sign tool:t/a --project "$P" >"$T/said" 2>&1; then
    # killed when the keys were in place and not trusted: sign says so, keygen does the rest
    grep -q 'mend with: ryefs trust self' "$T/said" || return 1
    finished=$((finished + 1))
    rye keygen --project "$P" >>"$T/said" 2>&1 && rye sign tool:t/a --project "$P" >>"$T/said" 2>&1 || return 1
  fi
  rye verify tool:t/a --project "$P" >>"$T/said" 2>&1
}

leftovers() { find "$D" -name '.rye*' | head -3; }

KINDS='private_key.pem public_key.pem box_key.pem box_pub.pem'
count() { local n=0 f; for f in $KINDS; do [ -f "$D/$f" ] && n=$((n + 1)); done; echo "$n"; }

finished=0
mkdir "$P/.ai/tools/t"
ok "a first key" rye keygen --project "$P"
is "has its four files" "$(count)" 4
is "the private ones are private" "$(stat -c %a "$D/private_key.pem" "$D/box_key.pem" "$D" | tr '\n' ' ')" "600 600 700 "
is "and nothing lies beside them" "$(leftovers)" ""

# ---- killed at some moment ----

broken=0 killed=0
for i in $(seq 1 60); do
  # itself, not a shell that waits for it
  env USER_SPACE="$U" HOME="$U" "$RYEFS" keygen --force --project "$P" >/dev/null 2>&1 &
  pid=$!
  sleep "0.0$(printf %03d $((RANDOM % 50)))"
  kill -9 "$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
  [ $? != 137 ] || killed=$((killed + 1))
  if ! pair_works || [ -n "$(leftovers)" ] || [ "$(count)" != 4 ]; then
    broken=$((broken + 1))
    { echo "round $i:"; cat "$T/said"; ls -A "$D"; } | sed 's/^/# /'
  fi
done
is "60 rounds, $killed killed, $finished finished: each time a whole pair" "$broken" 0
finished=0

# ---- stopped at each step, without luck ----

old=$(<"$D/private_key.pem")
ok "a key in the place of another" rye keygen --force --project "$P"
is "the old one stays beside it" "$(<"$D/private_key.pem.old")$(stat -c %a "$D/private_key.pem.old")" "${old}600"
rm "$U"/.ai/config/keys/trusted/*.toml
pair_works && is "what was not trusted yet is told by sign, and keygen finishes it" "$finished" 1
ok "it is trusted then" rye verify tool:t/a --project "$P"
rm "$U"/.ai/config/keys/trusted/*.toml
ok "init finishes it, too" rye init "$T/other"
ok "as sign sees" rye sign --force tool:t/a --project "$P"
not_ok "a key that is there and trusted is not replaced" rye keygen --project "$P"

# What a process leaves that ends right before and right after the deciding rename.
before=$(<"$D/public_key.pem")
mkdir "$D/.rye-new" && cp "$D"/private_key.pem "$D/.rye-new" && : >"$D/.rye-0123456789abcdef.tmp"
ok "with a stage that was not decided the old pair works" pair_works
is "and it is gone" "$(leftovers)" ""
is "the pair is the old one" "$(<"$D/public_key.pem")" "$before"
mkdir "$T/old" && cp "$D"/*.pem "$T/old"
ok "another pair" rye keygen --force --project "$P"
new=$(<"$D/public_key.pem")
mkdir "$D/.rye-new" && mv "$D"/public_key.pem "$D"/box_*.pem "$D/.rye-new" && cp "$T/old"/public_key.pem "$T/old"/box_*.pem "$D"
ok "with one that was decided the new pair works" pair_works
is "and it is gone too" "$(leftovers)" ""
is "the pair is the new one" "$(<"$D/public_key.pem")" "$new"
is "and the box pair with it" "$(cmp -s "$D/box_key.pem" "$T/old/box_key.pem" && echo old)" ""

# ---- two at once ----

for i in 1 2 3 4 5 6 7 8; do rye keygen --force --project "$P" >/dev/null 2>&1 & done
wait $(jobs -p | grep -v "^$WATCHDOG$")
ok "after eight at once one whole pair" pair_works

# ---- no room ----

# Files of at most so many bytes: a private key needs 119, a public one 113, a box key 43.
full=0
for limit in 0 50 115; do
  before=$(cat "$D"/*.pem)
  (trap '' XFSZ; python3 - "$limit" "$RYEFS" keygen --force --project "$P" <<'PY'
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.argv[2], sys.argv[2:])
PY
  ) >/dev/null 2>&1 && full=$((full + 1))
  [ "$before" = "$(cat "$D"/*.pem)" ] && [ -z "$(leftovers)" ] || full=$((full + 1))
done
is "without room for its files nothing has changed" "$full" 0

# A disk with room for so many files, from too few for one more to enough for all.
small_disk() {
  local n size
  for n in $(seq 8 24); do
    mount -t tmpfs -o "size=1m,nr_inodes=$n" ryefs-test "$T/disk" || return 1
    if mkdir -p "$T/disk/.ai/config/keys" && cp -r "$U/.ai/config/keys/signing" "$T/disk/.ai/config/keys" 2>/dev/null; then
      USER_SPACE=$T/disk HOME=$T/disk "$RYEFS" keygen --force --project "$P" >/dev/null 2>&1 || echo "full $n"
      D=$T/disk/.ai/config/keys/signing
      openssl pkey -in "$D/private_key.pem" -pubout | cmp -s - "$D/public_key.pem" || echo "HALF $n"
      [ -z "$(find "$D" -name '.rye*')" ] || echo "LEFT $n"
    fi
    umount "$T/disk"
  done
}
if [ "$(id -u)" = 0 ] && command -v openssl >/dev/null && unshare -m true 2>/dev/null; then
  mkdir "$T/disk"
  export -f small_disk
  said=$(T=$T U=$U P=$P RYEFS=$RYEFS unshare -m bash -c small_disk 2>&1)
  like "a disk was full in the middle of it" "$said" "^full"
  is "and never left half a pair" "$(printf '%s\n' "$said" | grep -v '^full')" ""
fi
finish
