/* SPDX-License-Identifier: MIT */
/*
 * worker_main.c: the process that a worker is: which signals end it, and where its lines go.
 */
#include "worker/worker_inner.h"

#include "scope.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void line_out(void *arg, enum rye_level level, const char *module, const char *line)
{
	fprintf(stderr, "ryefs node-work: %s: %s\n", module, line);
}

int rye_worker(const char *node, int64_t idle_ms, struct rye_err *err)
{
	struct worker_ask ask = { .node = node,
				  .idle_ms = idle_ms,
				  /* the door starts it so */
				  .sole = idle_ms > 0,
				  .stop = -1,
				  .log = { line_out } };
	auto_close int stop = -1;
	sigset_t ends;

	/* before there is a second thread: all of them leave it to the descriptor */
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	stop = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	ask.stop = stop;
	if (stop < 0)
		return rye_fail_sys(err, errno, "cannot begin a worker");
	return worker_serve(&ask, err);
}
