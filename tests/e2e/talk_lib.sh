# Sourced by the talk_*.sh tests: a private mount of conversations with a fake engine
# (tests/fake/talkfs.c), which logs every message it is given. Skips without /dev/fuse.
# shellcheck shell=bash
set -u

skip() {
	echo "skipped: $*"
	exit 77
}

[ -c /dev/fuse ] || skip "no /dev/fuse"
command -v fusermount3 >/dev/null || skip "no fusermount3"
[ -x "${TALKFS:-}" ] || skip "no talkfs"

tmp=$(mktemp -d "${TMPDIR:-/tmp}/talk.XXXXXX")
mnt=$tmp/mnt
log=$tmp/log
daemon=
faults=0
checks=0
mkdir "$mnt"

stop_mount() {
	[ -n "$daemon" ] || return 0
	cd / || exit 1
	fusermount3 -u "$mnt" 2>/dev/null || fusermount3 -uz "$mnt" 2>/dev/null
	wait "$daemon" 2>/dev/null
	daemon=
	if grep -E 'Sanitizer|runtime error|WARNING: Thread' "$tmp/err" >&2; then
		faults=$((faults + 1))
	fi
}

finish() {
	stop_mount
	echo "$checks checks, $faults failed"
	rm -rf "$tmp"
	[ "$faults" = 0 ]
	exit
}

# start_mount [SECONDS a write waits]: and goes there
start_mount() {
	: >"$log"
	FAKE_LOG=$log "$TALKFS" "$mnt" "$@" 2>"$tmp/err" </dev/null &
	daemon=$!
	for _ in $(seq 100); do
		[ -e "$mnt/run" ] && break
		sleep 0.05
	done
	[ -e "$mnt/run" ] || skip "cannot mount here"
	cd "$mnt" || exit 1
}

# check WHAT COMMAND...: one check
check() {
	local what=$1
	shift
	checks=$((checks + 1))
	"$@" && return 0
	faults=$((faults + 1))
	echo "FAILED: $what"
	return 1
}

same() {
	[ "$1" = "$2" ] && return 0
	printf '  wanted: %s\n  got:    %s\n' "$2" "$1"
	return 1
}

# ran WHAT [LINE]...: these messages and no others were run since the last time
ran() {
	local what=$1 got wanted
	shift
	got=$(cat "$log")
	wanted=$([ $# = 0 ] || printf '%s\n' "$@")
	: >"$log"
	check "$what: what ran" same "$got" "$wanted"
}

trap finish EXIT
