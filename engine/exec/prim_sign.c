/* SPDX-License-Identifier: MIT */
/* The primitive `sign`: reads the request, leaves the work and the reply to item/sign. */
#include "exec/run.h"

void prim_sign(struct run *run)
{
	struct rye_err err = { 0 };

	rye_fail(&err, RYE_UNSUPPORTED, "sign is not available yet");
	run_fail(run, &err);
}
