#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# remote_run.sh: requests with a target: what is refused before anything begins, and what is carried out there.
. "$(dirname "$0")/fixture.sh"
need jq || finish
export RYE_NODE_IDLE_MS=3000

fx_spaces
fx_tool "$P" note 'cat >/dev/null' 'echo noted >>notes' 'echo here'
fx_put "$P" tools/make.sh <<'TOOL'
#!/bin/bash
# __version__ = "1.0.0"
# __tool_type__ = "shell"
# __category__ = ""
# __tool_description__ = "has a target of its own"
# parameters: [{name: target, type: string}]
echo "makes $(jq -r .target)"
TOOL
fx_put "$P" directives/hello.md <<'TEXT'
# Hello

```xml
<directive name="hello" version="1.0.0">
  <metadata>
    <description>Greet somebody.</description>
    <category></category>
    <author>tests</author>
  </metadata>
</directive>
```

Greet.
TEXT
fx_sign "$P" tool:note tool:make directive:hello
allow '^ryefs: (info refused: )?(tool|directive|execute)'
fx_mount

run() { converse "$M/tools/$1/run" "${2:-}"; } # NAME [JSON]: the reply
execute() { converse "$M/execute" "$1"; }
error() { jq -r .error <<<"$1"; }
cli() { timeout 60 "$RYEFS" execute --project "$P" --user "$U" --system "$S" -q "$@" 2>&1; }

# --- no remote is configured ---
none="No remote 'gpu'; none is configured
mend with: ryefs remote add NAME ssh://USER@HOST"
is 'a request' "$(error "$(execute '{"item_id":"tool:note","target":"remote:gpu"}')")" "$none"
is 'a request in the default place' "$(error "$(execute '{"item_id":"tool:note","target":"remote"}')")" "${none/gpu/default}"
is 'beside the parameters' "$(error "$(run note '{"target":"remote:gpu"}')")" "$none"
is 'beside the inputs' "$(error "$(converse "$M/directives/hello/fork" '{"target":"remote:gpu"}')")" "$none"
has 'on the command line' "$(cli tool:note --target remote:gpu)" "No remote 'gpu'; none is configured" "ryefs remote add NAME"
errno 'the errno of the write' EINVAL bash -c "echo '{\"target\":\"remote:gpu\"}' >'$M/tools/note/run'"
is "a tool's own parameter stays its own" "$(run make '{"target":"remote:gpu"}' | jq -r .data.stdout)" 'makes remote:gpu'
like 'a word that is no remote is a parameter' "$(error "$(run note '{"target":"install"}')")" 'null'
rm -f "$P/notes"

# --- the matrix, by each door: all its cells, then what is no cell ---
is '13: all cells of the matrix, by every door' "$(python3 "$SRC/e2e/remote_matrix.py" "$RYEFS" "$SRC" "$P" "$U" "$S" "$M" 2>&1)" \
  'mount: 48 of 48
mcp: 48 of 48
graph: 12 of 12
command line: 16 of 16'
like 'a dry run' "$(error "$(converse "$M/tools/note/dry_run" '{"target":"remote:gpu"}')")" '^dry_run \+ remote is not supported'
like 'a directive inline' "$(error "$(converse "$M/directives/hello/run" '{"target":"remote:gpu"}')")" '^Directives on remote must use thread="fork"'
like 'a dry run on the command line' "$(cli --dry-run --target remote:gpu tool:note)" 'dry_run \+ remote is not supported'
like 'a name that is none' "$(error "$(run note '{"target":"remote:../x"}')")" "a remote's name is 1 to 64 of"
like 'no name at all' "$(cli tool:note --target remote:)" 'remote name cannot be empty'

# --- others are ---
fx_put "$P" config/remotes/remotes.yaml <<'YAML'
version: "1.0.0"
category: remotes
remotes:
  box: {url: "command:false", project_path: demo}
  lab: {url: "ssh://lab.invalid", project_path: demo}
YAML
like 'an unsigned list is refused' "$(error "$(execute '{"item_id":"tool:note","target":"remote:box"}')")" 'nsigned'
fx_sign "$P" config:remotes/remotes
is 'one that is not among them' "$(error "$(execute '{"item_id":"tool:note","target":"remote:gpu"}')")" "No remote 'gpu'; there are: box, lab"
not_ok 'nothing has run here' test -e "$P/notes"

