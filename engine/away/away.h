/* SPDX-License-Identifier: MIT */
/*
 * away.h: a run that another machine carries out, as a thread here: its runner sends the order, follows
 * what comes out there, and records the end that the receipt tells.
 */
#ifndef RYE_AWAY_AWAY_H
#define RYE_AWAY_AWAY_H

#include "base/json.h"

#include <rye/rye.h>

/*
 * away.c: the whole life of one thread, in its runner.
 */
struct away_ask {
	const json_t *doc; /* the orders: thread_id, request, remote, options, authority */
	int dir; /* the thread's directory */
	int stop; /* an eventfd: readable once it is to end. Never read here */
	void (*live)(void *arg, struct rye_span text); /* what is printed there as it comes */
	void *live_arg;
};

struct away_end {
	struct rye_outcome outcome; /* the reply and its plain text, the caller's */
	char status[32]; /* of the registry's row, which the caller writes last */
};
/* Returns when everything but result.json and the row is written. */
void away_run(const struct away_ask *ask, struct away_end *ret);

#endif
