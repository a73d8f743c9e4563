#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shells as callers: the main job typed in each of them, what a failure looks like, validation,
# threads, query names, lines of YAML, long conversations. (^C and more: run_bash.sh.)
. "$(dirname "$0")/fixture.sh"


# in_shell SHELL SCRIPT: RUN and OUT stand for the files of the bash tool
in_shell() {
  local shell=$1 text=${2//RUN/"$M/tools/rye/bash/run"}
  text=${text//OUT/"$M/tools/rye/bash/output"}
  case $shell in
    busybox) timeout -k 1 20 busybox sh -c "$text" ;;
    fish) timeout -k 1 20 fish --no-config -c "$text" ;;
    tcsh) timeout -k 1 20 tcsh -fc "$text" ;;
    zsh) timeout -k 1 20 zsh -fc "$text" ;;
    *) timeout -k 1 20 "$shell" -c "$text" ;;
  esac 2>"$T/err"
}

shells() {
  local shell year=
  year=$(date +%Y)
  for shell in bash dash zsh mksh busybox fish tcsh; do
    need $shell || continue
    is "$shell: runs and reads the output" "$(in_shell $shell "echo '{\"command\":\"date +%Y\"}' > RUN && cat OUT" | grep -v '^$')" "$year"
    is "$shell: a failing command stops the line" "$(in_shell $shell "echo '{\"command\":\"exit 3\"}' > RUN && echo went on")" ""
    [ $shell = tcsh ] || # which stops the line and says nothing
      is "$shell: and it says so" "$([ -s "$T/err" ] && echo yes)" yes
    is "$shell: a line of YAML" "$(in_shell $shell "echo '{command: date +%Y}' > RUN && cat OUT" | grep -v '^$')" "$year"
    is "$shell: appending is the same" "$(in_shell $shell "echo '{\"command\":\"date +%Y\"}' >> RUN && cat OUT" | grep -v '^$')" "$year"
  done
}

# how else a message may arrive
writers() {
  local run=$M/tools/count/run
  rm -f "$P/ran.log"
  printf '%s' '{}' >"$run"
  echo '{}' | tee "$run" >/dev/null
  echo '{}' | tee -a "$run" >/dev/null
  printf '{}' | dd of="$run" status=none
  printf '{ }' | dd of="$run" bs=1 status=none
  printf '{}\n' >"$T/msg" && cp "$T/msg" "$run"
  cp -p "$T/msg" "$run" 2>/dev/null
  cat "$T/msg" >"$run"
  echo '{}' | sed -n "w $run"
  echo '{}' | awk -v f="$run" '{ print > f }'
  perl -e 'open(F, ">", $ARGV[0]) or die; print F "{}\n"; close F or die "$!"' "$run"
  "$PY" -I -c 'import sys; open(sys.argv[1], "w").write("{}")' "$run"
  "$PY" -I -c 'import sys, pathlib; pathlib.Path(sys.argv[1]).write_text("{}")' "$run"
  echo >"$run"
  printf '{\r\n}\r\n' >"$run"
  printf '{\n\n}\n' >"$run"
  is "16 ways to write are 16 runs" "$(wc -l <"$P/ran.log")" 16
  rm -f "$P/ran.log"
  if need jq; then command jq -n '{}' >"$run" && is "jq" "$(wc -l <"$P/ran.log")" 1; fi
  if need node; then
    rm -f "$P/ran.log"
    node -e 'require("fs").writeFileSync(process.argv[1], "{}")' "$run"
    is "node" "$(wc -l <"$P/ran.log")" 1
  fi
  if need sponge; then rm -f "$P/ran.log"; echo '{}' | sponge "$run" && is "sponge" "$(wc -l <"$P/ran.log")" 1; fi
  if need socat; then rm -f "$P/ran.log"; echo '{}' | socat -u - "OPEN:$run,wronly" && is "socat" "$(wc -l <"$P/ran.log")" 1; fi
  if need vim; then rm -f "$P/ran.log"; vim -nes -u NONE -i NONE -c 'normal i{}' -c "w! $run" -c 'qa!' </dev/null; is "vim" "$(wc -l <"$P/ran.log")" 1; fi
  if need ed; then rm -f "$P/ran.log"; printf 'a\n{}\n.\nw %s\nq\n' "$run" | ed -s >/dev/null 2>&1; is "ed" "$(wc -l <"$P/ran.log")" 1; fi
}

