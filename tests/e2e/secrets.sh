#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Secrets: kept by `ryefs secret`, given to an item whose signed text asks for the name and to no
# other, told by nothing. Two writers and a killed one lose none.
# shellcheck disable=SC2016
. "$(dirname "$0")/fixture.sh"
need jq || finish
unset SEC_ONE SEC_TWO SEC_THREE SEC_NONE
D=$U/.ai/secrets
"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
beside server "$PY" "$E2E/http_server.py" "$T/port"
SERVER=$BESIDE
until_true test -s "$T/port"
URL=http://127.0.0.1:$(<"$T/port")

secret() { "$RYEFS" secret "$@" --project "$P"; }
keep() { printf %s "$2" | secret set "$1" >/dev/null; }
# yaml ID LINE...: a tool on a primitive, its executor first
yaml() {
  local id=$1 executor=$2
  shift 2
  {
    printf '%s\n' "tool_id: ${id#t/}" 'tool_type: test' 'version: "1.0.0"' 'category: t' 'description: a test' \
      "executor_id: rye/core/primitives/$executor" 'requires: [net.http, fs.read]'
    printf '%s\n' "$@"
  } | fx_put "$P" "tools/$id.yaml"
}
run() { converse "$M/tools/t/$1/run" "${2:-}"; } # ID [JSON]: the reply
said() { run "$@" | jq -r '.data.stdout // .error'; }

SHOW='config: {command: /bin/sh, args: [-c, "env | grep ^SEC_ | sort; env | grep -c sesame"]'
yaml t/asks execute "$SHOW}" 'env_config: {env: {SEC_GOT: "<${SEC_ONE}>"}}'
yaml t/list execute "$SHOW, env: [SEC_ONE]}"
yaml t/map execute "$SHOW, env: {SEC_GOT: \"\${SEC_NONE:-none}\${SEC_TWO}\"}}"
yaml t/silent execute "$SHOW}"
yaml t/quiet execute 'config: {command: /bin/sh, args: [-c, "test -n \"$SEC_ONE\" && sleep ${1:-0} && echo given"], env: [SEC_ONE]}'
yaml t/nap execute 'config: {command: /bin/sh, args: [-c, "test -n \"$SEC_ONE\" && sleep 2.'$$' && echo given"], env: [SEC_ONE]}'
yaml t/auth http_client 'config:' "  url: $URL/echo" '  auth: {type: bearer, token: "${SEC_ONE}"}'
yaml t/noauth http_client 'config:' "  url: $URL/echo" '  auth: {type: bearer, token: "${SEC_NONE}"}'
yaml t/lost http_client 'config: {url: "http://127.0.0.1:1/${SEC_ONE}?key=${SEC_ONE}", headers: {X-Key: "${SEC_ONE}"}}'
fx_tool "$P" t/looks 'cat "$HOME/.ai/secrets/"* "$HOME/.ai/secrets/store.enc" 2>/dev/null && echo READ' \
  'ls -A "$HOME/.ai/secrets" 2>/dev/null' 'echo x 2>/dev/null >"$HOME/.ai/secrets/store.enc" && echo WROTE' \
  'env | grep sesame' 'echo end'
fx_sign "$P" --all

# ---- the verb ----

printf 'sesame one\n' | secret set SEC_ONE >"$T/said" 2>&1
is "a value comes from standard input" "$(<"$T/said")" "SEC_ONE is kept"
is "modes are the owner's alone" "$(cd "$D" && stat -c %a . -- * | tr '\n' ' ')" "700 600 600 "
keep SEC_TWO 'sesame two'
like "names and dates are listed" "$(secret list)" '^SEC_ONE +20..-..-..T..:..:..Z$'
lacks "no value is" "$(secret list; secret list --json)" sesame
is "as JSON, too" "$(secret list --json | jq -c 'map(.name)')" '["SEC_ONE","SEC_TWO"]'
lacks "the file shows none" "$(cat "$D"/*)" sesame
secret set SEC_THREE 'sesame three' >"$T/said" 2>&1
is "a value as an argument is a wrong call" $? 2
has "it says why" "$(<"$T/said")" "no argument" "ryefs secret set SEC_THREE"
lacks "and does not repeat it" "$(<"$T/said")" sesame
secret set 'SEC_THREE=sesame' >"$T/said" 2>&1 </dev/null
lacks "nor one behind the name" "$(<"$T/said")" sesame
for name in PATH LD_PRELOAD RYE_RUN PYTHONPATH HOME 1A a-b ''; do
  fails "no secret is called \"$name\"" env RYEFS="$RYEFS" bash -c 'echo x | "$RYEFS" secret set "$1"' - "$name"
done
# at a terminal: what it prints there, its status, and whether the terminal shows what is typed again
cat >"$T/typed.py" <<'PY'
import fcntl, os, pty, subprocess, sys, termios, time

answer, command = sys.argv[1].encode().decode("unicode_escape").encode(), sys.argv[2:]
fd, slave = pty.openpty()
said = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
shown, end = b"", time.monotonic() + 20
while b"shown)" not in shown and time.monotonic() < end:
    shown += os.read(fd, 1000)
