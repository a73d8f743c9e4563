/* SPDX-License-Identifier: MIT */
/*
 * warm.h: interpreters that are started before they are wanted. One parent per (interpreter,
 * arguments, environment, sandbox) has done the imports; it forks children that wait, each for
 * one call. A call gets a child, sends it text, names and directory, and the child is gone
 * afterwards: what a tool sees is a fresh process, only earlier.
 *
 * Lock: `lock` of struct warm guards the pools and their ready children. Starting, sending
 * and waiting for processes happens without it, on a thread of its own or the run's worker.
 */
#ifndef RYE_WARM_WARM_H
#define RYE_WARM_WARM_H

#include "plan/program.h"
#include "warm/warm_spare.h"

#include <sys/types.h>

struct warm;
struct warm_pool;

struct warm_worker {
	pid_t pid; /* leader of a session of its own; a child of the pool's parent */
	int control; /* job in; "D<code>\n" or "X<status>\n" out; -1: none */
	int in, out, err; /* our ends of its pipes */
	char *tmpdir;
	unsigned taught; /* texts its parent had learnt when it was made */
	unsigned text; /* number of the call's text, which it has compiled; 0: it has not */
	struct warm_pool *pool;
};

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
