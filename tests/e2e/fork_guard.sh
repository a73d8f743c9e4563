#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_guard.sh: what a model must not get at: keys, the workspace's secrets, the records of threads;
# and what it is given of results that are too long for it.
. "$(dirname "$0")/agent_lib.sh"

READ='{"name": "rye_file_system_read", "arguments": {"path":'
agent_model '{"by": "turn", "lanes": {
  "lane_keys": [{"calls": [
      {"id": "k1", '"${READ#\{} \"$U/.ai/config/keys/signing/private_key.pem\"}}"',
      {"id": "k2", '"${READ#\{} \".env\"}}"',
      {"id": "k3", "name": "rye_file_system_write", "arguments": {"path": ".ai/state/threads/registry.db", "content": "x"}},
      {"id": "k4", "name": "rye_file_system_write", "arguments": {"path": ".ai/config/keys/trusted/x.toml", "content": "x"}},
      {"id": "k5", "name": "rye_bash_bash", "arguments": {"command": "echo x >> .ai/state/threads/*/*/thread.json"}},
      {"id": "k6", "name": "rye_bash_bash", "arguments": {"command": "env; cat /proc/$PPID/environ"}}]},
    {"text": "so be it"}],
  "lane_env": [{"text": "read"}],
  "lane_tell": [{"calls": [{"id": "s1", "name": "t_tell", "arguments": {}}]}, {"text": "told"}],
  "lane_big": [{"calls": [{"id": "g1", "name": "t_big", "arguments": {}}, {"id": "g2", "name": "t_big", "arguments": {}}]}, {"text": "big"}],
  "lane_leaf": [{"calls": [{"id": "e1", "name": "t_echo", "arguments": {"n": 5}}]}, {"text": "leaf"}],
  "lane_star": [{"text": "star"}],
  "lane_ack": [{"text": "acknowledged"}],
  "lane_nameless": [{"calls": [{"id": "", "name": "t_echo", "arguments": {"n": 1}}, {"id": "", "name": "t_echo", "arguments": {"n": 2}}]}, {"text": "nameless"}],
  "lane_many": [{"calls": [{"id": "c0", "name": "t_echo", "arguments": {"n": 1}}, {"id": "c0", "name": "t_echo", "arguments": {"n": 2}}]}, {"text": "many"}]
}}'
fx_python "$P" t/big <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {}}
def execute(params, project_path):
    return {"success": True, "text": "BEGIN" + "x" * 1000000 + "END"}
CODE
fx_python "$P" t/echo <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
def execute(params, project_path):
    return {"success": True, "n": params["n"]}
CODE
fx_python "$P" t/tell <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {}}
import glob, hashlib, os, socket
def execute(params, project_path):
    name = hashlib.sha256(("%s\n%s" % (project_path, os.environ["RYE_THREAD_ID"])).encode()).hexdigest()[:32]
    runtime = open(os.path.join(project_path, "runtime")).read().strip()
    said, files = [], glob.glob(runtime + "/ryefs/*")
    for path in (runtime + "/ryefs/" + name, "/tmp/ryefs-%d/%s" % (os.getuid(), name)):
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as talk:
                talk.connect(path)
                talk.send(b"limit turns=1000")
                said.append(talk.recv(1000).decode())
        except OSError as error:
            said.append("socket: " + error.strerror)
    return {"success": True, "said": said, "files": len(files)}
CODE
ALL='    <permissions><execute><tool>rye.file-system.*</tool><tool>rye.bash.*</tool><tool>t.*</tool></execute></permissions>'
for name in keys big many nameless tell; do
  agent_directive lane_$name "$ALL
  </metadata>" <<<'Try.'
done
agent_directive lane_env '  </metadata>
  <inputs><input name="who" type="string" required="true">Whom</input></inputs>' <<<'Greet {input:who} at {env:SCRIPTED_KEY}.'
agent_directive lane_star '    <permissions>*</permissions>
  </metadata>' <<<'Everything.'
agent_directive lane_ack '    <permissions><execute>*</execute><acknowledge risk="unrestricted">a test</acknowledge></permissions>
  </metadata>' <<<'Everything.'
extending() { # NAME EXTENDS METADATA: the body comes from standard input
  {
    printf '```xml\n<directive name="%s" version="1.0.0" extends="%s">\n  <metadata>\n' "$1" "$2"
    printf '    <description>d</description>\n    <category></category>\n    <author>tests</author>\n%s\n  </metadata>\n</directive>\n```\n\n' "$3"
    cat
  } | fx_put "$P" "directives/$1.md"
  AGENT_REFS="$AGENT_REFS directive:$1"
}
for entry in base_system base_before both dropped leaf_after; do
  fx_knowledge "$P" ctx/$entry "Text of $entry."
  AGENT_REFS="$AGENT_REFS knowledge:ctx/$entry"
done
agent_directive lane_root '    <permissions><execute><tool>t.echo</tool></execute></permissions>
    <context><system>ctx/base_system</system><before>ctx/both</before><before>ctx/dropped</before></context>
  </metadata>' <<<'Root.'
extending lane_middle lane_root '    <context><before>ctx/base_before</before><before>ctx/both</before></context>' <<<'Middle.'
extending lane_leaf lane_middle '    <context><after>ctx/leaf_after</after><suppress>ctx/dropped</suppress></context>' <<<'Leaf.'
extending lane_round_a lane_round_b '' <<<'A.'
extending lane_round_b lane_round_a '' <<<'B.'
agent_sign tool:t/big tool:t/echo tool:t/tell
echo 'OTHER_SECRET=hush-hush' >"$P/.env"
export SCRIPTED_KEY=sk-very-secret
agent_runtime
echo "$XDG_RUNTIME_DIR" >"$P/runtime"
fx_mount

