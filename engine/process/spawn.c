/* SPDX-License-Identifier: MIT */
/*
 * clone(CLONE_VM | CLONE_VFORK) with a stack of its own and raw system calls in the child: a fork
 * of a big process takes tens of milliseconds, and posix_spawn cannot confine. The child shares our
 * memory until exec, so it must not allocate, lock or write anything but `tried` and the session.
 * All signals are blocked meanwhile: no handler of ours runs in the child. A parked process is such
 * a child without CLONE_VFORK: we go on while it waits for one byte, confined already and with no
 * descriptor but its own. Of our memory it reads its `parked`.
 */
#include "process/process.h"

#include "bounds.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Descriptors above every number the child's own get, so that dup2 never hits a source. */
#define HIGH_FD 10
#define STACK_SIZE (64 << 10)
/* A few frames of raw calls; each waiting process keeps one. */
#define PARKED_STACK (32 << 10)
/* Where a parked process reads its go byte, which is one of the two below. */
#define GO_FD 3
#define WORD_GO 'g'
#define WORD_NULL 'n' /* the same, without input */
/* A tool may start this program, which a sanitizer gives terabytes of shadow memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TOOL_MEMORY RLIM_INFINITY
#else
#define TOOL_MEMORY RYE_TOOL_MEMORY
#endif

enum step { STEP_NONE, STEP_FILES, STEP_CWD, STEP_LIMITS, STEP_SANDBOX, STEP_EXEC };

/* Standard streams and one more. */
#define FILES 4

struct tried {
	const struct spawn_ask *ask;
	int fd[FILES], at[FILES]; /* source descriptors, all >= HIGH_FD, and where they go */
	volatile int step, sys; /* what failed; set by the child */
};

static CHILD_SIDE long set_limit(int what, rlim_t soft, rlim_t hard)
{
	struct rlimit now = { 0 };
	long r = RAW(SYS_prlimit64, 0, what, 0, (long)&now);

	if (r < 0)
		return r;
	if (hard > now.rlim_max)
		hard = now.rlim_max;
	now.rlim_max = hard;
	now.rlim_cur = soft < hard ? soft : hard;
	return RAW(SYS_prlimit64, 0, what, (long)&now);
}

static CHILD_SIDE long set_limits(void)
{
	long r = set_limit(RLIMIT_CORE, 0, 0);

	if (!r)
		r = set_limit(RLIMIT_NOFILE, RYE_TOOL_FILES, RYE_TOOL_FILES_HARD);
	if (!r)
		r = set_limit(RLIMIT_NPROC, RYE_TOOL_PROCESSES, RYE_TOOL_PROCESSES);
	if (!r)
		r = set_limit(RLIMIT_DATA, TOOL_MEMORY, TOOL_MEMORY);
	if (!r)
		r = set_limit(RLIMIT_FSIZE, RYE_TOOL_FILE_SIZE, RYE_TOOL_FILE_SIZE);
	return r;
}

/*
 * Ignored signals survive exec: a tool must not find SIGPIPE ignored, nor 32 and 33, which
 * posix_spawn leaves so in a thread's runner and libc's sigaction refuses to mend.
 */
static CHILD_SIDE void default_signals(void)
{
	/* The kernel's own structure, all zero: SIG_DFL. libc's bookkeeping is shared with us. */
	static const unsigned long fresh[8] = { 0 };

	for (int i = 1; i < NSIG; i++)
		RAW(SYS_rt_sigaction, i, (long)fresh, 0, 8);
}

static CHILD_SIDE long place_files(const struct tried *tried)
{
	unsigned kept = 2;
	long r = 0;

	for (int i = 0; i < FILES && r >= 0; i++) {
		if (tried->fd[i] < 0)
			continue;
		r = RAW(SYS_dup3, tried->fd[i], tried->at[i]);
		kept = tried->at[i] > 2 ? (unsigned)tried->at[i] : kept;
	}
	/* Closed by exec, not now: the ruleset is still needed. */
	if (r >= 0 && kept > 3)
		r = RAW(SYS_close_range, 3, kept - 1, CLOSE_RANGE_CLOEXEC);
	return r < 0 ? r : RAW(SYS_close_range, kept + 1, ~0u, CLOSE_RANGE_CLOEXEC);
}

