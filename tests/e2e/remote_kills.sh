#!/bin/bash
# SPDX-License-Identifier: MIT
# remote_kills.sh: orders, and workers, clients and the database that are killed all the time: each order has one
# end, none runs twice (15); one that is idempotent is never lost. On both boards; where there is no PostgreSQL, its half is skipped and said.
# RYE_ROUNDS=1 is for the full counts: 10000 orders, 100 kills of workers, 10 of the database, 5 of the client,
# with workers that start no process; with those that do, RYE_KILLS_ORDERS and RYE_KILLS say how many.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/remote_lib.sh"
. "$(dirname "$0")/postgres_lib.sh"
at_end pg_end

full=${RYE_ROUNDS:+1}
ORDERS=${RYE_KILLS_ORDERS:-8} KILLS=${RYE_KILLS:-4}
declare -A workers

# NAME: a worker of the sort that this part is about
begin_worker() { work; workers[$1]=$BESIDE; }
begin_drone() {
	beside drone "$ASK_NODE" drone "$NODE" "$KEY" "worker-$1" "$T/$board-effects-$1"
	workers[$1]=$BESIDE
}
gone() { ! kill -0 "$1" 2> /dev/null; }
kill_one() { # HOW
	local i=$((RANDOM % 4))
	kill -9 "${workers[$i]}" 2> /dev/null
	until_true gone "${workers[$i]}" # its name is free once it is
	"$1" "$i"
}
is_over() { ask tally "$T/$board-ids" > "$T/tally" && grep -q "queued=0 running=0 silent=0" "$T/tally"; }
number() { grep -o "$1=[0-9]*" "$T/tally" | cut -d= -f2; }
ends() { for ((k = 0; k < 30 + $1 / 10; k++)); do is_over && return 0; sleep 0.5; done; return 1; } # of the clock: each look costs

# HOW ORDERS KILLS KILLS-OF-DATABASE KILLS-OF-CLIENT [TOOL again]
killing() {
	local how=$1 orders=$2 kills=$3 databases=$4 clients=$5 tool=${6:-mark} k
	ask sign "tool:$tool" "$(sha_of "$tool")" demo '{"n":0}' "$orders" ${7:+"$7"} > "$T/$board-orders"
	grep -o '"id":"[^"]*' "$T/$board-orders" | cut -d'"' -f4 > "$T/$board-ids"
	for i in 0 1 2 3; do "$how" "$i"; done
	for ((k = 0; k < clients; k++)); do
		beside client "$ASK_NODE" post "$NODE" "$KEY" "$T/$board-orders"
		sleep "0.$((RANDOM % 5))" # what is killed is to be in the middle of something else each time
		kill -9 "$BESIDE" 2> /dev/null
	done
	beside client "$ASK_NODE" post "$NODE" "$KEY" "$T/$board-orders"
	for ((k = 0; k < kills; k++)); do
		sleep "0.$((RANDOM % 6))" # as above
		kill_one "$how"
		if [ "$databases" -gt 0 ] && [ $((k % (kills / databases + 1))) = 0 ]; then pg_kill; pg_start; fi
	done
	until_true gone "$BESIDE"
	ask post "$T/$board-orders" > /dev/null
	ok "$board: every order has ended" ends "$orders"
	echo "# $board, $how: $(<"$T/tally"), $kills kills of workers, $databases of the database, $clients of the client"
	kill "${workers[@]}"
	is "$board: none of them is without its end" "$(($(number done) + $(number lost)))" "$orders"
	if [ "$tool" = mark ]; then
		is "$board: no more are lost than were killed" "$(($(number lost) <= kills + 4 * databases))" 1
	else
		is "$board: of idempotent ones none is lost" "$(number lost)" 0
	fi
	is "$board: each other one has its one result" "$(number good)" "$(number done)"
}

prepare() { # BOARD
	board=$1
	ask init
	[ "$board" = sqlite ] || "$RYEFS" node init "$NODE" "board=$BOARD" > /dev/null
	# one write each: lines of runs at the same time stay whole
	remote_tool mark 'printf "%s\n" "$(cat)" >> "$1/effects"'
	remote_tool same 'printf "%s\n" "$(cat)" >> "$1/same"' $'idempotent: true\nrequires: [shell.execute, fs.write]'
}

for board in sqlite postgres; do
	if [ "$board" = postgres ]; then
		NODE=$T/second DEMO=$T/second/work/projects/$FP/demo
		if ! pg_begin; then
			echo "ok - postgres # SKIP there is no PostgreSQL here"
			N=$((N + 1))
			continue
		fi
	fi
	prepare "$board"
	if [ -n "$full" ]; then
		killing begin_drone "${RYE_KILLS_ORDERS:-10000}" 100 "$([ "$board" = sqlite ] && echo 0 || echo 10)" 5
		is "$board: none ran twice" "$(cat "$T/$board"-effects-* | sort | uniq -d | wc -l)" 0
		rm -f "$T/$board"-effects-*
		killing begin_drone "${RYE_KILLS_ORDERS:-10000}" 100 "$([ "$board" = sqlite ] && echo 0 || echo 10)" 5 same again
	else
		killing begin_worker "$ORDERS" "$KILLS" "$([ "$board" = sqlite ] && echo 0 || echo 1)" 1
		is "$board: none ran twice" "$(grep . "$DEMO/effects" | sort | uniq -d | wc -l)" 0
		is "$board: the others have each run" "$(($(grep -c . "$DEMO/effects") >= ORDERS - $(number lost)))" 1
		killing begin_worker "$ORDERS" "$KILLS" "$([ "$board" = sqlite ] && echo 0 || echo 1)" 1 same again
		is "$board: each of them has run" "$(sort -u "$DEMO/same" | grep -c .)" "$ORDERS"
	fi
done
finish
