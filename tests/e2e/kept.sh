#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kept.sh: what the plans of a tool stand on is kept between its calls. Each thing that it stands on is
# changed here, and the very next call is another one.
# shellcheck disable=SC2016
. "$(dirname "$0")/fixture.sh"
need jq || finish
"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
unset KEPT_NAME

# program FILE TEXT: prints it
program() {
  mkdir -p "$(dirname "$1")"
  printf '#!/bin/sh\necho %s\n' "$2" >"$1"
  chmod 755 "$1"
}
# tool SPACE ID EXECUTOR LINE...: a YAML tool
tool() {
  local space=$1 id=$2 executor=$3
  shift 3
  {
    printf '%s\n' "tool_id: ${id##*/}" 'version: "1.0.0"' "category: ${id%/*}" 'description: a test' \
      "executor_id: $executor"
    printf '%s\n' "$@"
  } | fx_put "$space" "tools/$id.yaml"
}
# sign SPACE ID...: tools of the project or the user space
sign() {
  local space=$1 id
  shift
  for id; do fx_sign "$P" --space "$space" "tool:$id"; done
}
call() { converse "$M/tools/$1/run" "${2:-{\}}"; } # ID [JSON]
said() { call "$1" | jq -r 'if .status == "success" then (.data.stdout // .data.text // .data.result // .data | if type == "string" then rtrimstr("\n") else tojson end) else .error end'; }
# rest ID: until its ground is kept: what it stands on has lain still, and it was called twice
rest() {
  sleep 0.3 # as the comment says: its times have to be old
  for _ in 1 2 3 4; do call "$1" >/dev/null; done
}
not_like() { if echo "$2" | grep -qE "$3"; then bad "$1" "$2"; else good "$1"; fi; }
# next TEXT ID REGEX: what the very next call says
next() { like "$1" "$(said "$2")" "$3"; }

SHOW='config: {command: /bin/sh, args: [-c, "echo [$WHERE] [$KEPT_GOT] [$KEPT_PROGRAM] \"<$KEPT_MORE>\" $1 ${RYE_MODULE_m:+lent}; echo \"$RYE_MODULE_m\" | grep -o word-. || :", sh, "{word}"], word: from-runtime}'
runtime() { # SPACE WORD
  tool "$1" k/rt rye/core/primitives/execute 'tool_type: runtime' \
    'env_config: {interpreter: {type: system_binary, var: KEPT_PROGRAM, binary: kept-program}, env: {KEPT_GOT: "${KEPT_NAME:-nothing}"}}' \
    'anchor: {enabled: true, mode: auto, markers_any: [MARK], root: tool_dir, lib: lib, modules: [m.py], env_paths: {WHERE: {prepend: ["{anchor_path}"]}}}' \
    "${SHOW/from-runtime/$2}"
}
module() { # SPACE WORD
  printf '%s\n' '__version__ = "1.0.0"' '__tool_type__ = "python"' '__category__ = "k/lib"' \
    '__tool_description__ = "lent"' "__executor_id__ = \"rye/core/runtimes/python/function\"" "word = '$2'" |
    fx_put "$1" tools/k/lib/m.py
}
runtime "$U" user-runtime
module "$U" word-a
tool "$U" k/show k/rt 'tool_type: test' 'config: {}'
tool "$P" k/ours k/rt 'tool_type: test' 'config: {}' 'env_config: {env: {KEPT_MORE: "${KEPT_OWN:-nothing}"}}'
sign user k/rt k/lib/m k/show
sign project k/ours
program "$T/bin2/kept-program" two

server() { # NAME WORD
  tool "$P" mcp/servers/"$1" null 'tool_type: mcp_server' 'config:' '  transport: stdio' '  command: kept-python' \
    "  args: ['$E2E/mcp_server.py', '{project_path}/$1.notes', legacy]" "  env: {ONE: '\${KEPT_NAME:-nothing}', TWO: $2}"
}
server s two
tool "$P" mcp/s/pid rye/core/runtimes/mcp/stdio 'tool_type: mcp' 'config: {server: mcp/servers/s, tool_name: pid}'
sign project mcp/servers/s mcp/s/pid
mkdir -p "$T/bin1"
ln -s "$PY" "$T/bin2/kept-python"
printf '#!/bin/sh\nexec %s "$@"\n' "$PY" >"$T/kept-python"
chmod 755 "$T/kept-python"
export PATH=$T/bin1:$T/bin2:$PATH TMUX_TMPDIR=$T
allow '^ryefs: (info refused: )?(tool|execute)|ambiguous, .yaml wins|^ryefs: warning trust: (project|user) key file'
fx_mount

# ---- a program ----

rest k/show
mark
is "it is as it was" "$(said k/show | tr '\n' ' ')" "[] [nothing] [$T/bin2/kept-program] <> user-runtime lent word-a "
is "nothing is looked up in the store for it" "$(since hits)" 0

