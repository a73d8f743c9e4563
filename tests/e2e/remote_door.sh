#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# remote_door.sh: a node and a workspace that meet: made, admitted, pinned, asked; each way in which
# that fails, with its code, its exit status and its sentence; what a node's key can never sign. Over a
# program of this machine, and over ssh where a server can be started.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

export HOME=$T/home USER_SPACE=$U
unset RYE_SIGNING_KEY_DIR RYE_NODE XDG_DATA_HOME
mkdir "$HOME" "$T/bin"
NODE=$T/node
cd "$P" || exit 1
rye() { timeout 60 "$RYEFS" "$@" 2>&1; }
# status NAME WANTED...: the exit status of a command, whatever it says
status() {
  local name=$1 wanted=$2 rc
  shift 2
  timeout 60 "$@" >"$T/said" 2>&1 </dev/null
  rc=$?
  is "$name" "$rc" "$wanted"
}
code() { rye remote status --json "$1" | jq -r '.[0].code // "ok"'; }
rye keygen >/dev/null
FP=$(rye keys --json | jq -r '[.[] | select(.status == "signing")][0].fingerprint')

# what leads to the node: a script, so that what answers at one address can change
way() { printf '#!/bin/sh\n%s\n' "$1" >"$T/bin/way" && chmod 755 "$T/bin/way"; }
way "exec '$RYEFS' node --stdio '$NODE'"
URL=command:$T/bin/way

# --- four commands ---
like 'a node is made' "$(rye node init "$NODE")" "^made node [0-9a-f]{16} in $NODE"
like 'once' "$(rye node init "$NODE")" "^node [0-9a-f]{16} in $NODE"
is 'its directory is its owner'"'"'s alone' "$(stat -c %a "$NODE" "$NODE/keys" | tr '\n' ' ')" '700 700 '
status 'a remote is pinned after a yes alone' 5 "$RYEFS" remote add gpu "$URL" demo
like 'which says how' "$(<"$T/said")" 'mend with: ryefs remote --yes add gpu'
not_ok 'nothing was pinned' test -e "$U/.ai/config/remotes/gpu.toml"
like 'pinned, and not known there yet' "$(rye remote add --yes gpu "$URL" demo)" \
  "gpu does not know your key $FP; its owner says: ryefs node admit --dir $NODE $FP"
is 'which has a code' "$(code gpu)" denied
status 'and an exit status' 5 "$RYEFS" remote status gpu
is 'the key has asked' "$(rye node list --dir "$NODE" --json | jq -r '.[0].status')" asked
# the sentence's own command
admit=$(rye remote status gpu | sed -n 's/.*its owner says: ryefs //p')
like 'what it says admits the key' "$(eval "rye $admit")" "$FP is admitted"
like 'it is there, pinned, and knows us' "$(rye remote status)" '^gpu: reachable, pinned, knows me'
like 'doctor says the same' "$(rye doctor)" '^ok +remote gpu: reachable, pinned, knows me'
like 'what is configured' "$(rye remote list --json | jq -r '.[0] | .name + " " + .url + " " + .contact')" "^gpu $URL reached at "
is 'the pin is good, and the entry' "$(rye verify 'config:remotes/*' --json | jq -r '[.[].ok] | all')" true

# --- limits, and who may ---
like 'limits are set by name' "$(rye node admit --dir "$NODE" "$FP" jobs=2 bytes=1G --owner Ann)" 'is admitted'
is 'and are told' "$(rye remote status --json gpu | jq -c '.[0].info.limits | [.owner, .jobs, .bytes]')" '["Ann",2,1073741824]'
status 'one that there is not' 2 "$RYEFS" node admit --dir "$NODE" "$FP" colour=red
status 'a key that has not asked' 3 "$RYEFS" node admit --dir "$NODE" 0123456789abcdef
rye node admit --dir "$NODE" "$FP" expires=2020-01-01T00:00:00Z >/dev/null
like 'a date that is over' "$(rye remote status gpu)" "gpu knew your key $FP until 2020"
rye node admit --dir "$NODE" "$FP" expires= >/dev/null
is 'and taken away' "$(code gpu)" ok
sed -i 's/^jobs = 2/jobs = 9/' "$NODE/principals/$FP.toml"
is 'limits that the node has not signed are none' "$(code gpu)" denied
like 'its owner sees why' "$(rye node list --dir "$NODE")" 'content changed since it was signed'
status 'and says so first' 2 "$RYEFS" node admit --dir "$NODE" "$FP"
rye node remove --dir "$NODE" "$FP" >/dev/null
is 'removed at once' "$(code gpu)" denied
rye node admit --dir "$NODE" "$U/.ai/config/keys/signing/public_key.pem" >/dev/null
is 'admitted by the file of a key' "$(code gpu)" ok
way "exec '$RYEFS' node --stdio --as 0123456789abcdef '$NODE'"
like 'a way in for another key alone' "$(rye remote status gpu)" 'lets only the key 0123456789abcdef in'

