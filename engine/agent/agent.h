/* SPDX-License-Identifier: MIT */
/*
 * agent.h: directives that a model works through. The launcher starts a runner for one (fork/fork.c); the
 * runner asks the model, runs the tools that it calls and hears its answer, until there is a result
 * or a limit ends it (agent.c and what it calls).
 */
#ifndef RYE_AGENT_AGENT_H
#define RYE_AGENT_AGENT_H

#include "base/json.h"
#include "item/item.h"

#include <rye/rye.h>

/*
 * agent.c: the whole life of one thread, in its runner.
 */
struct agent_ask {
	const json_t *doc; /* the orders: thread_id, request, options, authority */
	int dir; /* the thread's directory */
	int stop; /* an eventfd: readable once it is to end. Never read here */
	void (*live)(void *arg, struct rye_span text); /* text of the model as it comes */
	void *live_arg;
};

struct agent_end {
	struct rye_outcome outcome; /* the reply and its plain text, the caller's */
	char status[32]; /* of the registry's row, which the caller writes last */
};
/* Returns when everything but result.json and the row is written. */
void agent_run(const struct agent_ask *ask, struct agent_end *ret);

#endif
