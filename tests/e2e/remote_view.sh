#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# remote_view.sh: remotes/ in a mount: what is known of each remote, told without a connection.
. "$(dirname "$0")/fixture.sh"
need jq || finish
fx_spaces
fx_tool "$P" my/note 'cat >/dev/null' 'echo noted >>notes'
fx_tool "$P" top 'exit 0'
fx_sign "$P" tool:my/note tool:top
allow '^ryefs: (info refused: )?(tool|directive|execute)'
fx_mount
R=$M/remotes

# --- none is configured ---
not_ok 'there is no remotes' test -e "$R"
is 'none is listed' "$(ls "$M" | grep -c remotes)" 0

# --- some are ---
fx_put "$P" config/remotes/remotes.yaml <<YAML
version: "1.0.0"
category: remotes
remotes:
  box: {url: "command:touch $T/connected", project_path: demo, secrets: [TOKEN]}
  lab: {url: "command:touch $T/connected"}
YAML
fx_sign "$P" config:remotes/remotes
is 'they are listed' "$(ls "$R" | xargs)" 'box lab'
is 'remotes is, too' "$(ls "$M" | grep -c '^remotes$')" 1
is 'a remote is a directory of facts' "$(ls "$R/box" | xargs)" 'ctl foreign info.json push status threads'
like 'one that is not pinned says so' "$(<"$R/box/status")" '^unpinned: '
is 'its configuration' "$(jq -c '[.name,.project_path,.secrets]' "$R/box/info.json")" '["box","demo",["TOKEN"]]'
not_ok 'what is not there is not' test -e "$R/box/none"
not_ok 'nor another remote' test -e "$R/gpu"
is 'no thread yet' "$(ls "$R/box/threads")" ''
mkdir -p "$P/.ai/state/remotes/box"
echo '{"manifest": "abc"}' >"$P/.ai/state/remotes/box/pushed.json"
is 'what was pushed' "$(jq -r .manifest "$R/box/pushed")" abc
is 'is listed then' "$(ls "$R/box" | xargs)" 'ctl foreign info.json push pushed status threads'
# more than one may have, and no document: a listing does not look
head -c 2000000 /dev/zero >"$P/.ai/state/remotes/lab.big" && mkdir "$P/.ai/state/remotes/lab" && mv "$P/.ai/state/remotes/lab.big" "$P/.ai/state/remotes/lab/pushed.json"
is 'what cannot be read is listed, too' "$(find "$R/lab" -maxdepth 1 -printf '%f\n' | grep -c pushed)" 1

# --- items, with the target set ---
is 'items are not listed' "$(ls "$R/box" | grep -c tools)" 0
ok 'but are there' test -d "$R/box/tools/my/note"
ok 'as directories' test -d "$R/box/tools/my"
not_ok 'one that no space has is not' test -e "$R/box/tools/my/none"
not_ok 'knowledge runs nowhere' test -e "$R/box/knowledge"
like 'a dry run is for here' "$(converse "$R/box/tools/my/note/dry_run" '{}' | jq -r .error)" '^dry_run \+ remote is not supported'
errno 'its errno' EINVAL bash -c "echo '{}' >'$R/box/tools/my/note/dry_run'"
like 'a run goes there' "$(converse "$R/lab/tools/top/run" '{}' | jq -r .error)" 'lab|Remote'
not_ok 'and not here' test -e "$P/notes"

# --- reading never connects ---
rm -f "$T/connected"
ls -R "$M/remotes" >/dev/null
grep -r nothing "$M/remotes" >/dev/null 2>&1
find "$M/remotes" >/dev/null
not_ok 'no connection for ls, grep and find' test -e "$T/connected"
errno 'cp is no push' EROFS cp /etc/hostname "$R/box/file"
like 'and says so' "$(<"$M/.ryefs/errors")" 'a copy is no push'
not_ok 'a name that is none' test -e "$R/..x"

# --- and none again ---
rm "$P/.ai/config/remotes/remotes.yaml"
until_true test ! -e "$R"
not_ok 'there is no remotes again' test -e "$R"
finish