# --- what fails on the way ---
way 'echo one >&2; echo "ssh: no route to host" >&2; exit 255'
is 'unreachable' "$(code gpu)" unreachable
is 'which is looked into with another command' "$(rye remote status gpu | grep -c 'mend with: ryefs remote status')" 0
like 'with its last words' "$(rye remote status gpu)" 'gpu: way said: ssh: no route to host'
like 'as a remark of doctor' "$(rye doctor)" '^remark +remote gpu: gpu: way said: ssh: no route to host'
way 'exit 0'
like 'without any' "$(rye remote status gpu)" 'gpu: way has ended without a word'
way 'echo Welcome to this machine, whose mail is unread; exec sleep 5'
like 'something else answers' "$(rye remote status gpu)" 'gpu: what answers there is no node of ryefs'
way "exec '$RYEFS' node --stdio '$T/none'"
like 'no node is there' "$(rye remote status gpu)" "gpu: way said: ryefs node: there is no node in $T/none\$"
rye node init "$T/other" >/dev/null
other=$(jq -r .fp "$T/other/card.json") node=$(jq -r .fp "$NODE/card.json")
way "exec '$RYEFS' node --stdio '$T/other'"
is 'another key' "$(code gpu)" key_changed
status 'is refused' 4 "$RYEFS" remote status gpu
like 'both are named' "$(<"$T/said")" "gpu shows key $other, pinned is $node; if that is right: ryefs remote add --again gpu"
is 'an add alone does not pin it' "$(rye remote add --yes gpu | grep -c 'pinned is')" 1
status 'and says so' 4 "$RYEFS" remote add --yes gpu
is 'with no word of a pin made, nor of one that is called NAME' "$(rye remote add --yes gpu | grep -cE 'is pinned|NAME')" 0
like 'the sentence does' "$(rye remote add --again --yes gpu)" 'gpu is pinned'
is 'then the other one is it' "$(rye remote list --json | jq -r '.[0].key')" "$other"
way "exec '$RYEFS' node --stdio '$NODE'"
rye remote add --again --yes gpu >/dev/null
is 'and back' "$(code gpu)" ok
# a project that names another address for it leads nowhere
mkdir -p "$P/.ai/config/remotes"
printf 'version: "1.0.0"\ncategory: remotes\nremotes:\n  gpu: {url: "command:/bin/touch %s"}\n' "$T/touched" >"$P/.ai/config/remotes/remotes.yaml"
is 'configuration without a signature' "$(code gpu)" unsigned
rye sign config:remotes/remotes >/dev/null
is 'another address' "$(code gpu)" key_changed
like 'is told' "$(rye remote status gpu)" "gpu is at command:/bin/touch $T/touched, and was at $URL"
not_ok 'and not tried' test -e "$T/touched"
rm "$P/.ai/config/remotes/remotes.yaml"
status 'no such name' 2 "$RYEFS" remote status nothing
like 'which are there' "$(<"$T/said")" "No remote 'nothing'; there are: gpu"
for name in .. a/b remotes '' "$(printf 'x%.0s' {1..65})"; do
  status "no name: $name" 2 "$RYEFS" remote add --yes "$name" "$URL"
