/* SPDX-License-Identifier: MIT */
/*
 * again.c - a mount whose daemon has died is mounted again, or another daemon takes over from one that
 * lives: the part of its watchdog.
 *
 * Owns the decision and its reasons. The watchdog becomes the next daemon: it has the environment of
 * the first one, and starts the same program anew, so that nothing of the dead process's memory, not
 * even where it lay, is in the next. In the watchdog, one thread, no lock.
 */
#include "mount/mount.h"

#include "proc.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

extern char **environ;

/* What readlink appends where the file has been removed or replaced. */
#define DELETED " (deleted)"
#define CORE_PATTERN "/proc/sys/kernel/core_pattern"
/* Between its end and its being reaped neither may be known. */
#define REAPED_TRIES 10
#define REAPED_LOOK_MS 5

/* linux/pidfd.h from 6.15 on */
struct again_pidfd_info {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
#define AGAIN_GET_INFO _IOWR(0xFF, 11, struct again_pidfd_info)
#define AGAIN_INFO_EXIT (UINT64_C(1) << 3)

/* As wait(2) has it: a zombie's stands in /proc, a reaped process's descriptor tells it. 0: neither. */
static int exit_status(pid_t pid, int pidfd)
{
	for (int i = 0; i < REAPED_TRIES; i++) {
		struct again_pidfd_info info = { .mask = AGAIN_INFO_EXIT };
		struct proc_stat stat;

		if (ioctl(pidfd, AGAIN_GET_INFO, &info) == 0 && info.mask & AGAIN_INFO_EXIT)
			return info.exit_code;
		if (proc_stat(pid, &stat) == 0 && stat.state == 'Z')
			return stat.status;
		poll(NULL, 0, REAPED_LOOK_MS);
	}
	return 0;
}

/* Where a core is, in words. Ours have the limit 0 (main.c), which a program behind a pipe may heed or not. */
static void say_core(struct rye_buf *why)
{
	auto_file FILE *in = fopen(CORE_PATTERN, "re");
	char pattern[256] = "";

	if (in && fgets(pattern, sizeof(pattern), in) && *pattern == '|')
		buf_addf(why, "; a core, if one was left, is with %.*s (core_pattern)",
			 (int)strcspn(pattern + 1, " \n"), pattern + 1);
	else
		buf_adds(why, "; no core was written, since keys would be in it");
}

static void say_end(int status, struct rye_buf *why)
{
	if (!status) {
		buf_adds(why, "ended, and this kernel does not tell how");
	} else if (WIFEXITED(status)) {
		buf_addf(why, "ended by itself with status %d", WEXITSTATUS(status));
	} else {
		const char *name = sigabbrev_np(WTERMSIG(status));

		buf_addf(why, "%s SIG%s", WTERMSIG(status) == SIGKILL ? "was killed by" : "died of",
			 name ? name : "?");
		if (WTERMSIG(status) == SIGKILL)
			buf_adds(why, " (by hand, or memory had run out)");
		else
			say_core(why);
	}
}

void again_look(pid_t pid, int pidfd, struct again_death *ret)
{
	auto_buf struct rye_buf why = RYE_BUF_INIT;

	say_end(exit_status(pid, pidfd), &why);
	snprintf(ret->why, sizeof(ret->why), "%s", why.data ? why.data : "ended");
}

bool again_wanted(const struct options *opt)
{
	for (int i = 0; i < opt->args.argc; i++)
		if (strcmp(opt->args.argv[i], "auto_unmount") == 0)
			return false;
	return !opt->foreground;
}

/* For list and doctor, since this mount tells nothing more. */
static void again_refuse(const struct options *opt, const struct handover *handover,
			 const char *reason)
{
	struct rye_death death = *handover_death(handover);
	size_t n = strlen(death.why);

	snprintf(death.why + n, sizeof(death.why) - n, "; not mounted again: %.*s",
		 (int)strcspn(reason, "\n"), reason);
	rye_death_note(opt->mountpoint, &death);
}

void again_failed(const struct options *opt, const struct handover *handover,
		  const struct rye_err *err)
{
	if (opt->again_fd >= 0 && handover && !handover_mount(handover).lives)
		again_refuse(opt, handover, err->msg);
}

static void add_list(struct fuse_args *args, const char *name, const char *value)
{
	auto_buf struct rye_buf word = RYE_BUF_INIT;

	buf_adds(&word, name);
	options_escape(&word, value);
	fuse_opt_add_arg(args, "-o");
	fuse_opt_add_arg(args, word.failed ? "" : word.data);
}

/* The words of the first command, with paths that mean the same everywhere. */
static void again_words(const struct options *opt, int handover, struct fuse_args *ret)
{
	char fd[16];

	snprintf(fd, sizeof(fd), "%d", handover);
	fuse_opt_add_arg(ret, "ryefs");
	fuse_opt_add_arg(ret, AGAIN_WORD);
	fuse_opt_add_arg(ret, fd);
	fuse_opt_add_arg(ret, opt->source);
	fuse_opt_add_arg(ret, opt->mountpoint);
	for (int i = 0; i < opt->lists.argc; i++) {
		fuse_opt_add_arg(ret, "-o");
		fuse_opt_add_arg(ret, opt->lists.argv[i]);
	}
	/* of the daemon before this one: they stand there */
	if (opt->again_fd >= 0)
		return;
	if (opt->engine.user_base)
		add_list(ret, "userspace=", opt->engine.user_base);
	if (opt->engine.system_roots)
		add_list(ret, "system=", opt->engine.system_roots);
}

/* Above those of every program, and through exec. */
static int through_exec(int fd)
{
	return fcntl(fd, F_DUPFD, 3);
}

/* Returns where it could not be started. */
static void again_exec(const struct options *opt, struct handover *handover, const char *program,
		       const sigset_t *signals)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int null = open("/dev/null", O_RDWR);