reply=$(fork lane_keys)
id=$(jq -r .thread_id <<<"$reply")
is "refusals end nothing" "$(jq -r .result <<<"$reply")" "so be it"
seen=$(cat "$P/.ai/state/threads/$id/transcript.jsonl" "$T/asked")
lacks "the signing key is not read" "$seen" "PRIVATE KEY"
lacks "nor .env" "$seen" "hush-hush"
lacks "nor the runner's environment" "$seen" "sk-very-secret"
told() { events "$id" "select(.event_type == \"tool_call_result\" and .payload.call_id == \"$1\") | .payload.error"; }
for n in 1 2 3 4; do
  like "k$n is an error of the call" "$(told k$n)" '^".*(closed to tools|outside the project)'
done
has "F43 its reason" "$(told k3)" ".ai/state"
is "F43 thread.json is as it was" "$(tail -c 1 "$P/.ai/state/threads/$id/thread.json")" "}"
not_ok "no key was made" test -e "$P/.ai/config/keys/trusted/x.toml"
fork lane_env '{"who": "{env:SCRIPTED_KEY}"}' >/dev/null
has "F44 an input's placeholder stays" "$(jq -c 'select(.body) | .body' "$T/asked" | grep lane_env)" '{env:SCRIPTED_KEY}'
lacks "F44 nothing is filled in" "$(<"$T/asked")" sk-very-secret

reply=$(fork lane_big)
id=$(jq -r .thread_id <<<"$reply")
said=$(jq -c 'select(.body) | .body' "$T/asked" | grep lane_big | tail -n 1)
has "T25 head and tail of a long result" "$said" BEGIN END
[ ${#said} -lt 30000 ] && good "T25 not all of it" || bad "T25 not all of it" "${#said}"
is "T25 the whole is kept, once" "$(find "$P/.ai/state/objects/blobs" -type f -size +900k | wc -l)" 1

has "T41 everything is refused" "$(fork lane_star | jq -r .error)" "classified as 'unrestricted'" "<acknowledge"
reply=$(fork lane_ack)
id=$(jq -r .thread_id <<<"$reply")
is "T41 unless acknowledged" "$(jq -r .result <<<"$reply")" acknowledged
is "T41 it has what it declares" "$(<"$M/state/threads/$id/capabilities")" 'rye.execute.*'
has "T41 what is elevated is a warning" "$(<"$M/state/threads/$id/warnings")" elevated 'rye.execute.*'
for lane in many nameless; do
  reply=$(fork lane_$lane)
  id=$(jq -r .thread_id <<<"$reply")
  ids=$(jq -c 'select(.body) | .body' "$T/asked" | grep lane_$lane | tail -n 1 | jq -r '.messages[] | select(.role == "tool") | .tool_call_id')
  is "T27 $lane: each call has an id of its own" "$(sort -u <<<"$ids" | grep -c .)" 2
  is "T27 $lane: the same ids in the transcript" "$(events "$id" 'select(.event_type == "tool_call_start") | .payload.call_id' | tr -d '"')" "$ids"
done

# ---- what a directive extends ----
reply=$(fork lane_leaf)
is "T14 permissions of the nearest that has some" "$(jq -r .result <<<"$reply")" leaf
said=$(jq -c 'select(.body) | .body' "$T/asked" | grep lane_leaf | head -n 1 | jq -r '.messages[] | .content' | grep -o 'Text of [a-z_]*\|Leaf\|Middle\|Root' | tr '\n' ' ')
is "T14 context of the whole chain, each once, less what is suppressed" "$said" \
  "Text of base_system Text of both Text of base_before Leaf Text of leaf_after "
has "T14 a circle" "$(fork lane_round_a | jq -r .error)" "Circular extends chain: lane_round_a (chain: lane_round_a" "lane_round_b"

# ---- configuration that decides what may be ----
fx_put "$P" config/agent/resilience.yaml <<<'limits: {defaults: {turns: 1000}}'
reply=$(fork lane_env '{"who": "x"}')
has "T45 unsigned limits are refused" "$(jq -r .error <<<"$reply")" "resilience.yaml"
is "T45 its row" "$(cat "$M/state/threads/$(jq -r .thread_id <<<"$reply")/status")" error
rm "$P/.ai/config/agent/resilience.yaml"
sed -i 's/author>tests/author>others/' "$P/.ai/directives/lane_many.md"
has "F41 a directive that was changed since signing" "$(fork lane_many | jq -r .error)" "ryefs sign directive:lane_many"

# a tool of a thread that speaks to its runner: what is there to be seen, and where nothing is hidden
tells() { events "$(fork lane_tell | jq -r .thread_id)" 'select(.event_type == "tool_call_result") | .payload.output' | jq -r .; }
said=$(tells)
has "a thread's socket is not there for its tools" "$said" 'socket: No such file'
has "nor anything else that is there" "$said" '"files":0'
umount_rye
fx_mount sandbox=off
said=$(tells)
has "nor does it raise its limits without a sandbox" "$said" 'limit: not from a tool of the thread itself'

# fifty at once
for i in $(seq 50); do fork_async lane_ack >"$T/many.$i" & done
wait $(jobs -p | grep -v "$DAEMON") 2>/dev/null
is "T02 fifty at once have fifty ids" "$(jq -r .thread_id "$T"/many.* | grep -cE '^lane_ack/lane_ack-[0-9]+$') $(jq -r .thread_id "$T"/many.* | sort -u | wc -l)" "50 50"
all_ended() { [ "$(cat "$M"/state/threads/lane_ack/*/status | sort -u)" = completed ]; }
ok "T02 and all end" fx_wait 60 all_ended

finish