# --- one that is not pinned: a thread, whose end says so ---
reply=$(execute '{"item_id":"tool:note","target":"remote:box"}')
has 'the run fails' "$(error "$reply")" 'box is not pinned' 'ryefs remote add box'
id=$(jq -r .thread_id <<<"$reply")
like 'it is a thread' "$id" '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-'
is 'that has ended' "$(cat "$M/state/threads/$id/status" "$M/state/threads/$id/wait" | xargs)" 'error error'
like 'with its reason' "$(<"$M/state/threads/$id/error")" '^box is not pinned'
is 'its reply says where' "$(jq -c '[.remote,.execution_mode]' <<<"$reply")" '["box","remote"]'
is 'no order of it is kept' "$(ls "$M/remotes/box/threads")" ''
reply=$(converse "$M/remotes/box/tools/note/async")
id=$(jq -r .thread_id <<<"$reply")
is 'async answers at once' "$(jq -c '[.status,.async,.remote]' <<<"$reply")" '["running",true,"box"]'
is 'and ends as it does' "$(<"$M/state/threads/$id/wait")" error
mkdir -p "$P/.ai/state/remotes/box/outbox"
echo '{}' >"$P/.ai/state/remotes/box/outbox/$id"
is 'what an order lies of is a thread of the remote' "$(readlink "$M/remotes/box/threads/$id")" "../../../state/threads/$id"
is 'and leads to it' "$(<"$M/remotes/box/threads/$id/status")" error
echo delete >"$M/state/threads/$id/ctl"
is 'a deleted one is none' "$(ls "$M/remotes/box/threads")" ''
like 'a directive, too' "$(error "$(converse "$M/remotes/box/directives/hello/fork")")" '^box is not pinned'

# --- one that is pinned, of which nothing is heard ---
"$RYEFS" node init "$T/node" --system "$S" >/dev/null
printf '#!/bin/sh\nexport RYE_SHOWN=ours PLAIN_SHOWN=ours\necho >>"%s"\nexec "%s" node --stdio "%s"\n' "$T/connections" "$RYEFS" "$T/node" >"$T/way"
chmod 755 "$T/way"
remote() { timeout 60 "$RYEFS" remote "$@" --project "$P" --user "$U" --system "$S" 2>&1; }
like 'a node is pinned' "$(remote add --yes node "command:$T/way")" 'node is pinned'
like 'it has to know us' "$(error "$(execute '{"item_id":"tool:note","target":"remote:node"}')")" \
  '^node does not know your key .*ryefs node admit --dir [^ ]*/node [0-9a-f]{16}$'
ok 'and does' "$RYEFS" node admit --dir "$T/node" "$(ls "$T/node/asked" | sed 's/[.]pem$//')" --system "$S"
mv "$T/node" "$T/gone"
like 'one that is gone' "$(error "$(execute '{"item_id":"tool:note","target":"remote:node"}')")" '^node.*; the order was not sent$'
errno 'the errno of the write' EHOSTUNREACH bash -c "echo '{}' >'$M/remotes/node/tools/note/run'"
like 'its status says so' "$(<"$M/remotes/node/status")" '^unreachable, tried [0-9]+ s ago: node'
not_ok 'nothing has run here, still' test -e "$P/notes"