	again_words(opt, through_exec(handover_fd(handover)), &args);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		if (fd != null)
			dup2(null, fd);
	if (null > 2)
		close(null);
	prctl(PR_SET_PDEATHSIG, 0);
	/* the daemon's death, which waits */
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR1, SIG_DFL);
	sigprocmask(SIG_SETMASK, signals, NULL);
	execve(program, args.argv, environ);
}

static void again_begin(const struct options *opt, struct handover *handover, const char *program,
			const struct again_death *at)
{
	struct handover_mount mount = at->mount;

	if (mount.device >= 0) {
		mount.device = through_exec(mount.device);
		mount.init.epoch++;
	}
	handover_put(handover, &mount);
	again_exec(opt, handover, program, &at->signals);
}

/* It was unmounted, or another one lies there. */
static bool still_there(const struct options *opt, const struct handover_mount *old)
{
	return old->id && mountpoint_id(opt->mountpoint) == old->id;
}

void again_mount(const struct options *opt, struct handover *handover,
		 const struct again_death *death)
{
	bool allowed;

	if (!still_there(opt, &death->mount))
		return;
	allowed = handover_died(handover, death->why);
	if (death->mount.device < 0 && !proc_may_mount())
		again_refuse(opt, handover,
			     "by a user it is only with survive=on, or where this kernel has no "
			     "fault that is known (ryefs(1))");
	else if (!allowed)
		again_refuse(opt, handover, "it was five times within a minute");
	else if (death->mount.device < 0 || kept_resend(death->mount.device) == 0)
		again_begin(opt, handover, "/proc/self/exe", death);
}

/* Where the running program lay: another may lie there by now. */
static bool program_path(char ret[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);

	if (n < 0)
		return false;
	ret[n] = 0;
	if (str_ends(ret, DELETED))
		ret[(size_t)n - strlen(DELETED)] = 0;
	return true;
}

void again_reload(const struct options *opt, const struct handover *handover,
		  const struct again_death *at)
{
	char program[PATH_MAX];
	pid_t pid;

	if (!still_there(opt, &at->mount) || !program_path(program) || (pid = fork()) < 0)
		return;
	if (pid) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return;
	}
	/* a child of none that would have to wait for its end */
	if (fork() == 0) {
		struct handover *next = handover_next(handover);
		if (next)
			again_begin(opt, next, program, at);
	}
	_exit(0);
}
