#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# talk_owners.sh: whose reply it is when its writer has ended. What ends within two seconds of it
# leaves it to its parent (a pipeline's cat, an agent's shell), what lives on takes it along; an
# attempt of one's own, failed before anything was asked, replaces what was there.
. "$(dirname "$0")/fixture.sh"

fx_spaces
for tool in ours say; do
  fx_python "$P" "$tool" <<'TEXT'
CONFIG_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": False}


def execute(params, project_path):
    return {"success": True, "output": params["text"]}
TEXT
done
fx_sign "$P" tool:ours
fx_sign "$P" tool:say
clocked fx_mount
# later SECONDS: so much time has passed for the mount, and its threads have had theirs to look
later() {
  pass "$1"
  sleep 0.3 # nothing tells that they have
}
export -f later pass clock_set
export PY T
export D=$M/tools/ours E=$M/.ryefs/errors
NONE='tool:say: there is no reply of this caller here; write a message to run, then read this again'

# --- what must work ---
is "a pipeline, read at once" "$(bash -c 'printf %s "{\"text\":\"piped\"}" | cat > $D/run; cat $D/output')" piped
is "and later" "$(bash -c 'printf %s "{\"text\":\"later\"}" | cat > $D/run; later 3; cat $D/output')" later
is "by a subshell's subshell" "$(bash -c '( (cat <<<"{\"text\":\"deep\"}" | cat > $D/run) ); later 3; cat $D/output')" deep
is "of one that lives on" "$(bash -c 'echo "{\"text\":\"builtin\"}" > $D/run; later 3; cat $D/output')" builtin
# an agent: a process that lives, each of its commands in a shell of its own
cat >"$T/agent.py" <<'CODE'
import subprocess, sys
for word in sys.argv[1:]:
    subprocess.run(["bash", "-c", word])
CODE
agent() { "$PY" -I "$T/agent.py" "$@" 2>&1; }
WRITE='echo "{\"text\":\"of A\"}" > $D/run'
WRONG='! echo "{\"txt\":\"of A\"}" > $D/run 2>/dev/null'
is "two commands of one agent" "$(agent "$WRITE" 'later 3' 'cat $D/output')" "of A"
has "and its failures" "$(agent "$WRONG" 'later 3' 'cat $E')" 'Unknown parameters: txt'
is "sh -c at a prompt" "$(printf '%s\n' "sh -c 'echo \"{\\\"text\\\":\\\"typed\\\"}\" > $D/run'" 'later 3' "cat $D/output" | bash)" typed
has "what a pipeline left unfinished" "$(bash -c 'printf "{\"text\":" | cat > $D/run; later 4; cat $D/output')" \
  'message unfinished: 8 bytes came'

# --- what must not ---
# another item: this test itself was left what is above
D=$M/tools/say
apart() { setsid -w bash -c "$1; exit \$?" 2>&1; }
export -f agent
export WRITE WRONG
is "an agent behind another one" "$(apart 'agent "$WRITE" "later 3" >/dev/null; agent "cat \$D/output"')" "$NONE"
is "nor seconds later" "$(apart 'agent "$WRITE" "later 3" >/dev/null; later 3; agent "cat \$D/output"')" "$NONE"
is "nor its failures" "$(apart 'agent "$WRONG" "later 3" >/dev/null; agent "cat \$E"')" ""
is "nor what it left unfinished" "$(apart 'agent "printf \"{\" | cat > \$D/run" "later 3" >/dev/null; agent "cat \$D/output" "cat \$E"')" "$NONE"
is "run says how it is used then" "$(apart 'agent "$WRITE" "later 3" >/dev/null; agent "head -n 1 \$D/run"')" \
  "$(apart 'agent "head -n 1 \$D/run"')"

# --- attempts ---
# harness SCRIPT: an earlier script of the same harness has a reply, seconds ago
harness() { apart "bash -c '$WRITE'; later 3; bash -c '$1'"; }
is "without an attempt it is there" "$(harness 'cat $D/output; :')" "of A"
for name in rum run.tmp.1; do
  has "an attempt at $name replaces it" "$(harness "echo x > \$D/$name; cat \$D/output; :")" 'Read-only file system' \
    "$name: no such control file, nothing was run; write the message to run"
done
has "in run, too" "$(harness 'echo x > $D/rum; cat $D/run; :')" '"status":"error","error":"rum: no such control file'
has "in errors, too" "$(harness 'echo x > $D/rum; tail -n 1 $E; :')" 'tool:say: rum: no such control file'
for name in .output.swp 4913 output~ output.bak; do
  has "what an editor puts beside it does not: $name" "$(harness "echo x > \$D/$name; cat \$D/output; :")" "of A"
done
if setpriv --no-new-privs true 2>/dev/null; then
  has "one that is refused" "$(harness 'setpriv --no-new-privs sh -c "echo {} > $D/run"; cat $D/output; :')" \
    "the caller is confined: it has another no_new_privs bit"
  # one that the kernel stops at the open: without the right to pass over modes, as any ordinary user
  NOBODY='setpriv --no-new-privs --bounding-set -dac_override,-dac_read_search'
  [ "$(id -u)" = 0 ] || NOBODY='setpriv --no-new-privs'
  ok "an open that the kernel refuses" bash -c "! $NOBODY sh -c 'echo {} >$D/run'"
  has "replaces it, too" "$(harness "$NOBODY sh -c \"echo {} > \$D/run\" 2>/dev/null; cat \$D/output; :")" \
    "the caller is confined: it has another no_new_privs bit"
  has "in errors, too" "$(harness "$NOBODY sh -c \"echo {} > \$D/run\" 2>/dev/null; tail -n 1 \$E; :")" \
    "tool:say run: the caller is confined"
  is "a look at it does not" "$(harness "$NOBODY sh -c \"stat \$D/run >/dev/null && sleep 0.1 && ls -l \$D >/dev/null\"; cat \$D/output; :")" "of A"
  has "who is refused reads why" "$(apart 'setpriv --no-new-privs cat $D/output')" 'tool:say: the caller is confined'
fi
finish