# a file that is younger at every look has changed, to an editor, to make and to rsync
times() {
  local one two
  one=$(stat -c %y "$M/tools/say/run" "$M/tools/say/output")
  sleep 0.05 # the clock has gone on
  is "looking makes run no younger" "$(stat -c %y "$M/tools/say/run" "$M/tools/say/output")" "$one"
  echo '{"text":"x"}' >"$M/tools/say/run"
  two=$(stat -c %y "$M/tools/say/run" "$M/tools/say/output")
  is "a reply does" "$([ "$one" != "$two" ] && echo younger)" younger
  sleep 0.05 # the same
  is "and stays as old as it is" "$(stat -c %y "$M/tools/say/run" "$M/tools/say/output")" "$two"
}

# what succeeds and does nothing, and what is refused
idle() {
  local run=$M/tools/count/run
  rm -f "$P/ran.log"
  works "touch" touch "$run"
  works "truncate" truncate -s 0 "$run"
  works ": >" sh -c ": >'$run'"
  works "chmod" chmod 600 "$run"
  printf '{"a":' >"$run"
  fails "mv" mv "$run" "$T/x"
  fails "rm" rm -f "$run"
  fails "ln" ln "$run" "$M/tools/count/other"
  fails "sed -i" sed -i s/a/b/ "$run"
  fails "rsync onto it" rsync -I "$T/msg" "$run"
  fails "cp --remove-destination" cp --remove-destination "$T/msg" "$run"
  fails "mmap for writing" "$PY" -I -c 'import mmap, sys
f = open(sys.argv[1], "r+b")
m = mmap.mmap(f.fileno(), 2)
m[:] = b"{}"; m.flush()' "$run"
  is "none of these ran anything" "$(cat "$P/ran.log" 2>/dev/null)" ""
}

# told DESCRIPTION ERRNO-TEXT SENTENCE FILE MESSAGE: bash prints the errno, .ryefs/errors says why
told() {
  local text
  text=$(bash -c 'echo "$1" > "$2"; echo "status $?"; cat "$3"' - "$5" "$M/$4" "$M/.ryefs/errors" 2>&1)
  has "$1" "$text" "status 1" "$2" "$3"
}

errors() {
  told "a failing tool" "Remote I/O error" "3" tools/fail/run '{}'
  told "an unknown parameter" "Invalid argument" "Unknown parameters: nope. Valid parameters: text" tools/say/run '{"text":"x","nope":1}'
  told "a missing parameter" "Invalid argument" "Missing required parameters: command" tools/rye/bash/run '{}'
  told "a wrong type" "Invalid argument" "command" tools/rye/bash/run '{"command":7}'
  told "bad JSON" "Invalid argument" "" tools/rye/bash/run '{"command" "x"}'
  told "an unknown input" "Invalid argument" "Unknown parameters: nope" directives/hello/run '{"nope":1}'
  told "a tampered tool" "Bad message" "modified since signing" tools/refused/tampered/run '{}'
  told "an unsigned tool" "No data available" "" tools/refused/unsigned/run '{}'
  told "an untrusted tool" "Required key not available" "" tools/refused/untrusted/run '{}'
  told "a moved tool" "Key was rejected by service" "" tools/refused/moved/run '{}'
  told "an unparsable tool" "Structure needs cleaning" "Cannot read tool metadata" tools/halfread/run '{}'
  told "an unparsable entry" "Structure needs cleaning" "Cannot read metadata: knowledge:halfread" knowledge/halfread/run '{}'
  has "doctor names them" "$(cat "$M/.ryefs/doctor")" "knowledge/halfread.md: served, but its metadata cannot be read: markdown/frontmatter" "tools/halfread.py: served, but"
  told "an unparsable directive" "Structure needs cleaning" "" directives/refused/unparsable/run '{}'
  told "no executor" "Exec format error" "" tools/orphan/run '{}'
  told "limits without a thread" "Invalid argument" 'limit_overrides requires thread="fork"' execute '{"item_id":"directive:hello","limit_overrides":{"spend":0.01}}'
  told "a model without a thread" "Invalid argument" 'model requires thread="fork"' execute '{"item_id":"hello","model":"fast"}'
  told "a model for a tool" "Invalid argument" 'model requires thread="fork"' execute '{"item_id":"tool:count","model":"fast"}'
  told "execute of nothing" "No such file or directory" "nowhere" execute '{"item_id":"tool:nowhere"}'
  is "no refused tool ran" "$(cat "$P/ran.log" 2>/dev/null)" ""
  has "dash says I/O error, the sentence is there" \
    "$(dash -c "echo '{\"nope\":1}' > $M/tools/say/run; cat $M/.ryefs/errors" 2>&1)" "I/O error" "Unknown parameters: nope"
}

