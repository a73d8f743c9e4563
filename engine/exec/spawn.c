/* SPDX-License-Identifier: MIT */
/*
 * clone(CLONE_VM | CLONE_VFORK) with a stack of its own and raw system calls in the child: a
 * fork of a big process takes tens of milliseconds, and posix_spawn cannot confine. The child
 * shares our memory until exec, so it must not allocate, lock or write anything but `tried`
 * and the session. All signals are blocked meanwhile: no handler of ours runs in the child.
 */
#include "exec/spawn.h"

#include "base/auto.h"
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Descriptors above every number the child's own get, so that dup2 never hits a source. */
#define HIGH_FD 10
#define STACK_SIZE (64 << 10)

enum step { STEP_NONE, STEP_FILES, STEP_CWD, STEP_LIMITS, STEP_SANDBOX, STEP_EXEC };

struct tried {
	const struct spawn_ask *ask;
	int fd[4], at[4]; /* source descriptors, all >= HIGH_FD, and where they go */
	volatile int step, sys; /* what failed; set by the child */
};

static CHILD_SIDE int set_limit(int what, rlim_t soft, rlim_t hard)
{
	struct rlimit now;

	if (syscall(SYS_prlimit64, 0, what, NULL, &now))
		return errno;
	if (hard > now.rlim_max)
		hard = now.rlim_max;
	now.rlim_max = hard;
	now.rlim_cur = soft < hard ? soft : hard;
	return syscall(SYS_prlimit64, 0, what, &now, NULL) ? errno : 0;
}

static CHILD_SIDE int set_limits(void)
{
	int r = set_limit(RLIMIT_CORE, 0, 0);

	if (!r)
		r = set_limit(RLIMIT_NOFILE, RYE_TOOL_FILES, RYE_TOOL_FILES_HARD);
	if (!r)
		r = set_limit(RLIMIT_NPROC, RYE_TOOL_PROCESSES, RYE_TOOL_PROCESSES);
	if (!r)
		r = set_limit(RLIMIT_DATA, RYE_TOOL_MEMORY, RYE_TOOL_MEMORY);
	if (!r)
		r = set_limit(RLIMIT_FSIZE, RYE_TOOL_FILE_SIZE, RYE_TOOL_FILE_SIZE);
	return r;
}

/* Ignored signals survive exec: a tool must not find SIGPIPE ignored. */
static CHILD_SIDE void default_signals(void)
{
	/* The kernel's own structure, all zero: SIG_DFL. libc's bookkeeping is shared with us. */
	static const unsigned long fresh[8] = { 0 };

	for (int i = 1; i < 32; i++)
		syscall(SYS_rt_sigaction, i, fresh, NULL, 8);
}

static CHILD_SIDE int place_files(const struct tried *tried)
{
	unsigned kept = tried->at[3] < 0 ? 2 : (unsigned)tried->at[3];

	for (int i = 0; i < 4; i++)
		if (tried->fd[i] >= 0 && syscall(SYS_dup3, tried->fd[i], tried->at[i], 0) < 0)
			return errno;
	/* Closed by exec, not now: the ruleset is still needed. */
	if (kept > 3 && syscall(SYS_close_range, 3, kept - 1, CLOSE_RANGE_CLOEXEC))
		return errno;
	return syscall(SYS_close_range, kept + 1, ~0u, CLOSE_RANGE_CLOEXEC) ? errno : 0;
}

static CHILD_SIDE int prepare(struct tried *tried)
{
	const struct spawn_ask *ask = tried->ask;
	int r;

	syscall(SYS_setsid);
	if (ask->session)
		*ask->session = (pid_t)syscall(SYS_getpid);
	tried->step = STEP_FILES;
	r = place_files(tried);
	if (r)
		return r;
	tried->step = STEP_SANDBOX;
	r = ask->box ? box_veil(ask->box) : 0;
	if (r)
		return r;
	tried->step = STEP_CWD;
	if (ask->cwd && syscall(SYS_chdir, ask->cwd))
		return errno;
	tried->step = STEP_LIMITS;
	r = set_limits();
	if (r)
		return r;
	default_signals();
	tried->step = STEP_SANDBOX;
	return ask->box ? box_enter(ask->box) : 0;
}

