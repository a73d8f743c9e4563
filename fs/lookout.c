/* SPDX-License-Identifier: MIT */
/*
 * lookout.c - a thread that sleeps until it is poked, then looks until there is nothing left
 * to look at. What it looks at is its user's affair. `lock` guards the two flags and is taken
 * last: lookout_poke is called from interrupt functions, which hold their request's lock.
 */
#include "lookout.h"

#include "auto.h"
#include "util.h"

#include <errno.h>

#define LOOK_MS 100

struct lookout {
	lookout_fn fn;
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool poked, stopping;
};

/* Lock held. `soon`: in a while at the latest. */
static void sleep_here(struct lookout *lookout, bool soon)
{
	int64_t end = now_ns() + LOOK_MS * NS_PER_MS;
	struct timespec until = { end / NS_PER_S, end % NS_PER_S };
	int r = 0;

	while (!lookout->poked && !lookout->stopping && r != ETIMEDOUT) {
		if (soon)
			r = pthread_cond_timedwait(&lookout->changed, &lookout->lock, &until);
		else
			pthread_cond_wait(&lookout->changed, &lookout->lock);
	}
	lookout->poked = false;
}

static void *watch(void *arg)
{
	struct lookout *lookout = arg;
	bool soon = false, stop = false;

	for (;;) {
		WITH_LOCK(&lookout->lock) {
			sleep_here(lookout, soon);
			stop = lookout->stopping;
		}
		if (stop)
			return NULL;
		soon = lookout->fn(lookout->arg);
	}
}

int lookout_open(lookout_fn fn, void *arg, struct lookout **ret)
{
	struct lookout *lookout = calloc(1, sizeof(*lookout));
	pthread_condattr_t attr;

	if (!lookout)
		return -ENOMEM;
	lookout->fn = fn;
	lookout->arg = arg;
	pthread_mutex_init(&lookout->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&lookout->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&lookout->thread, NULL, watch, lookout)) {
		lookout_free(lookout);
		return -EAGAIN;
	}
	*ret = lookout;
	return 0;
}

void lookout_poke(struct lookout *lookout)
{
	WITH_LOCK(&lookout->lock) {
		lookout->poked = true;
		pthread_cond_signal(&lookout->changed);
	}
}

void lookout_stop(struct lookout *lookout)
{
	WITH_LOCK(&lookout->lock) {
		lookout->stopping = true;
		pthread_cond_signal(&lookout->changed);
	}
	pthread_join(lookout->thread, NULL);
}

void lookout_free(struct lookout *lookout)
{
	if (!lookout)
		return;
	pthread_cond_destroy(&lookout->changed);
	pthread_mutex_destroy(&lookout->lock);
	free(lookout);
}
