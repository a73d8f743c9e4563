#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Who may write to control files: not other users, not a process that is confined otherwise
# than the daemon, and a child of a run only as far as its item's signed `requires` goes.
. "$(dirname "$0")/fixture.sh"

# asks HOW [FILE]: what caller.py saw
asks() { timeout -k 1 10 "$PY" -I "$E2E/caller.py" "$M/${2:-tools/count/run}" "$1" 2>&1; }

ran() { wc -l <"$P/ran.log" 2>/dev/null || echo 0; }

# refused HOW TEXT
refused() {
  local got before
  before=$(ran)
  got=$(asks "$1")
  case $got in
    cannot*) without "$2" "this process may not confine itself so: $got" ;;
    *)
      is "$2: mode 0000 and EACCES" "$got" "0000 EACCES"
      is "$2: nothing ran" "$(ran)" "$before"
      ;;
  esac
}

guard() {
  is "an ordinary caller may" "$(asks none)" "0600 OK"
  refused mount "another mount namespace"
  refused user "another user namespace"
  refused net "another network namespace"
  refused pid "another pid namespace"
  refused nnp "no_new_privs"
  refused seccomp "a seccomp filter"
  [ "$(id -u)" != 0 ] || refused powers "a root without capabilities"
  refused "chroot=$T" "another root directory"
  # read-only: nothing that cleans up can reach through it
  mkdir -p "$T/same"
  if mount -o bind,ro / "$T/same" 2>/dev/null && ! touch "$T/same$T/same" 2>/dev/null; then
    refused "within=$T/same" "another root that is the same directory"
  else
    without "another root that is the same directory" "no bind mount can be made here"
  fi
  umount -l "$T/same" 2>/dev/null
  is "other namespaces do not matter" "$(asks uts | sed 's/^cannot.*/0600 OK/')" "0600 OK"
  # of root Landlock alone leaves no trace: the security page says so
  case $(asks landlock) in
    cannot*) without "Landlock alone" "the kernel lacks it" ;;
    *) good "Landlock alone is not seen, as documented" ;;
  esac
  is "authority is checked again at the write" "$(asks held=nnp | cut -d' ' -f2)" EACCES
  is "and for a filter" "$(asks held=seccomp | cut -d' ' -f2)" EACCES
  [ "$(id -u)" != 0 ] || is "and for capabilities" "$(asks held=powers | cut -d' ' -f2)" EACCES
  is "and at one right behind the writer's own" "$(asks spoken=nnp knowledge/good/run)" "0 of 10"
  is "and for a filter" "$(asks spoken=seccomp knowledge/good/run)" "0 of 10"
  if need setpriv; then
    fails "setpriv --no-new-privs" setpriv --no-new-privs sh -c "echo '{}' > '$M/tools/count/run'"
    has "ls -l stays clean" "$(setpriv --no-new-privs ls -l "$M/tools/count/" 2>&1)" "---------- "
    works "a confined caller may read" setpriv --no-new-privs cat "$M/knowledge/good.md"
    works "and look" setpriv --no-new-privs ls -lR "$M"
    fails "not sign" setpriv --no-new-privs sh -c "echo '{\"item_id\":\"knowledge:good\"}' > '$M/sign'"
    fails "not write to spaces" setpriv --no-new-privs sh -c "echo x > '$M/spaces/project/knowledge/x.md'"
    fails "not remove there" setpriv --no-new-privs rm -f "$M/spaces/project/knowledge/good.md"
    fails "not execute" setpriv --no-new-privs sh -c "echo '{\"item_id\":\"tool:count\"}' > '$M/execute'"
    fails "not async" setpriv --no-new-privs sh -c "echo '{}' > '$M/tools/count/async'"
  fi
  if need unshare; then
    fails "unshare -m" unshare -m sh -c "echo '{}' > '$M/tools/count/run'"
    fails "unshare -n" unshare -n sh -c "echo '{}' > '$M/tools/count/run'"
    fails "unshare -p" unshare -p --fork sh -c "echo '{}' > '$M/tools/count/run'"
    fails "unshare -U" unshare -U sh -c "echo '{}' > '$M/tools/count/run'"
  fi
}

