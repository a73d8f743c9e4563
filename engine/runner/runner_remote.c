/* SPDX-License-Identifier: MIT */
/*
 * Orders of the type "remote": another machine carries it out (away/away.h). When it is to end that one is
 * told so, and its receipt is waited for.
 */
#include "runner/runner_inner.h"

#include "away/away.h"

#include <string.h>

static void remote_work(struct runner_job *job)
{
	const struct away_ask ask = { .doc = job->orders->doc,
				      .dir = job->orders->dir,
				      .stop = job->stop,
				      .live = runner_job_live,
				      .live_arg = job->live };
	struct away_end end = { .status = "" };

	away_run(&ask, &end);
	job->outcome = end.outcome;
	memcpy(job->status, end.status, sizeof(job->status));
}

int runner_remote(const struct orders *orders)
{
	return runner_job(orders, remote_work);
}
