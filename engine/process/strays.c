/* SPDX-License-Identifier: MIT */
/*
 * The kernel gives orphans to the first thread of a subreaper, and lists its children; our own
 * processes are children of the threads that started them, so what is listed there with a
 * foreign session is an orphan. One small file per run is read, more only when there are some.
 */
#include "process/process.h"

#include "clock.h"
#include "proc.h"
#include "scope.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

/* Orphans worth remembering; one more is only reaped when this process ends. */
#define SEEN_MAX 256
/* A killed group is gone in a millisecond on an idle machine; a worker waits no longer. */
#define SETTLE_TRIES 50
#define SETTLE_MS 2
/*
 * An exec takes a millisecond, longer on a busy machine; a process whose environment is empty and
 * stays so costs all these tries.
 */
#define EXEC_TRIES 12
#define EXEC_MS 1

/* The reaping thread is woken by SIGCHLD and then rests, for the end of each run is one. */
#define REST_MS 200
/*
 * The leader of a session may be waited for by the thread that started it, which takes it in
 * milliseconds: it is taken here when it was dead at a look so long ago.
 */
#define LEADER_MS 2000

struct strays {
	int children; /* /proc's list of the main thread's; frozen */
	pthread_mutex_t lock; /* seen, n */
	pid_t seen[SEEN_MAX];
	size_t n;
	pthread_t reaper;
	int stop; /* eventfd for the reaper; -1: there is none */
	struct census census; /* the reaper's */
	bool (*held)(void); /* frozen */
};

struct strays *strays_open(void)
{
	struct strays *strays = calloc(1, sizeof(*strays));

	if (!strays)
		return NULL;
	pthread_mutex_init(&strays->lock, NULL);
	strays->stop = -1;
	strays->children = proc_children_open();
	return strays;
}

void strays_close(struct strays *strays)
{
	if (!strays)
		return;
	if (strays->stop >= 0) {
		eventfd_write(strays->stop, 1);
		pthread_join(strays->reaper, NULL);
		close(strays->stop);
	}
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

static void strays_remember(struct strays *strays, pid_t pid)
{
	GUARD(&strays->lock);
	if (index_of(strays, pid) == strays->n && strays->n < SEEN_MAX)
		strays->seen[strays->n++] = pid;
}

/* True: it was one of them, and is no longer. */
static bool strays_forget(struct strays *strays, pid_t pid)
{
	GUARD(&strays->lock);
	size_t i = index_of(strays, pid);

	if (i == strays->n)
		return false;
	strays->seen[i] = strays->seen[--strays->n];
	return true;
}

void strays_mark(uint64_t run, char ret[48])
{
	snprintf(ret, 48, "RYE_RUN=%d.%llu", (int)getpid(), (unsigned long long)run);
}

/* A process in the middle of an exec has no environment: it is asked again. */
static bool is_marked(pid_t pid, const char *mark)
{
	char run[48];
	int found = proc_variable(pid, "RYE_RUN", run, sizeof(run));

	for (int i = 0; i < EXEC_TRIES && found < 0; i++) {
		poll(NULL, 0, EXEC_MS);
		found = proc_variable(pid, "RYE_RUN", run, sizeof(run));
	}
	return found > 0 && !strcmp(run, mark + strlen("RYE_RUN="));
}

struct strays_wanted {
	struct strays *strays;
	pid_t session;
	char mark[48];
};

/* The watchdog, and what else stands by the daemon, is no orphan of a run. Asked before its files in
 * /proc, which cost a hundred times as much while the answer to a run waits. */
static bool is_in_our_session(pid_t pid)
{
	return getsid(pid) == getsid(0);
}

/* One listed child: is it a living orphan of the wanted run? */
static bool is_orphan(pid_t pid, void *arg)
{
	const struct strays_wanted *wanted = arg;
	struct proc_stat stat;

	if (is_in_our_session(pid) || proc_stat(pid, &stat))
		return false;
	if (stat.state == 'Z') {
		/*
		 * The leader of a session is waited for by the thread that started it, unless it
		 * was seen as an orphan; this process starts nothing else in a foreign session.
		 */
		if (strays_forget(wanted->strays, pid) || stat.session != pid)
			waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOHANG);
		return false;
	}
	/* The leader is the run itself: one that was started ahead may not have gone yet. */
	if (pid == wanted->session ||
	    (stat.session != wanted->session && !is_marked(pid, wanted->mark)))
		return false;
	strays_remember(wanted->strays, pid);
	return true;
}

size_t strays_count(struct strays *strays, pid_t session, uint64_t run)
{
	struct strays_wanted wanted = { .strays = strays, .session = session };
	pid_t children[PROC_CHILDREN];
	size_t count = 0, n = proc_children(strays->children, children);

	if (!n)
		return 0;
	strays_mark(run, wanted.mark);
	for (size_t i = 0; i < n; i++)
		count += is_orphan(children[i], &wanted);
	return count;
}

