#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls by name (docs/files.md): programs that have only file tools save calls/NAME/request.json in
# their own way, each save runs once, and replies/NAME/ has its reply.
. "$(dirname "$0")/fixture.sh"

# shellcheck disable=SC2016
fx_tool "$P" echo 'in=$(cat); echo ran >> ran.log' 'printf "got %s\n" "$in"' \
  'case $in in *fail*) exit 1 ;; *nap*) exec sleep '"60.$$"' ;; *rest*) sleep 1.5 ;; esac'
# shellcheck disable=SC2016
fx_tool "$P" child 'd=$2/mnt/tools/echo' 'ls "$d/calls" "$d/calls/mv" 2>&1' \
  'if (echo "{}" > "$d/calls/inside/request.json") 2>/dev/null; then echo may; else echo refused; fi'
"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
fx_sign "$P" --all
fx_mount
I=$M/tools/echo
LOG=$P/ran.log
: >"$LOG"
runs() { wc -l <"$LOG"; }


works "python: ways to save, failures, names, six threads" timeout 90 "$PY" "$E2E/calls.py" "$I" "$LOG"
! need node || works "node: six tasks of one process" timeout 60 node "$E2E/calls.mjs" "$I" "$LOG"

# once TEXT CALL WHO COMMAND...: it ran once and this is its reply
once() {
  local what=$1 call=$2 who=$3 before after
  shift 3
  before=$(runs)
  timeout -k 1 20 "$@" </dev/null >"$T/said" 2>&1
  after=$(runs)
  is "$what: runs once" $((after - before)) 1
  like "$what: finds its reply" "$(cat "$I/replies/$call/output" 2>&1)" "\"who\": \"$who\""
}

# shellcheck disable=SC2016
once "mv" mv moved bash -c 'echo "{\"who\": \"moved\"}" >"$1/draft" && mv "$1/draft" "$1/request.json"' - "$I/calls/mv"
once "mv again" mv twice bash -c 'echo "{\"who\": \"twice\"}" >"$1/draft" && mv -f "$1/draft" "$1/request.json"' - "$I/calls/mv"
once "mv from elsewhere" mv away bash -c 'echo "{\"who\": \"away\"}" >"$2" && mv -f "$2" "$1/request.json"' - "$I/calls/mv" "$T/away"
echo '{"who": "copied"}' >"$T/copy"
once "cp" cp copied cp "$T/copy" "$I/calls/cp/request.json"
once "install" cp copied install "$T/copy" "$I/calls/cp/request.json"
once "dd" cp copied dd if="$T/copy" of="$I/calls/cp/request.json" bs=3
once "sed -i" cp changed sed -i s/copied/changed/ "$I/calls/cp/request.json"
# shellcheck disable=SC2016
once "tee" cp copied bash -c 'tee "$2" <"$1"' - "$T/copy" "$I/calls/cp/request.json"

# a remedy that its caller can carry out: the same file, saved again
! echo '{"comand": "true"}' >"$M/tools/rye/bash/bash/calls/wrong/request.json" 2>/dev/null
has "a wrong call's remedy" "$(<"$M/tools/rye/bash/bash/replies/wrong/output")" 'mend with: saving {' '"command"' \
  "as $M/tools/rye/bash/bash/calls/wrong/request.json"
! echo '{"item_id": "tool:rye/bash/bsh"}' >"$M/calls/wrong/request.json" 2>/dev/null
has "one of the root's" "$(<"$M/replies/wrong/output")" 'mend with: saving {' "as $M/calls/wrong/request.json"

vim_new() { once "vim, $1" "$2" new vim -N -u NONE -i NONE -es "$I/calls/$2/request.json" -c "set $1" -c '%s/old/new/' -c 'wq'; }
if need vim; then
  for how in backupcopy=no backupcopy=yes 'backup backupcopy=no' nowritebackup; do
    call=vim-$(printf %s "$how" | tr -c 'a-z' -)
    echo '{"who": "old"}' >"$I/calls/$call/request.json"
    vim_new "$how" "$call"
  done
fi
if need emacs; then
  echo '{"who": "old"}' >"$I/calls/emacs/request.json"
  once "emacs" emacs new emacs -Q --batch "$I/calls/emacs/request.json" \
    --eval '(progn (while (search-forward "old" nil t) (replace-match "new")) (save-buffer))'
fi
if need nano && need script; then
  echo '{"who": "old"}' >"$I/calls/nano/request.json"
  # shellcheck disable=SC2016
  once "nano" nano newer bash -c '(sleep 1; printf "\034old\rnewer\rA"; sleep 0.3; printf "\017\r"; sleep 0.5; printf "\030") | TERM=xterm script -qec "nano --ignorercfiles $1" /dev/null' - "$I/calls/nano/request.json"
fi

# ---- waiting, the end of the caller ----

save() { echo "$2" >"$I/calls/$1/request.json"; }
rename() { echo "$2" >"$I/calls/$1/draft" && mv -T "$I/calls/$1/draft" "$I/calls/$1/request.json"; }
answered() { test -s "$I/replies/$1/output"; }

