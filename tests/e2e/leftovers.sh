#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A verb that was killed leaves nothing that the same verb, called again, does not finish and clear away.
. "$(dirname "$0")/fixture.sh"

ROUNDS=${ROUNDS:-8}
export USER_SPACE=$U RYE_SYSTEM_SPACES=
left() { find "$P" "$U" -name '.rye-*' -not -path '*/state/*'; }
# killed VERB...: begun and killed, each time a little later; a killed one has not said what it did
killed() {
  local i
  for ((i = 0; i < ROUNDS; i++)); do
    "$RYEFS" "$@" --project "$P" >/dev/null 2>&1 </dev/null &
    "$PY" -c 'import sys, time; time.sleep(float(sys.argv[1]))' "0.0$((i * 7 % 10))$((i * 3 % 10))"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
  done
}
again() { "$RYEFS" "$@" --project "$P" >"$T/said" 2>&1; }
# a temporary file of ours that no process has locked is one of a killed process
strew() {
  local dir
  for dir in "$P" "$P/.ai" "$P/.ai/knowledge" "$P/.ai/tools" "$U/.ai/config/keys"; do
    [ ! -d "$dir" ] || printf half >"$dir/.rye-0123456789abcdef.tmp"
  done
}
cleared() { # NAME VERB...
  local name=$1
  shift
  killed "$@"
  strew
  ok "$name, killed and called again" again "$@"
  is "leaves nothing behind" "$(left)" ""
}

git init -q "$P" 2>/dev/null
cleared "init --sample" init --sample
is "its items are all signed" "$(again verify && cat "$T/said")" "4 good, 0 refused"
for i in {1..30}; do
  fx_knowledge "$P" "note$i" "Words of $i."
done
cleared "sign --all" sign --all
is "and all is signed" "$(again verify && cat "$T/said")" "34 good, 0 refused"
cleared "keygen --force" keygen --force
ok "the key is trusted" again sign -q --all --take-over
is "and signs" "$(again verify && cat "$T/said")" "34 good, 0 refused"
echo value >"$T/value"
for i in {1..4}; do
  "$RYEFS" secret set NAME --project "$P" <"$T/value" >/dev/null 2>&1 &
  kill -9 $! 2>/dev/null
  wait $! 2>/dev/null
done
strew
keep() { "$RYEFS" secret set NAME --project "$P" <"$T/value"; }
ok "secret set, killed and called again" keep
is "leaves nothing behind" "$(left)" ""

# ---- a living writer's file stays ----
exec 7>"$P/.ai/knowledge/.rye-fedcba9876543210.tmp"
flock 7
ok "a verb that writes, beside another one that is at it" again sign -q --force knowledge:note1
is "leaves that one's file alone" "$(left)" "$P/.ai/knowledge/.rye-fedcba9876543210.tmp"
exec 7>&-
ok "a verb that reads" again verify
is "removes nothing" "$(left)" "$P/.ai/knowledge/.rye-fedcba9876543210.tmp"
finish
