#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# container.sh: tools that run in a container of a real client, podman by its service, on an image that is
# made here of one program. Nothing is fetched, and what podman keeps lies in the test's own directory.
. "$(dirname "$0")/fixture.sh"
need jq && need podman && need busybox || finish
PODMAN=$(command -v podman)
mkdir -p "$T/bin" "$T/image/bin" "$T/run/podman"
ln -s "$PODMAN" "$T/bin/podman"
# docker, where it is installed, would be asked first
export PATH=$T/bin:/usr/sbin:/usr/bin:/sbin:/bin:$(dirname "$(command -v exchange)") XDG_RUNTIME_DIR=$T/run
! command -v docker >/dev/null || { without 'containers' 'docker goes before podman'; finish; }
runtime=crun
command -v runc >/dev/null && runtime=runc
printf '%s\n' '[engine]' "runtime=\"$runtime\"" 'cgroup_manager="cgroupfs"' 'events_logger="file"' \
  '[containers]' 'netns="none"' 'default_ulimits=["nofile=1024:1024", "nproc=1024:1024"]' >"$T/containers.conf"
printf '%s\n' '[storage]' 'driver="vfs"' "graphroot=\"$T/store\"" "runroot=\"$T/run/store\"" >"$T/storage.conf"
echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$T/policy.json"
export CONTAINERS_CONF=$T/containers.conf CONTAINERS_STORAGE_CONF=$T/storage.conf
at_end '"$PODMAN" rm -fa >/dev/null 2>&1; "$PODMAN" unshare rm -rf "$T/store" 2>/dev/null'

# the image: a shell and what it needs
cp "$(command -v busybox)" "$T/image/bin/busybox"
for name in sh cat sleep; do ln -s busybox "$T/image/bin/$name"; done
ldd "$T/image/bin/busybox" 2>/dev/null | grep -o '/lib[^ ]*' | while read -r library; do
  mkdir -p "$T/image$(dirname "$library")" && cp -L "$library" "$T/image$library"
done
tar -C "$T/image" -cf "$T/image.tar" .
IMAGE=localhost/rye/shell
made() { timeout 60 podman import --signature-policy "$T/policy.json" "$T/image.tar" rye/shell && timeout 60 podman run --rm "$IMAGE" /bin/sh -c true; }
made >"$T/made" 2>&1 || { without 'containers' "podman makes none here: $(tail -n 1 "$T/made")"; finish; }

# box NAME LINE...: a tool, whose config has the lines
box() {
  local name=$1
  shift
  {
    printf '%s\n' "tool_id: $name" 'tool_type: script' 'version: "1.0.0"' 'category: c' 'description: in a container' \
      'executor_id: rye/core/primitives/execute' 'config:'
    printf '  %s\n' "$@"
  } | fx_put "$P" "tools/c/$name.yaml"
  REFS="${REFS:-} tool:c/$name"
}
fx_spaces
box says "image: $IMAGE" 'entrypoint: /bin/sh' 'command: -c' 'args: ["cat; echo \" $GREETING\""]' 'env: {GREETING: hi}'
box fails "image: $IMAGE" 'command: /bin/sh' 'args: ["-c", "echo so >&2; exit 3"]'
box looks "image: $IMAGE" 'command: /bin/sh' "args: ['-c', 'test -e $P/.ai && echo seen; echo looked']"
box any 'image: "{which}"' 'command: /bin/sh' 'args: ["-c", "echo ran"]'
box waits "image: $IMAGE" "command: /bin/sleep" "args: ['66.$$']"
box long "image: $IMAGE" 'timeout: 2' "command: /bin/sleep" "args: ['65.$$']"
# shellcheck disable=SC2086
fx_sign "$P" $REFS
allow '^ryefs: (info refused: )?(tool|execute)'
beside service podman system service --time=0 "unix://$T/run/podman/podman.sock"
until_true test -S "$T/run/podman/podman.sock"
fx_mount
run() { converse "$M/tools/c/$1/run" "${2:-}"; } # NAME [JSON]: the reply

is 'the parameters are what it reads, a variable what it has' "$(run says '{"a":"b c"}' | jq -c '[.status,.data.stdout]')" \
  '["success","{\"a\": \"b c\"} hi\n"]'
is 'and by the command line' "$("$RYEFS" execute --project "$P" -q tool:c/says a=1)" '{"a": 1} hi'
is 'its status is the tool'"'"'s' "$(run fails | jq -c '[.status,.error,.data.return_code]')" '["error","so\n",3]'
is 'it sees nothing of the project' "$(run looks | jq -r .data.stdout)" looked
is 'a parameter may choose the image' "$(run any "{\"which\":\"$IMAGE\"}" | jq -r .data.stdout)" ran
like 'but no option of the client' "$(run any '{"which":"--privileged"}' | jq -r '.status + " " + .error')" \
  '^error .*invalid reference format'
is 'one that is not there is a failure' "$(run any '{"which":"localhost/rye/none"}' | jq -r .status)" error
like 'one that takes too long is ended' "$(run long | jq -r .error)" '^Command timed out after 2 seconds'
sleeps() { pgrep -f "^/bin/sleep $1\\.$$\$" >/dev/null; }
no_sleeps() { ! sleeps "$1"; }
ok 'with its container' fx_wait 20 no_sleeps 65
id=$(converse "$M/tools/c/waits/async" | jq -r .thread_id)
ok 'a thread has one' fx_wait 20 sleeps 66
echo cancel >"$M/state/threads/$id/ctl"
is 'that is cancelled' "$(exchange 30 "$M/state/threads/$id/wait")" cancelled
ok 'and its container ended' fx_wait 20 no_sleeps 66
none_left() { [ -z "$(podman ps -aq)" ]; } # podman removes it a moment after its end
ok 'none is left' fx_wait 20 none_left
finish
