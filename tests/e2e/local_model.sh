#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# local_model.sh: a real model server: that which RYE_LOCAL_URL names (RYE_LOCAL_MODEL: its model); else
# llama.cpp, if scripts/deps --test has brought it, with random weights; else it is skipped. What a model
# says is nobody's to test: transport, streaming, counts and the end of a thread are, and, where the window
# is known to be small, a prompt that does not fit.
MODULES=${RYE_NPM_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ryefs-npm}/model/node_modules
. "$(dirname "$0")/agent_lib.sh"

random=
if [ -z "${RYE_LOCAL_URL:-}" ]; then
  [ -e "$MODULES/node-llama-cpp/package.json" ] && command -v node >/dev/null ||
    skip "RYE_LOCAL_URL names no model server, and there is no node-llama-cpp (scripts/deps --test)"
  "$PY" "$E2E/../fake/random_model.py" "$T/random.gguf" || exit 1
  beside model node "$E2E/../fake/model_server.mjs" "$MODULES" "$T/random.gguf" "$T/port"
  until_true test -s "$T/port" || skip "llama.cpp does not run here: $(tail -n 1 "$T/model.log")"
  export RYE_LOCAL_URL=http://127.0.0.1:$(<"$T/port")
  random=yes
fi
echo "# $RYE_LOCAL_URL ${RYE_LOCAL_MODEL:-}"

fx_put "$P" config/agent/agent.yaml <<'TEXT'
category: agent
version: "1.0.0"
provider: { default: local }
TEXT
agent_directive tiny '    <limits turns="2" tokens="20000" duration_seconds="60"/>
  </metadata>' <<<'Say hello in one word.'
agent_directive huge '    <limits turns="2"/>
  </metadata>' <<<"$(printf 'words %.0s' {1..400})"
AGENT_REFS="config:agent/agent directive:tiny directive:huge"
agent_sign
run() { timeout 90 "$RYEFS" "$@" --project "$P" --user "$U" 2>"$T/err"; }
unset RYE_SYSTEM_SPACES

reply=$(run execute directive:tiny --fork --json)
id=$(jq -r .thread_id <<<"$reply")
is "a tiny directive" "$(jq -r '.status, .state' <<<"$reply" | tr '\n' ' ')" "success completed "
is "with a count of tokens" "$(jq -c '.cost | [.turns == 1, .input_tokens > 5, .output_tokens > 0, .spend == 0]' <<<"$reply")" '[true,true,true,true]'
D=$P/.ai/state/threads/$id
is "live has what the result is" "$(tr -d '\n' <"$D/live")" "$(jq -r '.result // ""' <<<"$reply" | tr -d '\n')"
ok "the server told the count itself" jq -e -s 'any(.[]; .event_type == "cognition_out" and .payload.raw.usage.estimated != true)' "$D/transcript.jsonl"
ok "it streamed" test "$(events "$id" 'select(.event_type == "token_delta")' | wc -l)" -ge 1
like "its transcript is whole" "$(RYE_TRUSTED=$U/.ai/config/keys/automatic "$PY" "$E2E/thread_verifier.py" "$P/.ai" "$id" 2>&1)" '^ok'
next=$(run threads resume "$id" "Once more." -q)
is "it goes on" "$(run threads wait "$next")" completed
is "text alone, as a program reads it" "$(run execute directive:tiny --fork -q >"$T/out"; test -s "$T/out" && echo said)" said
if [ -n "$random" ]; then
  reply=$(run execute directive:huge --fork --json)
  has "a prompt that does not fit" "$(jq -r .error <<<"$reply")" "longer than the model's context window"
  is "is no reason to begin again" "$(run threads --json | jq '[.[] | select(.directive == "huge")] | length')" 1
fi
finish