# --- one that works: the project is sent there, the door starts a worker ---
mv "$T/gone" "$T/node"
mkdir "$P/data"
echo kept >"$P/data/kept"
echo old >"$P/data/edited"
echo old >"$P/data/removed"
plant=PLANTED-$RANDOM
echo "$plant" >"$P/.env"
reply=$(execute '{"item_id":"tool:note","target":"remote:node"}')
is 'a run there ends here' "$(jq -c '[.status,.remote,.execution_mode,.data.stdout]' <<<"$reply")" '["success","node","remote","here\n"]'
id=$(jq -r .thread_id <<<"$reply")
changes=$P/.ai/state/threads/$id/changes
is 'and says so' "$(jq -r .state <<<"$reply")" completed
is 'it ran there' "$(<"$changes/notes")" noted
not_ok 'and not here' test -e "$P/notes"
is 'what it made is all that came back' "$(ls -A "$changes")" notes
is 'and is listed' "$(jq -c '[[.changed[]|[.path,.size,.mode,.was]],.removed]' "$changes.json")" '[[["notes",6,"644",null]],[]]'
is 'its files are those of a thread' "$(cat "$M/state/threads/$id/status" "$M/state/threads/$id/live" | xargs)" 'completed here'
is 'its receipt is kept' "$(jq -r .receipt.status "$M/state/threads/$id/receipt.json")" completed
has 'and says where it ran' "$(<"$M/state/threads/$id/remote")" 'node done, heard'
# --- of the node's environment it has what its owner says ---
fx_put "$P" tools/shows.yaml <<'TOOL'
tool_id: shows
tool_type: bash
version: "1.0.0"
category: ""
description: shows the environment
executor_id: rye/core/runtimes/bash/bash
env_config: {env: {ASKED: "${PLAIN_SHOWN:-none}"}}
config: {script: 'echo "${ASKED-} ${RYE_SHOWN-none} ${PLAIN_SHOWN-none} ${RYE_NODE_IDLE_MS-none} ${HOME:+home}"'}
TOOL
fx_sign "$P" tool:shows
me=$(ls "$T/node/principals" | sed 's/[.]toml$//')
shown() { run shows '{"target":"remote:node"}' | jq -r .data.stdout; }
is 'none, if that says nothing' "$(shown)" 'none none none none home'
ok 'a name is admitted' "$RYEFS" node admit --dir "$T/node" "$me" env=PLAIN_SHOWN --system "$S"
is 'which it has then' "$(shown)" 'ours none ours none home'
ok 'one of ours as any other' "$RYEFS" node admit --dir "$T/node" "$me" env=RYE_SHOWN --system "$S"
is 'and no other' "$(shown)" 'none ours none none home'
"$RYEFS" node admit --dir "$T/node" "$me" env= --system "$S" >/dev/null

# --- its order and whether the project is sent, by each door: beside the parameters, as the target is ---
thread_of() { jq -r '.thread_id // .error' <<<"$1"; }
one=$(thread_of "$(run note '{"target":"remote:node","order":"one"}')")
like 'an order is taken beside the parameters' "$one" '^[0-9a-f]{8}-'
is 'and is one, by each door' "$(thread_of "$(run note '{"target":"remote:node","order":"one"}')")
$(thread_of "$(converse "$M/remotes/node/tools/note/run" '{"order":"one"}')")
$(thread_of "$(execute '{"item_id":"tool:note","target":"remote:node","order":"one"}')")" "$one
$one
$one"
is 'as is one whose item has other parameters' "$(jq -c '[.status,.data.stdout]' <<<"$(converse "$M/remotes/node/tools/rye/bash/bash/run" \
  '{"command":"echo told","order":"two","push":false}')")" '["success","told\n"]'
is 'push is true or false' "$(error "$(run note '{"target":"remote:node","push":"no"}')")" 'push must be true or false'
like 'of what runs here they are parameters' "$(error "$(converse "$M/tools/rye/bash/bash/run" '{"command":"date","order":"one","push":false}')")" \
  'Unknown parameters: order, push'
has 'from the command line' "$(cli tool:note --target remote:node)" here
is 'and nothing but what it says' "$(cli tool:rye/bash/bash --target remote:node command='echo from there')" 'from there'
is 'its tree is as it was pushed' "$(cli tool:rye/bash/bash --target remote:node command='find .ai -name .gitignore | wc -l')" 0
# its result is told before its tree is removed
no_runs() { [ -z "$(ls "$T/node/work/runs")" ]; }
ok 'its directory there is gone' until_true no_runs
is 'no planted value is there' "$(grep -rl "$plant" "$T/node" | wc -l)" 0
worker=$(pgrep -f "node-work $T/node" | wc -l)
is 'one worker works' "$worker" 1
fx_tool "$P" pusher '# requires: [shell.execute, rye.execute]' 'cat >/dev/null' \
  "echo '{}' >'$M/remotes/node/push' || echo refused" "echo connect >'$M/remotes/node/ctl' || echo refused"
