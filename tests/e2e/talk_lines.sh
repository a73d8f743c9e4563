#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# talk_lines.sh: a message of two parameters, as each shell writes it. Some shells write line by
# line, and a line does not tell what comes behind it: the tool runs once with both parameters and
# the shell succeeds, or it never runs and the shell is told so.
. "$(dirname "$0")/fixture.sh"

LOGS="import json


def execute(params, project_path):
    with open(project_path + '/ran.log', 'a') as log:
        log.write(json.dumps(params, sort_keys=True) + '\n')
    return {'success': True, 'output': 'ran'}
"
# logs NAME SCHEMA: a tool that writes down what it was called with
logs() {
  printf 'CONFIG_SCHEMA = %s\n%s' "$2" "$LOGS" | fx_python "$P" "$1"
}

BOTH='{"force": true, "path": "src"}'
# in_shell SHELL SCRIPT [TOOL]: RUN is the tool's file; status in $status, what ran in $ran
in_shell() {
  local words=$1
  case $1 in
    busybox) words="busybox sh" ;;
    fish) words="fish --no-config" ;;
    tcsh) words="tcsh -f" ;;
    zsh) words="zsh -f" ;;
  esac
  rm -f "$P/ran.log"
  printf '%s\n' "${2//RUN/"$M/tools/${3:-pair}/run"}" >"$T/script"
  # shellcheck disable=SC2086
  timeout -k 1 30 $words "$T/script" >"$T/said" 2>&1 </dev/null
  status=$?
  ran=$(cat "$P/ran.log" 2>/dev/null)
}

# always SHELL WAY SCRIPT: runs once, with both
always() {
  in_shell "$1" "$3"
  is "$1: $2: runs once, with both" "$status:$ran" "0:$BOTH"
}

# wholly SHELL WAY SCRIPT: runs once, with both, or never; the shell's status says which
wholly() {
  in_shell "$1" "$3"
  if [ "$status" = 0 ]; then
    is "$1: $2: once, with both" "$ran" "$BOTH"
  else
    is "$1: $2: never" "$ran" ""
    has "$1: $2: says why" "$(<"$M/tools/pair/output")" \
      'several parameters: one JSON object, {path: src, force: true}, or all lines in one write (… | cat > run)'
  fi
}

# never SHELL WAY SCRIPT [TOOL]
never() {
  in_shell "$1" "$3" "${4:-}"
  is "$1: $2: never" "$ran" ""
  [ "$status" != 0 ] && good "$1: $2: fails" || bad "$1: $2: fails" "status 0"
}

documented() {
  local shell=$1
  always "$shell" "echo, JSON" "echo '{\"path\": \"src\", \"force\": true}' > RUN"
  always "$shell" "echo, braces" "echo '{path: src, force: true}' > RUN"
  always "$shell" "append, braces" "echo '{path: src, force: true}' >> RUN"
  always "$shell" "printf, JSON over lines" "printf '{\"path\": \"src\",\\n\"force\": true}\\n' > RUN"
  always "$shell" "a file" "cat $T/block > RUN"
  always "$shell" "a file that cat reads as its input" "cat < $T/block > RUN"
  always "$shell" "cp" "cp $T/block RUN"
  always "$shell" "tee" "tee RUN < $T/block > /dev/null"
  always "$shell" "dd" "dd if=$T/block of=RUN status=none"
  always "$shell" "pipe" "printf 'path: src\\nforce: true\\n' | cat > RUN"
}

lines() {
  local shell=$1
  wholly "$shell" "printf" "printf 'path: src\\nforce: true\\n' > RUN"
  wholly "$shell" "printf, three lines" "printf '# both\\npath: src\\nforce: true\\n' > RUN"
  wholly "$shell" "printf, appended" "printf 'path: src\\nforce: true\\n' >> RUN"
  wholly "$shell" "printf, an empty line between" "printf 'path: src\\n\\nforce: true\\n' > RUN"
  wholly "$shell" "printf, braces over lines" "printf '{path: src,\\nforce: true}\\n' > RUN"
  [ "$shell" = fish ] ||
    wholly "$shell" "printf by a subshell" "(printf 'path: src\\nforce: true\\n') > RUN"
  wholly "$shell" "awk" "awk 'BEGIN { print \"path: src\"; fflush(); print \"force: true\" }' > RUN"
  never "$shell" "one echo after the other" "echo 'path: src' > RUN
echo 'force: true' > RUN"
  in_shell "$shell" "printf '{\\npath: src,\\nforce: true\\n}\\n' > RUN"
  [ "$status" = 0 ] && is "$shell: a brace of its own: once, with both" "$ran" "$BOTH" || {
    is "$shell: a brace of its own: never" "$ran" ""
    has "$shell: a brace of its own: says what to write" "$(<"$M/tools/pair/output")" \
      'one JSON object, or all lines in one write (… | cat > run)'
  }
  never "$shell" "half" "echo 'path: src' > RUN"
  never "$shell" "half, a list" "echo 'path:' > RUN"
}

