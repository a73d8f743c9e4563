#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A project changes hands: whoever gets a copy sees who signed it and the command that trusts the
# key, types that command as it is shown, and reads. Before that the copy vouches for nothing.
. "$(dirname "$0")/lib.sh"
[ -x /usr/bin/python3 ] || skip "/usr/bin/python3 is not installed"

unset USER_SPACE RYE_SIGNING_KEY_DIR
mkdir "$T/ann" "$T/bob" "$T/bin"
cp "$RYEFS" "$T/bin/ryefs"
RYEFS=$T/bin/ryefs
chmod 755 "$T"
ann() { env HOME="$T/ann" "$RYEFS" "$@"; }

# The other person is another user where this one may become one and mount.
as() { env "$@"; }
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && [ -u "$(command -v fusermount3)" ] &&
  setpriv --reuid 65534 --regid 65534 --clear-groups sh -c "test -w /dev/fuse && test -x '$RYEFS'"; then
  as() { setpriv --reuid 65534 --regid 65534 --clear-groups env "$@"; }
fi
bob() { (cd "$T/copy" && as HOME="$T/bob" PATH="$T/bin:$PATH" "$@"); }

# Types what comes first at a terminal, and ANSWER when it is asked.
cat >"$T/typed.py" <<'PY'
import os, pty, sys
answer, line = sys.argv[1], sys.argv[2]
pid, fd = pty.fork()
if not pid:
    os.execvp('sh', ['sh', '-c', line])
said, asked = b'', False
while True:
    try:
        got = os.read(fd, 4096)
    except OSError:
        break
    if not got:
        break
    said += got
    if not asked and b'[y/N] ' in said:
        asked = True
        os.write(fd, answer.encode() + b'\n')
sys.stdout.write(said.decode().replace('\r', ''))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
chmod 644 "$T/typed.py"
typed() { bob /usr/bin/python3 "$T/typed.py" "$1" "$2"; }

ok "somebody makes a project" ann init --sample "$T/work"
FP=$(ls "$T/ann/.ai/config/keys/trusted" | cut -c1-16)
is "the public key lies in it" "$(ls "$T/work/.ai/config/keys/trusted")" "$FP.toml"
is "and nothing private" "$(grep -rl PRIVATE "$T/work")" ""
is "its owner's doctor has nothing to say of it" "$(ann doctor --project "$T/work" 2>&1 | grep -c "key file")" 0
cp -R "$T/work" "$T/copy"
mkdir "$T/copy/mnt"
[ "$(id -u)" != 0 ] || chown -R 65534:65534 "$T/copy" "$T/bob"
M=$T/copy/mnt

# ---- somebody else reads it ----

bob ryefs "$T/copy" "$M" -o "system=$S" >"$T/said" 2>&1
is "the other one mounts the copy" $? 0
like "ls -l shows who signed, and the command" "$(bob ls -l mnt/directives/sample)" \
  "welcome\.md -> \.why/ENOKEY: signed by a key that is not trusted; mend with: ryefs trust $FP\$"
line=$(bob readlink mnt/directives/sample/welcome.md | sed 's/.*mend with: //')
bob $line >"$T/said" 2>&1 </dev/null
is "without a terminal the command is refused" $? 5
like "it says why" "$(<"$T/said")" "standard input is not a terminal"
like "and how" "$(<"$T/said")" "^mend with: ryefs trust --yes $FP\$"
typed n "$line" >"$T/said"
is "no is no" $? 5
is "and leaves nothing" "$(ls "$T/bob/.ai/config/keys/trusted" 2>/dev/null)" ""
errno "the item is refused still" EACCES bob cat mnt/directives/sample/welcome.md
typed y "$line" >"$T/said"
is "typed as it is shown, with a yes, it works" $? 0
like "it has shown the owner" "$(<"$T/said")" "^owner  $(id -un), as the file says\$"
like "and the file" "$(<"$T/said")" "^file   $T/copy/\.ai/config/keys/trusted/$FP\.toml \(project space\)\$"
is "the key is in the other one's own space" "$(ls "$T/bob/.ai/config/keys/trusted")" "$FP.toml"
ok "and what it signed is read" until_true bob cat mnt/directives/sample/welcome.md
ok "asked once: it is trusted" bob $line
ok "the mount ends" bob ryefs umount "$M"

# ---- the other one signs ----

ok "the other one makes a key" bob ryefs keygen
ok "and signs an item" bob ryefs sign knowledge:sample/house-rules
is "now two public keys lie there" "$(ls "$T/copy/.ai/config/keys/trusted" | wc -l)" 2

# ---- where the file is missing ----

rm -r "$T/copy/.ai/config/keys"
rm -r "$T/bob/.ai/config/keys/trusted"
bob $line >"$T/said" 2>&1 </dev/null
is "without the file it is not found" $? 3
like "and it says whom to ask, and what for" "$(<"$T/said")" \
  "ask the signer for \.ai/config/keys/trusted/$FP\.toml"
like "what to type then" "$(<"$T/said")" "then: ryefs trust FILE\$"
like "and now: which keys are here" "$(<"$T/said")" "^mend with: ryefs keys\$"
cp "$T/work/.ai/config/keys/trusted/$FP.toml" "$T/bob/sent.toml"
chmod 644 "$T/bob/sent.toml"
ok "the file that was sent is taken" bob ryefs trust "$T/bob/sent.toml"
ok "and all is good" bob ryefs verify directive:sample/welcome

# ---- for some items alone ----

is "a scope is told" "$(bob ryefs trust --yes --scope 'tool:sample/*,skill:*' "$FP" 2>/dev/null)" "$FP is trusted for tool:sample/*,skill:*"
like "also in the list of keys" "$(bob ryefs keys)" "^$FP .* trusted for tool:sample/\*,skill:\* "
not_ok "it counts for nothing else" bob ryefs verify directive:sample/welcome
bob ryefs trust --yes "$FP" >"$T/said" 2>&1
like "said again without, it is as before, and told" "$(<"$T/said")" "^$FP is trusted for tool:sample/\*,skill:\*\$"
like "and so is what lifts it" "$(<"$T/said")" "for everything: ryefs untrust $FP, then ryefs trust it anew, by its file"
is "quietly, nothing is told" "$(bob ryefs trust --yes -q --scope 'skill:*' "$FP" 2>&1)" ""
bob ryefs verify >"$T/said" 2>/dev/null
like "what lies beside its scope is told as one" "$(<"$T/said")" "^refused  [34] items: Untrusted key $FP, trusted only for skill:\*: "
like "with what shows each, and asks" "$(<"$T/said")" "^  mend with: ryefs sign -i\$"
is "nor that it counts no more" "$(bob ryefs untrust -q "$FP" 2>&1)" ""
ok "which is typed" bob ryefs trust "$T/bob/sent.toml"
ok "and does" bob ryefs verify directive:sample/welcome
finish