fx_tool "$P" long 'cat >/dev/null' 'echo begun >>longs' 'echo begun' 'sleep 100'
fx_tool "$P" work 'cat >/dev/null' 'echo new >data/edited' 'rm data/removed' 'mkdir -p out/deep' \
  'printf "#!/bin/sh\n" >out/deep/made; chmod 755 out/deep/made' "echo $plant >.env" 'head -c 6000000 /dev/urandom >out/big' \
  'ln -s ../data/edited out/link' 'sha256sum out/big'
fx_sign "$P" tool:long tool:work tool:pusher
reply=$(execute '{"item_id":"tool:work","target":"remote:node"}')
id=$(jq -r .thread_id <<<"$reply")
changes=$P/.ai/state/threads/$id/changes
worked=$id
is 'a run that changes more' "$(jq -c '[[.changed[]|[.path,.mode]],[.removed[].path],[.refused[].path]]' "$changes.json")" \
  '[[["data/edited","644"],["out/big","C644"],["out/deep/made","755"],["out/link","L"]],["data/removed"],[".env"]]'
is 'its files came back' "$(cd "$changes" && find . -type f | sort | xargs)" './data/edited ./out/big ./out/deep/made'
is 'byte for byte' "$(cd "$changes" && sha256sum out/big)" "$(jq -r .data.stdout <<<"$reply" | head -n 1)"
ok 'with their modes' test -x "$changes/out/deep/made"
is 'the mount shows them' "$(<"$M/state/threads/$id/changes/data/edited")" new
is 'a link as a link, by which its file is read' "$(readlink "$M/state/threads/$id/changes/out/link") $(<"$M/state/threads/$id/changes/out/link")" '../data/edited new'
is 'as a tree' "$(cd "$M/state/threads/$id/changes" && find . -type f | sort | xargs)" './data/edited ./out/big ./out/deep/made'
rm -rf "$changes"
ok 'they come again' "$RYEFS" remote pull node "$id" --project "$P" --user "$U" --system "$S"
is 'as they were' "$(cd "$changes" && find . -type f | sort | xargs)" './data/edited ./out/big ./out/deep/made'
echo mine >"$P/data/edited"
errno 'what was changed here, too, is not written over' EBUSY bash -c "echo apply >'$M/state/threads/$id/ctl'"
is 'and is named' "$(jq -r '.conflicts[].path' "$changes.json")" data/edited
is 'the remedy names the thread' "$("$RYEFS" threads apply "$id" --project "$P" --user "$U" --system "$S" 2>&1 | grep -o "threads show [^ ]*")" \
  "threads show $id"
not_ok 'nothing was written' test -e "$P/out"
echo old >"$P/data/edited"
ok 'then it is' bash -c "echo apply >'$M/state/threads/$id/ctl'"
is 'byte for byte as there' "$(sha256sum <"$P/out/big")" "$(sha256sum <"$changes/out/big")"
is 'edited, made, removed' "$(cat "$P/data/edited"; test -x "$P/out/deep/made" && echo made; ls "$P/data" | xargs)" $'new\nmade\nedited kept'
is 'and linked' "$(readlink "$P/out/link")" ../data/edited
is 'again is nothing' "$("$RYEFS" threads apply "$id" --project "$P" --user "$U" --system "$S" 2>&1)" '0 files'
pushed() { jq -r .number "$M/remotes/node/pushed"; }
number=$(pushed)
echo more >"$P/data/more"
reply=$(execute '{"item_id":"tool:note","target":"remote:node","push":false}')
is 'without a push' "$(jq -r .status <<<"$reply") $(pushed)" "success $number"
is 'it runs in what was sent last' "$(jq -r .base "$P/.ai/state/threads/$(jq -r .thread_id <<<"$reply")/changes.json")" \
  "$(jq -r .manifest "$M/remotes/node/pushed")"
