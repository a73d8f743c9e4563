/* SPDX-License-Identifier: MIT */
/*
 * The kernel gives orphans to the first thread of a subreaper, and lists its children; our own
 * processes are children of the threads that started them, so what is listed there with a
 * foreign session is an orphan. One small file per run is read, more only when there are some.
 */
#include "exec/strays.h"

#include "base/auto.h"
#include "proc.h"

#include <rye/rye.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* Orphans worth remembering; one more is only reaped when this process ends. */
#define SEEN_MAX 256
/* A killed group is gone in a millisecond on an idle machine; a worker has no more to wait. */
#define SETTLE_TRIES 50
#define SETTLE_MS 2
/* An exec takes a millisecond, unless others take the processor; who has an empty environment
 * for good costs all of them. */
#define EXEC_TRIES 12
#define EXEC_MS 1

struct strays {
	int children; /* /proc's list of the main thread's; frozen */
	pthread_mutex_t lock; /* seen, n */
	pid_t seen[SEEN_MAX];
	size_t n;
};

struct strays *strays_open(void)
{
	struct strays *strays = calloc(1, sizeof(*strays));

	if (!strays)
		return NULL;
	pthread_mutex_init(&strays->lock, NULL);
	strays->children = proc_children_open();
	return strays;
}

void strays_close(struct strays *strays)
{
	if (!strays)
		return;
	if (strays->children >= 0)
		close(strays->children);
	pthread_mutex_destroy(&strays->lock);
	free(strays);
}

static size_t index_of(const struct strays *strays, pid_t pid)
{
	size_t i = 0;

	while (i < strays->n && strays->seen[i] != pid)
		i++;
	return i;
}

static void remember(struct strays *strays, pid_t pid)
{
	WITH_LOCK(&strays->lock) {
		if (index_of(strays, pid) == strays->n && strays->n < SEEN_MAX)
			strays->seen[strays->n++] = pid;
	}
}

/* True: it was one of them, and is no longer. */
static bool forget(struct strays *strays, pid_t pid)
{
	WITH_LOCK(&strays->lock) {
		size_t i = index_of(strays, pid);

		if (i == strays->n)
			return false;
		strays->seen[i] = strays->seen[--strays->n];
		return true;
	}
	return false;
}

void strays_mark(uint64_t run, char ret[48])
{
	snprintf(ret, 48, "RYE_RUN=%d.%llu", (int)getpid(), (unsigned long long)run);
}

/* A process in the middle of an exec has no environment: it is asked again. */
static bool is_marked(pid_t pid, const char *mark)
{
	char text[16384];
	size_t len = proc_environ(pid, text, sizeof(text)), n = strlen(mark);

	for (int i = 0; i < EXEC_TRIES && !len; i++) {
		poll(NULL, 0, EXEC_MS);
		len = proc_environ(pid, text, sizeof(text));
	}
	for (size_t i = 0; i < len; i += strlen(text + i) + 1)
		if (!strncmp(text + i, mark, n) && !text[i + n])
			return true;
	return false;
}

struct wanted {
	pid_t session;
	char mark[48];
};

/* One listed child: is it a living orphan of the wanted run? */
static bool is_orphan(struct strays *strays, const struct wanted *wanted, pid_t pid)
{
	struct proc_stat stat;

	if (proc_stat(pid, &stat) || stat.session == getsid(0))
		return false;
	if (stat.state == 'Z') {
		/* Leaders of sessions are waited for by who started them, unless they were seen
		 * as orphans; nobody here starts anything else in a foreign session. */
		if (forget(strays, pid) || stat.session != pid)
			waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOHANG);
		return false;
	}
	if (stat.session != wanted->session && !is_marked(pid, wanted->mark))
		return false;
	remember(strays, pid);
	return true;
}

size_t strays_count(struct strays *strays, pid_t session, uint64_t run)
{
	struct wanted wanted = { .session = session };
	pid_t children[PROC_CHILDREN];
	size_t count = 0, n = proc_children(strays->children, children);

	if (!n)
		return 0;
	strays_mark(run, wanted.mark);
	for (size_t i = 0; i < n; i++)
		count += is_orphan(strays, &wanted, children[i]);
	return count;
}

void strays_settle(struct strays *strays, pid_t session, uint64_t run)
{
	for (int i = 0; i < SETTLE_TRIES && kill(-session, 0) == 0; i++) {
		poll(NULL, 0, SETTLE_MS);
		strays_count(strays, session, run);
	}
}

/* ---- what a process that is gone has left behind ---- */

/* The process id in a mark that stands in this environment; 0: there is none. */
static pid_t marked_by(pid_t pid)
{
	char text[16384];
	size_t len = proc_environ(pid, text, sizeof(text));

	for (size_t i = 0; i < len; i += strlen(text + i) + 1) {
		int engine, end = 0;

		if (sscanf(text + i, "RYE_RUN=%d.%*u%n", &engine, &end) == 1 && end &&
		    !text[i + end])
			return engine;
	}
	return 0;
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
	size_t len = strlen(dir);
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	n = readlink(path, cwd, sizeof(cwd) - 1);
	if (n < 0)
		return false;
	cwd[n] = 0;
	return strncmp(cwd, dir, len) == 0 && (!cwd[len] || cwd[len] == '/');
}

/* A zombie that nobody has reaped is over, too. */
static bool is_over(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat(pid, &stat) || stat.state == 'Z' || stat.state == 'X';
}

static bool is_leftover(pid_t pid, pid_t engine, const char *below)
{
	pid_t marked = pid == getpid() ? 0 : marked_by(pid);

	if (!marked || (engine && marked != engine) || !same_namespace(pid))
		return false;
	return engine || (is_over(marked) && works_below(pid, below));
}

static size_t end_once(pid_t engine, const char *below)
{
	auto_dir DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t ended = 0;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && is_leftover(pid, engine, below) && kill(pid, SIGKILL) == 0)
			ended++;
	}
	return ended;
}

size_t rye_end_leftovers(pid_t engine, const char *below)
{
	size_t ended = 0, now = 1;

	/* one that forks meanwhile is met the next time */
	for (int i = 0; i < SETTLE_TRIES && now; i++) {
		now = end_once(engine, below);
		ended += now;
		if (now)
			poll(NULL, 0, SETTLE_MS);
	}
	return ended;
}
