#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `ryefs new`: every kind in every language is made, passes signing without a remark, and runs at once,
# by the command that it names and through a mount. What is asked wrongly is answered with a command that
# works; a kill or a full disk leaves all of an item or nothing of it.
. "$(dirname "$0")/fixture.sh"
mkdir "$T/bin"
ln -s "$RYEFS" "$T/bin/ryefs"
export PATH="$T/bin:$PATH" RYE_SYSTEM_SPACES=$S
ryefs init -q "$P" || exit 1
cd "$P" || exit 1

# what `http` asks, in place of the example server of its text
cat >"$T/echo.py" <<'PY'
import http.server
class Echo(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(("you asked for " + self.path).encode())
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Echo)
print("http://127.0.0.1:%d/" % server.server_address[1], flush=True)
server.serve_forever()
PY
beside echo "$PY" "$T/echo.py"
until_true test -s "$T/echo.log"
EXAMPLE_URL=$(head -n 1 "$T/echo.log")
export EXAMPLE_URL

# --- every row of the table ---

# the kinds and languages are asked of the program, so that a new row cannot be forgotten
words() { tr -d , | sed 's/ or / /'; }
kinds=$(ryefs new 2>&1 | sed -n 's/.*where KIND is //p' | words)
langs() { ryefs new "$1" x --lang no-such 2>&1 | sed -n 's/.* can be begun in \(.*\), not in .*/\1/p' | words; }
can_run() { # LANG
  case $1 in
    javascript) command -v node >/dev/null ;;
    typescript) node -e 'require("node:module").stripTypeScriptTypes || process.exit(1)' 2>/dev/null || command -v esbuild >/dev/null ;;
    perl) [ -x /usr/bin/perl ] ;;
  esac
}
is "kinds" "$kinds" "tool directive knowledge skill graph http mcp"
is "languages of a tool" "$(langs tool)" "python shell javascript typescript yaml perl"

made= # "KIND LANG REF", a line each
for kind in $kinds; do
  for lang in $(langs "$kind"); do
    id=t/$kind-$lang
    [ "$kind" = directive ] && id=t/greet_$lang
    [ "$kind" = mcp ] || [ "$kind" = skill ] && id=$kind-$lang
    said=$(ryefs new "$kind" "$id" --lang "$lang" 2>"$T/remarks")
    is "$kind $lang: is made, without a remark" "$? $(<"$T/remarks")" "0 "
    next=$(sed -n 's/^next: //p' <<<"$said")
    ref=$(sed -n 's/^signed \([^ ]*\): .*/\1/p' <<<"$said" | tail -n 1)
    made+="$kind $lang $ref"$'\n'
    for one in $(sed -n 's/^signed \([^ ]*\): .*/\1/p' <<<"$said"); do
      is "$kind $lang: $one verifies" "$(ryefs verify "$one" 2>&1)" "ok       $one"
      is "$kind $lang: $one is signed again without a remark" "$(ryefs sign "$one" 2>&1)" "signed $one"
    done
    if ! can_run "$lang"; then
      without "$kind $lang: runs" "$lang is not installed"
      continue
    fi
    case $kind in knowledge) wanted='What is to be known' ;; skill) wanted='ok       skill:' ;; *) wanted=Ann ;; esac
    has "$kind $lang: the next command works" "$(eval "$next" 2>&1)" "$wanted"
    [ "$kind" = tool ] && is "$kind $lang: says what it is to say" "$(eval "$next" 2>&1)" "Hello, Ann!"
    [ "$kind" = tool ] || [ "$kind" = graph ] || [ "$kind" = http ] || continue
    like "$kind $lang: its parameters are checked" "$(ryefs execute "$ref" 2>&1)" "name"
    not_ok "$kind $lang: and refused" ryefs execute "$ref"
  done
done
is "nothing of it is remarked" "$(ryefs doctor --json | jq -r '.[] | select(.about | test(":t/|:mcp/")) | .what')" ""
is "nor refused" "$(ryefs verify 2>&1 | sed 's/.* good, //')" "0 refused"
is "loud" "$(ryefs execute t/tool-python name=Ann loud=true)" "HELLO, ANN!"

# --- through a mount ---

fx_mount
while read -r kind lang ref; do
  [ -n "$ref" ] || continue
  can_run "$lang" || continue
  at=$M/$(sed 's|^tool:|tools/|; s|^directive:|directives/|; s|^knowledge:|knowledge/|; s|^skill:|skills/|' <<<"$ref")
  case $kind in
    directive) has "mount: $ref" "$(<"$at.md?name=Ann")" "2. Greet Ann in a friendly tone" ;;
    knowledge) has "mount: $ref" "$(<"$at.md")" "What is to be known" ;;
    skill) has "mount: $ref" "$(<"$at/SKILL.md")" "# Skill markdown" "ryefs skill add skill-markdown" ;;
    *)
      ok "mount: $ref runs" bash -c 'echo "{\"name\": \"Ann\"}" >"$1/run"' - "$at"
      has "mount: $ref answers" "$(<"$at/output")" Ann
      ;;
  esac
