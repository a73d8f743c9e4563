/* SPDX-License-Identifier: MIT */
/*
 * caller.c - the process behind a request, its ancestors, and whether anything confines it that
 * does not confine the daemon.
 *
 * A process in a sandbox that reaches a mounted `run` would act outside of its sandbox, so it is
 * refused (docs/security.md). Identities are remembered for 2 ms, because one open looks a name up
 * several times; ancestors are remembered as long as a pidfd says that they live, because a living
 * parent stays the parent.
 *
 * Two things are learnt from the ancestors. First, which last reply a reader gets: session managers
 * and terminal multiplexers, known by their names, end that chain, so that no session of theirs
 * reads a reply of another. Second, whether the caller is a child of a run: a process chooses its
 * name and how often it forks, so that line goes on to the first process, or to us.
 *
 * Lock: callers->lock, for the tables. No file of /proc is read while it is held, except by
 * caller_last.c, to see whether the processes of a chain still live.
 */
#include "caller/caller.h"

#include "caller/caller_inner.h"
#include "clock.h"
#include "proc.h"
#include "scope.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* Inode of the kernel's first pid namespace, a constant of its ABI. */
#define HOST_PID_NS "pid:[4026531836]"
/* An ancestor may become another program by exec: its name is read again after this. */
#define ANCESTOR_NS NS_PER_S
/* So many of those past their time are given back with each that comes. */
#define ANCESTORS_SWEPT 8

/* When an ancestor ends while the line is read, it is read again, at most so many times. */
#define LINE_TRIES 16

/* Programs that serve several sessions at once: no reply of one may reach another. */
static const char *const barriers[] = {
	"SCREEN",      "cron",	  "crond",	  "dbus-daemon",     "dtach", "gnome-terminal-",
	"konsole",     "login",	  "mosh-server",  "screen",	     "sshd",  "sshd-session",
	"supervisord", "systemd", "tmux: server", "wezterm-mux-ser", "xinit", "zellij",
};

static bool is_barrier(const char *comm)
{
	for (size_t i = 0; i < ARRAY_SIZE(barriers); i++)
		if (strcmp(comm, barriers[i]) == 0)
			return true;
	return false;
}

/* May this process own replies? Not pid 1 of the host; pid 1 of a container may be the agent
 * itself. */
static bool may_own(const struct callers *callers, pid_t pid, const char *comm)
{
	if (pid <= 0 || (pid == 1 && callers->host))
		return false;
	return !is_barrier(comm);
}

int callers_open(const struct callers_env *env, struct callers **ret)
{
	struct callers *callers = calloc(1, sizeof(*callers));
	int r;

	if (!callers)
		return -ENOMEM;
	callers->env = *env;
	r = proc_cage(0, &callers->cage);
	if (r < 0) {
		free(callers);
		return r;
	}
	callers->host = strcmp(callers->cage.ns[2], HOST_PID_NS) == 0;
	for (size_t i = 0; i < CALLER_ANCESTORS; i++)
		callers->ancestors[i].pidfd = -1;
	pthread_mutex_init(&callers->lock, NULL);
	*ret = callers;
	return 0;
}

void callers_close(struct callers *callers)
{
	if (!callers)
		return;
	for (size_t i = 0; i < CALLER_RECENT; i++)
		caller_unref(callers->recent[i].caller);
	for (size_t i = 0; i < CALLER_ANCESTORS; i++)
		if (callers->ancestors[i].pidfd >= 0)
			close(callers->ancestors[i].pidfd);
	caller_last_clear(callers);
	pthread_mutex_destroy(&callers->lock);
	free(callers);
}

struct caller *caller_ref(struct caller *caller)
{
	caller->refs++;
	return caller;
}

void caller_unref(struct caller *caller)
{
	if (caller && --caller->refs == 0)
		free(caller);
}

/* ---- ancestry ---- */

static struct ancestor *caller_slot_of(struct callers *callers, pid_t pid)
{
	return &callers->ancestors[(unsigned)pid % CALLER_ANCESTORS];
}

