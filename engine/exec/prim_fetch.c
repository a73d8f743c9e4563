/* SPDX-License-Identifier: MIT */
/* fetch */
#include "exec/run.h"

void prim_fetch(struct run *run)
{
	struct rye_err err = { 0 };

	rye_fail(&err, RYE_UNSUPPORTED, "fetch is not available yet");
	run_fail(run, &err);
}
