/* SPDX-License-Identifier: MIT */
/*
 * run.h: one request while a worker carries it out. Everything in it belongs to that worker;
 * only the call and the living run are shared.
 */
#ifndef RYE_RUN_RUN_H
#define RYE_RUN_RUN_H

#include "run/run_inner.h"
#include "run/run_reply.h"
#include "run/request.h"

struct run {
	struct exec *exec;
	struct rye_call *call;
	const struct rye_request *ask; /* as it came, copied by exec_start */
	struct request request;
	struct reply reply;
	struct living *living;
	struct confine limit; /* what the asking run is confined to itself */
	struct later *later; /* for when the answer is out */
};

/* True: done, the reply says why not. For calls that come from children of runs. */
bool run_refused(struct run *run, enum rye_kind kind, const char *id);
/* Async and fork go to the layer that keeps threads. */
void run_detached(struct run *run, const char *ref);
/* It may go on as a thread from here on (rye_call_detach). */
void run_movable(struct run *run, const char *ref);
/* The same for a call of a tool that no worker has looked at yet. */
void run_movable_early(struct rye_call *call);
void run_fail(struct run *run, const struct rye_err *err);
/* The same with a sentence that needs no more. */
void run_fail_with(struct run *run, enum rye_code code, const char *text);
/* A bare id's kind: the only one that has it (RYE_NOT_FOUND, RYE_INVALID when several do). */
int run_find_kind(const struct item_env *env, const char *id, enum rye_kind *ret,
		  struct rye_err *err);

#endif
