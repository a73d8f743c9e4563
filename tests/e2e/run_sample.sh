#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/run: the job through the command line; mounted, twice in a row, with the mount left
# up; a workspace of one's own.
. "$(dirname "$0")/lib.sh"

BUILD=$(dirname "$RYEFS")
unset RYE_LOCAL_URL ANTHROPIC_API_KEY OPENAI_API_KEY GEMINI_API_KEY # a stand-in plays the model
export BUILD TMPDIR=$T HOME=$T RYE_NO_BUILD=1
run=$SRC/../scripts/run

mounts() { awk -v here="$T/" '/ - fuse\.ryefs / && index($5, here) == 1 {print $5}' /proc/self/mountinfo; }
says() { # TEXT: among what the last script said
  grep -qF -- "$1" "$T/log"
  result $? "it says: $1"
}
script() { # TEXT ARG...
  local text=$1 rc
  shift
  timeout 60 "$run" "$@" >"$T/log" 2>&1
  rc=$?
  result "$rc" "$text"
  [ "$rc" = 0 ] || sed 's/^/# /' "$T/log"
}

script "through the command line" --no-fuse
says "6 words; longest: not, be, or"
says "the text holds no word"
says "mend with: ryefs sign knowledge:sample/doubtful"
says "done at last"
says '"greeting": "Good day, Ann: a name of one word."'
is "nothing is mounted" "$(mounts)" ""

# a model server that the environment names
cat >"$T/says.json" <<'JSON'
{"by": "turn", "answers": [{"calls": [{"name": "directive_return", "arguments": {"greeting": "Hello from here."}}]}]}
JSON
/usr/bin/python3 "$SRC/fake/provider_server.py" "$T/says.json" "$T/port" "$T/asked" 3>&- >/dev/null 2>&1 &
MODEL=$!
disown
until_true test -s "$T/port"
export RYE_LOCAL_URL=http://127.0.0.1:$(<"$T/port")
script "with a model server in the environment" --no-fuse
unset RYE_LOCAL_URL
kill "$MODEL"
says "the model is local's, as the environment says"
says '"greeting": "Hello from here."'
is "which was asked" "$(grep -c '"path": "/v1/chat/completions"' "$T/asked")" 1

for turn in first second; do
  script "mounted, the $turn time"
  says "6 words; longest: not, be, or"
  says "Greet Ann in a dry tone"
  says "doubtful.md -> .why/EBADMSG: "
  says "Permission denied"
  says "done at last"
  says '"greeting": "Good day, Ann: a name of one word."'
  says "First I count the words. "
  ok "its next answer has a line of its own" grep -qx "Now I greet her." "$T/log"
  says '"tool": "sample_count_words"'
  is "one mount stays up" "$(mounts | wc -l)" 1
done

mkdir "$T/own"
"$RYEFS" init -q "$T/own" >/dev/null
script "a workspace of one's own" "$T/own" "$T/at"
ok "it is mounted" test -e "$T/at/README.md"
not_ok "one operand is too few" "$run" one
for m in $(mounts); do
  ok "umount" "$RYEFS" umount "$m"
done
finish
