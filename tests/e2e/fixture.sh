# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# fixture.sh: lib.sh, and what the tests of clients, crawlers and hostile input need besides:
# items of every verdict in three spaces, and more ways to say what was wanted.
#
#   fx_spaces; fx_mount [OPTION...]; cases; finish
#   clocked CMD...   with clocks that the test sets: of the mount, its runners and what it preloads
#   pass SECONDS     so much time has passed there
#   wall EPOCH       the wall clock there is set
#
# Every verdict's item is knowledge/refused/VERDICT.md and tools/refused/VERDICT.sh, the one
# that cannot be parsed directives/refused/unparsable.md. What the mount must serve of the good
# ones is in $T/truth.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export LC_ALL=C.UTF-8 HOME=$U USER_SPACE=$U TMPDIR=$T
# The forty tests of lib.sh alone have it, and fork.sh for runners: it doubles what a start costs.
[ "$NAME" = fork ] || PERTURB=0
unset RYE_DEV_MODE RYE_SIGNING_KEY_DIR RYE_SYSTEM_SPACES VIRTUAL_ENV CDPATH
E2E=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
S=${RYEFS%/*}/bundle
[ -d "$S/.ai/tools/rye/bash" ] || skip "the bundle is not built"
# a version manager's python3 is a shell script that is slow to start
PY=/usr/bin/python3
[ -x "$PY" ] || PY=python3
cd "$T" || exit 1
# a refusal is the daemon's answer, not its complaint
allow 'info refused: '

# --- results ---

good() { result 0 "$1"; }

# bad TEXT DETAIL...
bad() {
  result 1 "$1"
  shift
  printf '%.600s\n' "$@" | tr -d '\000' | sed 's/^/#   /'
}

without() {
  N=$((N + 1))
  echo "ok $N - $1 # SKIP $2"
}

# need PROGRAM [TEXT]: false, and says so, when it is not installed
need() {
  command -v "$1" >/dev/null && return
  without "${2:-$1}" "$1 is not installed"
  return 1
}

# has TEXT GOT PART...: all parts are in it; lacks: this one is not
has() {
  local what=$1 text=$2 part
  shift 2
  for part in "$@"; do
    case $text in
      *"$part"*) ;;
      *)
        bad "$what" "wanted: $part" "got: $text"
        return
        ;;
    esac
  done
  good "$what"
}

lacks() {
  case $2 in
    *"$3"*) bad "$1" "unwanted: $3" "got: $2" ;;
    *) good "$1" ;;
  esac
}

# works TEXT COMMAND...; fails TEXT COMMAND...: without hanging, too
works() {
  local what=$1 text
  shift
  if text=$(limit 100 "$@" 2>&1 </dev/null); then good "$what"; else bad "$what" "status $?" "$text"; fi
}

fails() {
  local what=$1 text r
  shift
  text=$(limit 100 "$@" 2>&1 </dev/null)
  r=$?
  if [ $r = 0 ] || [ $r = 124 ] || [ $r = 137 ] || [ $r = $LIMITED ]; then
    bad "$what" "status $r" "$text"
  else
    good "$what"
  fi
}

# same_file TEXT GOT WANTED
same_file() {
  local text
  if text=$(cmp -- "$2" "$3" 2>&1); then good "$1"; else bad "$1" "$text"; fi
}

# seconds below are those of a machine of ours: one that is busy has three times as many, one that has more
# than four programs for each processor as many times more as it has pairs of them
BUSY=3 PATIENCE=1
read -r CROWD _ </proc/loadavg
CROWD=$((${CROWD%.*} / $(nproc)))
[ $CROWD -le 4 ] || BUSY=$((3 * CROWD / 2)) PATIENCE=$((CROWD / 2))

# within SECONDS TEXT COMMAND...: the status is not asked, only the time
within() {
  local limit=$1 what=$2 from to
  shift 2
  from=${EPOCHREALTIME/./}
  limit 60 "$@" >/dev/null 2>&1 </dev/null
  to=$(((${EPOCHREALTIME/./} - from) / 1000))
  if [ $to -le $((limit * BUSY * 1000)) ]; then good "$what"; else bad "$what" "took $to ms"; fi
}

# --- the mount ---

# thread_names: what state/threads lists, less the files and directories about all of them
thread_names() { ls "$M/state/threads" 2>&1 | grep -vxE 'active|budget|by-(directive|id|status)|ctl|events|new|recent|registry\.tsv' | sort; }
fx_mount() { mount_rye "$@" && scanned; }

# fx_wait SECONDS COMMAND...: until it succeeds
fx_wait() {
  local left=$(($1 * BUSY * 1000)) ms=20
  shift
  while ! "$@" >/dev/null 2>&1; do
    left=$((left - ms))
    [ $left -gt 0 ] || return 1
    nap $ms
    [ $ms -ge 100 ] || ms=$((ms + 10))
  done
}

clocked() {
  [ -e "$T/clock" ] || head -c 16 /dev/zero >"$T/clock"
  preloaded set_clock FAKE_CLOCK="$T/clock" "$@"
}
# clock_set WALL: what the wall clock shows, "" as it went on; STEADY: seconds that have passed beside
clock_set() {
  "$PY" -c 'import struct, sys, time
path, wall, steady = sys.argv[1:]
with open(path, "r+b") as clock:
    add = list(struct.unpack("=qq", clock.read(16)))
    more = int(float(steady) * 1e9)
    add = [int(wall) * 10**9 - time.time_ns() if wall else add[0] + more, add[1] + more]
    clock.seek(0)
    clock.write(struct.pack("=qq", *add))' "$T/clock" "$@"
}
pass() { clock_set "" "$1"; }
wall() { clock_set "$1" 0; }

# naps N: `sleep N.$$`, which only this very test starts, is there
naps() { pgrep -f "^sleep $1\\.$$\$" >/dev/null; }
no_naps() { ! naps "$1"; }
wake() { # PATTERN: ends them
  local pid
  for pid in $(pgrep -f "^sleep $1\\.$$\$"); do kill "$pid"; done
}

# what a sanitizer slows down may take so many times as long
sanitized() { grep -qaE '__[at]san_init' "$RYEFS"; }
! sanitized || PATIENCE=$((4 * PATIENCE))

# fx_descriptors: how many the daemon has, less those of processes: who asked lately is remembered in a
# table of fixed size
fx_descriptors() { ls -l "/proc/$DAEMON/fd" | grep -vcE 'pidfd|-> /proc/[0-9]'; }

# fx_memory MB: the daemon never had more; the sanitizers' own memory does not count
fx_memory() {
  local kb
  if sanitized; then
    without "memory" "a sanitizer is built in"
    return
  fi
  kb=$(awk '/^VmHWM/ { print $2 }' "/proc/$DAEMON/status")
  if [ "$kb" -le $(($1 * 1024)) ]; then good "never more than $1 MB: $kb kB"; else bad "never more than $1 MB" "$kb kB"; fi
}

# --- items ---

# fx_path SPACE PATH: FX_PATH is SPACE/.ai/PATH, whose directory is there
fx_path() {
  FX_PATH=$1/.ai/$2
  [ -d "${FX_PATH%/*}" ] || mkdir -p "${FX_PATH%/*}"
}

# fx_put SPACE PATH: standard input becomes SPACE/.ai/PATH
fx_put() {
  fx_path "$@"
  cat >"$FX_PATH"
}

# fx_knowledge SPACE ID TEXT [STEM]: an entry that can be signed
fx_knowledge() {
  local dir=${2%/*} stem=${2##*/}
  [ "$dir" != "$2" ] || dir=
  fx_path "$1" "knowledge/$2.md"
  printf '%s\n' "# About $stem" '' '```yaml' "name: \"$stem\"" "title: \"About $stem\"" 'version: "1.0.0"' \
    'entry_type: reference' "category: \"$dir\"" '```' '' "$3" >"$FX_PATH"
}

