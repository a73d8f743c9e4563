/* SPDX-License-Identifier: MIT */
/*
 * A process beside an engine that no watchdog stands beside: that of `ryefs execute`, of
 * `ryefs mcp`, of a thread's runner. When the engine is killed it ends what the engine's runs have left behind. The worker
 * that starts the first run makes it by fork; it shares nothing but a pipe, whose other end is
 * closed with the engine.
 */
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a run was about to start when the engine died is there then. */
#define AGAIN_MS 20

static _Noreturn void minder_child(pid_t engine, int pipe)
{
	sigset_t all;
	char word;
	ssize_t n;

	prctl(PR_SET_NAME, "ryefs-minder");
	/* A terminal's signals are for the engine, and so is the end of its process group. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setpgid(0, 0);
	/* A copy of a pipe that stays open here would hide its end from the reader. */
	if (pipe > 0)
		close_range(0, (unsigned)pipe - 1, 0);
	close_range((unsigned)pipe + 1, ~0u, 0);
	do
		n = read(pipe, &word, 1);
	while (n < 0 && errno == EINTR);
	if (n == 0) {
		rye_end_leftovers(engine, NULL);
		poll(NULL, 0, AGAIN_MS);
		rye_end_leftovers(engine, NULL);
	}
	_exit(0);
}

struct minder *minder_start(void)
{
	struct minder *minder = calloc(1, sizeof(*minder));
	pid_t engine = getpid();
	int ends[2];

	if (!minder || pipe2(ends, O_CLOEXEC) < 0) {
		free(minder);
		return NULL;
	}
	minder->pid = fork();
	if (minder->pid == 0) {
		close(ends[1]);
		minder_child(engine, ends[0]);
	}
	close(ends[0]);
	minder->pipe = ends[1];
	if (minder->pid > 0)
		return minder;
	close(ends[1]);
	free(minder);
	return NULL;
}

void minder_end(struct minder *minder)
{
	if (!minder)
		return;
	/* Fails if it was killed: then it is waited for all the same. */
	(void)!write(minder->pipe, "", 1);
	close(minder->pipe);
	while (waitpid(minder->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(minder);
}