dry() {
  rm -f "$P/ran.log"
  works "dry_run accepts" sh -c "echo '{}' > '$M/tools/count/dry_run'"
  has "its reply" "$(sh -c "echo '{}' > '$M/tools/count/dry_run'; cat '$M/tools/count/dry_run'")" validation_passed
  fails "dry_run refuses what run would" sh -c "echo '{\"nope\":1}' > '$M/tools/say/dry_run'"
  fails "dry_run verifies" sh -c "echo '{}' > '$M/tools/refused/tampered/dry_run'"
  works "dry_run of a directive" sh -c "echo '{\"who\":\"Ann\"}' > '$M/directives/hello/dry_run'"
  is "dry_run ran nothing" "$(cat "$P/ran.log" 2>/dev/null)" ""
}

items() {
  has "a directive's run" "$(sh -c "echo '{\"who\":\"Ann\"}' > $M/directives/hello/run && cat $M/directives/hello/output")" "Greet Ann."
  has "a knowledge entry's run" "$(sh -c "echo > $M/knowledge/good/run && cat $M/knowledge/good/output")" "Every byte of this is true"
  has "a query name" "$(cat "$M/directives/hello.md?who=Bob")" "Greet Bob."
  has "percent and slash" "$(cat "$M/directives/hello.md?who=a%2Fb%20c")" "Greet a/b c."
  has "prompt.md with a query" "$(cat "$M/directives/hello/prompt.md?who=Bob")" "Greet Bob."
  has "an unknown query input" "$(cat "$M/directives/hello.md?nope=1" 2>&1)" "Invalid argument"
  has "without a query its default" "$(cat "$M/directives/hello.md")" "Greet world."
  has "execute" "$(sh -c "echo '{\"item_id\":\"tool:rye/bash/bash\",\"parameters\":{\"command\":\"echo via execute\"}}' > $M/execute && cat $M/execute")" "via execute"
  has "fetch" "$(sh -c "echo '{\"item_id\":\"knowledge:good\"}' > $M/fetch && cat $M/fetch")" "Every byte"
  has "search" "$(ls "$M/search/every byte of this")" "knowledge:good"
  works "schema.json" jq -e .properties.command "$M/tools/rye/bash/schema.json"
  works "chain.json" jq -e . "$M/tools/rye/bash/chain.json"
}

# what a tool makes has the modes that the person who mounted would give it
masks() {
  local id
  # the first call starts a process, later ones take a warm interpreter
  for _ in 1 2 3; do
    is "a run has the umask of who mounted" \
      "$(sh -c "umask 077; echo '{\"command\":\"umask\"}' > $M/tools/rye/bash/run && cat $M/tools/rye/bash/output")" 0022
  done
  echo '{}' >"$M/tools/mask/run"
  is "a process, too" "$(cat "$M/tools/mask/output")" 0022
  id=$(sh -c "echo '{}' > '$M/tools/mask/async' && cat '$M/tools/mask/async'" | sed -n 's/.*"thread_id": *"\([^"]*\)".*/\1/p')
  exchange 40 "$M/state/threads/$id/wait" >/dev/null
  is "and a thread" "$(cat "$M/state/threads/$id/output")" 0022
}