like 'a run here sends nothing' "$(error "$(execute '{"item_id":"tool:note","push":false}')")" '^push goes with a target'
rm "$P/data/more"
reply=$(converse "$M/remotes/node/tools/long/async")
id=$(jq -r .thread_id <<<"$reply")
is 'async answers at once' "$(jq -c '[.status,.async,.remote]' <<<"$reply")" '["running",true,"node"]'
ok 'what it prints comes here' until_true grep -q begun "$M/state/threads/$id/live"
like 'it is running there' "$(<"$M/state/threads/$id/remote")" '^node running, heard'
echo cancel >"$M/state/threads/$id/ctl"
is 'it is cancelled there' "$(<"$M/state/threads/$id/wait")" cancelled
is 'and was begun once' "$(<"$P/.ai/state/threads/$id/changes/longs")" begun
# --- ^C ends a run there as it ends one here ---
before=$id
beside called env --default-signal=INT "$RYEFS" execute --project "$P" --user "$U" --system "$S" -q tool:long --target remote:node
begun() { id=$(ls -t "$P/.ai/state/threads" | grep -- -....-....-....- | head -n 1) && [ "$id" != "$before" ] && [ "$(grep -c begun "$P/.ai/state/threads/$id/live")" = 1 ]; }
ok 'a call that waits' until_true begun
kill -INT "$BESIDE"
is '^C is told there' "$(<"$M/state/threads/$id/wait")" cancelled
ok 'and ends the call' until_true eval '! kill -0 "$BESIDE" 2>/dev/null'
like 'which says so' "$(<"$T/called.log")" 'Run was cancelled: node is told'

# --- push and ctl of a mount; nothing but a write connects ---
is 'push says what was sent' "$(converse "$M/remotes/node/push" | jq -c '[.status,.remote,.project,(.manifest|length),(.files>3),.new_blobs,[.refused[].path]]')" \
  '["success","node","'"$(basename "$P")"'",64,true,0,[".env","mnt"]]'
is 'and again to who asks' "$(jq -r .manifest <"$M/remotes/node/push")" "$(jq -r .manifest "$M/remotes/node/pushed")"
like 'ctl has words' "$(converse "$M/remotes/node/ctl" connect | jq -r '.said')" '^reachable, pinned, knows me'
is 'what it told is kept' "$(jq -c '[(.node.used.bytes>1000),(.node.workers|type)]' "$M/remotes/node/info.json")" '[true,"number"]'
errno 'but not others' EINVAL bash -c "echo dance >'$M/remotes/node/ctl'"
is 'no child of a run writes there' "$(run pusher | jq -r '.data.stdout' | xargs)" 'refused refused'
cp -a "$P/.ai/state/threads/$id" "$T/away" && rm -rf "$P/.ai/state/threads/$id"
is 'what was begun elsewhere is told' "$(ls "$M/remotes/node/foreign")" "$id.json"
is 'as the node tells it' "$(jq -r '.state' "$M/remotes/node/foreign/$id.json")" cancelled
mv "$T/away" "$P/.ai/state/threads/$id"
is 'unless it is here' "$(ls "$M/remotes/node/foreign")" ''

errno 'what is here is not adopted' EBUSY bash -c "echo 'adopt $worked' >'$M/remotes/node/ctl'"
"$RYEFS" threads delete "$worked" --project "$P" --user "$U" --system "$S" >/dev/null
converse "$M/remotes/node/ctl" connect >/dev/null
is 'one that was begun elsewhere' "$(ls "$M/remotes/node/foreign")" "$worked.json"
is 'is adopted' "$(converse "$M/remotes/node/ctl" "adopt $worked" | jq -r .thread_id)" "$worked"
is 'and is a thread here' "$(cat "$M/state/threads/$worked/wait") $(jq -r .receipt.status "$M/state/threads/$worked/receipt.json")" 'completed completed'
is 'with what it has changed' "$(cd "$M/state/threads/$worked/changes" && find . -type f | sort | xargs)" './data/edited ./out/big ./out/deep/made'
is 'which says what came of it' "$(jq -r .data.stdout "$M/state/threads/$worked/result.json" | grep -c out/big)" 1
errno 'an id of nothing' ENOENT bash -c "echo 'adopt 00000000-0000-4000-8000-000000000000' >'$M/remotes/node/ctl'"

