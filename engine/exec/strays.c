/* SPDX-License-Identifier: MIT */
/*
 * The kernel gives orphans to the first thread of a subreaper, and lists its children; our own
 * processes are children of the threads that started them, so what is listed there with a
 * foreign session is an orphan. One small file per run is read, more only when there are some.
 */
#include "exec/strays.h"

#include "base/auto.h"

#include <fcntl.h>
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
	char path[64];

	if (!strays)
		return NULL;
	pthread_mutex_init(&strays->lock, NULL);
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	strays->children = open(path, O_RDONLY | O_CLOEXEC);
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

static size_t slurp(const char *path, char *ret, size_t size)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	while (fd >= 0 && len + 1 < size && (n = read(fd, ret + len, size - 1 - len)) > 0)
		len += (size_t)n;
	ret[len] = 0;
	return len;
}

/* State letter and session of /proc/PID/stat; the name before them may hold anything. */
static bool look(pid_t pid, char *ret_state, pid_t *ret_session)
{
	char path[32], text[512];
	const char *end;
	int session;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	slurp(path, text, sizeof(text));
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %c %*d %*d %d", ret_state, &session) != 2)
		return false;
	*ret_session = session;
	return true;
}

/* A process in the middle of an exec has no environment: it is asked again. */
static bool is_marked(pid_t pid, const char *mark)
{
	char path[32], text[16384];
	size_t len, n = strlen(mark);

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	len = slurp(path, text, sizeof(text));
	for (int i = 0; i < EXEC_TRIES && !len; i++) {
		poll(NULL, 0, EXEC_MS);
		len = slurp(path, text, sizeof(text));
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
	pid_t session;
	char state;

	if (!look(pid, &state, &session) || session == getsid(0))
		return false;
	if (state == 'Z') {
		/* Leaders of sessions are waited for by who started them, unless they were seen
		 * as orphans; nobody here starts anything else in a foreign session. */
		if (forget(strays, pid) || session != pid)
			waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOHANG);
		return false;
	}
	if (session != wanted->session && !is_marked(pid, wanted->mark))
		return false;
	remember(strays, pid);
	return true;
}

size_t strays_count(struct strays *strays, pid_t session, uint64_t run)
{
	struct wanted wanted = { .session = session };
	char list[8192];
	size_t count = 0, len = 0;
	ssize_t n;

	/* The kernel gives a page at a time. */
	while ((n = pread(strays->children, list + len, sizeof(list) - 1 - len, (off_t)len)) > 0)
		len += (size_t)n;
	if (!len)
		return 0;
	list[len] = 0;
	strays_mark(run, wanted.mark);
	for (char *p = list; *p; p += *p == ' ') {
		pid_t pid = (pid_t)strtol(p, &p, 10);

		if (pid <= 0)
			break;
		count += is_orphan(strays, &wanted, pid);
	}
	return count;
}

void strays_settle(struct strays *strays, pid_t session, uint64_t run)
{
	for (int i = 0; i < SETTLE_TRIES && kill(-session, 0) == 0; i++) {
		poll(NULL, 0, SETTLE_MS);
		strays_count(strays, session, run);
	}
}
