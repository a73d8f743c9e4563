#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tools that want to be more than they were signed for: parameters as programs, other people's
# processes, authority by a changed name or by many forks, processes without number. Each under
# every kind of sandbox.
. "$(dirname "$0")/fixture.sh"

# run TOOL JSON: its reply
run() {
  exchange 30 "$M/tools/$1/run" "$2"$'\n' 2>&1
}

tools() {
  fx_put "$P" tools/t/script.yaml <<'TEXT'
tool_type: script
version: "1.0.0"
executor_id: rye/core/runtimes/bash/bash
category: t
description: A script of its own
config:
  script: "echo signed"
TEXT
  fx_tool "$P" t/escape '# requires: [fs.read, fs.write, rye.execute.tool.t.allowed]' \
    "way=\$(sed 's/.*\"way\": *\"\\([a-z0-9]*\\)\".*/\\1/')" \
    "python3 '$E2E/escape.py' '$M' \"\$2/said.\$way\" \"\$way\" </dev/null" \
    'for i in $(seq 100); do [ -e "$2/said.$way" ] && break; sleep 0.05; done' 'cat "$2/said.$way"'
  fx_tool "$P" t/other "echo ran >>\"\$2/other.ran\""
  fx_tool "$P" t/allowed 'echo allowed'
  fx_tool "$P" t/victim 'echo victim'
  # the limits of a process of the same user, and its place in line
  fx_tool "$P" t/reach 'pid=$(tr -dc 0-9)' \
    'prlimit --pid "$pid" --nofile=77:77; renice -n 15 -p "$pid"; taskset -p 1 "$pid"' \
    'chrt -b -p 0 "$pid"; ionice -c 3 -p "$pid"' \
    'prlimit --nofile=77:77 true && nice -n 3 true && taskset 1 true && ionice -c 3 true && echo own'
  fx_tool "$P" t/orphans 'for i in $(seq 100); do (sleep 0.5 </dev/null >/dev/null 2>&1 &) ; done'
  fx_tool "$P" t/leaders 'for i in $(seq 100); do (setsid sleep '"0.$$"' </dev/null >/dev/null 2>&1 &) ; done'
  fx_python "$P" t/many <<'TEXT'
import os
import signal
import time


def execute(params, project):
    pids = []
    for _ in range(600):
        try:
            pid = os.fork()
        except OSError:
            break
        if not pid:
            time.sleep(20)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        os.waitpid(pid, 0)
    return {"started": len(pids)}
TEXT
  fx_sign "$P" tool:t/orphans tool:t/leaders tool:t/many tool:t/script tool:t/escape tool:t/other tool:t/allowed tool:t/reach
}

state_of() { # PID: what others could change of it
  prlimit --pid "$1" --nofile --noheadings --output SOFT,HARD
  ps -o ni= -p "$1"
  taskset -p "$1"
  chrt -p "$1"
  ionice -p "$1"
}

parameters() {
  has "$1: a signed script is what runs" "$(run t/script "{\"command\":\"touch $P/replaced\"}")" 'signed\n"'
  not_ok "$1: and the parameter is data" test -e "$P/replaced"
}

reach() {
  local victim before
  sleep 98.$$ &
  victim=$!
  before=$(state_of "$victim")
  has "$1: a process changes itself" "$(run t/reach "{\"pid\":$victim}")" 'own\n"'
  is "$1: and no other" "$(state_of "$victim")" "$before"
  run t/reach "{\"pid\":$DAEMON}" >/dev/null
  ok "$1: the daemon serves as before" cat "$M/README.md"
  kill "$victim"
}

# known NAME WAY ALLOWED: its processes sign nothing and run nothing else
known() {
  local said
  rm -f "$P"/said.* "$P/other.ran"
  run t/escape "{\"way\":\"$2\"}" >"$T/reply"
  said=$(cat "$P/said.$2" 2>/dev/null)
  has "$1: $2: tried it all" "$said" sign= other= allowed=
  lacks "$1: $2: signs nothing" "$said" sign=DONE
  lacks "$1: $2: runs nothing else" "$said" other=DONE
  not_ok "$1: $2: indeed not" test -e "$P/other.ran"
  case $said in
    *allowed=DONE) is "$1: $2: what its item names" yes "$3" ;;
    *) is "$1: $2: what its item names" no "$3" ;;
  esac
  lacks "$1: $2: the victim is as it was" "$(<"$P/.ai/tools/t/victim.sh")" rye:signed
}

# ---- processes without number ----

# Orphans that end while the mount is idle are nobody's but the daemon's.
no_leaders() { ! pgrep -f "sleep 0\\.$$\$" >/dev/null; }
dead_orphans() {
  run t/orphans '{}' >/dev/null
  ok "$1: orphans that end on an idle mount are reaped" fx_wait 10 no_zombies
  run t/leaders '{}' >/dev/null
  until_true no_leaders
  ok "$1: also those with a session of their own" fx_wait 10 no_zombies
}

# At most 600 processes, whatever the limit does.
too_many() {
  local own said
  if [ -z "$GROUPS_AT" ]; then
    without "$1: too many processes" "no cgroup can be made here"
    return
  fi
  own=$GROUPS_AT/$GROUP/ryefs
  is "$1: the daemon is in a group of its own" "$(grep -c "$GROUP/ryefs$" "/proc/$DAEMON/cgroup")" 1
  is "$1: which has a limit" "$(<"$own/pids.max")" 4608
  echo 250 >"$own/pids.max"
  said=$(run t/many '{}')
  like "$1: a tool cannot be more processes than that" "$said" '"started": ?(1?[0-9]?[0-9]|2[0-4][0-9])[,}]'
  ok "$1: they end with it" fx_wait 5 sh -c "[ \$(cat '$own/pids.current') -lt 100 ]"
  has "$1: and others run on" "$(run t/allowed '{}')" allowed
  echo 4608 >"$own/pids.max"
}

"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
tools
own_group
for sandbox in auto strict off; do
  fx_mount "sandbox=$sandbox"
  parameters "$sandbox"
  [ "$sandbox" = off ] || reach "$sandbox"
  known "$sandbox" plain yes
  known "$sandbox" name yes
  known "$sandbox" names yes
  known "$sandbox" nested16 yes
  [ "$sandbox" != off ] || known "$sandbox" nested300 no
  known "$sandbox" orphan no
  known "$sandbox" confined no
  if [ "$sandbox" != strict ]; then
    dead_orphans "$sandbox"
    too_many "$sandbox"
  fi
  ok "$sandbox: the mount ends" umount_rye
done
leave_group
finish
