/* SPDX-License-Identifier: MIT */
/*
 * The runner process: takes its orders, and does what they say by the table of their types.
 * Unmount or a crash of the daemon does not touch it.
 */
#include "runner/runner_inner.h"

#include "process/process.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
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

#define STATE ".ai/state"
/* Levels of it. */
#define STATE_DEPTH 16

/* Of a node's run that has an account of its own: what root has made for the thread is that one's, and so are we. */
static int runner_leave_root(const struct orders *orders, struct rye_err *err)
{
	const json_t *options = json_object_get(orders->doc, "options");
	uid_t uid = (uid_t)json_int(orders->doc, "uid", 0);
	auto_close int project = -1;
	int r;

	if (!uid)
		return 0;
	project = open(orders_project(orders), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (project < 0)
		return rye_fail_sys(err, errno, "%s", orders_project(orders));
	r = give_tree(project, STATE, uid, STATE_DEPTH);
	if (r < 0)
		return rye_fail_sys(err, -r, "%s/" STATE, orders_project(orders));
	setenv("HOME", json_str(options, "user_base"), 1);
	r = give_process(uid);
	return r < 0 ? rye_fail_sys(err, -r, "cannot become the account %u", (unsigned)uid) : 0;
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
	if (runner_leave_root(&orders, &err))
		return runner_fail(&orders, &err);
	return runner_carry_out(&orders);
}
