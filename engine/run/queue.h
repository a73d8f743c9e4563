/* SPDX-License-Identifier: MIT */
/*
 * queue.h: a bounded pool of threads that carry out calls in the order they came, those of
 * children of runs first. Threads are
 * made when wanted and go when idle. A call that finds the queue full, or that was cancelled
 * while waiting, is answered by one extra thread: whoever starts a call never waits.
 *
 * Lock: `lock` of struct runq guards everything in it; work is done without it.
 */
#ifndef RYE_RUN_QUEUE_H
#define RYE_RUN_QUEUE_H

#include "run/call.h"

struct runq;

/* verdict: RYE_OK: carry it out; else why it must only be answered (RYE_BUSY, a cancel). */
typedef void (*runq_fn)(void *arg, struct rye_call *call, enum rye_code verdict);

int runq_open(int jobs, runq_fn fn, void *arg, struct runq **ret, struct rye_err *err);
/* Takes no more, answers what waits with RYE_CANCELLED, returns when all threads have ended. */
void runq_close(struct runq *runq);

/*
 * Takes over one reference: fn finishes the call. parent: the run whose child asks, 0: none.
 * That run may wait for the call, so it never waits for a place that the run holds.
 */
void runq_push(struct runq *runq, struct rye_call *call, uint64_t parent);
/* A waiting call was cancelled: have it answered now. */
void runq_hurry(struct runq *runq, struct rye_call *call);

#endif