done <<<"$made"
ryefs new -q tool t/late || bad "made beside a mount"
ok "what is made beside a mount is there" until_true test -e "$M/tools/t/late/run"
ok "it runs" bash -c 'echo "{\"name\": \"Eve\"}" >"$1/run"' - "$M/tools/t/late"
is "it answers" "$(<"$M/tools/t/late/output")" "Hello, Eve!"
is "made from within the mount" "$(cd "$M/tools" && ryefs new tool t/inside | sed -n 's/^signed \([^:]*:[^:]*\).*/\1/p')" tool:t/inside
umount_rye >/dev/null

# --- asked wrongly ---

mistake() { # STATUS SENTENCE COMMAND...: one line, and a remedy that works
  local status=$1 what=$2 text mend
  shift 2
  text=$("$@" 2>&1 </dev/null)
  is "$*: status" $? "$status"
  has "$*" "$(head -n 1 <<<"$text")" "$what"
  mend=$(sed -n 's/^mend with: //p' <<<"$text")
  is "$*: lines" "$(wc -l <<<"$text")" 2
  (EDITOR=true eval "${mend:-false}" >"$T/mended" 2>&1 </dev/null) && good "$*: the remedy works" || bad "$*: the remedy works" "$mend" "$(<"$T/mended")"
}
gone() { rm -rf .ai/tools/my .ai/skills/{a-b,hello,b*} .ai/directives/my .ai/knowledge/my .ai/tools/mcp/hello .ai/tools/mcp/servers/hello.yaml; }
for case in \
  "2|wanted: ryefs new KIND ID|" "2|wanted: ryefs new tool ID|tool" "2|wanted: ryefs new mcp ID|mcp" \
  "2|did you mean tool?|tol my/x" "2|without a directory|skill my/hello" "2|is no good name|skill a--B-" "2|is no good name|skill $(printf 'b%.0s' $(seq 65))" "2|is nothing that can be made|config my/x" \
  "2|not in \"cobol\"|tool my/x --lang cobol" "2|not in \".rb\"|tool my/x.rb" "2|is no good name|tool my/Hello_World" \
  "2|is no good name|tool ../my/x" "2|is no good name|tool my/x/" "2|wanted small letters, digits and _|directive my/say-hi" "2|without a directory|mcp a/hello" \
  "2|a control file's|tool my/run" "2|is no name of a tool|tool knowledge:my/x" "2|is too long|tool $(printf 'a%.0s' $(seq 300))"; do
  gone
  IFS='|' read -r status what args <<<"$case"
  # shellcheck disable=SC2086
  mistake "$status" "$what" ryefs new $args
done
gone
mistake 2 'is no good name' ryefs new knowledge 'my/a "b" c'
ryefs new -q tool my/hello
mistake 2 'is there already: ' ryefs new tool my/hello
mistake 2 'is there already: ' ryefs new graph my/hello
mistake 2 'is there already: ' ryefs new tool my/hello.sh
before=$(sha256sum .ai/tools/my/hello.py)
ryefs new tool my/hello --lang shell >/dev/null 2>&1
is "what is there stays" "$(sha256sum .ai/tools/my/hello.py) $(ls .ai/tools/my)" "$before hello.py"
mkdir "$T/empty" "$T/nobody"
cd "$T/empty" || exit 1
mistake 3 'there is no .ai in' ryefs new tool my/x
cd "$P" || exit 1
export USER_SPACE=$T/nobody
said=$(ryefs new tool keyless/x 2>&1)
not_ok "without a key nothing is left" test -e .ai/tools/keyless
has "and says so" "$said" "No signing keypair"
mistake 4 'No signing keypair' ryefs new tool keyless/x
export USER_SPACE=$U
is "as files are called" "$(ryefs new .ai/tools/my/x.sh 2>&1 | head -n 1)$(ryefs new tool .ai/tools/my/y.sh | head -n 1)" \
  'ryefs new: ".ai/tools/my/x.sh" is nothing that can be made: wanted tool, directive, knowledge, skill, graph, http or mcp'"signed tool:my/y: $P/.ai/tools/my/y.sh"