done
status 'no address' 2 "$RYEFS" remote add --yes box ftp://box
printf 'not a frame at all' | timeout 20 "$RYEFS" node --stdio "$NODE" >/dev/null 2>"$T/said"
like 'a node that is told nonsense ends' "$(<"$T/said")" 'ryefs node: .*'
way 'exec sleep 60'
before=$(date +%s)
is 'one that says nothing' "$(code gpu)" unreachable
took=$(($(date +%s) - before))
ok 'is waited for 20 s, no longer' test "$took" -ge 19 -a "$took" -lt $((20 + 5 * ${RYE_TEST_SLOW:-4}))
like 'and told so' "$(rye remote list --json | jq -r '.[0].contact')" 'gpu: nothing was heard within 20 s'
way "exec '$RYEFS' node --stdio '$NODE'"

# --- what the node's key cannot sign ---
other_user=$T/thief
mkdir -p "$other_user"
thief() { USER_SPACE=$other_user RYE_SIGNING_KEY_DIR=$NODE/keys rye "$@"; }
thief trust --yes "$NODE/keys/public_key.pem" >/dev/null
put tools/bad.sh '#!/bin/bash
# __version__ = "1.0.0"
# __tool_type__ = "shell"
# __category__ = ""
# __tool_description__ = "is signed by a node"
echo bad'
put directives/bad.md '# Bad

```xml
<directive name="bad" version="1.0.0"><metadata><description>Bad.</description><category></category><author>a</author></metadata></directive>
```

Bad.'
put config/bad.yaml 'version: "1.0.0"
category: ""
x: 1'
rm -rf "$P/.ai/config/keys"
for ref in tool:bad directive:bad config:bad; do
  ok "a node's owner signs $ref" thief sign "$ref"
  status "which counts for nothing: $ref" 4 "$RYEFS" verify "$ref"
done
cp "$U/.ai/config/remotes/gpu.toml" "$U/.ai/config/keys/trusted/$node.toml"
status 'nor where its pin lies among the keys' 4 "$RYEFS" verify tool:bad
rm "$U/.ai/config/keys/trusted/$node.toml"

# --- forgotten ---
like 'forgotten' "$(rye remote rm gpu)" 'gpu is forgotten'
is 'no remote is left' "$(rye remote list -q --json)" '[]'
status 'twice' 3 "$RYEFS" remote rm gpu

# --- over ssh ---
if [ -x /usr/sbin/sshd ] && command -v ssh ssh-keygen >/dev/null; then
  ssh-keygen -q -t ed25519 -N '' -f "$T/host_key"
  ssh-keygen -q -t ed25519 -N '' -f "$T/user_key"
  printf 'restrict,command="%s node --stdio --as %s %s" %s\n' "$RYEFS" "$FP" "$NODE" "$(<"$T/user_key.pub")" >"$T/authorized"
  [ "$(id -u)" = 0 ] && mkdir -p -m 755 /run/sshd
  port=$((20000 + $$ % 20000))
  cat >"$T/sshd_config" <<CONF
ListenAddress 127.0.0.1
Port $port
HostKey $T/host_key
AuthorizedKeysFile $T/authorized
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
CONF
  beside sshd /usr/sbin/sshd -D -e -f "$T/sshd_config"
  printf 'IdentityFile %s\nIdentitiesOnly yes\nUserKnownHostsFile %s\n' "$T/user_key" "$T/known_hosts" >"$T/ssh_config"
  printf '[127.0.0.1]:%s %s\n' "$port" "$(<"$T/host_key.pub")" >"$T/known_hosts"
  printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$T/ssh_config" >"$T/bin/ssh"
  chmod 755 "$T/bin/ssh"
  export PATH="$T/bin:$PATH"
  until_true bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"
  like 'pinned over ssh' "$(rye remote add --yes box "ssh://$(id -un)@127.0.0.1:$port")" 'box is pinned'
  like 'and reached' "$(rye remote status box)" '^box: reachable, pinned, knows me'
  : >"$T/authorized"
  like 'what ssh says' "$(rye remote status box)" 'box: ssh said: .*Permission denied'
  is 'is why it is unreachable' "$(code box)" unreachable
else
  echo "# skipped: no ssh server"
fi
finish
