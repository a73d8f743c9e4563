/* SPDX-License-Identifier: MIT */
/*
 * errand_aside.c: what takes as long as a tree is big, the check-out, the look at what is left and its removal, is
 * done on a thread of its own, one at a time for each run. Meanwhile the worker's thread touches of the run its claim
 * alone, which it renews; what comes next is done there, when that thread has ended.
 */
#include "worker/worker_inner.h"

#include "clock.h"
#include "scope.h"

#include <sys/eventfd.h>

static void *aside_main(void *arg)
{
	struct errand *errand = arg;
	struct errand_aside *aside = &errand->aside;

	aside->r = aside->fn(errand, &aside->err);
	aside->done = true;
	eventfd_write(errand->worker->wake, 1);
	return NULL;
}

void errand_aside(struct errand *errand, errand_aside_fn fn, errand_then_fn then)
{
	struct errand_aside *aside = &errand->aside;
	int failed;

	aside->fn = fn;
	aside->then = then;
	aside->done = aside->lost = false;
	aside->err = (struct rye_err){ 0 };
	{
		HOLD_SIGNALS();
		failed = pthread_create(&aside->thread, NULL, aside_main, errand);
	}
	aside->under_way = !failed;
	/* no thread is to be had: it is done here, and others wait for it */
	if (failed)
		then(errand, fn(errand, &aside->err), &aside->err);
}

void errand_aside_end(struct errand *errand)
{
	if (!errand->aside.under_way)
		return;
	errand->stop = true;
	pthread_join(errand->aside.thread, NULL);
	errand->aside.under_way = false;
}

/* Its claim is kept; a check-out that counts no more, or is not wanted any more, ends. */
static int aside_renew(struct errand *errand, struct rye_err *err)
{
	struct board_told told;
	int r = errand_renew(errand, &told, err);

	if (r)
		return r;
	errand->aside.lost = errand->aside.lost || told.gone;
	if (!errand->threads && (told.gone || told.cancel)) {
		errand->cancelled = told.cancel;
		errand->stop = true;
	}
	return 0;
}

/* It was renewed just now: whether it is this worker's need not be asked; a cancel wakes. */
static bool is_fresh(const struct errand *errand)
{
	int64_t lease = errand->worker->seat.lease_ms;

	return clock_ms() < errand->renew_at - lease / 3 + lease / 30;
}

int errand_aside_step(struct errand *errand, bool woken, struct rye_err *err)
{
	struct errand_aside *aside = &errand->aside;
	bool done = aside->done;
	int r = 0;

	/* what is to be begun now is asked for once more */
	if (woken || clock_ms() >= errand->renew_at ||
	    (done && !errand->threads && !is_fresh(errand)))
		r = aside_renew(errand, err);
	if (!done || (r && !errand->threads))
		return r;
	pthread_join(aside->thread, NULL);
	aside->under_way = false;
	aside->then(errand, aside->r, &aside->err);
	eventfd_write(errand->worker->wake, 1); /* what comes behind it has its round at once */
	return r;
}

static int remove_tree(struct errand *errand, struct rye_err *err)
{
	(void)err;
	errand_tree_done(errand);
	return 0;
}

static void errand_over(struct errand *errand, int r, const struct rye_err *why)
{
	(void)r;
	(void)why;
	errand->gone = true;
}

void errand_clear(struct errand *errand)
{
	if (errand_has_tree(errand))
		errand_aside(errand, remove_tree, errand_over);
	else
		errand->gone = true;
}