static CHILD_SIDE int run_child(void *arg)
{
	struct tried *tried = arg;
	static const unsigned long none[2] = { 0 };
	int r = prepare(tried);

	if (!r) {
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL, 8);
		tried->step = STEP_EXEC;
		syscall(SYS_execve, tried->ask->path, tried->ask->argv, tried->ask->envp);
		r = errno;
	}
	tried->sys = r;
	syscall(SYS_exit_group, 127);
	__builtin_unreachable();
}

/*
 * The thread sanitizer takes every clone for a fork and starts its bookkeeping anew in the
 * child, which here shares it with us; libc's other name for the call is left alone.
 */
#ifdef __SANITIZE_THREAD__
int __clone(int (*fn)(void *arg), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

static int high(int fd, int *ret, int *ret_dup)
{
	*ret = fd;
	if (fd < 0 || fd >= HIGH_FD)
		return 0;
	*ret = *ret_dup = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	return *ret < 0 ? errno : 0;
}

static int fail(const struct tried *tried, int sys, struct rye_err *err)
{
	const struct spawn_ask *ask = tried->ask;
	const char *what = tried->step == STEP_CWD ? ask->cwd : ask->path;

	if (tried->step == STEP_SANDBOX || tried->step == STEP_LIMITS)
		return rye_fail(err, RYE_TOOL_FAILED, "Failed to spawn: %s: cannot be confined: %s",
				ask->path, strerrordesc_np(sys));
	return rye_fail(err, RYE_TOOL_FAILED, "Failed to spawn: %s: %s (os error %d)", what,
			strerrordesc_np(sys), sys);
}

static pid_t start(struct tried *tried, int *ret_pidfd)
{
	/* Not malloc'ed: the child returns into nothing, and 64 KiB of stack are there. */
	char stack[STACK_SIZE] __attribute__((aligned(16)));
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone(run_child, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD,
		    tried, ret_pidfd);
	if (pid < 0)
		tried->sys = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

int spawn(const struct spawn_ask *ask, struct child *ret, struct rye_err *err)
{
	struct tried tried = { .ask = ask, .at = { 0, 1, 2, ask->extra < 0 ? -1 : ask->extra_at } };
	auto_close int in = -1, out = -1, errout = -1, extra = -1;
	struct child child = { .pidfd = -1 };
	struct ended ended;
	int r;

	r = high(ask->in, &tried.fd[0], &in);
	if (!r)
		r = high(ask->out, &tried.fd[1], &out);
	if (!r)
		r = high(ask->err, &tried.fd[2], &errout);
	if (!r)
		r = high(ask->extra, &tried.fd[3], &extra);
	if (r)
		return rye_fail_sys(err, r, "cannot start %s", ask->path);
	child.pid = start(&tried, &child.pidfd);
	if (child.pid < 0)
		return fail(&tried, tried.sys, err);
	if (ask->session)
		*ask->session = child.pid;
	if (tried.sys) {
		spawn_reap(&child, &ended);
		return fail(&tried, tried.sys, err);
	}
	*ret = child;
	return 0;
}

void spawn_reap(struct child *child, struct ended *ret)
{
	siginfo_t info = { 0 };
	int r;

	do
		r = waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED);
	while (r < 0 && errno == EINTR);
	close(child->pidfd);
	child->pidfd = -1;
	*ret = (struct ended){ .code = -1 };
	if (r == 0 && info.si_code == CLD_EXITED)
		ret->code = info.si_status;
	else if (r == 0)
		ret->signal = info.si_status;
}