/* Children of one that was killed become orphans, too: they are met the next time. Another thread may
 * reap one meanwhile. */
static size_t kill_orphans(struct strays *strays, pid_t session, uint64_t run)
{
	struct strays_wanted wanted = { .strays = strays, .session = session };
	pid_t children[PROC_CHILDREN];
	size_t count = 0, n = proc_children(strays->children, children);

	strays_mark(run, wanted.mark);
	for (size_t i = 0; i < n; i++)
		count += proc_end(children[i], is_orphan, &wanted);
	return count;
}

void strays_settle(struct strays *strays, pid_t session, uint64_t run)
{
	for (int i = 0; i < SETTLE_TRIES; i++) {
		bool group = kill(-session, 0) == 0;

		if (!kill_orphans(strays, session, run) && !group)
			return;
		poll(NULL, 0, SETTLE_MS);
	}
}

/* ---- reaping while nothing runs ---- */

/* Leaders of sessions that were dead at a look, in the order of the kernel's list. */
struct leaders {
	pid_t *v;
	size_t n, size;
};

static bool leaders_have(const struct leaders *leaders, pid_t pid)
{
	for (size_t i = 0; i < leaders->n; i++)
		if (leaders->v[i] == pid)
			return true;
	return false;
}

static void leaders_add(struct leaders *leaders, pid_t pid)
{
	if (leaders->n == leaders->size) {
		size_t size = leaders->size ? leaders->size * 2 : 64;
		pid_t *v = realloc(leaders->v, size * sizeof(*v));

		if (!v)
			return;
		leaders->v = v;
		leaders->size = size;
	}
	leaders->v[leaders->n++] = pid;
}

/* old: of the look before, or NULL: leaders are left alone. True: it is dead and was left. */
static bool reap_one(pid_t pid, const struct leaders *old, struct leaders *now)
{
	struct proc_stat stat;

	if (is_in_our_session(pid) || proc_stat(pid, &stat) || stat.state != 'Z')
		return false;
	if (stat.session != pid || (old && leaders_have(old, pid))) {
		waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOHANG);
		return false;
	}
	leaders_add(now, pid);
	return true;
}

/* A stream of its own: the list is as long as there are children. */
static bool reap(const struct leaders *old, struct leaders *now)
{
	char path[64];
	FILE *list;
	bool left = false;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	list = fopen(path, "re");
	/* Read whole before a child is reaped: the kernel counts places in the list. */
	while (list && fscanf(list, "%d", &pid) == 1)
		leaders_add(now, pid);
	if (list)
		fclose(list);
	for (size_t i = 0, n = now->n; i < n; i++) {
		pid = now->v[i];
		if (!i)
			now->n = 0;
		left |= reap_one(pid, old, now);
	}
	return left;
}

/* True: it has to be done again soon. */
static bool strays_census(struct strays *strays)
{
	if (strays->census.limit && strays->held())
		strays->census.limit = 0;
	if (strays->census.limit)
		census_look(&strays->census, getpid());
	return strays->census.limit;
}

static void *keep_reaping(void *arg)
{
	struct strays *strays = arg;
	struct leaders old = { 0 }, now = { 0 };
	struct pollfd fds[2] = { { strays->stop, POLLIN, 0 }, { -1, POLLIN, 0 } };
	int64_t looked_ms = clock_ms();
	bool left = true;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	fds[1].fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	/* A signal that came meanwhile ends the wait at once; the rest is waited out in any case. */
	while (poll(fds, 2, left || strays_census(strays) ? REST_MS : -1) >= 0 && !fds[0].revents &&
	       poll(fds, 1, REST_MS) == 0) {
		struct signalfd_siginfo info;
		bool ripe = clock_ms() - looked_ms >= LEADER_MS;

		while (read(fds[1].fd, &info, sizeof(info)) > 0)
			;
		now.n = 0;
		left = reap(ripe ? &old : NULL, &now);
		if (ripe || !old.n) {
			struct leaders last = old;

			old = now;
			now = last;
			looked_ms = clock_ms();
		}
	}
	close(fds[1].fd);
	free(old.v);
	free(now.v);
	return NULL;
}

void strays_watch(struct strays *strays, size_t limit, bool (*held)(void))
{
	strays->census.limit = limit;
	strays->held = held;
	if (strays->stop >= 0 || strays->children < 0)
		return;
	strays->stop = eventfd(0, EFD_CLOEXEC);
	HOLD_SIGNALS();
	if (strays->stop >= 0 && pthread_create(&strays->reaper, NULL, keep_reaping, strays) != 0) {
		close(strays->stop);
		strays->stop = -1;
	}
}