while termios.tcgetattr(slave)[3] & termios.ECHO and time.monotonic() < end:
    time.sleep(0.01)
os.write(fd, answer)
status = said.wait(timeout=20)
os.set_blocking(fd, False)
try:
    while True:
        shown += os.read(fd, 1000)
except OSError:
    pass
print(shown.decode().replace("\r\n", "|"), status, bool(termios.tcgetattr(slave)[3] & termios.ECHO))
PY
typed() { timeout 40 "$PY" "$T/typed.py" "$@" 2>&1; }
is "a value is typed unseen" "$(typed 'sesame typed\n' "$RYEFS" secret set SEC_TYPED)" \
  'Value of SEC_TYPED (it is not shown): |SEC_TYPED is kept| 0 True'
is "^C leaves the terminal as it was" "$(typed '\x03' "$RYEFS" secret set SEC_TYPED)" 'Value of SEC_TYPED (it is not shown): | -2 True'
is "so does the end of input" "$(typed '\x04' "$RYEFS" secret set SEC_TYPED)" \
  'Value of SEC_TYPED (it is not shown): |ryefs secret: SEC_TYPED is as it was| 1 True'
secret rm SEC_TYPED >/dev/null
fails "an empty value is a slip" bash -c '"$1" secret set SEC_THREE </dev/null' - "$RYEFS"
secret rm SEC_THREE 2>"$T/said"
is "what is not there cannot be removed" $? 3
keep SEC_THREE 'sesame three'
ok "what is there can" secret rm SEC_THREE
is "and is gone" "$(secret list --json | jq -c 'map(.name)')" '["SEC_ONE","SEC_TWO"]'

# ---- who gets them ----

fx_mount
is "case 114 env_config gets the one it names" "$(said asks)" "$(printf 'SEC_GOT=<sesame one>\nSEC_ONE=sesame one\n2')"
is "so does a list" "$(said list)" "$(printf 'SEC_ONE=sesame one\n1')"
is "and a map" "$(said map)" "$(printf 'SEC_GOT=nonesesame two\nSEC_TWO=sesame two\n2')"
is "another item gets none" "$(said silent)" 0
is "not for the asking in parameters" "$(said silent '{"env":{"SEC_ONE":"${SEC_ONE}"},"SEC_ONE":"x"}')" 0
is "an HTTP tool sends it" "$(run auth | jq -r '[.. | .[]? | strings | select(test("Bearer"))][0]')" "Bearer sesame one"
has "without it, the remedy is named" "$(said noauth)" 'SEC_NONE' 'mend with: ryefs secret set SEC_NONE'
keep SEC_ONE 'sesame new'
is "a new value is used at once" "$(said list)" "$(printf 'SEC_ONE=sesame new\n1')"
printf 'SEC_ONE=from a file\n' >"$P/.env"
is "the project's .env goes before" "$(said list)" "$(printf 'SEC_ONE=from a file\n0')"
rm "$P/.env"
is "the environment, too" "$(SEC_ONE=given "$RYEFS" execute tool:t/list --project "$P" --output)" "$(printf 'SEC_ONE=given\n0')"
is "ryefs execute gives it" "$("$RYEFS" execute tool:t/list --project "$P" --output)" "$(printf 'SEC_ONE=sesame new\n1')"
is "a thread gets it" "$("$RYEFS" threads wait "$("$RYEFS" execute tool:t/quiet --async --json --project "$P" | jq -r '.thread_id // .data.thread_id')" --project "$P")" completed

# ---- where it is not seen ----

grep -q 'mount namespaces' "$M/.ryefs/doctor" || is "a tool finds nothing where they lie" "$(said looks)" end
not_ok "the mount shows none" test -e "$M/spaces/user/secrets"
not_ok "not even by name" cat "$M/spaces/user/secrets/store.enc"
fails "and makes none" mkdir "$M/spaces/user/secrets"
run quiet '{"trace":true}' >"$T/traced"
has "a traced run was given it" "$(<"$T/traced")" given
run lost '{"trace":true}' >"$T/lost"
has "a request that found no server" "$(<"$T/lost")" '"error"'
"$RYEFS" execute tool:t/lost --trace --project "$P" >"$T/executed" 2>&1
"$RYEFS" execute tool:t/quiet --dry-run --trace --json --project "$P" >>"$T/executed" 2>&1
for id in quiet lost; do
  for file in info.json chain.json schema.json trace.json output errors usage.md; do
    cat "$M/tools/t/$id/$file" 2>/dev/null
  done
