/* SPDX-License-Identifier: MIT */
/*
 * What an engine that is gone has left behind: processes that carry the mark of its runs in their
 * environment. Called by the watchdog of a dead daemon, by a mount over a dead one and by the verb
 * umount; no engine has to be open.
 */
#include "proc.h"
#include "scope.h"
#include "str.h"

#include <rye/rye.h>

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* A killed process is gone in a millisecond; one that it has forked meanwhile is met again. */
#define TRIES 50
#define REST_MS 2

/* The process id in a mark that stands in this environment; 0: there is none. */
static pid_t marked_by(pid_t pid)
{
	char run[48];
	int engine, end = 0;

	if (proc_variable(pid, "RYE_RUN", run, sizeof(run)) < 1 ||
	    sscanf(run, "%d.%*u%n", &engine, &end) != 1 || !end || run[end])
		return 0;
	return engine;
}

/* In another pid namespace the number in a mark means another process. */
static bool same_namespace(pid_t pid)
{
	char path[48], ours[64] = "", theirs[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return readlink("/proc/self/ns/pid", ours, sizeof(ours) - 1) > 0 &&
	       readlink(path, theirs, sizeof(theirs) - 1) > 0 && strcmp(ours, theirs) == 0;
}

/* Is its working directory this one, or in it? */
static bool works_below(pid_t pid, const char *dir)
{
	char path[48], cwd[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	n = readlink(path, cwd, sizeof(cwd) - 1);
	if (n < 0)
		return false;
	cwd[n] = 0;
	return path_below(cwd, dir);
}

struct leftovers_of {
	pid_t engine; /* 0: of any that is gone, whose runs work below this directory */
	const char *below;
};

static bool is_leftover(pid_t pid, void *arg)
{
	const struct leftovers_of *of = arg;
	pid_t marked = pid == getpid() ? 0 : marked_by(pid);

	if (!marked || (of->engine && marked != of->engine) || !same_namespace(pid))
		return false;
	return of->engine || (!proc_start(marked) && works_below(pid, of->below));
}

static size_t end_once(struct leftovers_of *of)
{
	auto_dir DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t ended = 0;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0)
			ended += proc_end(pid, is_leftover, of);
	}
	return ended;
}

size_t rye_end_leftovers(pid_t engine, const char *below)
{
	struct leftovers_of of = { engine, below };
	size_t ended = 0, now = 1;

	/* one that forks meanwhile is met the next time */
	for (int i = 0; i < TRIES && now; i++) {
		now = end_once(&of);
		ended += now;
		if (now)
			poll(NULL, 0, REST_MS);
	}
	return ended;
}
