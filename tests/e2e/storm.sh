#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Everything at once for some seconds: crawlers, editors, signers, runs, threads, searches,
# writers that are killed. Then the mount still answers truly, and what it held has gone:
# nodes, descriptors, children, memory.
. "$(dirname "$0")/fixture.sh"
SECONDS_OF_STORM=${RYE_STORM_S:-6}

# until END COMMAND...: again and again
during() {
  while [ "$(date +%s)" -lt "$END" ]; do "$@" >/dev/null 2>>"$T/storm.err" </dev/null; done
}

edits() {
  local i=0
  while [ "$(date +%s)" -lt "$END" ]; do
    i=$((i + 1))
    printf 'Round %s.\n' "$i" >>"$P/.ai/knowledge/storm/a.md"
    echo "Round $i." >>"$M/spaces/project/knowledge/storm/b.md"
    echo '{"item_id":"knowledge:storm/*"}' >"$M/sign" 2>/dev/null
    mv "$P/.ai/knowledge/storm" "$P/.ai/knowledge/calm"
    mv "$P/.ai/knowledge/calm" "$P/.ai/knowledge/storm"
    cp "$P/.ai/tools/count.sh" "$P/.ai/tools/x.tmp" && mv "$P/.ai/tools/x.tmp" "$P/.ai/tools/count.sh"
  done
}

runs() {
  echo '{"text":"a"}' >"$M/tools/say/run" && [ "$(cat "$M/tools/say/output")" = a ] || echo "$BASHPID" >>"$T/wrong"
}

killed() {
  bash -c 'echo "{\"command\":\"sleep '"88.$$"'\"}" > "$1"' - "$M/tools/rye/bash/run" &
  local pid=$!
  sleep 0.15 # at any moment
  kill -9 $pid
  wait $pid
}

asyncs() {
  echo '{"text":"a"}' >"$M/tools/say/async"
  sleep 0.2 # fewer of these than of the others
}

storm() {
  local pids=() pid
  END=$(($(date +%s) + SECONDS_OF_STORM))
  during grep -r 'Every byte' "$M" & pids+=($!)
  during find "$M" -type f -newer / & pids+=($!)
  during ls -lR "$M/state" "$M/search/storm" & pids+=($!)
  during cat "$M/knowledge/storm/a.md" "$M/knowledge/storm/b.md" "$M/tools/count.sh" & pids+=($!)
  during cat "$M/.ryefs/stats.json" "$M/.ryefs/doctor" "$M/.ryefs/errors" & pids+=($!)
  edits >/dev/null 2>&1 & pids+=($!)
  (during runs) & pids+=($!)
  (during runs) & pids+=($!)
  (during killed) 2>/dev/null & pids+=($!)
  (during asyncs) & pids+=($!)
  for pid in "${pids[@]}"; do wait "$pid"; done
}

fx_spaces
fx_python "$P" say <<'TEXT'
def execute(params, project_path):
    return {"success": True, "output": params["text"]}
TEXT
fx_knowledge "$P" storm/a "A."
fx_knowledge "$P" storm/b "B."
fx_sign "$P" tool:say 'knowledge:storm/*'
fx_mount
runs
before=$(fx_descriptors)
storm
is "no reply went astray" "$(wc -l <"$T/wrong" 2>/dev/null || echo 0)" 0
ok "the daemon lives" kill -0 "$DAEMON"
works "it signs" sh -c "echo '{\"item_id\":\"knowledge:storm/*\"}' > '$M/sign'"
tail -n +3 "$P/.ai/knowledge/storm/a.md" >"$T/want"
fx_wait 2 cmp -s "$T/want" "$M/knowledge/storm/a.md"
same_file "and serves what is there" "$M/knowledge/storm/a.md" "$T/want"
same_file "and what was always there" "$M/knowledge/good.md" "$T/truth/knowledge/good.md"
is "no run of a killed writer is left" "$(fx_wait 5 no_naps 88 && echo none)" none
is "every thread ended" "$(for t in "$M"/state/threads/*; do timeout 40 cat "$t/wait"; done | sort -u)" completed
alive() { [ "$(stat_of alive)" -lt 600 ]; }
# warm interpreters and the registry have some; hundreds of runs leave none
less() { [ "$(fx_descriptors)" -le $((before + 60)) ]; }
# files of spaces/ keep theirs as long as the kernel remembers them
if (echo 2 >/proc/sys/vm/drop_caches) 2>/dev/null; then
  is "nodes were forgotten" "$(fx_wait 3 alive && echo yes || stat_of alive)" yes
  is "descriptors were closed" "$(fx_wait 20 less && echo yes || echo "$before, now $(fx_descriptors)")" yes
else
  without "nodes and descriptors" "the kernel's caches cannot be dropped"
fi
fx_memory 200
finish