# --- the tool does the same ---
remote_tool() { converse "$M/tools/rye/core/remote/remote/run" "$1"; }
is 'push' "$(remote_tool '{"action":"push","remote":"node"}' | jq -c '[.status,.data.success,.data.project]')" '["success",true,"'"$(basename "$P")"'"]'
like 'status' "$(remote_tool '{"action":"status","remote":"node"}' | jq -r '.data.status')" '^reachable, pinned'
is 'execute' "$(remote_tool '{"action":"execute","remote":"node","item_id":"tool:note"}' | jq -c '[.status,.data.remote,.data.data.stdout]')" '["success","node","here\n"]'
is 'threads' "$(remote_tool '{"action":"threads","remote":"node"}' | jq -r --arg id "$id" '.data.threads[]|select(.id==$id).state')" cancelled
like 'pull' "$(remote_tool '{"action":"pull","remote":"node","id":"'"$id"'"}' | jq -r '.status + .data.id')" "^success$id"
like 'one that is not there' "$(remote_tool '{"action":"push","remote":"nowhere"}' | jq -r .error)" "^No remote 'nowhere'; there are: "
is 'by name' "$(mkdir -p "$M/tools/rye/core/remote/remote/calls/one" && echo '{"action":"status","remote":"node"}' >"$T/one" && cp "$T/one" "$M/tools/rye/core/remote/remote/calls/one/request.json" && jq -r .status "$M/tools/rye/core/remote/remote/replies/one/reply.json")" success

# --- 28: what is listed and read connects to none: each connection is a line ---
before=$(wc -l <"$T/connections")
ls -R "$M" >/dev/null 2>&1
grep -r nothing "$M/remotes" "$M/tools/note" >/dev/null 2>&1
find "$M/remotes" -type f -exec cat {} + >/dev/null 2>&1
is '28: ls, grep, find and cat start no connection' "$(wc -l <"$T/connections")" "$before"
converse "$M/remotes/node/ctl" connect >/dev/null
is 'a word starts one' "$(wc -l <"$T/connections")" $((before + 1))

# --- a graph that is killed while a node works elsewhere, and gone on with: that is ordered once ---
fx_tool "$P" slow 'cat >/dev/null' 'echo slowly' 'sleep 3' 'echo done'
fx_put "$P" tools/once.yaml <<'TOOL'
tool_id: once
tool_type: graph
version: "1.0.0"
category: ""
description: one after the other, elsewhere
executor_id: rye/core/runtimes/state-graph/runtime
permissions: [rye.*]
config:
  start: a
  nodes:
    a: {remote: node, action: {item_id: "tool:slow"}, next: b}
    b: {type: foreach, over: [1, 2], as: n, action: {item_id: "tool:note", target: "remote:node", params: {}}, collect: all, next: c}
    c: {type: return}
TOOL
fx_sign "$P" tool:slow tool:once
orders() { ls "$P/.ai/state/remotes/node/outbox" | wc -l; }
before=$(orders)
beside once "$RYEFS" execute tool:once --project "$P" --user "$U" --system "$S" -q
slowly() { grep -lsx slowly "$P"/.ai/state/threads/*/live; }
ok 'its node works elsewhere' until_true slowly
kill -9 "$BESIDE"
graph=$(ls "$P/.ai/state/graphs" | grep ^once)
is 'it is gone on with' "$(cli tool:once --json resume:=true graph_run_id="$graph" | tail -n 1 | jq -r .data.status)" completed
is 'and each step was ordered once' "$(($(orders) - before)) $(slowly | wc -l)" '3 1'

# --- what lies in the user space goes along with what needs it ---
own() { # ID LINE... [-- HEADER]: a tool of the user space
  local id=$1
  shift
  mkdir -p "$(dirname "$U/.ai/tools/$id")"
  printf 'tool_id: %s\ntool_type: bash\nversion: "1.0.0"\ncategory: "%s"\ndescription: of the user\n' "$id" "${id%"${id##*/}"}" | sed 's,/",",' >"$U/.ai/tools/$id.yaml"
  printf 'executor_id: rye/core/runtimes/bash/bash\nconfig:\n  script: |\n    cat >/dev/null\n' >>"$U/.ai/tools/$id.yaml"
  printf '    %s\n' "$@" >>"$U/.ai/tools/$id.yaml"
  "$RYEFS" sign "tool:$id" --space user --project "$P" --user "$U" --system "$S" >/dev/null 2>&1
}
own mine 'echo mine'
mkdir -p "$U/.ai/tools/lib"
own lib/inner 'echo inner'
own lib/unasked 'echo unasked'
fx_put "$P" tools/calls.yaml <<'TOOL'
tool_id: calls
tool_type: graph
version: "1.0.0"
category: ""
description: calls what lies in the user space
executor_id: rye/core/runtimes/state-graph/runtime
permissions: [rye.execute.tool.lib.inner]
config:
  start: a
  nodes:
    a: {action: {item_id: "tool:lib/inner"}, assign: {said: "${result.stdout}"}, next: b}
    b: {type: return, output: {said: "${state.said}"}}