# what POSIX shells write alike; C shells and fish have other words for it
posix() {
  local shell=$1
  always "$shell" "here-document of cat" "cat > RUN <<END
path: src
force: true
END"
  wholly "$shell" "here-document, line by line" "while read -r line; do echo \"\$line\"; done > RUN <<END
path: src
force: true
END"
  wholly "$shell" "a group" "{ echo 'path: src'; echo 'force: true'; } > RUN"
  wholly "$shell" "a descriptor" "exec 3<>RUN
printf 'path: src\\nforce: true\\n' >&3"
  wholly "$shell" "standard output" "exec >RUN
printf 'path: src\\nforce: true\\n' || exit 1
exit 0"
  wholly "$shell" "echo with a newline in it" "echo 'path: src
force: true' > RUN"
}

# a line is a message where no other can belong to it
single() {
  local shell=$1
  in_shell "$shell" "echo 'command: make all' > RUN" one
  is "$shell: a line for one parameter" "$status:$ran" '0:{"command": "make all"}'
  in_shell "$shell" "printf 'command: |\\n  make\\n  all\\n' > RUN" one
  [ "$status" != 0 ] && is "$shell: a block runs never" "$ran" "" ||
    is "$shell: a block runs once" "$ran" '{"command": "make\nall\n"}'
  in_shell "$shell" "printf '# all of it\\ncommand: make\\n' > RUN" one
  [ "$status" != 0 ] && is "$shell: behind a remark, never" "$ran" "" ||
    is "$shell: behind a remark, once" "$ran" '{"command": "make"}'
  never "$shell" "a tool that declares nothing" "echo 'path: src' > RUN" any
}

# requests name their item beside other members, a fork what it may cost
requests() {
  local line
  for line in execute:'item_id: tool:one' fetch:'item_id: knowledge:good' sign:'item_id: knowledge:good' \
    directives/hello/fork:'who: Ann' directives/hello/async:'who: Ann'; do
    fails "a line is no message for ${line%%:*}" sh -c "echo '${line#*:}' > '$M/${line%%:*}'"
    like "which says why" "$(sh -c "echo '${line#*:}' > '$M/${line%%:*}'; cat '$M/${line%%:*}'" 2>&1)" \
      '"several parameters: one JSON object|"one line may be a part of more: in braces it is all, [{]who: Ann[}]'
  done
  is "no thread began" "$(thread_names)" ""
  works "one input, inline" sh -c "echo 'who: Ann' > '$M/directives/hello/run'"
}

fx_spaces
CLOSED='"additionalProperties": False'
logs pair '{"type": "object", "properties": {"path": {"type": "string"}, "force": {"type": "boolean"}}}'
logs one "{'type': 'object', 'properties': {'command': {'type': 'string'}}, $CLOSED}"
printf '%s' "$LOGS" | fx_python "$P" any
fx_sign "$P" tool:pair tool:one tool:any
printf 'path: src\nforce: true\n' >"$T/block"
fx_mount
for shell in bash dash zsh mksh busybox fish tcsh; do
  need $shell || continue
  documented $shell
  lines $shell
  single $shell
  case $shell in fish | tcsh) ;; *) posix $shell ;; esac
done
in_shell fish "begin; echo 'path: src'; echo 'force: true'; end > RUN"
is "fish: a group runs never" "$ran" ""
in_shell tcsh "cat > RUN << END
path: src
force: true
END"
is "tcsh: here-document of cat" "$ran" "$BOTH"
is "a descriptor whose reply was read takes the next line" "$(bash -c 'exec 3<>"$1"
  echo "comand: x" >&3; head -n 1 <&3 >/dev/null; echo "command: make" >&3 && echo taken' - "$M/tools/one/run" 2>/dev/null)" taken
requests
finish
