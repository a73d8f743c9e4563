/* SPDX-License-Identifier: MIT */
/*
 * Orders of the type "directive": a model works through it (agent/agent.h). When it is to end it does so
 * within the time of a request that is broken off.
 */
#include "runner/runner_inner.h"

#include "agent/agent.h"

#include <string.h>

static void directive_work(struct runner_job *job)
{
	const struct agent_ask ask = { .doc = job->orders->doc,
				       .dir = job->orders->dir,
				       .stop = job->stop,
				       .live = runner_job_live,
				       .live_arg = job->live };
	struct agent_end end = { .status = "" };

	agent_run(&ask, &end);
	job->outcome = end.outcome;
	memcpy(job->status, end.status, sizeof(job->status));
}

int runner_directive(const struct orders *orders)
{
	return runner_job(orders, directive_work);
}
