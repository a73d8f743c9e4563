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
#include <sys/pidfd.h>
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
	int pidfd; /* of the daemon, or -1 */
	char mountpoint[PATH_MAX]; /* "" until it is told */
	unsigned minor;
	bool ending; /* the daemon was asked to end */
	const struct options *opt;
	struct handover *handover; /* or NULL */
	struct again_death death;
};

/* Messages of one byte; longer ones are a mountpoint. */
#define SAID_END '\0' /* I end in order */
#define SAID_ENDING '.' /* I was asked to */
#define SAID_RELOAD '+' /* another daemon is to take over */

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
static void after_death(struct guarded *guarded)
{
	rye_end_leftovers(guarded->daemon, NULL);
	for (int i = 0; i < TRIES && !goes_within(guarded->daemon, GONE_MS); i++)
		if (*guarded->mountpoint)
			connection_abort(guarded->minor, guarded->mountpoint);
	/* what a run had started in the meantime */
	rye_end_leftovers(guarded->daemon, NULL);
	if (!guarded->handover || guarded->ending || !*guarded->mountpoint ||
	    !is_gone(guarded->daemon))
		return;
	again_look(guarded->daemon, guarded->pidfd, &guarded->death);
	again_mount(guarded->opt, guarded->handover, &guarded->death);
}

static void learn_connection(struct guarded *guarded, const char *mountpoint)
{
	struct mountinfo mount;
	auto_free char *line = mountinfo_find(mountpoint, &mount);

	if (!line)
		return;
	guarded->minor = minor(mount.dev);
	guarded->death.mount = (struct handover_mount){ mount.id, guarded->daemon, false };
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
	if (n == 1 && *text == SAID_RELOAD) {
		guarded->death.mount.lives = true;
		if (guarded->handover && *guarded->mountpoint)
			again_reload(guarded->opt, guarded->handover, &guarded->death);
		guarded->death.mount.lives = false;
		return true;
	}
	if (n == 1) {
		guarded->ending = true;
		return *text != SAID_END;
	}
	learn_connection(guarded, text);
	return true;
}

static void watchdog_watch(struct guarded *guarded, int pipe, int death)
{
	struct pollfd fds[] = { { .fd = death, .events = POLLIN },
				{ .fd = pipe, .events = POLLIN } };

	for (;;) {
		bool dead = getppid() != guarded->daemon;

		if (poll(fds, ARRAY_SIZE(fds), dead ? 0 : -1) < 0)
			return;
		/* words that are there still count: they may be the last ones */
		if (fds[1].revents & POLLIN) {
			if (!hear_daemon(guarded, pipe))
				return;
			continue;
		}
		if (dead || fds[0].revents || fds[1].revents & POLLHUP) {
			after_death(guarded);
			return;
		}
	}
}

static _Noreturn void run_watchdog(struct guarded *guarded, int pipe)
{
	int handover = guarded->handover ? handover_fd(guarded->handover) : -1;
	sigset_t all;
	int death;

	prctl(PR_SET_NAME, "ryefs-watchdog");
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &guarded->death.signals);
	sigemptyset(&all);
	sigaddset(&all, SIGUSR1);
	death = signalfd(-1, &all, SFD_CLOEXEC);
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	for (int fd = 0; fd < pipe; fd++)
		if (fd != death && fd != handover)
			close(fd);
	guarded->pidfd = pidfd_open(guarded->daemon, 0);
	watchdog_watch(guarded, pipe, death);
	_exit(0);
}

/* ---- in the daemon ---- */

struct watchdog *watchdog_start(const struct options *opt, struct handover *handover)
{
	struct watchdog *watchdog = calloc(1, sizeof(*watchdog));
	int ends[2] = { -1, -1 };
	struct guarded guarded = { .daemon = getpid(), .opt = opt, .handover = handover };

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
		run_watchdog(&guarded, ends[0]);
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

static void watchdog_tell(struct watchdog *watchdog, char what)
{
	if (write(watchdog->pipe, &what, 1) < 0 && errno != EPIPE)
		fprintf(stderr, "ryefs: the watchdog does not listen: %m\n");
}

void watchdog_reload(struct watchdog *watchdog)
{
	if (watchdog)
		watchdog_tell(watchdog, SAID_RELOAD);
}

void watchdog_ending(struct watchdog *watchdog)
{
	if (watchdog)
		watchdog_tell(watchdog, SAID_ENDING);
}

void watchdog_end(struct watchdog *watchdog)
{
	if (!watchdog)
		return;
	watchdog_tell(watchdog, SAID_END);
	close(watchdog->pipe);
	while (waitpid(watchdog->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(watchdog);
}
