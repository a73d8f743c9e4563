#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Attacks on the mount from what surrounds it: the environment it is started with, programs and files
# planted in the project, links that change places while items are signed, hostile names and lines.
. "$(dirname "$0")/fixture.sh"

# run TOOL JSON: its reply
run() {
  exchange 30 "$M/tools/$1/run" "$2"$'\n' 2>&1
}

# ---- what would make an interpreter run something else ----

PLANTED='bash sh python3 python node git ryefs ryefs-watchdog fusermount3'

plant() {
  local name
  mkdir -p "$P/bin" "$P/node_modules/.bin" "$P/.venv/bin" "$P/lib"
  for name in $PLANTED; do
    printf '#!/bin/sh\necho planted %s >>"%s"\nexec /usr/bin/%s "$@"\n' "$name" "$T/planted" "$name" >"$P/bin/$name"
    chmod 755 "$P/bin/$name"
    cp "$P/bin/$name" "$P/node_modules/.bin/"
    cp "$P/bin/$name" "$P/.venv/bin/"
  done
  for name in json sitecustomize usercustomize os yaml; do
    printf 'open("%s", "a").write("planted %s.py\\n")\n' "$T/planted" "$name" | tee "$P/$name.py" >"$P/lib/$name.py"
    cp "$P/$name.py" "$P/.ai/tools/t/" 2>/dev/null
  done
  printf 'echo planted rc >>"%s"\n' "$T/planted" >"$P/rc"
  printf 'require("fs").appendFileSync("%s", "planted.js\\n")\n' "$T/planted" >"$P/rc.js"
  cat >"$P/.env" <<TEXT
PATH=$P/bin
LD_PRELOAD=$P/lib/none.so
LD_LIBRARY_PATH=$P/lib
PYTHONSTARTUP=$P/json.py
PYTHONPATH=$P/lib
BASH_ENV=$P/rc
ENV=$P/rc
NODE_OPTIONS=--require=$P/rc.js
GIT_SSH_COMMAND=$P/rc
NOT_ASKED=planted
ASKED=answer
TEXT
}

surrounded() {
  PATH="$P/bin:.:bin::$P/node_modules/.bin:$PATH" PYTHONPATH=$P/lib PYTHONSTARTUP=$P/json.py PYTHONHOME='' BASH_ENV=$P/rc \
    ENV=$P/rc NODE_OPTIONS=--require=$P/rc.js NODE_PATH=$P/lib GIT_CONFIG_COUNT=1 GIT_EXEC_PATH=$P/bin \
    PERL5OPT=-Mevil RUBYOPT=-revil GIT_SSH_COMMAND=$P/rc XDG_CONFIG_HOME=$P RYE_SECRET_KEY=x \
    AWS_SECRET_ACCESS_KEY=hidden fx_mount
}

environment() {
  local got name
  got=$(run t/env '{}')
  has "a tool gets its environment" "$got" 'HOME=' 'TMPDIR='
  has "and what its signed text asks for" "$got" 'ASKED=answer'
  for name in LD_ PYTHON BASH_ENV NODE_ GIT_ PERL5OPT RUBYOPT XDG_CONFIG AWS_ NOT_ASKED RYE_SECRET "$P/bin"; do
    lacks "but not $name" "$got" "$name"
  done
  has "a Python function runs" "$(run t/function '{}')" fine
  has "again" "$(run t/function '{}')" fine
  has "a shell command" "$(run rye/bash/bash '{"command":"echo fine"}')" fine
  ! command -v node >/dev/null || has "a JavaScript function" "$(run t/javascript '{}')" fine
  is "nothing planted was run" "$(cat "$T/planted" 2>/dev/null)" ""
}

# ---- links that change places while items are signed ----

# For as long as $T/go is there the item is a file, a link to one outside, a hard link to it, a FIFO.
juggle() {
  local item=$P/.ai/knowledge/swap.md
  while [ -e "$T/go" ]; do
    cp "$T/good.md" "$item.1" && mv "$item.1" "$item"
    ln -s "$T/secret.md" "$item.2" && mv -T "$item.2" "$item"
    ln "$T/secret.md" "$item.3" && mv -T "$item.3" "$item"
    mkfifo "$item.4" && mv -T "$item.4" "$item"
    mv -T "$P/.ai/knowledge/dir" "$P/.ai/knowledge/gone" && ln -s "$T/far" "$P/.ai/knowledge/dir"
    rm "$P/.ai/knowledge/dir" && mv -T "$P/.ai/knowledge/gone" "$P/.ai/knowledge/dir"
  done 2>/dev/null
}

