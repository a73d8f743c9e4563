#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# talk_shells.sh: shells at a control file: echo, printf, append, conversations on one descriptor, errors.
. "$(dirname "$0")/talk_lib.sh"
start_talks

found=0
# in_shell NAME SCRIPT: status in $status, output in $out
in_shell() {
  local name=$1 program=$1
  [ "$name" != busybox ] || program="busybox sh"
  [ "$name" != fish ] || program="fish --no-config"
  [ "$name" != tcsh ] || program="tcsh -f"
  # shellcheck disable=SC2086
  out=$(timeout 10 $program -c "$2" 2>"$T/said")
  status=$?
}

for shell in bash dash zsh mksh busybox fish tcsh; do
  command -v "$shell" >/dev/null || {
    echo "# not here: $shell"
    continue
  }
  found=$((found + 1))

  in_shell "$shell" "echo '{\"a\":1}' >run; cat run"
  ok "$shell: echo" same "$status:$out" '0:{"status":"success","echo":"{\"a\":1}"}'
  ran "$shell: echo" '{"a":1}'

  in_shell "$shell" "echo '{\"a\":1}' >>run; cat run"
  ok "$shell: append" same "$status:$out" '0:{"status":"success","echo":"{\"a\":1}"}'
  ran "$shell: append" '{"a":1}'

  in_shell "$shell" "printf '{\"a\":1,\\n\"b\":[2,\\n3]}\\n' >run; cat output"
  ok "$shell: over lines" same "$status:$out" $'0:{"a":1,\n"b":[2,\n3]}'
  ran "$shell: over lines" $'{"a":1,\n"b":[2,\n3]}'

  in_shell "$shell" "echo 'key: some words' >run"
  ok "$shell: a line of YAML" same "$status" 0
  ran "$shell: a line of YAML" '{"key":"some words"}'

  in_shell "$shell" "echo '{\"fail\":1}' >run && echo yes"
  ok "$shell: no yes behind a failure" same "$out" ""
  ran "$shell: failure" '{"fail":1}'
  ok "$shell: sentence" grep -q 'the fake tool failed' errors

  in_shell "$shell" "echo '{\"command\":\"echo hi\"}' >run && cat output"
  ok "$shell: a command" same "$status:$out" "0:hi"
  ran "$shell: a command" '{"command":"echo hi"}'

  [ "$shell" != tcsh ] && [ "$shell" != fish ] || continue
  in_shell "$shell" 'exec 3<>run; echo "{\"a\":1}" >&3; IFS= read -r x <&3; echo "got $x"
    echo "{\"b\":2}" >&3; head -1 <&3; printf "%s" "{\"c\":3}" >&3; cat <&3'
  ok "$shell: one descriptor" same "$out" 'got {"status":"success","echo":"{\"a\":1}"}
{"status":"success","echo":"{\"b\":2}"}
{"status":"success","echo":"{\"c\":3}"}'
  ran "$shell: one descriptor" '{"a":1}' '{"b":2}' '{"c":3}'

  in_shell "$shell" 'exec 3<>run; echo "{\"a\":1}" >&3; echo "{\"b\":2}" >&3; echo "{\"c\":3}" >&3
    cat <&3 | tail -1'
  ok "$shell: three, then cat" same "$out" '{"status":"success","echo":"{\"c\":3}"}'
  ran "$shell: three, then cat" '{"a":1}' '{"b":2}' '{"c":3}'

  in_shell "$shell" 'exec 3<>run; echo "{\"fail\":1}" >&3 || echo failed; cat <&3'
  ok "$shell: failure on a descriptor" same "$out" 'failed
{"status":"error","echo":"{\"fail\":1}"}'
  ran "$shell: failure on a descriptor" '{"fail":1}'

  # mksh keeps descriptors above 2 from its children
  [ "$shell" != mksh ] || continue
  in_shell "$shell" 'exec 3<>run; echo "{\"a\":1}" >&3; cat /dev/fd/3'
  like "$shell: /dev/fd" "$out" '"status":"success"'
  ran "$shell: /dev/fd" '{"a":1}'
done

# what only bash says
in_shell bash "echo '{\"fail\":1}' >run"
ok "bash prints the errno" grep -q 'Remote I/O error' "$T/said"
in_shell bash 'exec 3<>run; for i in 1 2 3; do echo "{\"n\":$i}"; done >&3; mapfile -t lines <&3
  echo "${#lines[@]} ${lines[2]}"'
ok "mapfile" same "$out" '3 {"status":"success","echo":"{\"n\":3}"}'
in_shell bash 'exec 3<>run; echo "{\"n\":1}" >&3; read -r -u 3 x; echo "$x"; jq -r .status <&3 <<<"$x"'
like "read -u" "$out" success
in_shell bash 'exec 3<>run; echo "{\"n\":1}" >&3; jq -r .status <&3'
ok "jq from the descriptor" same "$out" success
in_shell bash 'exec 3<>run; for i in {1..1000}; do echo "{\"n\":$i}"; done >&3; cat <&3 | jq -r .echo | jq -s "length, .[999].n"'
ok "1 000 messages, one cat" same "$out" $'1000\n1000'
ok "sendfile: complete behind an fstat, else a read has the rest" /usr/bin/python3 "$SRC/e2e/splice.py" run \
  $'{"status":"success","echo":"{\\"x\\":1}"}\n'
: >"$LOG"
# bash sends at its exit what failed before
in_shell bash 'exec >run; echo "{\"fail\":1}"; printf "{\"fail\":2}\n"; exit'
ok "bash's exit runs nothing twice" same "$(sort "$LOG" | uniq -d)" ""
: >"$LOG"
ok "some shell was there" [ "$found" -ge 2 ]
end_talks
