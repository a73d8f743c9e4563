#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every command of README.md is typed as it stands there, in a fresh checkout and a fresh home, and
# says what is shown. What cannot be typed so is named here.
. "$(dirname "$0")/lib.sh"
[ -x /usr/bin/python3 ] || skip "/usr/bin/python3 is not installed"

here=$T/checkout
mkdir "$here" "$T/home" "$T/bin"
for name in "$SRC"/../*; do
  case ${name##*/} in
    build*) ;;
    *) ln -s "$(readlink -f "$name")" "$here/" ;;
  esac
done
ln -s "$(dirname "$RYEFS")" "$here/build"

# sudo: installing goes to another root. ninja builds nothing: the tree is in use, and built.
NINJA=$(command -v ninja)
cat >"$T/bin/sudo" <<'SH'
#!/bin/sh
exec "$@"
SH
cat >"$T/bin/ninja" <<SH
#!/bin/sh
case "\$*" in
  *uninstall | *--version) exec "$NINJA" "\$@" ;;
esac
SH
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v /usr/bin/meson || command -v meson)" >"$T/bin/meson"
chmod 755 "$T/bin"/*

instead() { printf '%s\t%s\n' "$1" "$2" >>"$T/instead"; }
cat >"$T/prefix_of" <<'PY'
import json, sys
print([o["value"] for o in json.load(open(sys.argv[1] + "/meson-info/intro-buildoptions.json")) if o["name"] == "prefix"][0])
PY
prefix_of() { /usr/bin/python3 "$T/prefix_of" "$1"; }
prefix=$(prefix_of "$here/build")
# it would run this very test
instead 'scripts/test     # builds it and runs every test; the last line counts them' 'bash -n scripts/test'
# the test `package` makes and installs them
instead 'scripts/package                    # makes dist/: a Debian package, one for npm, a dev container feature …' 'bash -n scripts/package'
instead 'sudo apt install ./dist/ryefs_*.deb' true
# everything but compiling, in a tree that scripts/run has made
instead 'scripts/build --buildtype=release --prefix=/usr' \
  "export BUILD='$T/release'; scripts/build && scripts/build --buildtype=release --prefix=/usr; unset BUILD"
# of another root, and where this build tree installs
instead 'sudo rm -r /usr/share/ryefs' "sudo rm -r '$T/dest$prefix/share/ryefs'"
command -v man >/dev/null && [ -e "$here/build/docs/ryefs.1" ] || instead 'man ryefs' true

# a model of loopback, which calls a tool and then returns
cat >"$T/says.json" <<'JSON'
{"by": "turn", "answers": [
  {"text": "I count.", "calls": [{"name": "rye_fetch", "arguments": {"item_id": "knowledge:sample/house-rules"}},
                                  {"name": "sample_count_words", "arguments": {"text": "Ann"}}]},
  {"calls": [{"name": "directive_return", "arguments": {"greeting": "Good day, Ann."}}]}]}
JSON
beside model /usr/bin/python3 "$SRC/fake/provider_server.py" "$T/says.json" "$T/port" "$T/asked"
until_true test -s "$T/port"
instead 'export RYE_LOCAL_URL=http://127.0.0.1:8080' "export RYE_LOCAL_URL=http://127.0.0.1:$(<"$T/port")"

unset USER_SPACE RYE_SIGNING_KEY_DIR RYE_SYSTEM_SPACES
cd "$here" || exit 1
while read -r status text; do
  case $status in
    '#') echo "# $text" ;;
    *) result "$status" "$text" ;;
  esac
done < <(env HOME="$T/home" TMPDIR="$T" PATH="$T/bin:$PATH" RYE_NO_BUILD=1 DESTDIR="$T/dest" \
  MANPATH="$T/dest$prefix/share/man" PAGER=cat /usr/bin/python3 "$SRC/e2e/typist.py" "$here/README.md" "$T/instead" 2>&1)
ok "all of it was typed" test "$N" -ge "$(grep -c '^\$ ' "$here/README.md")"
is "the model was asked, twice in each thread" "$(grep -c '"method"' "$T/asked")" 4
is "it may do what the sample says, in each" "$(cat "$T"/home/try/work/.ai/state/threads/sample/welcome/*/transcript.jsonl | grep -c '"tool_call_result".*One change at a time')" 2
is "the build tree has become what was asked for" "$(prefix_of "$T/release")" /usr
is "nothing that was installed is left" "$(find "$T/dest" -type f 2>/dev/null)" ""
for m in $(awk -v here="$T/" '/ - fuse\.ryefs / && index($5, here) == 1 {print $5}' /proc/self/mountinfo); do
  ok "umount" "$RYEFS" umount "$m"
done
finish