threads() {
  local id text
  text=$(sh -c "echo '{\"command\":\"sleep 0.4; echo at last\"}' > '$M/tools/rye/bash/async' && cat '$M/tools/rye/bash/async'" 2>&1)
  id=$(sed -n 's/.*"thread_id": *"\([^"]*\)".*/\1/p' <<<"$text")
  is "async names a thread" "$([[ $id =~ ^[0-9a-f-]{36}$ ]] && echo yes || echo "$text")" yes
  [ -n "$id" ] || return
  has "state/threads lists it" "$(ls "$M/state/threads")" "$id"
  is "status while it runs" "$(cat "$M/state/threads/$id/status")" running
  has "no result yet" "$(cat "$M/state/threads/$id/result.json" 2>&1)" "No such file"
  is "wait says how it ended" "$(exchange 40 "$M/state/threads/$id/wait")" completed
  is "status" "$(cat "$M/state/threads/$id/status")" completed
  is "output" "$(cat "$M/state/threads/$id/output")" "at last"
  works "result.json" jq -e '.status == "success"' "$M/state/threads/$id/result.json"
  fails "cancel of a finished thread" sh -c "echo cancel > '$M/state/threads/$id/ctl'"
  works "delete" sh -c "echo delete > '$M/state/threads/$id/ctl'"
  fails "and it is gone" ls "$M/state/threads/$id"
  id=$(sh -c "echo '{\"command\":\"sleep 71.$$\"}' > '$M/tools/rye/bash/async' && cat '$M/tools/rye/bash/async'" | sed -n 's/.*"thread_id": *"\([^"]*\)".*/\1/p')
  fx_wait 5 naps 71
  works "ctl cancel" sh -c "echo cancel > '$M/state/threads/$id/ctl'"
  is "a cancelled thread" "$(exchange 40 "$M/state/threads/$id/wait")" cancelled
  is "leaves no process" "$(fx_wait 1 no_naps 71 && echo none)" none
  fails "unlink is refused" rm -rf "$M/state/threads/$id"
  has "and lost nothing" "$(ls "$M/state/threads")" "$id"
}

# conversation ITEM N MEMBER: N messages on one descriptor, replies read in between, run exactly as sent
conversation() {
  "$PY" -I - "$M/$1/run" "$2" "$3" >"$T/got" 2>&1 <<'CODE'
import functools, json, os, sys
f = os.open(sys.argv[1], os.O_RDWR)
bad = 0
for i in range(int(sys.argv[2])):
    text = ("x" * (i * 37 % 5000)) + str(i)
    os.write(f, (json.dumps({"text": text}) + "\n").encode())
    if i % 3 == 2:
        reply = b""
        while reply.count(b"\n") < 3:
            more = os.read(f, 65536)
            if not more:
                break
            reply += more
        got = [functools.reduce(dict.get, sys.argv[3].split("."), json.loads(l)) for l in reply.splitlines()]
        bad += got[-1:] != [text]
        os.lseek(f, 0, os.SEEK_END)
print("wrong", bad)
CODE
  is "$2 messages on one descriptor: $1" "$(tail -n 1 "$T/got")" "wrong 0"
}

# side NAME: a script that writes and reads its own reply many times; of twenty once that of a tool, whose
# process costs more than all the rest
side() {
  local i got at wrong=0
  for ((i = 0; i < 1000; i++)); do
    at=$M/directives/echoes
    [ $((i % 20)) != 0 ] || at=$M/tools/say
    echo "{\"text\":\"$1 $i\"}" >"$at/run" || wrong=$((wrong + 1))
    got=
    read -r got <"$at/output"
    [ "$got" = "$1 $i" ] || wrong=$((wrong + 1))
  done
  echo "$wrong" >"$T/side.$1"
}

sides() {
  (side left) &
  local left=$!
  (side right) &
  wait $left $!
  is "two scripts in parallel, 1 000 times, never meet" "$(cat "$T/side.left" "$T/side.right" | xargs)" "0 0"
}

fx_spaces
fx_tool "$P" mask umask
fx_tool "$P" fail 'echo oops >&2' 'exit 3'
printf '# version: "1.0.0"\n# tool_type: bash\n# category: ""\n# description: "x"\n# executor_id: no/such/runtime\n' |
  fx_put "$P" tools/orphan.sh
fx_python "$P" say <<'TEXT'
CONFIG_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": False}


def execute(params, project_path):
    return {"success": True, "output": params["text"], "text": params["text"]}
TEXT
fx_put "$P" directives/echoes.md <<'TEXT'
```xml
<directive name="echoes" version="1.0.0">
  <metadata><description>Says it.</description><category></category><author>t</author></metadata>
  <inputs><input name="text" type="string" required="true">What</input></inputs>
</directive>
```

{input:text}
TEXT
fx_sign "$P" tool:fail tool:mask tool:say directive:echoes
fx_raw_sign 00 "$P" tools/orphan.sh
fx_mount
shells
writers
times
idle
errors
dry
items
masks
threads
conversation tools/say 60 data.text
conversation directives/echoes 300 body
sides
is "everything still answers" "$(sh -c "echo '{\"command\":\"echo yes\"}' > $M/tools/rye/bash/run && cat $M/tools/rye/bash/output")" yes
finish