runtime "$U" edited-runtime
sign user k/rt
next "an edited runtime" k/show edited-runtime
rest k/show
echo '# changed' >>"$U/.ai/tools/k/rt.yaml"
next "a runtime that is not as it was signed" k/show 'modified|Integrity|changed'
runtime "$U" user-runtime
sign user k/rt
next "and is again" k/show user-runtime
rest k/show
tool "$P" k/show k/rt 'tool_type: test' 'config: {word: shadow}'
sign project k/show
next "a tool of the project in the place of the user's" k/show shadow
rest k/show
runtime "$P" project-runtime
module "$P" word-p
sign project k/rt k/lib/m
sed -i 's/shadow/{params_key}/; /^config/d' "$P/.ai/tools/k/show.yaml"
sign project k/show
next "a runtime, too" k/show project-runtime
rest k/show
rm "$P/.ai/tools/k/rt.yaml"
next "and both away" k/show user-runtime
rest k/show
rm "$P/.ai/tools/k/show.yaml"
next "the tool alone" k/show user-runtime
rest k/show
fx_tool "$U" k/show 'echo other-extension'
sign user k/show
call k/show >"$T/reply"
like "another file of its id is told of" "$(<"$T/reply")" ambiguous
rm "$U/.ai/tools/k/show.sh"
next "until it goes" k/show user-runtime

rest k/show
program "$T/bin1/kept-program" one
next "a program that is found earlier" k/show 'bin1/kept-program'
rest k/show
chmod 644 "$T/bin1/kept-program"
next "and may not be run any more" k/show 'bin2/kept-program'
rest k/show
module "$U" word-b
sign user k/lib/m
next "a module that it is lent" k/show word-b
rest k/show
touch "$U/.ai/tools/k/MARK"
next "a marker of its directory" k/show "^\[$U/.ai/tools/k\]"
rest k/show
rm "$U/.ai/tools/k/MARK"
next "which goes" k/show '^\[\]'

# ---- the environment ----

rest k/show
rest k/ours
printf '%s\n' KEPT_NAME=dotenv KEPT_OWN=dotenv >"$P/.env"
next "a name in .env, for an item of the project" k/ours '<dotenv>'
next "but not what an item of the person's asks for" k/ours '\[nothing\]'
next "nor for one of the person's" k/show '\[nothing\]'
rest k/ours
echo KEPT_OWN=changed >"$P/.env"
next "another value" k/ours '<changed>'
rest k/ours
rm "$P/.env"
next "no .env" k/ours '<nothing>'
rest k/show
rest k/show
printf sesame | "$RYEFS" secret set KEPT_NAME --project "$P" >/dev/null
next "a secret" k/show '\[sesame\]'
rest k/show
"$RYEFS" secret rm KEPT_NAME --project "$P" >/dev/null
next "and none" k/show '\[nothing\]'

# ---- configuration ----

settings() { # LINE...
  printf "%s\n" "category: execution" 'version: "1.0.0"' "$@" | fx_put "$P" config/execution/execution.yaml
  fx_sign "$P" config:execution/execution
}
rest k/show
settings 'lockfiles: nonsense'
next "configuration that comes" k/show 'lockfiles: enforce or create'
settings 'lockfiles: enforce'
next "is changed" k/show user-runtime
rest k/show
mkdir -p "$P/.ai/lockfiles/k"
echo '{"root": {"integrity": "other"}, "resolved_chain": []}' >"$P/.ai/lockfiles/k/show@1.0.0.lock.json"
next "a lockfile that does not fit" k/show 'Lockfile integrity mismatch'
rm -r "$P/.ai/lockfiles"
next "none" k/show user-runtime
rest k/show
settings 'tools: {k/show: {max_output_bytes: 4}}'
not_like "another limit" "$(said k/show)" user-runtime
rest k/show
rm "$P/.ai/config/execution/execution.yaml"
next "no configuration" k/show user-runtime

# ---- while others call it ----

flips() { # how often a change is not what the next call says
  local i wrong=0
  for i in $(seq 12); do
    tool "$U" k/show k/rt 'tool_type: test' "config: {word: flip-$i-}"
    sign user k/show
    [[ $(said k/show) == *flip-$i-* ]] || wrong=$((wrong + 1))
    # now and then long enough to be kept
    [ $((i % 3)) != 0 ] || sleep 0.4
  done
  echo $wrong
}
for i in 1 2 3; do
  while [ ! -e "$T/stop" ]; do call k/show >/dev/null; done &
  CALLERS="${CALLERS:-} $!"
done
is "each of twelve edits acts while three others call it" "$(flips)" 0
touch "$T/stop"
# shellcheck disable=SC2086
wait $CALLERS

# ---- a server of the Model Context Protocol ----

pid() { call mcp/s/pid | jq -r .data.pid; }
# other TEXT COMMAND...: behind it, the call meets another server; WORD: what its item's pid says
other() {
  local what=$1 before
  shift
  rest mcp/s/pid
  before=$(pid)
  is "$what: the server stays" "$(pid)" "$before"
  "$@"
  not_ok "$what: another server" test "$(pid)" = "$before"
}
edit() { server s "$1" && sign project mcp/servers/s; }
earlier() { cp "$T/kept-python" "$T/bin1/kept-python"; }
dotenv() { echo "KEPT_NAME=$1" >"$P/.env"; }
session() { mkdir "$T/tmux-$(id -u)"; }
other "an edited item" edit three
other "a program found earlier" earlier
other "a variable" dotenv value
other "a directory that its veil has to hide" session
rest mcp/s/pid
mark
pid >/dev/null
is "its plan is kept" "$(since hits)" 0
sed -i 's/tool_name: pid/tool_name: echo/' "$P/.ai/tools/mcp/s/pid.yaml"
next "a tool that is not as it was signed" mcp/s/pid 'modified|Integrity|changed'
sign project mcp/s/pid
like "and is signed" "$(call mcp/s/pid '{"text":"hello"}')" hello
rest mcp/s/pid
rm "$P/.ai/tools/mcp/servers/s.yaml"
next "no server" mcp/s/pid 'not found'
finish