TOOL
fx_sign "$P" tool:calls
is 'a tool of the user space' "$(cli tool:mine --target remote:node)" mine
like 'one that a graph calls' "$(cli tool:calls --json --target remote:node | tail -n 1)" '"said": ?"inner'
order=$(ls -t "$P/.ai/state/remotes/node/outbox" | head -n 1)
is 'and it alone is in the order' "$(jq -c '.order.items|keys' "$P/.ai/state/remotes/node/outbox/$order")" '["tools/lib/inner.yaml"]'
is 'nothing of it stays there' "$(grep -rl 'echo inner' "$T/node/work" | wc -l)" 0
own huge "$(head -c 1600000 /dev/zero | tr '\0' '#')" "# $(head -c 1600000 /dev/zero | tr '\0' '#')"
like 'one that is too long says what to do' "$(cli tool:huge --target remote:node)" \
  'tool:huge of your user space is too long.* put its file into the project, tools/huge.yaml'
rm "$U/.ai/tools/huge.yaml"

# --- 20: secrets: what is asked for and listed, and nothing of it stays there ---
secret=VALUE-$RANDOM$RANDOM other=VALUE-$RANDOM$RANDOM
for name in ASKED LISTED; do echo "$secret" | "$RYEFS" secret set "$name" --project "$P" --user "$U" --system "$S"; done >/dev/null 2>&1
echo "$other" | "$RYEFS" secret set UNLISTED --project "$P" --user "$U" --system "$S" >/dev/null 2>&1
fx_put "$P" tools/spend.yaml <<'TOOL'
tool_id: spend
tool_type: bash
version: "1.0.0"
executor_id: rye/core/runtimes/bash/bash
category: ""
description: tells which of its variables it has
config:
  env: [ASKED, UNLISTED]
  script: |
    cat >/dev/null
    echo "${ASKED:+asked} ${LISTED:+listed} ${UNLISTED:+unlisted}" | xargs
    printf %s "$ASKED" | sha256sum | cut -c1-64
TOOL
sed -i 's/\(  node: {\)/\1secrets: [ASKED, LISTED], /' "$U/.ai/config/remotes/remotes.yaml"
fx_sign "$P" tool:spend
"$RYEFS" sign config:remotes/remotes --space user --project "$P" --user "$U" --system "$S" >/dev/null 2>&1
reply=$(execute '{"item_id":"tool:spend","target":"remote:node"}')
is '20: asked for and listed' "$(jq -r '.data.stdout' <<<"$reply" | head -n 1)" asked
like 'what is asked for and not listed is named, and not what nobody asks for' \
  "$(<"$M/state/threads/$(jq -r .thread_id <<<"$reply")/remote")" '^node done, heard [^ ]*; asked for and not sent: UNLISTED: what may be sent there is listed under secrets: in config/remotes/remotes.yaml$'
is 'is what it was' "$(jq -r '.data.stdout' <<<"$reply" | sed -n 2p)" "$(printf %s "$secret" | sha256sum | cut -c1-64)"
is 'and is nowhere there' "$(grep -rlF -e "$secret" -e "$other" "$T/node" | wc -l)" 0
is 'nor in the order' "$(grep -rlF -e "$secret" "$P/.ai/state" | wc -l)" 0
finish
