/* SPDX-License-Identifier: MIT */
/* prim.h: the table of primitives, by id. A new one is one file prim_NAME.c and one row. */
#ifndef RYE_EXEC_PRIM_H
#define RYE_EXEC_PRIM_H

#include "exec/plan.h"
#include "exec/result.h"

struct prim {
	const char *id;
	const char *help; /* one line, docs/tools.md has the same */
	/* Makes what only this primitive needs of the plan (argv …); may fail with RYE_INVALID. */
	int (*plan)(struct planner *planner, struct plan *plan, struct rye_err *err);
	/* Carries it out on a worker thread. What goes wrong is a result too. */
	void (*run)(struct prim_run *run, const struct plan *plan, struct result *ret);
};

const struct prim *prim_find(const char *id); /* NULL: no primitive of ours */
const struct prim *prim_row(size_t i); /* NULL behind the last */

int subprocess_plan(struct planner *planner, struct plan *plan, struct rye_err *err);
void subprocess_run(struct prim_run *run, const struct plan *plan, struct result *ret);
/* {command, args} of a container client, for config.image. (docker.c) */
int docker_command(struct planner *planner, json_t **ret, struct rye_err *err);
int http_plan(struct planner *planner, struct plan *plan, struct rye_err *err);
void http_run(struct prim_run *run, const struct plan *plan, struct result *ret);

#endif
