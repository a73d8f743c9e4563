# SPDX-License-Identifier: MIT
# postgres_lib.sh: a PostgreSQL of the test's own: in $PG, on a socket there, as a user without rights.
#
#   pg_begin        makes and starts it; false: there is none to be had. Its address in BOARD
#   pg_start        starts it; pg_kill ends it at once, as a power cut would; pg_end for good
#   pg_row SQL      as a hand in the database would
PG=/tmp/rye-pg-$$
BOARD="postgresql:host=$PG user=rye dbname=postgres"
pg_bin=$(compgen -G '/usr/lib/postgresql/*/bin' | tail -n 1)

pg_as() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
	else
		"$@"
	fi
}

pg_ready() { "$pg_bin/pg_isready" -q -h "$PG" -U rye -d postgres; }

pg_start() {
	rm -f "$PG/data/postmaster.pid"
	(cd / && exec < /dev/null > "$PG/log" 2>&1 && pg_as "$pg_bin/postgres" -D "$PG/data" -k "$PG" -c listen_addresses= \
		-c shared_buffers=16MB -c max_connections="${PG_CONNECTIONS:-60}" -c fsync="${PG_FSYNC:-off}" -c log_min_messages=fatal) &
	until_true pg_ready
}

pg_begin() {
	[ -x "$pg_bin/postgres" ] || return 1
	[ "$(id -u)" != 0 ] || command -v setpriv > /dev/null || return 1
	mkdir -m 700 "$PG" && : > "$PG/log" || return 1
	[ "$(id -u)" != 0 ] || chown -R 65534:65534 "$PG"
	(cd / && pg_as env LC_ALL=C "$pg_bin/initdb" -N -A trust -U rye -E UTF8 -D "$PG/data" > /dev/null 2>&1) || return 1
	pg_start
}

pg_pid() { head -n 1 "$PG/data/postmaster.pid" 2> /dev/null; }

# Its processes end by themselves once their first one is gone, and nothing new begins before they have.
pg_kill() {
	local pid
	pid=$(pg_pid)
	[ -n "$pid" ] && kill -9 "$pid"
	until_true eval "! pg_ready"
	until_true eval "! ls /proc/[0-9]*/cwd -l 2>/dev/null | grep -q ' $PG/data\$'"
}

pg_end() {
	local pid
	pid=$(pg_pid)
	[ -z "$pid" ] || { kill -INT "$pid" && until_true eval "! kill -0 $pid 2>/dev/null"; }
	rm -rf "$PG"
}

pg_row() { psql -q -X -h "$PG" -U rye -d postgres -c "$1" > /dev/null; }
