/* SPDX-License-Identifier: MIT */
/*
 * call.h: the handle of something that runs and answers once. exec makes them for requests,
 * the engine also for waits; rye_call_cancel, rye_call_detach and rye_call_unref act on both.
 *
 * Lock: `lock` guards wake, and what a job has beside it (job.h); done and cancel are atomic. Functions of `ops` are
 * called without it.
 */
#ifndef RYE_RUN_CALL_H
#define RYE_RUN_CALL_H

#include "err.h"

#include <pthread.h>

struct events;

struct call_ops {
	/* It was asked to stop, once. May be NULL. Must not call back into the call's fn. */
	void (*cancelled)(struct rye_call *call);
	bool (*detach)(struct rye_call *call, char thread_id[64]); /* NULL: never */
	void (*destroy)(struct rye_call *call); /* frees what it lies in; NULL: it stands alone */
};

struct rye_call {
	_Atomic unsigned refs;
	const struct call_ops *ops;
	void *owner; /* of one that stands alone */
	rye_done_fn fn;
	void *arg;
	struct events *events; /* NULL: no listener; set before the call is shared */
	_Atomic int cancel; /* enum rye_code; 0: nobody asked */
	_Atomic bool done;
	pthread_mutex_t lock;
	int wake; /* eventfd, readable once cancelled; -1 until call_wake */
	struct rye_call *next; /* of the queue it waits in (queue.c), as parent */
	uint64_t parent; /* the run whose child asked for it, or 0 */
};

/* Two references: the caller's, and one that call_finish gives back. */
void call_init(struct rye_call *call, const struct call_ops *ops, rye_done_fn fn, void *arg);
/* One that stands alone. NULL: no memory. */
struct rye_call *call_new(const struct call_ops *ops, void *owner, rye_done_fn fn, void *arg);
void call_ref(struct rye_call *call);

/* The descriptor that becomes readable when it is cancelled; lives as long as the call. */
int call_wake(struct rye_call *call);
enum rye_code call_cancelled(struct rye_call *call); /* RYE_OK: not */

/* Tells fn, the first time, behind the events; holds nothing while it does. */
void call_finish(struct rye_call *call, const struct rye_outcome *outcome);

#endif