is "a kind and an ID in one word" "$(ryefs new knowledge:my/one | head -n 1)" "signed knowledge:my/one: $P/.ai/knowledge/my/one.md"
has "what it hides is told" "$(ryefs new tool rye/bash/bash 2>&1)" "tool:rye/bash/bash is in the system"
rm -r .ai/tools/rye
is "dry: the text, and nothing else" "$(ryefs new -n tool my/dry --lang yaml | sed -n 2p; ls .ai/tools/my)" 'tool_id: "dry" # the name of this file
hello.py
y.sh'
is "JSON" "$(ryefs new --json tool my/j | jq -r '.status, .made[].ref, .next')" "success
tool:my/j
ryefs execute tool:my/j name=Ann"
is "in the user's space, from anywhere" "$(cd / && ryefs new --space user knowledge mine | head -n 1)" "signed knowledge:mine: $U/.ai/knowledge/mine.md"
is "the next command says where" "$(cd / && ryefs new --project "$P" tool my/far | sed -n 's/^next: //p')" "ryefs execute tool:my/far name=Ann --project $P"

# --- on a terminal it asks ---

screen() { "$PY" "$E2E/screen.py" "$1" ryefs new "${@:2}"; }
has "all of it is asked" "$(screen $'kind .*: \ttool\\n\nID.*: \tmy/asked\\n\nlanguage.*: \tshell\\n')" "signed tool:my/asked: $P/.ai/tools/my/asked.sh" "[0]"
has "Enter is the first language" "$(screen $'ID.*: \tmy/asked2\\n\nlanguage.*: \t\\n' tool)" "asked2.py" "[0]"
has "nothing is asked twice" "$(screen '' tool my/asked3)" "asked3.py" "[0]"
has "no answer" "$(screen $'ID.*: \t\\n' tool)" "wanted: ryefs new tool ID" "[2]"

# --- whole or not at all ---

whole() { # every item there verifies; no file of another kind
  [ -z "$(find .ai/tools/k -name '*.yaml' -o -name '*.py' 2>/dev/null | while read -r f; do ryefs verify -q "$f" >/dev/null 2>&1 || echo "$f"; done)" ]
}
torn=0 made=0
for i in $(seq 30); do
  ryefs new -q tool "k/t$i" >/dev/null 2>&1 &
  pid=$!
  sleep "$(printf '0.%03d' $((i * 7 % 45)))"
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
  whole || torn=$((torn + 1))
  [ -e ".ai/tools/k/t$i.py" ] && made=$((made + 1))
done
is "killed: no half of an item" "$torn" 0
echo "# $made of 30 were made before they were killed"
ryefs new -q tool k/last
is "what they left is cleared away" "$(find .ai -name '.rye-*')" ""
# of an item of two files one is there: the next call makes the other
ryefs new -q mcp halved && rm .ai/tools/mcp/halved/hello.yaml
is "an item that was begun is ended" "$(ryefs new mcp halved | grep -c ^signed)$(ryefs execute mcp/halved/hello name=Ann)" "2Hello, Ann!"
echo '# mine' >>.ai/tools/mcp/servers/halved.yaml && rm .ai/tools/mcp/halved/hello.yaml
like "but not one that was changed" "$(ryefs new mcp halved 2>&1)" 'servers/halved is there already'

if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
  mkdir "$T/small"
  cat >"$T/full.sh" <<'SH'
mount -t tmpfs -o size=256k tmpfs "$1" && cd "$1" || exit 77
ryefs init -q . && dd if=/dev/zero of=filler bs=4k 2>/dev/null
ryefs new tool full/x; echo "[$?]"
ryefs new mcp full; echo "[$?]"
find .ai/tools -mindepth 1
rm filler; ryefs new -q tool full/x; ryefs execute full/x name=Ann
SH
  said=$(unshare -m bash "$T/full.sh" "$T/small" 2>&1)
  if [ $? = 77 ]; then
    without "a full disk" "no tmpfs can be mounted"
  else
    is "a full disk" "$(sed "s|$T|T|g" <<<"$said")" "ryefs new: cannot write T/small/.ai/tools/full/x.py: No space left on device
[1]
ryefs new: cannot write T/small/.ai/tools/mcp/servers/full.yaml: No space left on device
[1]
Hello, Ann!"
  fi
  cat >"$T/readonly.sh" <<'SH'
mount --bind "$1/.ai" "$1/.ai" && mount -o remount,ro,bind "$1/.ai" && cd "$1" || exit 77
ryefs new tool my/ro; echo "[$?]"
SH
  said=$(unshare -m bash "$T/readonly.sh" "$P" 2>&1)
  if [ $? = 77 ]; then without "read only" "nothing can be mounted"; else has "read only" "$said" "Read-only file system" "mend with: ryefs new --space user tool my/ro" "[5]"; fi
else
  without "a full disk" "that takes root"
fi
finish
