#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# remote_failures.sh: each way in which a run elsewhere, or a push, fails: the errno of the write, the sentence, and
# that what the sentence says to type mends it.
. "$(dirname "$0")/fixture.sh"
need jq || finish
export RYE_NODE_IDLE_MS=60000 RYE_NODE_LEASE_MS=1000 RYE_NODE_SILENT_MS=2000

fx_spaces
fx_tool "$P" note 'cat >/dev/null' 'echo noted'
fx_tool "$P" nap 'cat >/dev/null' 'echo begun' 'sleep 60'
fx_tool "$P" theirs 'cat >/dev/null' 'echo theirs'
fx_tool "$P" walk 'cat >/dev/null' 'echo set out' 'sleep 4' 'echo there'
fx_put "$P" tools/twice.yaml <<'TOOL'
tool_id: twice
tool_type: bash
version: "1.0.0"
category: ""
description: may be begun again
idempotent: true
executor_id: rye/core/runtimes/bash/bash
config: {script: 'echo begun twice; sleep 2'}
TOOL
fx_sign "$P" tool:note tool:nap tool:walk tool:twice
allow '^ryefs: (info refused: )?(tool|directive|execute|remotes|warning trust)'
rye() { timeout 60 "$RYEFS" "$@" --project "$P" --user "$U" --system "$S" 2>&1 </dev/null; }
mkdir "$T/bin"
way() { printf '#!/bin/sh\n%s\n' "$1" >"$T/bin/way" && chmod 755 "$T/bin/way"; }
there() { way "exec '$RYEFS' node --stdio '$T/$1'"; }
for node in node other; do "$RYEFS" node init "$T/$node" --system "$S" >/dev/null; done
there node
fx_put "$P" config/remotes/remotes.yaml <<YAML
version: "1.0.0"
category: remotes
remotes: {gpu: {url: "command:$T/bin/way", project_path: demo}}
YAML
fx_sign "$P" config:remotes/remotes
fx_mount