static bool pidfd_alive(int pidfd)
{
	struct pollfd poll_fd = { .fd = pidfd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 0;
}

/* What is remembered of pid, if it still is that process. */
static bool caller_recall(struct callers *callers, pid_t pid, int64_t now, struct ancestor *ret)
{
	bool found = false;

	GUARD(&callers->lock);
	struct ancestor *slot = caller_slot_of(callers, pid);

	found = slot->pidfd >= 0 && slot->process.pid == pid && now - slot->at_ns < ANCESTOR_NS &&
		pidfd_alive(slot->pidfd);
	*ret = *slot;
	return found;
}

static void caller_remember(struct callers *callers, const struct ancestor *ancestor)
{
	int old[ANCESTORS_SWEPT + 1];
	size_t n = 0;

	{
		GUARD(&callers->lock);
		struct ancestor *slot = caller_slot_of(callers, ancestor->process.pid);

		old[n++] = slot->pidfd;
		*slot = *ancestor;
		for (size_t i = 0; i < ANCESTORS_SWEPT; i++) {
			slot = &callers->ancestors[callers->hand++ % CALLER_ANCESTORS];
			if (ancestor->at_ns - slot->at_ns < ANCESTOR_NS)
				continue;
			old[n++] = slot->pidfd;
			slot->pidfd = -1;
		}
	}
	while (n > 0)
		if (old[--n] >= 0)
			close(old[n]);
}

static bool is_short_of_files(int r)
{
	return r == -EMFILE || r == -ENFILE;
}

static int find_ancestor(struct callers *callers, pid_t pid, struct ancestor *ret)
{
	struct ancestor found = { .at_ns = clock_ns() };
	struct proc_stat stat;
	int r;

	if (caller_recall(callers, pid, found.at_ns, ret))
		return 0;
	/* first the descriptor, then the facts: while it lives they are its */
	found.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	r = proc_stat(pid, &stat);
	if (r < 0 || stat.state == 'Z' || stat.state == 'X') {
		if (found.pidfd >= 0)
			close(found.pidfd);
		return r < 0 ? r : -ESRCH;
	}
	found.process = (struct process){ pid, stat.start };
	found.ppid = stat.ppid;
	found.owns = may_own(callers, pid, stat.comm);
	if (found.pidfd >= 0)
		caller_remember(callers, &found);
	*ret = found;
	return 0;
}

static void caller_forget(struct callers *callers, pid_t pid)
{
	GUARD(&callers->lock);
	struct ancestor *slot = caller_slot_of(callers, pid);

	if (slot->process.pid == pid)
		slot->at_ns = -ANCESTOR_NS;
}

/*
 * -EAGAIN: one of the processes has ended meanwhile. Neither a parent nor a subreaper that adopts a
 * child is younger than the child: a younger process has only got the pid of one that ended.
 */
static int caller_climb(struct callers *callers, struct caller *caller, struct ancestor at,
			struct caller_line *line)
{
	bool chained = true;

	line->n = caller->n = 0;
	for (;;) {
		struct ancestor above;
		int r;

		if (line->n == CALLER_LINE_MAX)
			return -E2BIG;
		line->pids[line->n++] = at.process.pid;
		chained = chained && at.owns && caller->n < CALLER_CHAIN_MAX;
		if (chained)
			caller->chain[caller->n++] = at.process;
		if (at.ppid <= 0 || at.process.pid == callers->cage.tgid)
			return 0;
		r = find_ancestor(callers, at.ppid, &above);
		if (is_short_of_files(r))
			return r;
		if (r < 0 || above.process.start > at.process.start) {
			caller_forget(callers, at.process.pid);
			return -EAGAIN;
		}
		at = above;
	}
}

static int identify_process(struct callers *callers, struct caller *caller, pid_t tgid,
			    struct caller_line *line)
{
	int r = -EAGAIN;

	for (int i = 0; i < LINE_TRIES && r == -EAGAIN; i++) {
		struct ancestor self = { .pidfd = -1 };
		struct proc_stat stat;

		r = proc_stat(tgid, &stat);
		if (r < 0)
			return r;
		caller->session = stat.session;
		self.process = (struct process){ tgid, stat.start };
		self.ppid = stat.ppid;
		self.owns = may_own(callers, tgid, stat.comm);
		r = caller_climb(callers, caller, self, line);
	}
	return r;
}

/* ---- putting it together ---- */

/* It could not be looked at. */
static void caller_refuse_unseen(struct caller *caller, int r)
{
	caller->unseen = is_short_of_files(r);
	caller_refuse(caller, caller->unseen ?
				      "the daemon has too many files open to look at the caller; "
				      "try again, or raise the hard limit (ulimit -Hn)" :
			      r == -E2BIG  ? "the caller has more than 256 ancestors" :
			      r == -EAGAIN ? "the caller's ancestors end too fast to be looked at" :
					     "the caller's /proc entries cannot be read");
}

static void caller_look_at(struct callers *callers, struct caller *caller,
			   const struct proc_cage *cage)
{
	struct caller_line line;
	int r = identify_process(callers, caller, cage->tgid, &line);

	if (r < 0) {
		caller->n = 0;
		caller_refuse_unseen(caller, r);
		return;
	}
	if (callers->env.rye)
		caller->run = rye_run_of(callers->env.rye, line.pids, line.n, caller->session);
	caller_guard(callers, caller, &line, cage);
}

static void caller_examine_process(struct callers *callers, struct caller *caller)
{
	struct proc_cage cage;
	int r;

	if (caller->tid == 0) {
		caller_refuse(caller, "it is in a pid namespace that the daemon cannot see");
		caller->confined = true;
		return;
	}
	r = proc_cage(caller->tid, &cage);
	if (r < 0) {
		caller_refuse_unseen(caller, r);
		return;
	}
	caller->cage = cage;
	caller_look_at(callers, caller, &cage);
}

/* ---- identities ---- */

static struct recent *recent_of(struct callers *callers, pid_t tid)
{
	return &callers->recent[(unsigned)tid % CALLER_RECENT];
}

static struct caller *recall_caller(struct callers *callers, pid_t tid, uid_t uid)
{
	int64_t now = clock_ns();

	GUARD(&callers->lock);
	struct recent *recent = recent_of(callers, tid);
	struct caller *caller = recent->caller;

	if (caller && caller->tid == tid && caller->uid == uid &&
	    now - caller->at_ns < CALLER_FRESH_MS * NS_PER_MS)
		return caller_ref(caller);
	return NULL;
}

/* Is the thread confined as it was when it was identified? A thread and its ancestors stay what they
 * are for CALLER_FRESH_MS; what it may do it can give up at any time. */
static bool caller_is_unchanged(const struct caller *caller)
{
	struct proc_cage cage;

	return caller->cage.tgid && !caller->unseen && proc_cage(caller->tid, &cage) == 0 &&
	       proc_cage_equals(&cage, &caller->cage);
}

struct caller *caller_examine(struct callers *callers, pid_t tid, uid_t uid)
{
	struct caller *caller, *old = recall_caller(callers, tid, uid);

	if (old && caller_is_unchanged(old))
		return old;
	caller_unref(old);
	caller = calloc(1, sizeof(*caller));
	if (!caller)
		return NULL;
	caller->refs = 2; /* one for the table */
	caller->tid = tid;
	caller->uid = uid;
	caller->at_ns = clock_ns();
	caller_examine_process(callers, caller);
	{
		GUARD(&callers->lock);
		struct recent *recent = recent_of(callers, tid);

		old = recent->caller;
		recent->caller = caller;
	}
	caller_unref(old);
	return caller;
}

struct caller *caller_identify(struct callers *callers, pid_t tid, uid_t uid)
{
	struct caller *caller = recall_caller(callers, tid, uid);

	return caller ? caller : caller_examine(callers, tid, uid);
}
