#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The bundle's keys tool, as its owner uses it through the mount: it may do what the verbs may.
# The same word in an item that no bundle brought, or in a child of a run, opens nothing.
. "$(dirname "$0")/fixture.sh"

K=tools/rye/core/keys/keys
keys() { # MESSAGE: the reply
  printf '%s\n' "$1" 2>/dev/null >"$M/$K/run"
  cat "$M/$K/run"
}

"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
fx_tool "$P" t/grab '# requires: [fs.read, fs.write, keys.manage]' \
  'ls -A "$HOME/.ai/config/keys/signing"' \
  'mkdir -p "$HOME/.ai/config/keys/trusted" 2>/dev/null' \
  'echo x 2>/dev/null >"$HOME/.ai/config/keys/trusted/0000000000000000.toml" && echo TRUST' 'echo end'
fx_tool "$P" t/child '# requires: [fs.read, fs.write, rye.execute.tool.rye.core.keys.keys]' \
  "echo '{\"action\":\"remove\",\"fingerprint\":\"f0ff50dacf109dea\"}' 2>/dev/null >$M/$K/run && echo REMOVED" \
  "cat $M/$K/run | cut -c1-300" 'echo end'
fx_sign "$P" --all
fx_mount

has "info names the signing key" "$(keys '{"action":"info"}')" '"status":"success"' '"fingerprint":"f0ff50dacf109dea"'
has "list has it" "$(keys '{"action":"list"}')" f0ff50dacf109dea signing
has "another key is not made over it" "$(keys '{"action":"generate"}')" '"status":"error"' force
mkdir -p "$T/other"
"$RYEFS" keygen --user "$T/other" -q >"$T/said"
other=$(ls "$T/other/.ai/config/keys/trusted" | sed 's/.toml//')
cp "$T/other/.ai/config/keys/trusted/$other.toml" "$P/other.toml"
has "a key of the project is trusted" "$(keys '{"action":"trust","key_file":"other.toml"}')" '"status":"success"'
ok "and is in the trust store" test -e "$U/.ai/config/keys/trusted/$other.toml"
has "and forgotten" "$(keys "{\"action\":\"remove\",\"fingerprint\":\"$other\"}")" '"status":"success"'
not_ok "and is gone" test -e "$U/.ai/config/keys/trusted/$other.toml"

echo '{}' >"$M/tools/t/grab/run"
is "a project's tool that says the same word" "$(<"$M/tools/t/grab/output")" end
echo '{}' >"$M/tools/t/child/run"
lacks "a child of a run" "$(<"$M/tools/t/child/output")" REMOVED
ok "changed no trust" test -e "$U/.ai/config/keys/trusted/f0ff50dacf109dea.toml"
ok "the mount ends" umount_rye

fx_mount nosign
has "nosign: no key is trusted" "$(keys '{"action":"trust","key_file":"other.toml"}')" '"status":"error"'
not_ok "and none was" test -e "$U/.ai/config/keys/trusted/$other.toml"
ok "the mount ends" umount_rye
finish