races() {
  local before i juggler
  mkdir -p "$T/far" "$P/.ai/knowledge/dir"
  fx_knowledge "$P" swap "Good."
  cp "$P/.ai/knowledge/swap.md" "$T/good.md"
  sed 's/Good/Secret/' "$T/good.md" >"$T/secret.md"
  fx_knowledge "$P" dir/item "Good."
  sed 's/Good/Secret/' "$P/.ai/knowledge/dir/item.md" >"$T/far/item.md"
  before=$(md5sum "$T/secret.md" "$T/far/item.md"; ls -lR "$T/far" "$T/secret.md" | sed 's/ [0-9]* / /')
  touch "$T/go"
  juggle &
  juggler=$!
  for i in $(seq 40); do
    timeout -k 1 5 sh -c "echo knowledge:swap >'$M/sign'; echo knowledge:dir/item >'$M/sign'" 2>/dev/null
    [ $? != 124 ] || echo hung >>"$T/hung"
  done
  timeout -k 1 20 "$RYEFS" sign -q --project "$P" --user "$U" --system "$S" knowledge:swap knowledge:dir/item >/dev/null 2>&1
  rm "$T/go"
  wait "$juggler"
  is "signing hung never" "$(cat "$T/hung" 2>/dev/null)" ""
  is "no file outside was changed" "$(md5sum "$T/secret.md" "$T/far/item.md"; ls -lR "$T/far" "$T/secret.md" | sed 's/ [0-9]* / /')" "$before"
  is "and nothing is left beside the items" "$(find "$P/.ai/knowledge" "$T/far" -name '.rye*')" ""
  ok "the mount goes on" cat "$M/README.md"
}

# ---- parameters instead of the signed text, by every runtime ----

parameters() {
  local tool word
  rm -f "$T/replaced"
  for tool in script python own; do
    for word in command script args argv code body source file interpreter cwd env config executor_id; do
      run "t/$tool" "{\"$word\":\"touch $T/replaced\"}" >>"$T/replies"
      run "t/$tool" "{\"$word\":[\"touch\",\"$T/replaced\"],\"config\":{\"$word\":\"touch $T/replaced\"}}" >>"$T/replies"
    done
  done
  not_ok "no parameter is a program" test -e "$T/replaced"
  has "what is signed has run" "$(<"$T/replies")" 'signed\n'
  lacks "nor is one expanded" "$(run t/echo "{\"v\":\"\$(touch $T/replaced)\`touch $T/replaced\`\${HOME}\"}")" "$U"
  not_ok "indeed" test -e "$T/replaced"
}

yaml_tool() { # NAME RUNTIME CONFIG
  fx_put "$P" "tools/t/$1.yaml" <<TEXT
tool_type: script
version: "1.0.0"
executor_id: $2
category: t
description: A tool of the tests
config:
  $3
TEXT
}

"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
# shellcheck disable=SC2016
fx_put "$P" tools/t/env.yaml <<'TEXT'
tool_type: script
version: "1.0.0"
executor_id: rye/core/primitives/execute
category: t
description: Its environment
config:
  command: /usr/bin/env
  env:
    ASKED: "${ASKED}"
TEXT
fx_python "$P" t/function <<'TEXT'
import json


def execute(params, project):
    return {"said": json.loads('"fine"')}
TEXT
fx_put "$P" tools/t/javascript.js <<'TEXT'
export const __version__ = "1.0.0";
export const __tool_type__ = "javascript";
export const __executor_id__ = "rye/core/runtimes/node/node";
export const __category__ = "t";
export const __tool_description__ = "A tool of the tests";
export async function execute(params, project) { return { said: "fine" }; }
TEXT
[ -e "$S/.ai/tools/rye/core/runtimes/node/node.yaml" ] || rm "$P/.ai/tools/t/javascript.js"
yaml_tool script rye/core/runtimes/bash/bash 'script: "echo signed"'
yaml_tool python rye/core/runtimes/python/script 'script: "print(\"signed\")"'
yaml_tool own rye/core/primitives/execute '{command: /bin/echo, args: [signed]}'
# shellcheck disable=SC2016
fx_tool "$P" t/echo 'cat'
fx_cli sign -q --project "$P" --all
plant
allow "planted|PYTHON"
surrounded
environment
parameters
races
finish
