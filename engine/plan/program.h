/* SPDX-License-Identifier: MIT */
/*
 * program.h: what one process of a tool is started with. The own part of the plan of each
 * primitive that starts a process begins with it, so warm pools can take any of them.
 */
#ifndef RYE_PLAN_PROGRAM_H
#define RYE_PLAN_PROGRAM_H

#include "plan/plan.h"

struct program {
	char *path; /* absolute */
	char **argv; /* NULL at the end */
	struct rye_blob *input; /* standard input; NULL: /dev/null */
	struct rye_blob *source; /* verified bytes for descriptor source_at; NULL: none */
	int source_at;
	char *warm; /* protocol of a warm interpreter; NULL: none */
	char *loader; /* the program text it runs */
	json_t *preload; /* modules it has imported before; or NULL */
};

/* Adds what the program gets by its environment to the planner's. */
int program_make(struct planner *planner, struct program *ret, struct rye_err *err);
void program_done(struct program *program);

/* Of a plan whose primitive starts a process. */
static inline const struct program *program_of(const struct plan *plan)
{
	return plan->own;
}

/* {command, args} of a container client, for config.image. (docker.c) */
int docker_command(struct planner *planner, json_t **ret, struct rye_err *err);

#endif