for way in save rename; do
  $way "nap-$way" '{"nap": 1}' 2>/dev/null &
  caller=$!
  fx_wait 5 naps 60
  works "$way: others go on meanwhile" bash -c 'echo "{}" > "$1/calls/beside/request.json"' - "$I"
  not_ok "$way: there is no reply before the end" answered "nap-$way"
  within 1 "$way: looking for it does not wait" ls -l "$I/replies/nap-$way"
  pkill -9 -P "$caller" 2>/dev/null
  kill -9 "$caller" 2>/dev/null
  wait "$caller" 2>/dev/null
  ok "$way: kill -9 of the caller ends the run" fx_wait 5 no_naps 60
  ok "$way: and the reply says so" fx_wait 5 answered "nap-$way"
done
"$PY" - "$I" $$ <<'CODE'
import errno, os, signal, sys
def fire(*_): raise KeyboardInterrupt
signal.signal(signal.SIGINT, fire)
here = sys.argv[1] + "/calls/int/"
with open(here + "draft", "w") as f:
    f.write('{"nap": 1}')
if os.fork() == 0:
    import subprocess, time
    while subprocess.run(["pgrep", "-f", "^sleep 60\\." + sys.argv[2] + "$"], stdout=subprocess.DEVNULL).returncode:
        time.sleep(0.01)
    os.kill(os.getppid(), signal.SIGINT)
    os._exit(0)
try:
    os.rename(here + "draft", here + "request.json")
except KeyboardInterrupt:
    sys.exit(7)
CODE
is "^C of a caller in rename" $? 7
ok "ends its run" fx_wait 5 no_naps 60

# ---- an object that never ends ----

printf '{"who": "half' >"$I/calls/half/request.json"
not_ok "half a message is no request" test -e "$I/calls/half/request.json"
ok "its reply says what is missing" fx_wait 5 answered half
like "namely" "$(<"$I/replies/half/output")" 'unfinished: 13 bytes came, wanted "'
once "and whole" half whole bash -c 'echo "{\"who\": \"whole\"}" >"$1"' - "$I/calls/half/request.json"

# ---- the primitives ----

echo '{"item_id": "tool:echo", "parameters": {"who": "root"}}' >"$M/calls/x/request.json"
like "execute by name" "$(<"$M/replies/x/output")" '"who": "root"'
echo '{"item_id": "tool:echo"}' >"$M/calls/fetch/x/request.json"
like "fetch by name" "$(<"$M/replies/fetch/x/reply.json")" '"status":"success"'
echo '{"item_id": "tool:child"}' >"$M/calls/sign/x/request.json"
like "sign by name" "$(<"$M/replies/sign/x/reply.json")" '"status":"signed"'

# ---- who may ----

errno "not a confined process" EACCES setpriv --no-new-privs bash -c "echo '{}' > '$I/calls/evil/request.json'"
errno "nor does it read a reply" EACCES setpriv --no-new-privs cat "$I/replies/x/output"
errno "nor list them" EACCES setpriv --no-new-privs ls "$I/calls"
# a descriptor that a confined process was given is asked of at each write
before=$(runs)
exec 5>"$I/calls/held/request.json"
errno "nor through an open file" EACCES setpriv --no-new-privs bash -c "echo '{}' >&5"
exec 5>&-
is "none of it ran" "$(runs)" "$before"
echo "{}" >"$M/tools/child/run"
has "a child of a run may not, unless its item's requires says so" "$(<"$M/tools/child/output")" refused
lacks "nor look" "$(<"$M/tools/child/output")" request.json
is "it ran nothing" "$(runs)" "$before"

# ---- crawlers ----

is "they are not listed" "$( (ls -a "$M"; ls -a "$I") | grep -E '^(calls|replies)$')" ""
timeout 30 find "$M" "$I" -name 'request.json' >"$T/found" 2>/dev/null
is "find meets none" "$(<"$T/found")" ""
timeout 30 grep -rs who "$M/tools" "$I" >/dev/null
timeout 30 grep -rs who "$I/calls" "$I/replies" >/dev/null
is "grep runs nothing" "$(runs)" "$before"
fx_memory 100

# ---- a run that is longer than -o wait ----

umount_rye
fx_mount wait=1
save long '{"who": "long", "rest": 1}' 2>"$T/said"
is "a save gives up with -o wait" "$?: $(grep -o 'now in progress' "$T/said")" "1: now in progress"
not_ok "there is no reply yet" answered long
ok "its request is there" grep -q long "$I/calls/long/request.json"
ok "the reply comes at the end" fx_wait 8 answered long
like "and is its own" "$(<"$I/replies/long/output")" '"who": "long"'

# ---- another user ----

if [ "$(id -u)" = 0 ] && need setpriv; then
  umount_rye
  chmod 755 "$T" "$P" "$U"
  fx_mount allow_other
  save mine '{"who": "mine"}'
  as() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
  ok "another user may read items" as cat "$M/tools/echo.sh"
  before=$(runs)
  for what in calls calls/mine replies replies/mine; do
    errno "another user does not list $what" EACCES as ls "$I/$what"
  done
  errno "nor reads a request" EACCES as cat "$I/calls/mine/request.json"
  errno "nor a reply" EACCES as cat "$I/replies/mine/output"
  errno "nor calls" EACCES as bash -c "echo '{}' >'$I/calls/theirs/request.json'"
  errno "nor by a rename" EACCES as mv "$I/calls/mine/request.json" "$I/calls/mine/x"
  is "nothing ran" "$(runs)" "$before"
fi

finish
