/* SPDX-License-Identifier: MIT */
/*
 * The runner process: takes its orders, and does what they say by the table of their types.
 * Unmount or a crash of the daemon does not touch it.
 */
#include "runner/runner_inner.h"

#include "scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/* What the process is, before there is a second thread in it. */
static void become_runner(const struct orders *orders)
{
	sigset_t child;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	signal(SIGPIPE, SIG_IGN);
	/* the engine's thread that reaps learns by it of dead orphans */
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	setenv("RYE_THREAD_ID", orders_thread(orders), 1);
}

static int runner_carry_out(const struct orders *orders)
{
	const char *type = json_str(orders->doc, "type");
	orders_fn fn = orders_find(type);
	struct rye_err err = { 0 };

	if (fn)
		return fn(orders);
	rye_fail(&err, RYE_UNSUPPORTED,
		 "this ryefs cannot run threads of the type \"%.40s\": the one that started it is "
		 "another version",
		 type);
	return runner_fail(orders, &err);
}

int rye_thread_runner(void)
{
	auto_orders struct orders orders = ORDERS_INIT;
	struct rye_err err = { 0 };

	if (orders_take(&orders, &err)) {
		fprintf(stderr, "ryefs thread-run: %s\n", err.msg);
		return err.code == RYE_INVALID ? 2 : 1;
	}
	become_runner(&orders);
	if (orders_begin(&orders, &err))
		fprintf(stderr, "ryefs thread-run: %s\n", err.msg);
	return runner_carry_out(&orders);
}
