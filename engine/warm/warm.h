/* SPDX-License-Identifier: MIT */
/*
 * warm.h: processes that wait ready for the next call.
 */
#ifndef RYE_WARM_WARM_H
#define RYE_WARM_WARM_H

#include "bounds.h"
#include "plan/plan.h"
#include "process/process.h"

#include <sys/types.h>

/*
 * warm_spare.c: processes that are started before they are wanted, for tools that are programs of
 * their own: confined in a box each, with their pipes, waiting for their program. What is done on a
 * list is done with the pools' lock held; making and dropping one takes none.
 */

struct boxes;

struct spare {
	struct spawn_parked *process;
	struct box *box;
	int in, out, err; /* our ends of its pipes */
};

/* One list for each way to be confined: with the network or not, and so on. */
#define SPARE_KINDS 64
struct spares {
	struct spare_kind {
		struct spare ready[RYE_SPARES];
		size_t n;
		bool missed; /* a call wanted one before */
		bool kept; /* there shall be some */
		int64_t used_ms;
	} kinds[SPARE_KINDS];
};

/* eager: the first miss is reason enough to keep some. False: none is ready. */
bool spares_take(struct spares *spares, struct confine confine, bool eager, struct spare *ret);
/* How the next one to be made is confined; false: none is wanted. */
bool spares_lack(const struct spares *spares, struct confine *ret);
void spares_put(struct spares *spares, const struct spare *spare);
void spares_give_up(struct spares *spares, struct confine confine); /* it cannot be made */
/* One that no call has asked for since `before`; with INT64_MAX: any. False: none. */
bool spares_take_old(struct spares *spares, int64_t before, struct spare *ret);

/* bound: the calling thread is, by boxes_bound_thread. */
bool spare_make(struct boxes *boxes, struct confine confine, bool bound, struct spare *ret);
/* What is left of it, used or not, but for the box of a used one. */
void spare_close(struct spare *spare);
void spare_drop(struct boxes *boxes, struct spare *spare);

/*
 * warm.c: interpreters that are started before they are wanted. One parent per (interpreter,
 * arguments, environment, sandbox) has done the imports; it forks children that wait, each for
 * one call. A call gets a child, sends it text, names and directory, and the child is gone
 * afterwards: what a tool sees is a fresh process, only earlier.
 *
 * Lock: `lock` of struct warm guards the pools and their ready children. Starting, sending
 * and waiting for processes happens without it, on a thread of its own or the run's worker.
 */

struct warm;
struct warm_pool;

struct warm_worker {
	pid_t pid; /* leader of a session of its own */
	struct child child; /* our own; .pidfd -1: one of the pool's parent, which reaps it */
	struct box *box; /* its own; NULL: it is in its parent's */
	int control; /* job in; "D<code>\n" or "X<status>\n" out; -1: none */
	int in, out, err; /* our ends of its pipes */
	char *tmpdir;
	unsigned taught; /* texts its parent had learnt when it was made */
	unsigned text; /* number of the call's text, which it has compiled; 0: it has not */
	struct warm_pool *pool;
	struct dropped *later; /* owned; for when its call is over */
};

#define WARM_WORKER_NONE \
	((struct warm_worker){ .child = { -1, -1 }, .control = -1, .in = -1, .out = -1, .err = -1 })

struct warm_job {
	const struct plan *plan;
	int source; /* sealed text of the tool; -1: the worker knows it */
	char mark[48]; /* "RYE_RUN=…" */
};

int warm_open(const struct plan_base *base, struct warm **ret, struct rye_err *err);
void warm_close(struct warm *warm); /* ends all parents and waiting children */

/* A process that waits for a program; false: none is ready, start one. */
bool warm_take_spare(struct warm *warm, struct confine confine, struct spare *ret);
/* While the one taken is at work, the next one can be made. */
void warm_wake(struct warm *warm);

/* False: none to be had (soon enough); a pool is being started then. Start a process. */
bool warm_take(struct warm *warm, const struct plan *plan, struct warm_worker *ret);
bool warm_send(struct warm_worker *worker, const struct warm_job *job);
/* Before the call is answered: what it left where others see it makes the pool end. */
void warm_look(struct warm *warm, const struct warm_worker *worker);
/*
 * Gives a taken worker back; what is left of it goes a little later. busy: something of the
 * call may still live.
 */
void warm_drop(struct warm *warm, struct warm_worker *worker, bool busy);

#endif