# say FILE MESSAGE: the errno of the write, and the sentence of its reply
say() {
  timeout 120 "$PY" -c '
import errno, json, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
code = "OK"
try:
    os.write(fd, sys.argv[2].encode())
except OSError as e:
    code = errno.errorcode[e.errno]
text = os.read(fd, 1 << 20).decode()
print(code, json.loads(text).get("error", "") if text.strip() else "")' "$M/$1" "$2" 2>&1
}
# row NAME ERRNO TEXT FILE MESSAGE
row() {
  said=$(say "$4" "$5")
  like "$1: $2" "$said" "^$2 $3"
}
# mends NAME FILE MESSAGE [WORD...]: what stands behind the last `ryefs` of the sentence is typed, with these words
mends() {
  local name=$1 file=$2 message=$3 typed=${said##*ryefs }
  shift 3
  eval "rye $typed $*" >"$T/typed"
  row "$name: ryefs $typed" OK '' "$file" "$message"
}
RUN=remotes/gpu/tools/note/run PUSH=remotes/gpu/push

row 'a name that is none' EINVAL "No remote 'x'; there are: gpu" execute '{"item_id":"tool:note","target":"remote:x"}'
row 'no name' EINVAL 'Invalid target "remote:"' execute '{"item_id":"tool:note","target":"remote:"}'
row 'a dry run' EINVAL 'dry_run \+ remote is not supported' remotes/gpu/tools/note/dry_run '{}'
row 'a word that is none' EINVAL "'dance' is none of connect, gc, adopt ID, forget ID or pull ID" remotes/gpu/ctl dance
is 'its line in the log names the file alone' "$(bash -c "echo dance >'$M/remotes/gpu/ctl'" 2>/dev/null || tail -n 1 "$M/.ryefs/errors" | grep -o "remotes/gpu/ctl.*'dance'")" \
  "remotes/gpu/ctl: 'dance'"
row 'no run' EINVAL "pull ID: '7' is no id" remotes/gpu/ctl 'pull 7'
row 'a member that push has not' EINVAL 'push takes \{\}' $PUSH '{"colour":1}'
row 'one that is not pinned' ENOENT 'gpu is not pinned' $PUSH '{}'
eval "rye ${said##*ryefs } --yes" >/dev/null
row 'a key that is not known there' EACCES 'gpu does not know your key [0-9a-f]{16}; its owner says: ryefs node admit' $RUN '{}'
mends 'a key that is not known there' $RUN '{}'
there other
row 'another key' EKEYREJECTED 'gpu shows key [0-9a-f]{16}, pinned is [0-9a-f]{16}; if that is right: ryefs remote add --again gpu' $RUN '{}'
rye node admit --dir "$T/other" "$U/.ai/config/keys/signing/public_key.pem" >/dev/null
mends 'another key' $PUSH '{"force":true}' --yes
there node
row 'and back' EKEYREJECTED 'gpu shows key' $PUSH '{}'
mends 'and back' $PUSH '{"force":true}' --yes
way 'echo "ssh: no route to host" >&2; exit 255'
row 'one that cannot be reached' EHOSTUNREACH 'gpu: way said: ssh: no route to host; the order was not sent$' $RUN '{}'
row 'nor pushed to' EHOSTUNREACH 'gpu: way said: ssh: no route to host$' $PUSH '{}'
row 'nor asked' EHOSTUNREACH 'gpu: way said' remotes/gpu/ctl 'connect'
there node
row 'again' OK '' remotes/gpu/ctl 'connect'

# --- 29: one that says nothing: local work does not wait for it ---
way 'exec sleep 300.'$$
say $PUSH '{}' >"$T/silent" &
silent=$!
ok 'a push waits' until_true pgrep -f "sleep 300.$$"
is '29: a run here does not' "$(converse "$M/tools/note/run" | jq -r .data.stdout)" noted
ok 'nor what is looked at' test -d "$M/remotes/gpu/threads"
ok 'and it waits still' kill -0 "$silent"
wait "$silent"
like 'it is told within 20 s' "$(<"$T/silent")" '^EHOSTUNREACH gpu: nothing was heard within 20 s'
there node

# --- an item of somebody else's ---
mkdir "$T/theirs"
USER_SPACE=$T/theirs "$RYEFS" keygen >/dev/null
USER_SPACE=$T/theirs "$RYEFS" sign --project "$P" tool:theirs >/dev/null 2>&1
rye trust --yes "$T/theirs/.ai/config/keys/signing/public_key.pem" >/dev/null
row 'an item of a key for which one may not vouch' ENOKEY \
  'gpu: tool:theirs is signed by [0-9a-f]{16}, which your entry there may not vouch for; its owner says: ryefs node admit' \
  remotes/gpu/tools/theirs/run '{}'
mends 'an item of a key for which one may not vouch' remotes/gpu/tools/theirs/run '{}'

# --- a name that two push to ---
cp -a "$P" "$T/clone"
rm -rf "$T/clone/.ai/state/remotes"
echo more >"$T/clone/more"
timeout 60 "$RYEFS" remote push --force gpu --project "$T/clone" --user "$U" --system "$S" >/dev/null 2>&1
row 'a name that was pushed from elsewhere' ESTALE 'gpu: demo on gpu was pushed by [0-9a-f]{16} from elsewhere' $PUSH '{}'
mends 'a name that was pushed from elsewhere' $PUSH '{}'

# --- limits ---
me=$(ls "$T/node/principals" | sed 's/[.]toml$//')
rye node admit --dir "$T/node" "$me" bytes=1 >/dev/null
echo more >"$P/even-more"
row 'no room there' EDQUOT ".* of yours on gpu are used, and all of it is needed; its owner gives more by ryefs node admit $me bytes=20G" $PUSH '{}'
rye node admit --dir "$T/node" "$me" bytes=1G queued=0 >/dev/null
row 'too many that wait' EAGAIN 'gpu: 0 orders of yours wait already, that is the limit' $RUN '{}'
rye node admit --dir "$T/node" "$me" queued=10 >/dev/null
row 'room again' OK '' $RUN '{}'

# --- its entry there changes while a run of it is followed: that goes on ---
say remotes/gpu/tools/walk/run '{}' >"$T/walked" &
walk=$!
ok 'a run sets out' until_true eval 'grep -qs "set out" "$P"/.ai/state/threads/*/live'
rye node admit --dir "$T/node" "$me" jobs=6 >/dev/null
wait "$walk"
like 'and comes to its end here, too' "$(<"$T/walked")" '^OK $'

# --- one that goes on there, and has ended here: no connection waits for it ---
say remotes/gpu/tools/nap/run '{}' >"$T/left" &
left=$!
ok 'a run naps' until_true eval 'grep -qs begun "$P"/.ai/state/threads/*/live'
id=$(ls -t "$P/.ai/state/remotes/gpu/outbox" | head -n 1)
mkdir -p "$P/.ai/state/remotes/gpu/lost"
printf '%064d' 0 >"$P/.ai/state/remotes/gpu/lost/$id"
like 'it is asked for, and not waited for' "$(timeout 8 "$RYEFS" remote status gpu --project "$P" --user "$U" --system "$S" 2>&1)" 'reachable'
rye remote threads gpu >/dev/null
echo cancel >"$P/.ai/state/threads/$id/ctl" 2>/dev/null || rye threads cancel "$id" >/dev/null
wait "$left"
rm -f "$P/.ai/state/remotes/gpu/lost/$id" "$P"/.ai/state/threads/*/live

# --- lost: its worker is silent, another one says so ---
say remotes/gpu/tools/nap/run '{}' >"$T/lost" &
lost=$!
ok 'a run begins there' until_true eval 'grep -qs begun "$P"/.ai/state/threads/*/live'
worker=$(pgrep -f "node-work $T/node")
kill -STOP "$worker"
beside second "$RYEFS" node-work "$T/node" 0
wait "$lost"
like 'a run that is lost: EIO' "$(<"$T/lost")" '^EIO gpu: the worker has not been heard since .*; what the tool did until then is not known; it was not started again$'
kill -KILL "$worker"
id=$(ls -t "$P/.ai/state/remotes/gpu/outbox" | head -n 1)
row 'a lost one is forgotten' OK '' remotes/gpu/ctl "forget $id"
row 'once' ENOENT 'gpu: no order .* was sent from here' remotes/gpu/ctl "forget $id"

# --- 15: one that is idempotent is begun again, and ends ---
say remotes/gpu/tools/twice/run '{}' >"$T/twice" &
twice=$!
is_begun() { id=$(grep -ls 'begun twice' "$P"/.ai/state/threads/*/live) && id=$(basename "$(dirname "$id")"); }
ok 'an idempotent one begins there' until_true is_begun
mapfile -t workers < <(pgrep -f "node-work $T/node")
kill -STOP "${workers[@]}"
beside third "$RYEFS" node-work "$T/node" 0
wait "$twice"
is 'it ends though its workers are silent' "$(<"$T/twice")" 'OK '
kill -KILL "${workers[@]}"
is 'in another attempt' "$(jq -c '.receipt | [.gen, .status]' "$P/.ai/state/threads/$id/receipt.json")" '[2,"completed"]'

errno 'a copy is no push' EROFS cp /etc/hostname "$M/remotes/gpu/file"
like 'and says what is' "$(<"$M/.ryefs/errors")" 'a copy is no push: .* write \{\} to'
finish
