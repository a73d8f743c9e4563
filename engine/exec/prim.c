/* SPDX-License-Identifier: MIT */
/*
 * The primitives: where a chain ends and the engine begins. Found by the last element's id;
 * `execute` and `subprocess` are two names of one thing. Short names are the chain's business.
 */
#include "exec/prim.h"

#include "base/auto.h"

#include <string.h>

static const struct prim rows[] = {
	{ "rye/core/primitives/execute", "run one program", subprocess_plan, subprocess_run },
	{ "rye/core/primitives/http_client", "one HTTP request (not available yet)", http_plan,
	  http_run },
	{ "rye/core/primitives/subprocess", "run one program", subprocess_plan, subprocess_run },
};

const struct prim *prim_find(const char *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].id, id))
			return &rows[i];
	return NULL;
}

const struct prim *prim_row(size_t i)
{
	return i < ARRAY_SIZE(rows) ? &rows[i] : NULL;
}

int http_plan(struct planner *planner, struct plan *plan, struct rye_err *err)
{
	(void)planner;
	(void)plan;
	return rye_fail(err, RYE_UNSUPPORTED, "http_client is not available yet");
}

void http_run(struct prim_run *run, const struct plan *plan, struct result *ret)
{
	struct rye_err err = { 0 };

	(void)run;
	http_plan(NULL, NULL, &err);
	(void)plan;
	result_unspawned(&err, ret);
}
