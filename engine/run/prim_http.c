/* SPDX-License-Identifier: MIT */
/*
 * The primitive `http_client`: one HTTP request. It is not available yet, which its plan says;
 * nothing is run. On a worker; no lock.
 */
#include "plan/plan.h"

#include "run/run_inner.h"

static int http_plan(struct planner *planner, struct plan *plan, struct rye_err *err)
{
	(void)planner;
	(void)plan;
	return rye_fail(err, RYE_UNSUPPORTED, "http_client is not available yet");
}

static void http_run(struct prim_run *run, const struct plan *plan, struct result *ret)
{
	struct rye_err err = { 0 };

	(void)run;
	(void)http_plan(NULL, NULL, &err);
	(void)plan;
	result_unspawned(&err, ret);
}

const struct prim prim_http = {
	.ids = { "rye/core/primitives/http_client" },
	.plan = http_plan,
	.run = http_run,
};
