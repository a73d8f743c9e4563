/* SPDX-License-Identifier: MIT */
/*
 * Placeholder pool: none is kept, every call starts a process.
 */
#include "exec/warm.h"

#include "base/auto.h"

int warm_open(struct exec *exec, struct warm **ret, struct rye_err *err)
{
	(void)exec;
	(void)err;
	*ret = NULL;
	return 0;
}

void warm_close(struct warm *warm)
{
	(void)warm;
}

bool warm_take(struct warm *warm, const struct plan *plan, struct warm_worker *ret)
{
	(void)warm;
	(void)plan;
	(void)ret;
	return false;
}

bool warm_send(struct warm_worker *worker, const struct warm_job *job)
{
	(void)worker;
	(void)job;
	return false;
}

void warm_drop(struct warm *warm, struct warm_worker *worker)
{
	(void)warm;
	(void)worker;
}
