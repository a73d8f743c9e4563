/* SPDX-License-Identifier: MIT */
/*
 * RYE_PARENT_THREAD_ID in the environment of a command that starts a thread. The reference takes the
 * new thread's parent from there; here only the process of a thread hands on what a child of it may do
 * and spend, so a name alone makes no parent. A thread that is started all the same would be one of
 * its own, beyond the limits that the caller believes it to be held to: it is refused instead.
 */
#include "cli/follow/follow.h"

#include "scope.h"
#include "str.h"

#include <string.h>

#define NAME "RYE_PARENT_THREAD_ID"
#define MEND "; " MEND_WITH "unset " NAME

static int parent_refused(struct cli *cli, const char *id, struct rye_err *err)
{
	auto_free char *status = threads_fact(cli, id, "status");
	auto_free char *alive = threads_fact(cli, id, "alive");

	if (!status)
		return rye_fail(err, RYE_NOT_FOUND,
				"the parent thread %.300s, which " NAME
				" names, is none of %.300s" MEND,
				id, cli->project);
	if (!alive || strcmp(alive, "1") != 0)
		return rye_fail(err, RYE_BUSY,
				"the parent thread %.300s, which " NAME
				" names, has ended: %.40s" MEND,
				id, status);
	return rye_fail(err, RYE_DENIED,
			"the parent thread %.300s, which " NAME
			" names, has not asked for this child: "
			"only the model of a thread starts threads below it" MEND,
			id);
}

int parent_check(struct cli *cli)
{
	const char *id = getenv(NAME);
	struct rye_err err = { 0 };

	if (!id || !*id)
		return CLI_OK;
	parent_refused(cli, id, &err);
	return cli_fail(cli, &err, NULL);
}