# fx_tool SPACE ID SCRIPT...: a shell tool
fx_tool() {
  local space=$1 id=$2 dir=${2%/*}
  [ "$dir" != "$2" ] || dir=
  shift 2
  fx_path "$space" "tools/$id.sh"
  {
    printf '# version: "1.0.0"\n# tool_type: bash\n# category: "%s"\n' "$dir"
    printf '# description: "A tool of the tests"\n'
    printf '# executor_id: rye/core/runtimes/bash/bash\n'
    printf '%s\n' "$@"
  } >"$FX_PATH"
}

# fx_python SPACE ID: a Python tool; its execute() and more come from standard input
fx_python() {
  local dir=${2%/*}
  [ "$dir" != "$2" ] || dir=
  fx_path "$1" "tools/$2.py"
  {
    printf '"""A tool of the tests."""\n__version__ = "1.0.0"\n__tool_type__ = "python"\n'
    printf '__executor_id__ = "rye/core/runtimes/python/function"\n__category__ = "%s"\n' "$dir"
    printf '__tool_description__ = "A tool of the tests"\n'
    cat
  } >"$FX_PATH"
}

fx_cli() {
  timeout -k 1 30 "$RYEFS" "$@" --system "$S" >>"$T/cli.log" 2>&1 </dev/null || {
    bad "ryefs $*" "$(tail -n 5 "$T/cli.log")"
    return 1
  }
}

fx_sign() {
  local space=$1
  shift
  fx_cli sign -q --project "$space" "$@"
}

fx_raw_sign() { "$PY" "$E2E/signer.py" sign "$@"; }

# What the mount must serve: for tools the file itself, else the file without its two lines.
fx_truth() {
  local kind file
  for kind in tools knowledge; do
    (cd "$1/.ai/$kind" 2>/dev/null && find . -type f) | while IFS= read -r file; do
      [ -d "$T/truth/$kind/${file%/*}" ] || mkdir -p "$T/truth/$kind/${file%/*}"
      if [ $kind = tools ]; then
        cp "$1/.ai/tools/$file" "$T/truth/tools/$file"
      else
        tail -n +3 "$1/.ai/$kind/$file" >"$T/truth/$kind/$file"
      fi
    done
  done
}

fx_good() {
  local i
  fx_knowledge "$P" good "Every byte of this is true: é ü 漢字."
  fx_knowledge "$P" deep/er/note "Further down."
  fx_knowledge "$U" mine "Of the user's space."
  fx_knowledge "$U" good "The project shadows this."
  # shellcheck disable=SC2016
  fx_tool "$P" count 'cat >/dev/null' 'echo ran >> ran.log' 'echo counted'
  # several pages, and an odd number of bytes
  fx_tool "$P" big 'exit 0' "$(seq -f '# line %.0f of many, to fill pages' 20000)"
  fx_put "$P" directives/hello.md <<'TEXT'
# Hello

```xml
<directive name="hello" version="1.0.0">
  <metadata>
    <description>Greet somebody.</description>
    <category></category>
    <author>tests</author>
  </metadata>
  <inputs>
    <input name="who" type="string" default="world">Whom</input>
  </inputs>
</directive>
```

Greet {input:who}.
TEXT
}

FX_SIGNED='\(rye:signed:[^:]*:[^:]*:[^:]*:[0-9a-f]\{64\}:'
# fx_spoil VERDICT PATH: spoils one signed item of the project
fx_spoil() {
  local file=$P/.ai/$2
  case $1 in
    unsigned) sed -i '/rye:\(signed\|full\):/d' "$file" ;;
    malformed) sed -i 's/\(rye:signed:[^ ]*\)/\1junk/' "$file" ;;
    tampered) printf '# one line more\n' >>"$file" ;;
    # another first letter of the signature
    badsig) sed -i "s/$FX_SIGNED\\)A/\\1=B/; t end; s/$FX_SIGNED\\)[A-Za-z0-9_-]/\\1=A/; :end; s/$FX_SIGNED\\)=/\\1/" "$file" ;;
  esac
}

# verdict errno-name strerror
FX_VERDICTS='unsigned ENODATA No data available
malformed EBADMSG Bad message
tampered EBADMSG Bad message
untrusted ENOKEY Required key not available
badsig EKEYREJECTED Key was rejected by service
moved EKEYREJECTED Key was rejected by service
unparsable EUCLEAN Structure needs cleaning'

# Directives are refused when they cannot be parsed: who may do what stands in their metadata.
# The text of a tool or an entry can be read without, but nothing runs it or tells from it.
fx_unparsable() {
  fx_put "$P" directives/refused/unparsable.md <<'TEXT'
```xml
<directive name="unparsable" version="1.0.0">
  <metadata><category>refused</metadata>
</directive>
```

Secret of unparsable.
TEXT
  printf '```yaml\nname: "open\n```\n\nText of halfread.\n' | fx_put "$P" knowledge/halfread.md
  printf '__executor_id__ = "rye/core/runtimes/python/function"\n"""never closed\n' |
    fx_put "$P" tools/halfread.py
  fx_raw_sign 00 "$P" directives/refused/unparsable.md knowledge/halfread.md tools/halfread.py
}

fx_bad() {
  local verdict ext kind
  for verdict in unsigned malformed tampered badsig movable; do
    fx_knowledge "$P" "refused/$verdict" "Secret of $verdict."
    fx_tool "$P" "refused/$verdict" 'echo ran >> ran.log' "echo Secret of $verdict."
  done
  fx_sign "$P" 'knowledge:refused/*' 'tool:refused/*'
  for kind in knowledge:md tools:sh; do
    ext=${kind#*:} kind=${kind%:*}
    mv "$P/.ai/$kind/refused/movable.$ext" "$P/.ai/$kind/refused/moved.$ext"
    for verdict in unsigned malformed tampered badsig; do
      fx_spoil $verdict "$kind/refused/$verdict.$ext"
    done
  done
  fx_knowledge "$P" refused/untrusted "Secret of untrusted."
  fx_tool "$P" refused/untrusted 'echo ran >> ran.log' 'echo Secret of untrusted.'
  fx_raw_sign a0 "$P" knowledge/refused/untrusted.md tools/refused/untrusted.sh
  fx_unparsable
}

# Three spaces with good items and refused ones.
fx_spaces() {
  "$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
  fx_good
  fx_sign "$P" --all
  fx_cli sign -q --project "$P" --space user --all
  fx_truth "$U"
  fx_truth "$P"
  fx_bad
}

# Servers of the Model Context Protocol on loopback, at URL; what they hear and offer is in $NOTES.
fx_mcp_peer() {
  NOTES=$T/notes
  mkdir "$NOTES"
  beside peer "$PY" "$E2E/mcp_peer.py" "$T/port" "$NOTES"
  until_true test -s "$T/port"
  URL=http://127.0.0.1:$(<"$T/port")
}

# A cgroup of the test's own, so that its limit is nobody else's; what it lies in is in $GROUPS_AT.
GROUPS_AT= GROUP=ryefs-test-${T##*.}
own_group() {
  local at
  [ "$(id -u)" = 0 ] || return
  for at in /sys/fs/cgroup/pids /sys/fs/cgroup; do
    [ -e "$at/cgroup.procs" ] && mkdir "$at/$GROUP" 2>/dev/null || continue
    if [ -e "$at/$GROUP/pids.max" ] && echo $$ 2>/dev/null >"$at/$GROUP/cgroup.procs"; then
      GROUPS_AT=$at
      return
    fi
    rmdir "$at/$GROUP"
  done
}

leave_group() {
  [ -n "$GROUPS_AT" ] || return
  cat "$GROUPS_AT/$GROUP/cgroup.procs" "$GROUPS_AT/$GROUP/ryefs/cgroup.procs" 2>/dev/null |
    while read -r pid; do echo "$pid" 2>/dev/null >"$GROUPS_AT/cgroup.procs"; done
  rmdir "$GROUPS_AT/$GROUP/ryefs" "$GROUPS_AT/$GROUP"
}

zombies() { ps --no-headers -o stat= --ppid "$DAEMON" | grep -c Z; }
no_zombies() { [ "$(zombies)" = 0 ]; }
