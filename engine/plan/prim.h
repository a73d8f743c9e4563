/* SPDX-License-Identifier: MIT */
/* prim.h: the table of primitives, by id. A new one is one file prim_NAME.c and one row. */
#ifndef RYE_PLAN_PRIM_H
#define RYE_PLAN_PRIM_H

#include "plan/plan.h"
#include "process/result.h"

/* Names of one primitive. */
#define PRIM_IDS 2

/* One primitive; prim_NAME.c defines it as `const struct prim prim_NAME`. */
struct prim {
	const char *ids[PRIM_IDS];
	/* It starts the program of config.command: a shell script without one is given to bash. */
	bool starts_command;
	/* Makes plan->own, what only this primitive needs; may fail with RYE_INVALID. */
	int (*plan)(struct planner *planner, struct plan *plan, struct rye_err *err);
	/* Carries it out on a worker thread. What goes wrong is a result too. */
	void (*run)(struct prim_run *run, const struct plan *plan, struct result *ret);
	void (*free)(void *own); /* NULL: there is nothing to free */
};

const struct prim *prim_find(const char *id); /* NULL: no primitive of ours */

#endif
