#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the pages of docs/ show is typed: their examples saved, signed and run in a fresh workspace.
. "$(dirname "$0")/lib.sh"
command -v setpriv >/dev/null || skip "setpriv is not installed"
[ -x /usr/bin/python3 ] || skip "/usr/bin/python3 is not installed"

mkdir "$T/bin"
ln -s "$RYEFS" "$T/bin/ryefs"
ln -s "$SRC/fake/docker" "$T/bin/docker"
unset USER_SPACE RYE_SIGNING_KEY_DIR RYE_SYSTEM_SPACES

# a model of loopback stands for the servers of the pages; what it says depends on what it is asked
cat >"$T/says.json" <<'JSON'
{"by": "turn", "lanes": {
  "Now in one word": [{"text": "never asked"}, {"text": "Hello!", "calls": [{"name": "directive_return", "arguments": {"greeting": "Hello"}}]}],
  "Greet Bob": [{"text": "I greet him.\n", "calls": [{"name": "directive_return", "arguments": {"greeting": "Good day, Bob."}}],
    "usage": {"input": 612, "output": 37}}],
  "Greet Ann": [{"text": "I greet her.\n", "calls": [{"name": "directive_return", "arguments": {"greeting": "Good day, Ann."}}],
    "usage": {"input": 612, "output": 37}}]}}
JSON
beside model /usr/bin/python3 "$SRC/fake/provider_server.py" "$T/says.json" "$T/port" "$T/asked"
until_true test -s "$T/port"
here=http://127.0.0.1:$(<"$T/port")
instead() { printf '%s\t%s\n' "$2" "$3" >>"$T/instead.$1"; }
instead threads 'export RYE_LOCAL_URL=http://127.0.0.1:8080' "export RYE_LOCAL_URL=$here"
# the hosted provider is asked at loopback, by a copy of its item in the project; a person types the key
instead threads 'ryefs secret set OPENAI_API_KEY' "mkdir -p .ai/tools/rye/agent/providers && sed 's|^base_url: .*|base_url: $here|' \"\$(dirname \"\$(readlink -f \"\$(command -v ryefs)\")\")\"/bundle/.ai/tools/rye/agent/providers/openai.yaml > .ai/tools/rye/agent/providers/openai.yaml && ryefs sign -q tool:rye/agent/providers/openai && echo sk-test-0123456789 | ryefs secret set OPENAI_API_KEY"
# it never ends
instead threads 'tail -f "$id/live" &' 'cat "$id/live"'
instead providers 'export MY_MODELS_KEY=of-the-server' "export MY_MODELS_KEY=of-the-server MY_MODELS_URL=$here"
export RYE_LOCAL_URL=$here
export NO_COLOR=1 # a page shows words; a hook of git writes to the terminal
# types need something that strips them
node -e 'require("node:module").stripTypeScriptTypes || process.exit(1)' 2>/dev/null || command -v esbuild >/dev/null ||
  instead tools "ryefs execute text/longest '{\"text\":\"the slings and arrows\"}'" true

for page in errors files items mcp providers security team threads tools; do
  : >>"$T/instead.$page"
  mkdir "$T/$page" "$T/$page/mnt" "$T/$page-home"
  cd "$T/$page" || exit 1
  at=(env HOME="$T/$page-home" PATH="$T/bin:$PATH")
  "${at[@]}" ryefs init -q . >/dev/null
  n=$N
  while read -r status text; do
    case $status in
      '#') echo "# $text" ;;
      *) result "$status" "$page: $text" ;;
    esac
  done < <("${at[@]}" /usr/bin/python3 "$SRC/e2e/typist.py" "$SRC/../docs/$page.md" "$T/instead.$page" 2>&1)
  ok "$page.md: all of it was typed" test $((N - n)) = "$(grep -c '^\$ ' "$SRC/../docs/$page.md")"
  mounted "$T/$page/mnt" && fusermount3 -u "$T/$page/mnt"
  # what the page starts beside it, it ends
  ends() { ! pgrep -f "^[^ ]*(ryefs|python3) .*$T/$page" && ! here; }
  here() { [ -n "$(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$T/$page*" 2>/dev/null | grep -v "/$$/")" ]; }
  cd "$T" || exit 1
  ok "$page.md: nothing of it goes on" until_true ends
done
finish
