#!/bin/bash
# SPDX-License-Identifier: MIT
# remote_kills.sh: orders and workers that are killed all the time: each order ends, none runs twice.
# RYE_KILLS_ORDERS and RYE_KILLS are the counts: 10000 and 100 are the full ones.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/remote_lib.sh"

ORDERS=${RYE_KILLS_ORDERS:-12} KILLS=${RYE_KILLS:-6} WORKERS=3
ask init
# one write each: lines of runs at the same time stay whole
remote_tool mark 'printf "%s\n" "$(cat)" >> "$1/effects"'
order mark '{"n":0}' "$ORDERS" > "$T/ids"
is "all orders are there" "$(grep -c . "$T/ids")" "$ORDERS"

declare -a workers
for ((i = 0; i < WORKERS; i++)); do
	work
	workers[i]=$BESIDE
done
is_over() { ask counts | grep -q "queued=0 running=0 silent=0"; }
for ((k = 0; k < KILLS; k++)); do
	sleep "0.$((RANDOM % 9))" # what is killed is to be in the middle of something else each time
	i=$((RANDOM % WORKERS))
	kill -9 "${workers[i]}" 2> /dev/null
	work
	workers[i]=$BESIDE
	is_over && break
done
for ((k = 0; k < 20 + ORDERS / 10; k++)); do
	until_true is_over && break
done
counts=$(ask counts)
echo "# $counts, $KILLS kills"
lost=$(echo "$counts" | grep -o 'lost=[0-9]*' | cut -d= -f2)
ok "every order has ended" is_over
is "none ran twice" "$(grep . "$DEMO/effects" | sort | uniq -d | wc -l)" 0
is "no more are lost than workers were killed" "$((lost <= KILLS))" 1
is "the others have each run" "$(($(grep -c . "$DEMO/effects") >= ORDERS - lost))" 1
is "with a receipt that is good" "$(ask check)" "$((ORDERS - lost)) receipts are good"
kill "${workers[@]}"
finish
