/* SPDX-License-Identifier: MIT */
/*
 * daemon.c - fork, a pipe, and letting go of the terminal.
 *
 * Owns the readiness pipe. The first process waits for one byte: the mount answers. An end of
 * file instead means that the daemon ended; it has said why. stderr stays open until the first
 * scan is done, for the one line that sums it up.
 */
#include "mount/mount.h"

#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

struct daemon {
	bool background;
	int pipe; /* write end; -1: told */
};

static int daemon_wait_for(pid_t pid, int pipe)
{
	char byte;
	ssize_t n;
	int status;

	while ((n = read(pipe, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n == 1)
		return 0;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1;
}

static void to_null(int fd, int flags)
{
	int null = open("/dev/null", flags | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, fd);
		close(null);
	}
}

int daemon_start(bool background, struct daemon **ret)
{
	struct daemon *daemon = calloc(1, sizeof(*daemon));
	int ends[2] = { -1, -1 };
	pid_t pid;

	if (!daemon)
		return 1;
	*daemon = (struct daemon){ background, -1 };
	*ret = daemon;
	if (!background)
		return -1;
	if (pipe2(ends, O_CLOEXEC) || (pid = fork()) < 0) {
		fprintf(stderr, "ryefs: cannot go into the background: %m\n");
		free(daemon);
		return 1;
	}
	if (pid > 0) {
		int status;

		close(ends[1]);
		status = daemon_wait_for(pid, ends[0]);
		close(ends[0]);
		free(daemon);
		return status;
	}
	close(ends[0]);
	daemon->pipe = ends[1];
	setsid();
	if (chdir("/"))
		fprintf(stderr, "ryefs: cannot change to /: %m\n");
	to_null(0, O_RDONLY);
	to_null(1, O_WRONLY);
	return -1;
}

void daemon_ready(struct daemon *daemon)
{
	if (daemon->pipe < 0)
		return;
	if (write(daemon->pipe, "", 1) != 1)
		fprintf(stderr, "ryefs: nobody waits for the mount\n");
	close(steal_fd(&daemon->pipe));
}

void daemon_detach(struct daemon *daemon)
{
	if (daemon->background)
		to_null(2, O_WRONLY);
}

void daemon_end(struct daemon *daemon)
{
	if (daemon->pipe >= 0)
		close(daemon->pipe);
	free(daemon);
}
