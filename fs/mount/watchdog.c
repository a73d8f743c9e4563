/* SPDX-License-Identifier: MIT */
/*
 * watchdog.c - sees the daemon die, and ends what it has left behind.
 *
 * Owns a child process and the socket to it. The child holds no descriptor of the daemon's but
 * its end of that socket and, where the next daemon can go on with it (kept.c), the device, which it
 * closes when the daemon begins to end. It learns of the daemon's death by the signal that a parent
 * thread's death sends (PR_SET_PDEATHSIG): the daemon's main thread dies at once, while a pidfd stays
 * silent and the socket open as long as one stuck thread of it lives.
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
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

/* A killed process is gone in a millisecond, unless one of its threads cannot end. */
#define GONE_MS 50
#define LOOK_MS 5
/* What asks waits meanwhile, which is better than to let go of it: a busy machine takes its time for the
 * end of a big process. */
#define STOPS_MS 10000
/* After an abort the stuck thread goes on, and the process ends. */
#define TRIES 20

struct watchdog {
	pid_t pid;
	int socket; /* to the child */
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

/* Messages of one byte; longer ones are a mountpoint, or what is to be kept, with the device. */
#define SAID_END '\0' /* I end in order */
#define SAID_ENDING '.' /* I was asked to */
#define SAID_RELOAD \
	'+' /* another daemon is to take over, by the socket that comes with it, if one does */
#define SAID_PASSED '-' /* it has */

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

/* Has every thread gone that could still take a request? One that waits in a notification (state D) takes
 * none any more; it comes free when the next daemon answers what the directory's lock is held for. */
static bool reads_no_more(pid_t pid)
{
	char path[40];
	auto_dir DIR *tasks = NULL;
	const struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (!tasks)
		return errno == ENOENT;
	while ((entry = readdir(tasks))) {
		struct proc_stat stat;

		if (*entry->d_name != '.' && proc_stat(atoi(entry->d_name), &stat) == 0 &&
		    !strchr("DZX", stat.state))
			return false;
	}
	return true;
}

/* Twice: a thread may have been between two states. */
static bool stops_reading(pid_t pid)
{
	for (int left_ms = STOPS_MS, seen = 0; left_ms > 0; left_ms--) {
		if (is_gone(pid))
			return true;
		seen = reads_no_more(pid) ? seen + 1 : 0;
		if (seen == 2)
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

static void watchdog_unkeep(struct guarded *guarded)
{
	if (guarded->death.mount.device >= 0)
		close(guarded->death.mount.device);
	guarded->death.mount.device = -1;
}

static void become_next(struct guarded *guarded)
{
	again_look(guarded->daemon, guarded->pidfd, &guarded->death);
	again_mount(guarded->opt, guarded->handover, &guarded->death);
}

/* With the dead one's connection. Returns where that cannot be: then it has come to its end. False: it was not
 * tried. */
static bool go_on(struct guarded *guarded)
{
	bool stops = guarded->death.mount.device >= 0 && stops_reading(guarded->daemon);

	if (stops)
		become_next(guarded);
	watchdog_unkeep(guarded);
	return stops;
}

/* A daemon that has gone has closed /dev/fuse, and the kernel has ended the connection: only one
 * that cannot end is helped. While it lives no other mount gets its device number. */
static void after_death(struct guarded *guarded)
{
	bool tried;

	rye_end_leftovers(guarded->daemon, NULL);
	tried = go_on(guarded);
	for (int i = 0; i < TRIES && !goes_within(guarded->daemon, GONE_MS); i++)
		if (*guarded->mountpoint)
			connection_abort(guarded->minor, guarded->mountpoint);
	/* what a run had started in the meantime */
	rye_end_leftovers(guarded->daemon, NULL);
	if (tried || !guarded->handover || guarded->ending || !*guarded->mountpoint ||
	    !is_gone(guarded->daemon))
		return;
	/* the kernel takes rings apart, which have the device open, behind their process's end */
	if (mountpoint_id(guarded->mountpoint) == guarded->death.mount.id)
		connection_abort(guarded->minor, guarded->mountpoint);
	become_next(guarded);
}

static void learn_connection(struct guarded *guarded, const char *mountpoint)
{
	struct mountinfo mount;
	auto_free char *line = mountinfo_find(mountpoint, &mount);

	if (!line)
		return;
	guarded->ending = false;
	guarded->minor = minor(mount.dev);
	guarded->death.mount.id = mount.id;
	snprintf(guarded->mountpoint, sizeof(guarded->mountpoint), "%s", mountpoint);
}

/* A message and, if it brings one, a descriptor (else -1); its length. */
static ssize_t watchdog_receive(int socket, void *buf, size_t size, int *ret_fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { buf, size };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *got = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*ret_fd = -1;
	if (got && got->cmsg_type == SCM_RIGHTS && got->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(got), sizeof(int));
	return n;
}

static void learn_device(struct guarded *guarded, const void *text, int device)
{
	watchdog_unkeep(guarded);
	guarded->death.mount.device = device;
	memcpy(&guarded->death.mount.init, text, sizeof(struct front_init));
}

/* socket: to the daemon, or -1. */
static void hear_reload(struct guarded *guarded, int socket)
{
	struct again_death beside = guarded->death;

	beside.mount.lives = true;
	beside.mount.device = socket;
	if (guarded->handover && *guarded->mountpoint)
		again_reload(guarded->opt, guarded->handover, &beside);
	if (socket >= 0)
		close(socket);
}

enum heard {
	HEARD,
	HEARD_NOTHING, /* all of its threads have gone */
	HEARD_END, /* it ends by itself */
};

static enum heard hear_daemon(struct guarded *guarded, int socket)
{
	char text[PATH_MAX];
	int device = -1;
	ssize_t n = watchdog_receive(socket, text, sizeof(text) - 1, &device);

	if (n <= 0)
		return HEARD_NOTHING;
	text[n] = 0;
	if (device >= 0 && n == sizeof(struct front_init)) {
		learn_device(guarded, text, device);
		return HEARD;
	}
	if (n == 1 && *text == SAID_RELOAD) {
		hear_reload(guarded, device);
		return HEARD;
	}
	if (n == 1) {
		guarded->ending = true;
		watchdog_unkeep(guarded);
		/* the connection is not this daemon's any more */
		if (*text == SAID_PASSED)
			*guarded->mountpoint = 0;
		return *text == SAID_END ? HEARD_END : HEARD;
	}
	learn_connection(guarded, text);
	return HEARD;
}

static void watchdog_watch(struct guarded *guarded, int socket, int death)
{
	struct pollfd fds[] = { { .fd = death, .events = POLLIN },
				{ .fd = socket, .events = POLLIN } };

	for (;;) {
		bool dead = getppid() != guarded->daemon;
		enum heard heard = HEARD_NOTHING;

		if (poll(fds, ARRAY_SIZE(fds), dead ? 0 : -1) < 0)
			return;
		/* words that are there still count: they may be the last ones */
		if (fds[1].revents & POLLIN)
			heard = hear_daemon(guarded, socket);
		if (heard == HEARD_END)
			return;
		if (heard == HEARD)
			continue;
		if (dead || fds[0].revents || fds[1].revents) {
			after_death(guarded);
			return;
		}
	}
}

/* A daemon that goes on with another's device: from the first moment on its own death leaves that, too. */
static void begin_kept(struct guarded *guarded)
{
	struct handover_mount mount = { .device = -1 };

	if (guarded->handover && guarded->opt->again_fd >= 0)
		mount = handover_mount(guarded->handover);
	/* of one that lives it is that one's, until it has passed it on */
	if (mount.lives)
		mount.device = -1;
	guarded->death.mount = mount;
	guarded->death.mount.lives = false;
	guarded->death.mount.daemon = guarded->daemon;
	if (mount.device >= 0)
		learn_connection(guarded, guarded->opt->mountpoint);
}

static _Noreturn void run_watchdog(struct guarded *guarded, int socket)
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
	begin_kept(guarded);
	for (int fd = 0; fd < socket; fd++)
		if (fd != death && fd != handover && fd != guarded->death.mount.device)
			close(fd);
	guarded->pidfd = pidfd_open(guarded->daemon, 0);
	watchdog_watch(guarded, socket, death);
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
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ||
	    (watchdog->pid = fork()) < 0) {
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
	watchdog->socket = ends[1];
	return watchdog;
}

void watchdog_guard(struct watchdog *watchdog, const char *mountpoint)
{
	if (watchdog &&
	    send(watchdog->socket, mountpoint, strlen(mountpoint) + 1, MSG_NOSIGNAL) < 0)
		fprintf(stderr, "ryefs: the watchdog has ended: %m\n");
}

static void watchdog_tell(struct watchdog *watchdog, char what)
{
	if (send(watchdog->socket, &what, 1, MSG_NOSIGNAL) < 0 && errno != EPIPE &&
	    errno != ECONNRESET)
		fprintf(stderr, "ryefs: the watchdog does not listen: %m\n");
}

/* fd: goes with it; -1: none does. */
static void watchdog_send(struct watchdog *watchdog, void *what, size_t len, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { what, len };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = fd < 0 ? NULL : &control,
				  .msg_controllen = fd < 0 ? 0 : sizeof(control) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	if (watchdog)
		sendmsg(watchdog->socket, &message, MSG_NOSIGNAL);
}

void watchdog_keep(struct watchdog *watchdog, const struct front *front)
{
	struct front_init init = front->init;

	watchdog_send(watchdog, &init, sizeof(init), fuse_session_fd(front->session));
}

void watchdog_reload(struct watchdog *watchdog, int socket)
{
	char what = SAID_RELOAD;

	watchdog_send(watchdog, &what, 1, socket);
}

void watchdog_passed(struct watchdog *watchdog)
{
	if (watchdog)
		watchdog_tell(watchdog, SAID_PASSED);
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
	close(watchdog->socket);
	while (waitpid(watchdog->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(watchdog);
}