other_user() {
  if [ "$(id -u)" != 0 ]; then
    without "another user" "that needs root"
    return
  fi
  chmod 755 "$T" "$P" "$U"
  has "without allow_other the kernel keeps others out" "$(asks uid=65534)" "EACCES EACCES"
  umount_rye
  fx_mount allow_other
  refused uid=65534 "another user"
  works "another user may read" setpriv --reuid 65534 --clear-groups cat "$M/knowledge/good.md"
  fails "not write to spaces" setpriv --reuid 65534 --clear-groups sh -c "echo x > '$M/spaces/project/knowledge/x.md'"
  echo '{"command":"echo private words"}' >"$M/tools/rye/bash/run"
  lacks "nor see the owner's replies" "$(setpriv --reuid 65534 --clear-groups cat "$M/tools/rye/bash/output" "$M/tools/rye/bash/run" 2>&1)" "private words"
  echo '{"command":"echo private words"}' >"$M/tools/rye/bash/async"
  lacks "nor the owner's threads" "$(setpriv --reuid 65534 --clear-groups sh -c "cat '$M'/state/threads/*/*" 2>&1)" "private words"
}

anybody() {
  umount_rye
  fx_mount trust_callers=any
  is "trust_callers=any: a confined caller may" "$(asks nnp)" "0600 OK"
  is "trust_callers=any: another namespace, too" "$(asks mount | sed 's/^cannot.*/0600 OK/')" "0600 OK"
}

# a tool of requires $2 that tries everything; $1: its name
child() {
  fx_tool "$P" "$1" "$2" 'try() { if (echo "$2" > "$3") 2>/dev/null; then echo "$1 may"; else echo "$1 may not"; fi; }' \
    'm=$2/mnt' 'grep -q "Every byte" "$m/knowledge/good.md" && echo "read may"' \
    'try run "{}" "$m/tools/count/run"' \
    'try other "{\"command\":\"echo x >> other.log\"}" "$m/tools/rye/bash/run"' \
    'try execute "{\"item_id\":\"tool:count\"}" "$m/execute"' \
    'try async "{}" "$m/tools/count/async"' \
    'try sign "{\"item_id\":\"knowledge:good\"}" "$m/sign"' \
    'try spaces x "$m/spaces/project/knowledge/planted.md"' \
    'try trust x "$m/spaces/user/config/keys/trusted/x.toml"' \
    'for t in "$m"/state/threads/*/ctl; do try ctl cancel "$t"; done' \
    '(setsid sh -c "sleep 0.1; echo {} > $m/tools/count/run" </dev/null >/dev/null 2>&1 &)' 'sleep 0.4'
}

children() {
  local id got before
  echo '{"command":"sleep 3"}' >"$M/tools/rye/bash/async"
  id=$(sed -n 's/.*"thread_id": *"\([^"]*\)".*/\1/p' "$M/tools/rye/bash/async")
  before=$(ran)
  works "a tool that may nothing runs" sh -c "echo > '$M/tools/meek/run'"
  got=$(sh -c "echo > '$M/tools/meek/run'; cat '$M/tools/meek/output'")
  has "a child of a run may read" "$got" "read may"
  has "and write nowhere" "$got" "run may not" "other may not" "execute may not" "async may not" "sign may not" \
    "spaces may not" "trust may not"
  lacks "not to another's ctl" "$got" "ctl may
"
  is "nothing ran, not even from a child that left its session" "$(ran)" "$before"
  has "the thread goes on" "$(cat "$M/state/threads/$id/status")" running
  got=$(sh -c "echo > '$M/tools/keen/run'; cat '$M/tools/keen/output'")
  has "with requires it may run what is named" "$got" "run may
"
  has "by execute, too" "$got" "execute may
"
  has "and nothing else" "$got" "other may not" "sign may not" "spaces may not" "trust may not"
  is "it did run" yes "$([ "$(ran)" -gt "$before" ] && echo yes)"
  is "the other did not" "$(cat "$P/other.log" 2>/dev/null)" ""
  fails "nothing was planted" ls "$P/.ai/knowledge/planted.md"
  got=$(sh -c "echo > '$M/tools/polite/run'; cat '$M/tools/polite/output'" 2>&1)
  has "it need not be allowed to write for that" "$got" "greetings"
  lacks "nor can it write then" "$got" "planted"
}

