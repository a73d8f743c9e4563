#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# clients.sh: shipped agent clients (npm's: scripts/deps --test) at a mount, each without a person, in a
# network namespace with nothing but loopback, its model a script. Each reads an item, lists a directory
# in which CLAUDE.md, GEMINI.md and AGENTS.md are refused, opens one of these, runs a tool by saving a
# request, reads the reply. client_run.py knows how each is driven.
if [ -z "${RYE_ALONE:-}" ]; then
  # the daemon has to be in the namespace, too: it takes writes from its own alone
  if [ "$(id -u)" = 0 ] && command -v ip >/dev/null && unshare -n true 2>/dev/null; then
    exec unshare -n env RYE_ALONE=1 RYE_HOME="$HOME" bash "$0"
  fi
  echo '1..0 # SKIP no network namespace can be made here'
  exit 77
fi
. "$(dirname "$0")/fixture.sh"
need jq || finish
ip link set lo up
fx_spaces
fx_put "$P" knowledge/k/greeting.md <<'ITEM'
# Greeting

```yaml
name: greeting
title: Greeting
version: "1.0.0"
entry_type: reference
category: k
tags: [k]
```

The verified greeting is grüezi-4711.
ITEM
sed "s/(jq/($JQ/" <<'TOOL' | fx_put "$P" tools/t/note.sh
#!/bin/bash
# __version__ = "1.0.0"
# __tool_type__ = "shell"
# __category__ = "t"
# __tool_description__ = "notes a word"
# parameters: [{name: word, type: string, required: true}]
word=$(jq -r .word)
echo "$word" >>notes
echo "the note of $word is taken"
TOOL
fx_sign "$P" knowledge:k/greeting tool:t/note
for name in AGENTS CLAUDE GEMINI; do
  echo "# nobody has signed SECRET-$name" >"$P/.ai/knowledge/k/$name.md"
done
allow '^ryefs: (info refused: )?(tool|execute|knowledge)'
fx_mount

drive() { # CLIENT
  local name=$1 got r
  mkdir "$T/$name"
  got=$("$PY" "$E2E/client_run.py" "$name" "$T/$name" "$M" 2>"$T/$name.err")
  r=$?
  if [ $r = 77 ]; then
    without "$name" "the npm package is not installed"
    return
  fi
  turn() { jq -r ".turns[$1] // \"\"" <<<"$got"; } # N: what the client answered to call N, and the call
  is "$name ends well" "$(jq -r .rc <<<"$got")" 0
  has "$name tells what the model said" "$(jq -r .out <<<"$got")" 'all done'
  has "$name reads what is verified" "$(turn 1)" 'grüezi-4711'
  has "$name lists beside what is refused" "$(turn 2)" 'greeting.md' 'GEMINI.md'
  like "$name is told that a refused item cannot be opened" "$(turn 3)" 'EACCES|[Pp]ermission|denied'
  is "$name runs a tool by saving a request, once" "$(grep -cx "$name" "$P/notes" 2>/dev/null)" 1
  has "$name reads its reply" "$(turn 5)" "the note of $name is taken"
  [ -z "${RYE_SHOW:-}" ] || jq . <<<"$got" >"$RYE_SHOW.$name.json"
  lacks "$name has seen no byte that is refused" "$(jq -r '.out + .err + (.turns | join(""))' <<<"$got")" SECRET-
}

for client in claude cline codex continue gemini opencode qwen; do
  drive "$client"
done
finish
