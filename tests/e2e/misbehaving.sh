#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tools that misbehave, each in every way of starting one: they end within their limit, with the
# reply that docs/tools.md tells, and leave no process and no descriptor.
# shellcheck disable=SC2016
. "$(dirname "$0")/fixture.sh"
need jq || finish
"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1

# both NAME SHELL PYTHON: the tools NAME_sh (a program) and NAME_py (a function in an interpreter)
both() {
  fx_tool "$P" "m/$1_sh" "$2"
  printf 'import os, signal, subprocess, sys, time\ndef execute(params, project_path):\n%s\n' "$3" |
    fx_python "$P" "m/$1_py"
}
both hangs "sleep 81.$$" "    time.sleep(81)"
both deaf "trap '' TERM INT HUP; while :; do sleep 82.$$; done" \
  "    for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(n, signal.SIG_IGN)
    while True: subprocess.run(['sleep', '82.$$'])"
both group "setsid sh -c 'trap \"\" TERM; sleep 83.$$ & sleep 83.$$' & sleep 83.$$" \
  "    subprocess.Popen(['setsid', 'sh', '-c', 'trap \"\" TERM; sleep 83.$$ & sleep 83.$$'])
    time.sleep(83)"
both daemon "setsid sh -c '(sleep 84.$$ &)' </dev/null >/dev/null 2>&1; echo '{\"left\": true}'" \
  "    subprocess.Popen(['setsid', 'sh', '-c', '(sleep 84.$$ &)'], stdin=-3, stdout=-3, stderr=-3).wait()
    return {'left': True}"
both holds "sleep 85.$$ & echo '{\"left\": true}'" \
  "    subprocess.Popen(['sleep', '85.$$'])
    return {'left': True}"
both flood "head -c 50000000 /dev/zero | tr '\\0' a" "    sys.stdout.write('a' * 50000000)
    sys.stdout.flush(); os._exit(0)"
both dies "kill -SEGV \$\$" "    os.kill(os.getpid(), signal.SIGSEGV)"
both killed "kill -9 \$\$" "    os.kill(os.getpid(), signal.SIGKILL)"
both words "echo no JSON at all" "    print('no JSON at all'); sys.stdout.flush(); os._exit(0)"
both two "echo '{\"a\":1}'; echo '{\"a\":2}'" "    print('{\"a\":1}'); return {'a': 2}"
both unread "exec <&-; echo '{\"read\": false}'" "    os.close(0); return {'read': False}"
both silent "exec >&- 2>&- <&-; sleep 86.$$" "    os.close(0); os.close(1); os.close(2); time.sleep(86)"
both half "printf '{\"a\":'; exit 0" "    sys.stdout.write('{\"a\":'); sys.stdout.flush(); os._exit(0)"
fx_sign "$P" 'tool:m/*'
fx_mount

# run TOOL JSON: REPLY; TOOK in ms
run() {
  local from
  from=${EPOCHREALTIME/./}
  REPLY=$(exchange 25 "$M/tools/m/$1/run" "$2"$'\n' 2>/dev/null)
  TOOK=$(((${EPOCHREALTIME/./} - from) / 1000))
}
# gives TOOL LIMIT-MS JSON FILTER WANT: its reply within that time
gives() {
  local name
  for name in "$1_sh" "$1_py"; do
    run "$name" "$3"
    if [ "$TOOK" -le $(($2 * PATIENCE)) ]; then
      is "$name: $4" "$(jq -c "$4" <<<"${REPLY:-null}" 2>&1)" "$5"
    else
      bad "$name in time" "took $TOOK ms" "$REPLY"
    fi
  done
}

# everything once, so that what is kept warm is there
for name in words two unread; do
  run ${name}_sh '{}'
  run ${name}_py '{}'
done
before=$(fx_descriptors)

over='["error",-1,"Command timed out after 1 seconds\n"]'
for name in hangs deaf group silent; do
  gives $name 4500 '{"timeout":1}' '[.status, .data.return_code, .error[:34]]' "$over"
done
is "none of theirs is left" "$(fx_wait 20 no_naps '8[1236]' && echo gone)" gone
timeout 20 "$RYEFS" execute --project "$P" --system "$S" tool:m/group_sh '{"timeout":1}' >"$T/said" 2>&1
has "the command line: the time limit" "$(<"$T/said")" 'Command timed out after 1 seconds'
is "nor of theirs" "$(fx_wait 20 no_naps '8[1236]' && echo gone)" gone
gives daemon 3000 '{}' '[.status, .data.left]' '["success",true]'
gives holds 3000 '{}' '[.status, .data.left, .metadata.background_children]' '["success",true,1]'
wake '8[45]'
gives flood 20000 '{}' '[.status, .data.truncated, .data.stdout_bytes]' '["success",true,50000000]'
gives dies 4000 '{}' '[.status, .data.return_code, .data.signal, .error]' '["error",-1,11,"Tool killed by signal 11"]'
gives killed 4000 '{}' '[.status, .data.return_code, .data.signal, .error]' '["error",-1,9,"Tool killed by signal 9"]'
gives words 4000 '{}' '[.status, .data.stdout]' '["success","no JSON at all\n"]'
gives half 4000 '{}' '[.status, .data.stdout]' '["success","{\"a\":"]'
run two_sh '{}'
is "two documents are text" "$(jq -c '[.status, .data.stdout]' <<<"$REPLY")" '["success","{\"a\":1}\n{\"a\":2}\n"]'
run two_py '{}'
is "from a function, too" "$(jq -c '[.status, .data.stdout]' <<<"$REPLY")" '["success","{\"a\":1}\n{\"a\": 2}\n"]'
big=$(printf '{"text":"%s"}' "$(head -c 3000000 /dev/zero | tr '\0' b)")
for name in unread_sh unread_py; do
  printf '%s\n' "$big" >"$T/big"
  bash -c 'exec 3<>"$1"; cat "$2" >&3 2>/dev/null; cat <&3' - "$M/tools/m/$name/run" "$T/big" >"$T/reply" 2>/dev/null
  is "$name: 3 MB that are not read" "$(jq -c '[.status, .data.read]' "$T/reply")" '["success",false]'
done

back() { [ "$(fx_descriptors)" -le $((before + 8)) ]; }
is "descriptors are closed" "$(fx_wait 20 back && echo yes || echo "$before, now $(fx_descriptors)")" yes
not_zombie() { ! ps -o stat= --ppid "$DAEMON" | grep -q Z; }
is "and no zombie waits" "$(fx_wait 5 not_zombie && echo yes || ps -o pid,stat,args --ppid "$DAEMON")" yes
fx_memory 250
finish
