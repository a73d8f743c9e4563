# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# agent_lib.sh: fixture.sh, and what the tests of directives that a model works through need: a
# provider of loopback that a script drives, and directives for it.
#
#   agent_model JSON          starts the server; the script's lanes are texts of the requests. With
#                             MODEL_SERVER=vendor_server.py it refuses what the vendors of models refuse
#   refusals                  what it has refused, a line each
#   agent_directive NAME XML  a directive of the project, its body from standard input
#   agent_provider NAME SED   the same server for models of the tier NAME, its item changed
#   agent_tool NAME MARK [CODE]  a tool t/NAME that leaves the file MARK in the project, and does that, which is
#                             Python; without it a shell's, which starts in a fifth of the time
#   agent_naps, agent_sleeps  t/nap: leaves `naps`, returns once there is `wake`; t/sleep: `sleeps`, a minute
#   agent_steps               t/step: leaves `steps`, and is done within a third of a second
#   agent_runtime             threads have their sockets in a directory of this test alone
#   agent_sign REF...         signs them
#   fork NAME [JSON]          the reply of a write to its `fork`
#   asked N                   the body of the N-th request that the server saw
#   asks TEXT                 how many requests had this text in them
#   run WORD...               ryefs in the test's spaces, both streams
#   holding CMD...            while there is $T/hold, the runners of its threads do not begin
#   row DB SQL                its first row there: of registry or budget_ledger, which it may change
. "$(dirname "${BASH_SOURCE[0]}")/fixture.sh"
need jq || finish
"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
MODEL=
AGENT_REFS=

# agent_serve: the server with $T/script.json; its port is in PORT
agent_serve() {
  rm -f "$T/port"
  beside model "$PY" "$E2E/../fake/${MODEL_SERVER:-provider_server.py}" "$T/script.json" "$T/port" "$T/asked"
  MODEL=$BESIDE
  until_true test -s "$T/port"
  PORT=$(<"$T/port")
}

agent_model() {
  printf '%s' "$1" >"$T/script.json"
  agent_serve
  fx_put "$P" tools/rye/agent/providers/scripted.yaml <<TEXT
tool_id: scripted
tool_type: http
version: "1.0.0"
description: a model of the tests
executor_id: rye/core/primitives/http_client
category: rye/agent/providers
wire: ${WIRE:-openai_chat}
base_url: "http://127.0.0.1:$PORT"
tier_mapping: { fast: test-model, general: test-model, high: test-model, max: test-model }
pricing: { test-model: ${PRICE:-{ input: 1000, output: 5000 \}} }
context_window: ${WINDOW:-100000}
TEXT
  fx_put "$P" config/agent/agent.yaml <<TEXT
category: agent
version: "1.0.0"
provider: { default: scripted }
TEXT
  AGENT_REFS="tool:rye/agent/providers/scripted config:agent/agent"
}

agent_provider() {
  sed "s/^tool_id: scripted/tool_id: $1/; s/^tier_mapping: .*/tier_mapping: {$1: test-model}/; $2" \
    "$P/.ai/tools/rye/agent/providers/scripted.yaml" >"$P/.ai/tools/rye/agent/providers/$1.yaml"
  AGENT_REFS="$AGENT_REFS tool:rye/agent/providers/$1"
}

agent_directive() {
  local dir=${1%/*}
  [ "$dir" != "$1" ] || dir=
  fx_path "$P" "directives/$1.md"
  {
    printf '# %s\n\n```xml\n<directive name="%s" version="1.0.0">\n' "$1" "${1##*/}"
    printf '  <metadata>\n    <description>A directive of the tests</description>\n'
    printf '    <category>%s</category>\n    <author>tests</author>\n' "$dir"
    printf '%s\n</directive>\n```\n\n' "$2"
    cat
  } >"$FX_PATH"
  AGENT_REFS="$AGENT_REFS directive:$1"
}

agent_tool() {
  if [ $# = 2 ]; then
    agent_shell "$@"
    return
  fi
  fx_python "$P" "t/$1" <<CODE
CONFIG_SCHEMA = {"type": "object", "properties": {}}
import os, time
def execute(params, project_path):
    open(os.path.join(project_path, "$2"), "w").close()
$3
    return {"success": True}
CODE
}

# agent_shell NAME MARK [WORD...]: the same as a shell's
agent_shell() {
  # shellcheck disable=SC2016
  fx_tool "$P" "t/$1" 'cd "$2"' ": >$2" "echo '{\"success\": true}'" "${@:3}"
}

agent_naps() {
  agent_tool nap naps '    for i in range(800):
        if os.path.exists(os.path.join(project_path, "wake")):
            break
        time.sleep(0.05)'
}

agent_steps() {
  # shellcheck disable=SC2016
  agent_shell step steps 'printf -v ms %03d $((RANDOM % 250 + 50))' 'exec sleep "0.$ms"'
}

agent_runtime() {
  export XDG_RUNTIME_DIR=$T/r
  mkdir -m 700 "$T/r"
}

agent_sleeps() { agent_shell sleep sleeps 'exec sleep 60'; }

agent_sign() {
  # shellcheck disable=SC2086
  fx_sign "$P" $AGENT_REFS "$@"
}

fork() { converse "$M/directives/$1/fork" "${2:-}"; }
fork_async() { converse "$M/directives/$1/async" "${2:-}"; }

refusals() { jq -r 'select(.refused) | .refused' "$T/asked"; }
asked() { jq -c "select(.body and .n == $1) | .body" "$T/asked"; }
asks() {
  case $1 in
    # what stands in JSON as it is
    *[!a-zA-Z0-9_.\ -]*) jq -c 'select(.body) | .body' "$T/asked" | grep -cF -- "$1" ;;
    *) sed -n '/"body": /{s//\n/;s/.*\n//;p}' "$T/asked" | grep -cF -- "$1" ;;
  esac
}
run() { limit 60 "$RYEFS" "$@" --project "$P" --user "$U" --system "$S" 2>&1; }
# The program starts in a tenth of the time that Python takes.
row() {
  local db=$P/.ai/state/threads/$1.db
  if command -v sqlite3 >/dev/null; then
    sqlite3 -bail -cmd '.timeout 10000' -separator ' ' -nullvalue None "$db" "$2" | head -n 1
    return
  fi
  "$PY" -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db: print(*(db.execute(sys.argv[2]).fetchone() or ()))' "$db" "$2"
}
# events FILTER of the transcript of thread ID
events() { jq -c "$2" "$P/.ai/state/threads/$1/transcript.jsonl"; }

holding() { preloaded hold_start HOLD_START="$T/hold" "$@"; }
