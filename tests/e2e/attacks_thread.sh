#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# attacks_thread.sh: the tool that tries all it can think of (intruder.py), called by a model in a thread:
# against the mount's daemon, against the runner that is its parent, against the thread itself. Nothing of
# it may succeed, neither under `auto` nor under `strict`.
. "$(dirname "$0")/agent_lib.sh"

# Landlock keeps signals and abstract sockets in from Linux 6.12 on.
scopes() { "$PY" -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(444, 0, 0, 1) < 6)'; }
disk() { lsblk -ndpo NAME 2>/dev/null | head -1; }

facts() { # of the daemon, a process outside and another run; the tool puts its parent in
  local signals=true
  scopes || signals=false
  jq -n --arg T "$T" --arg P "$P" --arg M "$M" --arg U "$U" --arg disk "$(disk)" --arg ryefs "$RYEFS" --arg own "$OWN" \
    --argjson daemon "$DAEMON" --argjson victim "$VICTIM" --argjson sibling "$(<"$P/sibling")" --argjson signals $signals \
    '{daemon: $daemon, victim: $victim, sibling: $sibling, outside: ($T + "/outside"), project: $P, mount: $M, user: $U,
      keys: ($U + "/.ai/config/keys/signing"), disk: $disk, signals: $signals, abstract: "", sockets: [],
      thread: "lane_attack", may: ["tools/t/allowed/run", "directives/lane_attack/fork", "directives/lane_attack/async"],
      runtime: [$T + "/r/ryefs", $own], ryefs: $ryefs, secret: "sk-of-the-model"}' -c
}

# A model whose key is in the environment of the runner.
PROVIDER_KEY=sk-of-the-model
export PROVIDER_KEY
CALL='{"name": "rye_execute", "arguments": {"item_id": "tool:t/intrude", "parameters": {"timeout": 60}}}'
agent_model '{"by": "turn", "lanes": {"lane_attack": [{"calls": ['"$CALL"']}, {"text": "over"}]}}'
cat >>"$P/.ai/tools/rye/agent/providers/scripted.yaml" <<'TEXT'
env_config: { env: { PROVIDER_KEY: "${PROVIDER_KEY}" } }
auth: { type: bearer, token: "${PROVIDER_KEY}" }
TEXT
agent_directive lane_attack '    <permissions><execute><tool>t.*</tool><directive>*</directive></execute></permissions>
  </metadata>' <<<'Attack.'
fx_tool "$P" t/intrude '# requires: [fs.write, threads.read]' 'cd "$2" && facts=$(sed "s/\"runner\"/$PPID/" facts)' \
  "exec '$PY' -I '$E2E/intruder.py' \"\$facts\" >said 2>&1"
fx_tool "$P" t/sleeper 'echo $$ >"$2/sibling.new" && mv "$2/sibling.new" "$2/sibling"' "exec sleep 91.$$"
fx_tool "$P" t/allowed 'echo allowed >>"$2/allowed.ran"'
agent_sign tool:t/intrude tool:t/sleeper tool:t/allowed
# the runner's ears: in a runtime directory of its own, or where there is none
OWN=/tmp/ryefs-$(id -u)
agent_runtime
echo text >"$T/outside"

# attack WHAT FACTS
attack() {
  local said id
  printf '%s' "$2" >"$P/facts"
  rm -f "$P/said"
  id=$(fork lane_attack | jq -r .thread_id)
  has "$1: it tried it all" "$(tail -n 1 "$P/said")" "tried it all"
  said=$(grep -v ' held$' "$P/said" | grep -v '^tried it all')
  is "$1: of $(grep -c ' held$' "$P/said") attacks none succeeds" "$said" ""
  is "$1: the thread goes on" "$(<"$M/state/threads/$id/status") $(<"$M/state/threads/$id/result")" "completed over"
}

"$PY" -c 'import ctypes, os, signal
libc = ctypes.CDLL(None)
memory = libc.shmget(os.getpid(), 4096, 0o1600)
signal.signal(signal.SIGTERM, lambda *_: None)
signal.sigtimedwait([signal.SIGTERM, signal.SIGUSR1], 90)
libc.shmctl(memory, 0, None)' &
VICTIM=$!
for sandbox in auto strict; do
  fx_mount "sandbox=$sandbox"
  rm -f "$P/sibling"
  (echo '{}' >"$M/tools/t/sleeper/run") 2>/dev/null &
  ok "$sandbox: another run" fx_wait 10 test -s "$P/sibling"
  attack "$sandbox: the daemon" "$(facts)"
  attack "$sandbox: the runner" "$(facts | jq -c '.daemon = "runner"')"
  not_ok "$sandbox: nothing else has run" test -e "$P/allowed.ran"
  wake 91
  ok "$sandbox: the mount ends" umount_rye
done
kill "$VICTIM"
has "the model was asked with its key" "$(jq -c 'select(.headers) | .headers' "$T/asked" | head -n 1)" "Bearer $PROVIDER_KEY"
finish
