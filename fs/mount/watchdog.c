/* SPDX-License-Identifier: MIT */
/*
 * watchdog.c - sees the daemon die, and ends what it has left behind.
 *
 * Owns a child process and the pipe to it. The child holds no descriptor of the daemon's but
 * its end of that pipe, above all not /dev/fuse. It learns of the daemon's death by the signal
 * that a parent thread's death sends (PR_SET_PDEATHSIG): the daemon's main thread dies at once,
 * while a pidfd stays silent and the pipe open as long as one stuck thread of it lives.
 */
#include "mount/mount.h"

#include "connection.h"
#include "mountinfo.h"
#include "proc.h"
#include "scope.h"

#include <rye/rye.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

/* A killed process is gone in a millisecond, unless one of its threads cannot end. */
#define GONE_MS 50
#define LOOK_MS 5
/* After an abort the stuck thread goes on, and the process ends. */
#define TRIES 20

struct watchdog {
	pid_t pid;
	int pipe; /* to the child: a mountpoint, then one empty message at the orderly end */
};

struct guarded {
	pid_t daemon;
	char mountpoint[PATH_MAX]; /* "" until it is told */
	unsigned minor;
};

/* ---- in the child ---- */

/* Has the whole process gone, the last of its threads too? */
static bool is_gone(pid_t pid)
{
	struct proc_stat stat;

	if (proc_stat(pid, &stat))
		return true;
	return (stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1;
}

static bool goes_within(pid_t pid, int patience_ms)
{
	for (; patience_ms > 0 && !is_gone(pid); patience_ms -= LOOK_MS)
		poll(NULL, 0, LOOK_MS);
	return is_gone(pid);
}

/* A daemon that has gone has closed /dev/fuse, and the kernel has ended the connection: only one
 * that cannot end is helped. While it lives no other mount gets its device number. */
static void after_death(const struct guarded *guarded)
{
	rye_end_leftovers(guarded->daemon, NULL);
	for (int i = 0; i < TRIES && !goes_within(guarded->daemon, GONE_MS); i++)
		if (*guarded->mountpoint)
			connection_abort(guarded->minor, guarded->mountpoint);
	/* what a run had started in the meantime */
	rye_end_leftovers(guarded->daemon, NULL);
}

static void learn_connection(struct guarded *guarded, const char *mountpoint)
{
	struct mountinfo mount;
	auto_free char *line = mountinfo_find(mountpoint, &mount);

	if (!line)
		return;
	guarded->minor = minor(mount.dev);
	snprintf(guarded->mountpoint, sizeof(guarded->mountpoint), "%s", mountpoint);
}

/* False: the daemon has said that it ends by itself. */
static bool hear_daemon(struct guarded *guarded, int pipe)
{
	char text[PATH_MAX];
	ssize_t n = read(pipe, text, sizeof(text) - 1);

	if (n <= 0)
		return true;
	text[n] = 0;
	if (n == 1)
		return false;
	learn_connection(guarded, text);
	return true;
}

static void watchdog_watch(struct guarded *guarded, int pipe, int death)
{
	struct pollfd fds[] = { { .fd = death, .events = POLLIN },
				{ .fd = pipe, .events = POLLIN } };

	for (;;) {
		bool dead = getppid() != guarded->daemon;

		if (!dead && poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return;
		/* a word that is there still counts: it may be the last one */
		if (fds[1].revents & POLLIN && !hear_daemon(guarded, pipe))
			return;
		if (dead || fds[0].revents || fds[1].revents & POLLHUP) {
			after_death(guarded);
			return;
		}
	}
}

static _Noreturn void run_watchdog(pid_t daemon, int pipe)
{
	struct guarded guarded = { .daemon = daemon };
	sigset_t all;
	int death;

	prctl(PR_SET_NAME, "ryefs-watchdog");
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	sigemptyset(&all);
	sigaddset(&all, SIGUSR1);
	death = signalfd(-1, &all, SFD_CLOEXEC);
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	for (int fd = 0; fd < pipe; fd++)
		if (fd != death)
			close(fd);
	watchdog_watch(&guarded, pipe, death);
	_exit(0);
}

/* ---- in the daemon ---- */

struct watchdog *watchdog_start(void)
{
	struct watchdog *watchdog = calloc(1, sizeof(*watchdog));
	int ends[2] = { -1, -1 };
	pid_t daemon = getpid();

	if (!watchdog)
		return NULL;
	if (pipe2(ends, O_CLOEXEC | O_DIRECT) || (watchdog->pid = fork()) < 0) {
		close(ends[0]);
		close(ends[1]);
		free(watchdog);
		return NULL;
	}
	if (watchdog->pid == 0) {
		close(ends[1]);
		run_watchdog(daemon, ends[0]);
	}
	close(ends[0]);
	watchdog->pipe = ends[1];
	return watchdog;
}

void watchdog_guard(struct watchdog *watchdog, const char *mountpoint)
{
	/* O_DIRECT: one write is one message */
	if (watchdog && write(watchdog->pipe, mountpoint, strlen(mountpoint) + 1) < 0)
		fprintf(stderr, "ryefs: the watchdog has ended: %m\n");
}

void watchdog_end(struct watchdog *watchdog)
{
	if (!watchdog)
		return;
	if (write(watchdog->pipe, "", 1) < 0 && errno != EPIPE)
		fprintf(stderr, "ryefs: the watchdog does not listen: %m\n");
	close(watchdog->pipe);
	while (waitpid(watchdog->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(watchdog);
}
