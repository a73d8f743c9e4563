/* SPDX-License-Identifier: MIT */
/*
 * What `ryefs watch --run` runs: an `ryefs execute` of its own, so that the run leaves nothing in the
 * process that watches. Its output is as it comes. One thread.
 */
#include "cli/author/author.h"

#include "base/self.h"
#include "scope.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

#define EXECUTE_WORDS 256 /* parameters; more is no hand's work */

/* Signals are blocked here, for the descriptor that tells them. */
static pid_t execute_spawn(const char *self, const char *const argv[])
{
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid;

	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	if (posix_spawn(&pid, self, NULL, &attr, (char *const *)argv, environ))
		pid = -1;
	posix_spawnattr_destroy(&attr);
	return pid;
}

int watch_execute(struct cli *cli, const char *ref)
{
	const char *argv[EXECUTE_WORDS + 8] = { "ryefs", "execute", "--project", cli->project };
	auto_free char *self = self_path();
	size_t n = 4;
	int status = -1;
	pid_t pid;

	if (cli->opt.user) {
		argv[n++] = "--user";
		argv[n++] = cli->opt.user;
	}
	argv[n++] = ref;
	for (int i = 1; i < cli->argc && i <= EXECUTE_WORDS; i++)
		argv[n++] = cli->argv[i];
	pid = self ? execute_spawn(self, argv) : -1;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid <= 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