/* Everything that does not depend on the program. */
static CHILD_SIDE long spawn_prepare(struct tried *tried)
{
	const struct spawn_ask *ask = tried->ask;
	long r;

	RAW(SYS_setsid);
	if (ask->session)
		*ask->session = (pid_t)RAW(SYS_getpid);
	tried->step = STEP_FILES;
	r = place_files(tried);
	if (r < 0)
		return r;
	tried->step = STEP_SANDBOX;
	r = ask->box ? -box_veil(ask->box) : 0;
	if (r < 0)
		return r;
	tried->step = STEP_LIMITS;
	r = set_limits();
	if (r < 0)
		return r;
	default_signals();
	tried->step = STEP_SANDBOX;
	return ask->box ? -box_enter(ask->box, ask->bound) : 0;
}

/* Does not return. */
static CHILD_SIDE int spawn_become(struct tried *tried, long r)
{
	static const unsigned long none[2] = { 0 };
	const struct spawn_ask *ask = tried->ask;

	if (r >= 0 && ask->cwd) {
		tried->step = STEP_CWD;
		r = RAW(SYS_chdir, (long)ask->cwd);
	}
	if (r >= 0) {
		RAW(SYS_rt_sigprocmask, SIG_SETMASK, (long)none, 0, 8);
		tried->step = STEP_EXEC;
		r = RAW(SYS_execve, (long)ask->path, (long)ask->argv, (long)ask->envp);
	}
	tried->sys = (int)-r;
	RAW(SYS_exit_group, 127);
	__builtin_unreachable();
}

static CHILD_SIDE int run_child(void *arg)
{
	return spawn_become(arg, spawn_prepare(arg));
}

/*
 * The thread sanitizer takes every clone for a fork and starts its bookkeeping anew in the
 * child, which here shares it with us; libc's other name for the call is left alone.
 */
