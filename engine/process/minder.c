/* SPDX-License-Identifier: MIT */
/*
 * A process beside an engine that no watchdog stands beside: that of `ryefs execute`, of
 * `ryefs mcp`, of a thread's runner. When the engine is killed it ends what the engine's runs have left
 * behind. The worker that starts the first run starts it: this program anew, so that it has neither the
 * engine's locks nor its keys. They share nothing but a pipe, whose other end is closed with the engine.
 */
#include "process/process.h"

#include "base/self.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* What a run was about to start when the engine died is there then. */
#define AGAIN_MS 20

int rye_minder(const char *text)
{
	pid_t engine = (pid_t)strtol(text, NULL, 10);
	char word;
	ssize_t n;

	prctl(PR_SET_NAME, "ryefs-minder");
	close_range(3, ~0u, 0);
	do
		n = read(STDIN_FILENO, &word, 1);
	while (n < 0 && errno == EINTR);
	if (n == 0 && engine > 1) {
		rye_end_leftovers(engine, NULL);
		poll(NULL, 0, AGAIN_MS);
		rye_end_leftovers(engine, NULL);
	}
	return n != 0;
}

/* In a group of its own: a terminal's signals are for the engine, and so is the end of its group. */
static int minder_spawn(int pipe, pid_t *ret)
{
	char name[] = "ryefs", verb[] = "minder", engine[16];
	char *const argv[] = { name, verb, engine, NULL }, *const none[] = { NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t all;
	int r;

	snprintf(engine, sizeof(engine), "%d", (int)getpid());
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, pipe, STDIN_FILENO);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &all);
	r = posix_spawn(ret, "/proc/self/exe", &files, &attr, argv, none);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return r;
}

struct minder *minder_start(void)
{
	auto_free char *self = self_path();
	const char *name = self ? strrchr(self, '/') : NULL;
	struct minder *minder = NULL;
	auto_close int theirs = -1;
	int ends[2];

	/* No other program knows the verb: one that has the engine as a library goes without. */
	if (!name || strcmp(name, "/ryefs") != 0 || pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	theirs = fcntl(ends[0], F_DUPFD_CLOEXEC, 3);
	close(ends[0]);
	minder = theirs < 0 ? NULL : calloc(1, sizeof(*minder));
	if (minder && !minder_spawn(theirs, &minder->pid)) {
		minder->pipe = ends[1];
		return minder;
	}
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
