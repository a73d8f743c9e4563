/* SPDX-License-Identifier: MIT */
/* run_inner.h: what the files of exec/ share. */
#ifndef RYE_RUN_RUN_INNER_H
#define RYE_RUN_RUN_INNER_H

#include "run/call.h"
#include "process/environment.h"
#include "process/events.h"
#include "run/exec.h"
#include "plan/plan.h"
#include "run/runs.h"

struct runq;
struct strays;
struct warm;

struct exec {
	struct exec_env env;
	struct plan_base base;
	struct runs *runs;
	struct strays *strays;
	struct warm *warm;
	struct runq *runq;
	struct tellers tellers; /* of calls that have a listener */
	_Atomic uint64_t started; /* runs, for rye_counts */
};

/*
 * What is left to do when a run's answer is known and nobody has to wait for it. Done on the
 * run's worker as soon as the answer is out; fn frees what self lies in.
 */
struct later {
	struct later *next;
	void (*fn)(struct exec *exec, struct later *self);
};

/* What a primitive needs while it runs. */
struct prim_run {
	struct exec *exec;
	struct rye_call *call;
	struct living *living;
	json_t *trace; /* or NULL */
	json_t *metadata; /* of the reply: background_children, sandbox … */
	struct later **later; /* the list of the run */
};

#endif