# thread_says TOOL: what its children could do, run as a thread
thread_says() {
  output_of "$(sh -c "echo > '$M/tools/$1/async'; cat '$M/tools/$1/async'")"
}

# output_of REPLY: when the thread that it names is over
output_of() {
  local id
  id=$(printf '%s' "$1" | sed -n 's/.*"thread_id": *"\([^"]*\)".*/\1/p')
  exchange 20 "$M/state/threads/${id:-none}/wait" >/dev/null
  cat "$M/state/threads/${id:-none}/output"
}

# The children of a thread: no more than its item may, nor than those may who started it.
threads() {
  local got before
  before=$(ran)
  got=$(thread_says meek)
  has "a child of a thread may read" "$got" "read may"
  has "and write nowhere" "$got" "run may not" "other may not" "execute may not" "async may not" "sign may not" \
    "spaces may not" "trust may not"
  is "nothing ran" "$(ran)" "$before"
  got=$(thread_says keen)
  has "with requires it may run what is named" "$got" "run may
"
  has "by execute, too" "$got" "execute may
"
  has "and nothing else" "$got" "other may not" "sign may not" "spaces may not" "trust may not"
  is "it did run" yes "$([ "$(ran)" -gt "$before" ] && echo yes)"
  # what a child starts as a thread is bound by all that binds itself
  before=$(ran)
  got=$(output_of "$(sh -c "echo > '$M/tools/outer/run'; cat '$M/tools/outer/output'")")
  has "a thread's children may not what those above it may not" "$got" "count may not"
  has "what all of them may they may" "$got" "the scribe "
  lacks "but confined as all of them are" "$got" "wrote"
  is "nothing ran" "$(ran)" "$before"
  got=$(thread_says inner)
  has "by itself it may" "$got" "count may
" "wrote itself" "the scribe wrote"
}

fx_spaces
child meek '# requires: []'
child keen '# requires: [rye.execute.tool.count, fs.write]'
fx_tool "$P" greet '# requires: []' 'echo greetings'
# shellcheck disable=SC2016
fx_tool "$P" polite '# requires: [rye.execute.tool.greet]' 'm=$2/mnt' \
  'echo "{}" > "$m/tools/greet/run" && cat "$m/tools/greet/output"' \
  '(echo x > "$2/planted") 2>/dev/null && echo planted' \
  '(echo x > "$m/spaces/project/planted") 2>/dev/null && echo planted' 'true'
fx_tool "$P" scribe '# requires: [fs.write]' 'if (echo x > "$2/scribbled") 2>/dev/null; then echo "the scribe wrote"; else echo "the scribe could not"; fi'
# shellcheck disable=SC2016
fx_tool "$P" inner '# requires: [rye.execute.tool.count, rye.execute.tool.scribe, fs.write]' 'm=$2/mnt' \
  'if (echo {} > "$m/tools/count/run") 2>/dev/null; then echo "count may"; else echo "count may not"; fi' \
  '(echo x > "$2/itself") 2>/dev/null && echo wrote itself' \
  'echo {} > "$m/tools/scribe/run" && cat "$m/tools/scribe/output"'
# shellcheck disable=SC2016
fx_tool "$P" outer '# requires: [rye.execute.tool.inner, rye.execute.tool.scribe]' 'm=$2/mnt' \
  'echo {} > "$m/tools/inner/async"; cat "$m/tools/inner/async"'
fx_sign "$P" tool:meek tool:keen tool:greet tool:polite tool:scribe tool:inner tool:outer
fx_mount
works "threads that compete read no other's reply" "$PY" -I "$E2E/compete.py" \
  "$M/tools/rye/bash/run" "$M/tools/rye/bash/output" "$M/.ryefs/errors"
guard
children
threads
other_user
anybody
finish
