/* SPDX-License-Identifier: MIT */
/*
 * prefetch.h: threads that find out the verdicts of items nobody has asked for yet: all of them
 * after opening, later what has changed. They also look at the key files of layers that tell
 * nobody of their changes.
 */
#ifndef RYE_API_PREFETCH_H
#define RYE_API_PREFETCH_H

#include "api/verdict_cache.h"

struct prefetch;

struct prefetch_env {
	const struct cache *cache;
	struct index *index;
	int threads;
	void (*poll)(void *arg); /* every PREFETCH_POLL_S, from one thread */
	void *arg;
};

#define PREFETCH_POLL_S 2

int prefetch_open(const struct prefetch_env *env, struct prefetch **ret, struct rye_err *err);
void prefetch_close(struct prefetch *prefetch); /* NULL is fine */
/* Something has changed: go round again soon. */
void prefetch_kick(struct prefetch *prefetch);
/* Has every item had a verdict once? */
bool prefetch_done(struct prefetch *prefetch);

#endif