done >"$T/views"
cat "$M"/.ryefs/* >"$T/ryefs" 2>/dev/null
is "no view, trace, error or log tells it" "$(grep -l sesame "$T"/traced "$T"/lost "$T"/executed "$T"/views "$T"/ryefs "$ERR")" ""
(said nap >"$T/napped") &
ok "it is given to a program" until_true naps 2
is "no command line has it" "$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep -c '^sesame new')" 0
wait $!
is "of a program that was given it" "$(<"$T/napped")" given
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$T" "$U"
  fails "another user reads none" setpriv --reuid=65534 --regid=65534 --clear-groups cat "$D/store.enc"
  lacks "nor is told names" "$(setpriv --reuid=65534 --regid=65534 --clear-groups "$RYEFS" secret list 2>&1)" SEC_
fi

# ---- another key, a damaged file ----

cp "$D/store.enc" "$T/kept"
printf x >>"$D/store.enc"
has "a damaged store is a warning" "$(run silent; run list)" 'no secret is given'
lacks "and no value" "$(run list)" sesame
not_ok "and not overwritten" bash -c 'echo x | "$1" secret set SEC_THREE' - "$RYEFS"
cp "$T/kept" "$D/store.enc"
ok "the mount ends" umount_rye
ok "the signing key is replaced" "$RYEFS" keygen --force --project "$P"
is "the secrets go along" "$(secret list --json | jq -c 'map(.name)')" '["SEC_ONE","SEC_TWO"]'
fx_sign "$P" --all --force
is "values, too" "$("$RYEFS" execute tool:t/list --project "$P" --output)" "$(printf 'SEC_ONE=sesame new\n1')"


# At some moment the store is there and cannot be read: a link to itself is as good as a bad disk.
old=$(<"$U/.ai/config/keys/signing/private_key.pem")
mv "$D/store.enc" "$T/kept"
ln -s store.enc "$D/store.enc"
"$RYEFS" keygen --force --project "$P" >"$T/said" 2>&1
is "a store that cannot be read: no new key" "$? $(<"$U/.ai/config/keys/signing/private_key.pem")" "1 $old"
has "says why, and what does without" "$(<"$T/said")" 'the secrets cannot be opened now' store.enc --forget-secrets
not_ok "nor is it taken for none" bash -c 'echo x | "$1" secret set SEC_THREE --project "$2"' - "$RYEFS" "$P"
rm "$D/store.enc"
mv "$T/kept" "$D/store.enc"
mv "$D" "$T/aside"
ln -s secrets "$D"
not_ok "a directory that cannot be read: none either" "$RYEFS" keygen --force --project "$P"
is "the key is the old one" "$(<"$U/.ai/config/keys/signing/private_key.pem")" "$old"
rm "$D"
mv "$T/aside" "$D"
is "and all secrets are there" "$(secret list --json | jq -c 'map(.name)')" '["SEC_ONE","SEC_TWO"]'
cp "$D/store.enc" "$T/kept"
printf x >>"$D/store.enc"
not_ok "a damaged one: no new key" "$RYEFS" keygen --force --project "$P"
"$RYEFS" keygen --forget-secrets --project "$P" >"$T/said" 2>&1
is "the word alone replaces nothing" $? 2
ok "unless it is said" "$RYEFS" keygen --force --forget-secrets --project "$P"
is "none is there then" "$(secret list --json)" '[]'
is "the damaged one lies aside" "$(cmp -s "$D/store.enc.old" <(cat "$T/kept"; printf x) && echo aside)" aside
# the old key opens what it had sealed
mv "$U/.ai/config/keys/signing/private_key.pem.old" "$U/.ai/config/keys/signing/private_key.pem"
mv "$U/.ai/config/keys/signing/public_key.pem.old" "$U/.ai/config/keys/signing/public_key.pem"
mv "$T/kept" "$D/store.enc"
rm "$D/store.enc.old"
is "with the key that was kept as .old they come back" "$(secret list --json | jq -c 'map(.name)')" '["SEC_ONE","SEC_TWO"]'

# ---- two at once, and killed ones ----

for i in $(seq 16); do keep "SEC_P$i" "sesame $i" & done
wait $(jobs -p | grep -vE "^($WATCHDOG|$SERVER)$")
is "sixteen at once: all are kept" "$(secret list --json | jq '[.[] | select(.name | startswith("SEC_P"))] | length')" 16
broken=0 killed=0 i=0
while [ $i -lt 40 ]; do
  i=$((i + 1))
  before=$("$RYEFS" execute tool:t/list --project "$P" --output)
  "$RYEFS" secret set SEC_ONE -q --project "$P" <<<"sesame $i" >/dev/null 2>&1 &
  pid=$!
  sleep "0.0$(printf %02d $((RANDOM % 40)))"
  kill -9 "$pid" 2>/dev/null && killed=$((killed + 1))
  wait "$pid" 2>/dev/null
  after=$("$RYEFS" execute tool:t/list --project "$P" --output)
  case $after in
    "$before" | "$(printf 'SEC_ONE=sesame %s\n1' $i)") ;;
    *) broken=$((broken + 1)) ;;
  esac
done
is "40 rounds, $killed killed: the old value or the new one" "$broken" 0
keep SEC_ONE last
is "nothing lies beside it after the next" "$(ls -A "$D" | tr '\n' ' ')" "dates.json store.enc "
is "all others are there" "$(secret list --json | jq length)" 18
finish
