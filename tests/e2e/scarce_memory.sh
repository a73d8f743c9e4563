#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A daemon that gets no more memory (a limit of its data, as a memory cgroup that is used up): it goes on,
# what it serves are the right bytes, what it cannot do it refuses, and with memory all is well again.
. "$(dirname "$0")/fixture.sh"
need prlimit || finish
! sanitized || skip "a sanitizer ends a program that has no memory"

mkdir -p "$P/.ai/knowledge/many"
"$PY" - "$P/.ai/knowledge/many" <<'PY'
import sys
for i in range(1500):
    open(f"{sys.argv[1]}/n{i}.md", "w").write(f"text {i} needle\n" + f"line {i}\n" * 700)
PY
allow 'out of memory'
fx_mount devmode
scanned
every() { (cd "$P/.ai/knowledge/many" && cat ./*.md) | md5sum; }
items() { (cd "$M/knowledge/many" && cat ./*.md) | md5sum; }
found() { ls "$M/search/needle text" | wc -l; }
# more MEBIBYTES: so much beside what it has
more() {
  local now
  now=$(awk '/^VmData/ { print $2 * 1024 }' "/proc/$pid/status")
  prlimit --pid "$pid" --data=$((now + $1 * 1048576)):unlimited
}
all=$(found)
umount_rye
fx_mount devmode
scanned
pid=$(stat_of pid)
more 2
is "no wrong byte is read" "$("$PY" - "$P/.ai/knowledge/many" "$M/knowledge/many" <<'PY'
import os, sys
wrong = 0
for name in os.listdir(sys.argv[1]):
    try:
        with open(f"{sys.argv[2]}/{name}", "rb") as file:
            got = file.read()
    except OSError:
        continue
    with open(f"{sys.argv[1]}/{name}", "rb") as file:
        wrong += got != file.read()
print(wrong)
PY
)" 0
timeout 60 bash -c 'echo "{\"command\":\"echo ran\"}" >"$1"' - "$M/tools/rye/bash/run" 2>/dev/null
like "a run, or a sentence" "$(cat "$M/tools/rye/bash/output" 2>&1)" '^(ran|out of memory.*|.*Cannot allocate memory)$'
said=$(timeout 60 ls "$M/search/needle text" 2>"$T/why" | wc -l)
like "a search is whole or refused" "$said $(<"$T/why")" "^$all \$|^0 .*(Input/output error|Cannot allocate memory)"
like "it goes on" "$(stat -c %F "$M/.ryefs/version" 2>&1)" '^(regular.* file|.*Cannot allocate memory)$'
prlimit --pid "$pid" --data=unlimited:unlimited
is "with memory it is read" "$(items)" "$(every)"
echo '{"command":"echo ran"}' >"$M/tools/rye/bash/run"
is "a run" "$(<"$M/tools/rye/bash/output")" ran
is "and found" "$(found)" "$all"
finish
