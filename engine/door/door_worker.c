/* SPDX-License-Identifier: MIT */
/*
 * The worker that a door starts where none is: `ryefs node-work`, a process in a session of its own, which goes on
 * without the connection and ends when there was nothing to do for a while. The lock of its name says
 * that it is there; two that are started at once: one of them ends. From any thread.
 */
#include "door/door_inner.h"

#include "memory.h"
#include "scope.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* RYE_NODE_IDLE_MS changes it. */
#define IDLE_MS "60000"

/* Names that a directory's workers may have. */
#define PLACES_MAX 64

/* 1: one works under that name; 0: none does; -1: none ever did. */
static int worker_works(const struct node_dir *node, int place)
{
	auto_close int fd = -1;
	char name[40];

	snprintf(name, sizeof(name), "work/worker-%d.lock", place);
	fd = openat(node->dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -1 : flock(fd, LOCK_EX | LOCK_NB) < 0;
}

int door_workers(const struct node_dir *node)
{
	int n = 0, works = 0;

	for (int place = 1; works >= 0 && place <= PLACES_MAX; place++) {
		works = worker_works(node, place);
		n += works > 0;
	}
	return n;
}

/*
 * Without the marks by which the processes of a run, or of a thread, are found and ended with it: this one may be at the
 * other end of a pipe to a follower, and its runs outlive that one. To free; NULL: no memory.
 */
static char **worker_environment(void)
{
	static const char *const marks[] = { "RYE_RUN=", "RYE_THREAD_ID=" };
	size_t n = 0, kept = 0;
	char **ret;

	while (environ[n])
		n++;
	ret = calloc(n + 1, sizeof(*ret));
	for (size_t i = 0; ret && i < n; i++) {
		bool marked = false;

		for (size_t k = 0; k < ARRAY_SIZE(marks); k++)
			marked |= !strncmp(environ[i], marks[k], strlen(marks[k]));
		if (!marked)
			ret[kept++] = environ[i];
	}
	return ret;
}

void door_worker(const struct node_dir *node)
{
	auto_free char **envp = worker_environment();
	const char *idle = getenv("RYE_NODE_IDLE_MS");
	char name[] = "ryefs", verb[] = "node-work", usual[] = IDLE_MS;
	char *const argv[] = { name, verb, node->path, idle ? (char *)idle : usual, NULL };
	auto_close int log = -1;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	pid_t pid;

	if (worker_works(node, 1) > 0)
		return;
	log = openat(node->dir, "worker.log", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		     0600);
	if (log < 0)
		return;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, log, 1);
	posix_spawn_file_actions_adddup2(&actions, log, 2);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	if (envp)
		(void)!posix_spawn(&pid, "/proc/self/exe", &actions, &attr, argv, envp);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
}
