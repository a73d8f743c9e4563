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
	for (size_t i = 0; i < CALLER_LOOKS; i++)
		callers->looks[i] = PROC_LOOK_NONE;
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
	for (size_t i = 0; i < CALLER_LOOKS; i++)
		proc_look_close(&callers->looks[i]);
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

/* On the way from a caller up to the first process. */
struct climb {
	struct caller *caller;
	struct caller_line *line;
	bool chained; /* no session manager was met */
};

static struct climb climb_begin(struct caller *caller, struct caller_line *line)
{
	line->n = caller->n = 0;
	return (struct climb){ .caller = caller, .line = line, .chained = true };
}

static int climb_to(struct climb *climb, const struct ancestor *at)
{
	struct caller *caller = climb->caller;

	if (climb->line->n == CALLER_LINE_MAX)
		return -E2BIG;
	climb->line->pids[climb->line->n++] = at->process.pid;
	climb->chained = climb->chained && at->owns && caller->n < CALLER_CHAIN_MAX;
	if (climb->chained)
		caller->chain[caller->n++] = at->process;
	return 0;
}

static bool climb_is_over(const struct callers *callers, const struct ancestor *at)
{
	return at->ppid <= 0 || at->process.pid == callers->cage.tgid;
}

/*
 * The whole line from what is remembered: one look at the clock and one poll for all of them, where
 * one after another each would cost two calls. False: one is not remembered, has ended, or is too
 * old, or there are many; the line is to be climbed.
 */
static bool caller_recall_line(struct callers *callers, struct climb climb, struct ancestor at)
{
	struct pollfd fds[CALLER_CHAIN_MAX];
	const int64_t now = clock_ns();
	nfds_t n = 0;

	GUARD(&callers->lock);
	while (climb_to(&climb, &at) == 0 && !climb_is_over(callers, &at)) {
		const struct ancestor *slot = caller_slot_of(callers, at.ppid);

		if (n == CALLER_CHAIN_MAX || slot->pidfd < 0 || slot->process.pid != at.ppid ||
		    now - slot->at_ns >= ANCESTOR_NS || slot->process.start > at.process.start)
			return false;
		fds[n++] = (struct pollfd){ .fd = slot->pidfd, .events = POLLIN };
		at = *slot;
	}
	return climb_is_over(callers, &at) && poll(fds, n, 0) == 0;
}

/*
 * -EAGAIN: one of the processes has ended meanwhile. Neither a parent nor a subreaper that adopts a
 * child is younger than the child: a younger process has only got the pid of one that ended.
 */
static int caller_climb(struct callers *callers, struct caller *caller, struct ancestor at,
			struct caller_line *line)
{
	struct climb climb;

	if (caller_recall_line(callers, climb_begin(caller, line), at))
		return 0;
	climb = climb_begin(caller, line);
	for (;;) {
		struct ancestor above;
		int r = climb_to(&climb, &at);

		if (r < 0 || climb_is_over(callers, &at))
			return r;
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

static int identify_process(struct callers *callers, struct caller *caller, struct proc_look *look,
			    struct caller_line *line)
{
	const pid_t tgid = caller->cage.tgid;
	int r = -EAGAIN;

	for (int i = 0; i < LINE_TRIES && r == -EAGAIN; i++) {
		struct ancestor self = { .pidfd = -1 };
		struct proc_stat stat;

		r = proc_look_process(look, tgid, &stat);
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

static void caller_look_at(struct callers *callers, struct caller *caller, struct proc_look *look)
{
	struct caller_line line;
	int r = identify_process(callers, caller, look, &line);

	if (r < 0) {
		caller->n = 0;
		caller_refuse_unseen(caller, r);
		return;
	}
	if (callers->env.rye)
		caller->run = rye_run_of(callers->env.rye, line.pids, line.n, caller->session);
	caller_guard(callers, caller, &line, &caller->cage);
}

/* ---- descriptors of those that were looked at ---- */

/* The look that is kept of tid, which is then the caller's own; NONE. */
static struct proc_look look_take(struct callers *callers, pid_t tid)
{
	struct proc_look look = PROC_LOOK_NONE;

	GUARD(&callers->lock);
	struct proc_look *slot = &callers->looks[(unsigned)tid % CALLER_LOOKS];

	if (slot->tid == tid && slot->dir >= 0) {
		look = *slot;
		*slot = PROC_LOOK_NONE;
	}
	return look;
}

static void look_keep(struct callers *callers, const struct proc_look *look)
{
	struct proc_look old;

	if (look->dir < 0)
		return;
	{
		GUARD(&callers->lock);
		struct proc_look *slot = &callers->looks[(unsigned)look->tid % CALLER_LOOKS];

		old = *slot;
		*slot = *look;
	}
	proc_look_close(&old);
}

/* Descriptors are short: none is kept for a caller that may not come again. */
static void looks_drop(struct callers *callers)
{
	struct proc_look old[CALLER_LOOKS];

	{
		GUARD(&callers->lock);
		for (size_t i = 0; i < CALLER_LOOKS; i++) {
			old[i] = callers->looks[i];
			callers->looks[i] = PROC_LOOK_NONE;
		}
	}
	for (size_t i = 0; i < CALLER_LOOKS; i++)
		proc_look_close(&old[i]);
}

static int look_cage(struct callers *callers, struct proc_look *look, pid_t tid,
		     struct proc_cage *ret)
{
	int r = look->dir < 0 ? -ESRCH : proc_look_cage(look, ret);

	if (r != -ESRCH)
		return r;
	/* none is kept, or it is that of a thread which had this number before */
	proc_look_close(look);
	r = proc_look_open(tid, look);
	if (is_short_of_files(r)) {
		looks_drop(callers);
		r = proc_look_open(tid, look);
	}
	return r < 0 ? r : proc_look_cage(look, ret);
}

static void caller_examine_process(struct callers *callers, struct caller *caller)
{
	struct proc_look look;
	int r;

	if (caller->tid == 0) {
		caller_refuse(caller, "it is in a pid namespace that the daemon cannot see");
		caller->confined = true;
		return;
	}
	look = look_take(callers, caller->tid);
	r = look_cage(callers, &look, caller->tid, &caller->cage);
	if (r < 0)
		caller_refuse_unseen(caller, r);
	else
		caller_look_at(callers, caller, &look);
	look_keep(callers, &look);
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
static bool caller_is_unchanged(struct callers *callers, const struct caller *caller)
{
	struct proc_look look;
	struct proc_cage cage;
	bool same;

	if (!caller->cage.tgid || caller->unseen)
		return false;
	look = look_take(callers, caller->tid);
	same = look_cage(callers, &look, caller->tid, &cage) == 0 &&
	       proc_cage_equals(&cage, &caller->cage);
	look_keep(callers, &look);
	return same;
}

bool caller_stands(struct callers *callers, const struct caller *caller)
{
	struct proc_look look = PROC_LOOK_NONE;
	struct proc_cage cage = caller->cage;
	bool same;

	if (clock_ns() - caller->at_ns >= CALLER_FRESH_MS * NS_PER_MS || caller->unseen)
		return false;
	look = look_take(callers, caller->tid);
	same = look.dir >= 0 && proc_look_status(&look, &cage) == 0 &&
	       proc_cage_equals(&cage, &caller->cage);
	look_keep(callers, &look);
	return same;
}

struct caller *caller_examine(struct callers *callers, pid_t tid, uid_t uid)
{
	struct caller *caller, *old = recall_caller(callers, tid, uid);

	if (old && caller_is_unchanged(callers, old))
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