#ifdef __SANITIZE_THREAD__
int __clone(int (*fn)(void *arg), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

static int move_up(int fd, int *ret, int *ret_dup)
{
	*ret = fd;
	if (fd < 0 || fd >= HIGH_FD)
		return 0;
	*ret = *ret_dup = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	return *ret < 0 ? errno : 0;
}

static int spawn_fail(const struct tried *tried, int sys, struct rye_err *err)
{
	const struct spawn_ask *ask = tried->ask;
	const char *what = tried->step == STEP_CWD ? ask->cwd : ask->path;

	if (tried->step == STEP_SANDBOX || tried->step == STEP_LIMITS)
		return rye_fail(err, RYE_TOOL_FAILED, "Failed to spawn: %s: cannot be confined: %s",
				ask->path, strerrordesc_np(sys));
	return rye_fail(err, RYE_TOOL_FAILED, "Failed to spawn: %s: %s (os error %d)", what,
			strerrordesc_np(sys), sys);
}

static pid_t spawn_start(struct tried *tried, int *ret_pidfd)
{
	/* Not malloc'ed: the child returns into nothing, and 64 KiB of stack are there. */
	char stack[STACK_SIZE] __attribute__((aligned(16)));
	pid_t pid;

	HOLD_SIGNALS();
	pid = clone(run_child, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD,
		    tried, ret_pidfd);
	if (pid < 0)
		tried->sys = errno;
	return pid;
}

/* The descriptors a child gets, moved out of the way; ret_dup: what that made. */
static int spawn_gather(struct tried *tried, const struct spawn_ask *ask, int ret_dup[FILES])
{
	const int from[FILES] = { ask->in, ask->out, ask->err, ask->extra };
	int r = 0;

	for (int i = 0; i < FILES; i++) {
		ret_dup[i] = -1;
		tried->at[i] = i < 3 ? i : ask->extra_at;
	}
	for (int i = 0; !r && i < FILES; i++)
		r = move_up(from[i], &tried->fd[i], &ret_dup[i]);
	return r;
}

static void spawn_drop(const int dup[FILES])
{
	for (int i = 0; i < FILES; i++)
		if (dup[i] >= 0)
			close(dup[i]);
}

int spawn(const struct spawn_ask *ask, struct child *ret, struct rye_err *err)
{
	struct tried tried = { .ask = ask };
	struct child child = { .pidfd = -1 };
	struct ended ended;
	int dup[FILES], r = spawn_gather(&tried, ask, dup);

	if (!r)
		child.pid = spawn_start(&tried, &child.pidfd);
	spawn_drop(dup);
	if (r)
		return rye_fail_sys(err, r, "cannot start %s", ask->path);
	if (child.pid < 0)
		return spawn_fail(&tried, tried.sys, err);
	if (ask->session)
		*ask->session = child.pid;
	if (tried.sys) {
		spawn_reap(&child, &ended);
		return spawn_fail(&tried, tried.sys, err);
	}
	*ret = child;
	return 0;
}

/* ---- processes that wait for their program ---- */

struct spawn_parked {
	struct tried tried; /* the child's until it has become something else */
	struct spawn_ask ask; /* what it reads once it has got its go byte */
	struct child child;
	int go; /* our end of the pipe it waits at; -1: its go byte is sent */
	void *stack;
};

static CHILD_SIDE int wait_child(void *arg)
{
	static const char null[] = "/dev/null", name[] = "ryefs-ready";
	struct spawn_parked *parked = arg;
	char word = 0;
	long r = spawn_prepare(&parked->tried);

	/* In listings of processes, until exec. */
	RAW(SYS_prctl, PR_SET_NAME, (long)name);
	/* Now, not at exec: other runs wait for the end of what was copied into this one. */
	RAW(SYS_close_range, GO_FD + 1, ~0u);
	if (r >= 0 && RAW(SYS_read, GO_FD, (long)&word, 1) != 1)
		RAW(SYS_exit_group, 0);
	RAW(SYS_close, GO_FD);
	if (r >= 0 && word == WORD_NULL) {
		r = RAW(SYS_openat, AT_FDCWD, (long)null, O_RDONLY | O_CLOEXEC);
		r = r < 0 ? r : RAW(SYS_dup3, r, 0);
	}
	return spawn_become(&parked->tried, r);
}

static int start_parked(struct spawn_parked *parked, const struct spawn_ask *ask, int go)
{
	struct spawn_ask with = *ask;
	int dup[FILES], r;

	with.extra = go;
	with.extra_at = GO_FD;
	r = spawn_gather(&parked->tried, &with, dup);
	if (!r) {
		HOLD_SIGNALS();
		parked->child.pid = clone(wait_child, (char *)parked->stack + PARKED_STACK,
					  CLONE_VM | CLONE_PIDFD | SIGCHLD, parked,
					  &parked->child.pidfd);
		r = parked->child.pid < 0 ? errno : 0;
		/* the kernel may have told of a pidfd before it failed (pids.max) */
		if (r)
			parked->child = (struct child){ -1, -1 };
	}
	spawn_drop(dup);
	return r;
}

int spawn_park(const struct spawn_ask *ask, struct spawn_parked **ret, struct rye_err *err)
{
	struct spawn_parked *parked;
	int go[2], r;

	if (!RAW_BESIDE)
		return rye_fail(err, RYE_UNSUPPORTED, "no processes are parked on this machine");
	parked = calloc(1, sizeof(*parked));
	if (!parked)
		return rye_fail_sys(err, ENOMEM, "cannot park a process");
	if (pipe2(go, O_CLOEXEC) < 0) {
		r = errno;
		free(parked);
		return rye_fail_sys(err, r, "cannot make a pipe");
	}
	parked->ask = (struct spawn_ask){ .box = ask->box, .bound = ask->bound };
	parked->tried.ask = &parked->ask;
	parked->child = (struct child){ -1, -1 };
	parked->go = go[1];
	parked->stack = mmap(NULL, PARKED_STACK, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	r = parked->stack == MAP_FAILED ? errno : start_parked(parked, ask, go[0]);
	close(go[0]);
	if (r) {
		spawn_unpark(parked);
		return rye_fail_sys(err, r, "cannot park a process");
	}
	*ret = parked;
	return 0;
}

pid_t spawn_parked_pid(const struct spawn_parked *parked)
{
	return parked->child.pid;
}

bool spawn_go(struct spawn_parked *parked, const struct spawn_ask *ask, struct child *ret)
{
	const char word = ask->in < 0 ? WORD_NULL : WORD_GO;
	bool sent;

	parked->ask.path = ask->path;
	parked->ask.argv = ask->argv;
	parked->ask.envp = ask->envp;
	parked->ask.cwd = ask->cwd;
	sent = write(parked->go, &word, 1) == 1;
	close(parked->go);
	parked->go = -1;
	*ret = parked->child;
	if (sent)
		parked->child.pidfd = -1;
	return sent;
}

int spawn_went(const struct spawn_parked *parked, struct rye_err *err)
{
	return parked->tried.sys ? spawn_fail(&parked->tried, parked->tried.sys, err) : 0;
}

void spawn_kill(const struct child *child)
{
	/* never -1, which is every process there is */
	if (child->pid > 1)
		kill(child->pid, SIGKILL);
}

void spawn_unpark(struct spawn_parked *parked)
{
	struct ended ended;

	if (!parked)
		return;
	if (parked->go >= 0)
		close(parked->go);
	if (parked->child.pidfd >= 0) {
		spawn_kill(&parked->child);
		spawn_reap(&parked->child, &ended);
	}
	if (parked->stack != MAP_FAILED)
		munmap(parked->stack, PARKED_STACK);
	free(parked);
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
