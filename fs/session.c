/* SPDX-License-Identifier: MIT */
/*
 * session.c - from options to a mount that answers, and to its end.
 *
 * Owns struct front and the signals. The main thread serves no request: it opens the first file
 * itself (so that OPEN has been refused before another process comes), waits for signals and for
 * the end of the loops, and takes the parts down: first those that answer waiting requests, last
 * the engine.
 */
#include "session.h"

#include "clock.h"
#include "mount/mount.h"
#include "proc.h"
#include "scope.h"
#include "session_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

/* How long processes that use a detached mount may go on before their requests get an error. */
#define GRACE_MS 500
#define PASSED_MS \
	500 /* between two looks whether a followed daemon has none inside any more, or has died */
#define LINGER_MS 100 /* between two looks whether the last run has ended */
#define GOES_MS 500 /* between the end of a mount and that of its connection */
/* How often the end of the first scan is looked for. */
#define SCAN_POLL_MS 20
/* So long a prompt is kept back for the sum, which would come into the next command line. */
#define PROMPT_MS 1000

struct session {
	struct front *front;
	struct daemon *daemon;
	struct loops *loops;
	struct watchdog *watchdog;
	struct handover *handover; /* NULL: when this daemon dies it is not mounted again */
	int signals; /* signalfd */
	int64_t began_ms; /* when the mount answered */
	bool summed_up;
};

/* Each file of spaces/ that is open needs a descriptor, and a run some ten. */
static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void block_signals(struct session *s)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR2);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* No thread reads it. Unblocked, the end of each run would interrupt this thread. */
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* The kernel learns that there is no OPEN, no OPENDIR and no FLUSH from the first of each: a
 * CREATE that came before it would still carry a handle. 0, or an errno in the pointer's place. */
static void *open_first(void *arg)
{
	const struct front *front = arg;
	auto_free char *path = NULL;
	int dir, file;

	if (asprintf(&path, "%s/README.md", front->opt->mountpoint) < 0)
		return (void *)(intptr_t)ENOMEM;
	dir = open(front->opt->mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return (void *)(intptr_t)errno;
	close(dir);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return (void *)(intptr_t)errno;
	close(file);
	return NULL;
}

/* On a thread of its own: were this process killed, one that waits for its own answer would not end, and the main
 * thread's end is what the watchdog sees (tests/e2e/watchdog.sh). */
static int first_open(struct front *front, struct rye_err *err)
{
	void *sys = NULL;
	pthread_t thread;
	int r = pthread_create(&thread, NULL, open_first, front);

	if (r)
		return session_fail_sys(err, r, "no thread");
	pthread_join(thread, &sys);
	return sys ? session_fail_sys(err, (int)(intptr_t)sys, "the mount does not answer") : 0;
}

/* Does the kernel end the connection within GOES_MS? */
static bool connection_goes(struct session *s)
{
	for (int left_ms = GOES_MS; left_ms > 0 && !loops_ended(s->loops); left_ms -= 10)
		poll(NULL, 0, 10);
	return loops_ended(s->loops);
}

/* From here on the watchdog knows what to end, and with what to go on. */
static void session_guard(struct session *s)
{
	watchdog_guard(s->watchdog, s->front->opt->mountpoint);
	if (s->handover && kept_can(s->front->opt, s->front))
		watchdog_keep(s->watchdog, s->front);
}

/* On the connection of a daemon before this one: as it was said, and not while that one reads. */
static int session_follow(struct session *s, struct rye_err *err)
{
	struct front *front = s->front;

	if (!front->init.epoch)
		return 0;
	if (device_say_init(front))
		return session_fail(err, "this program would speak to the kernel in another way");
	if (handover_mount(s->handover).lives && !relay_begin(front))
		return session_fail(err, "the daemon before this one does not let go of the mount");
	return 0;
}

static int session_begin(struct session *s, struct rye_err *err)
{
	struct front *front = s->front;

	if (session_mount(front, s->handover, err) || session_follow(s, err))
		return -1;
	session_guard(s);
	if (loops_start(front, &s->loops))
		return session_fail(err, "the kernel does not speak FUSE with us");
	if (first_open(front, err) == 0) {
		/* what INIT was is known now */
		session_guard(s);
		session_known(front);
		return 0;
	}
	/* Another process has unmounted it already: a regular end. */
	return connection_goes(s) ? 0 : -1;
}

/* ---- serving ---- */

/*
 * The first process leaves when the mount answers; at a terminal, which shows a prompt then, when
 * all is said that will be.
 */
static void sum_up(struct session *s)
{
	bool prompt = !s->front->opt->foreground && isatty(STDERR_FILENO);
	bool late = prompt && clock_ms() - s->began_ms >= PROMPT_MS;
	struct rye_counts counts;

	rye_counts(s->front->rye, &counts);
	s->summed_up = counts.scanned || late;
	if (counts.scanned)
		session_summary(s->front, &counts);
	else if (late)
		fprintf(stderr,
			"ryefs: mounted; items are still being verified, %s/.ryefs/doctor says "
			"how it stands\n",
			s->front->opt->mountpoint);
	if (s->summed_up)
		daemon_detach(s->daemon);
	if (s->summed_up || !prompt)
		daemon_ready(s->daemon);
}

/* Where it may mount the next daemon has a connection of its own. */
static void session_reload(struct session *s)
{
	struct front *front = s->front;
	int next;

	if (!front->reloads || atomic_load(&front->passed))
		return;
	if (!front->relay) {
		watchdog_reload(s->watchdog, -1);
		return;
	}
	next = relay_offer(front);
	if (next == -EMLINK)
		session_warn(front, "too many daemons before this one are still in use, so "
				    "none takes over");
	if (next < 0)
		return;
	watchdog_reload(s->watchdog, next);
	close(next);
}

/* The watchdog first: were this daemon to die between the two, two others would read the device. */
static void session_pass(struct session *s)
{
	struct front *front = s->front;
	bool stopped = relay_stop(front->relay, s->loops);

	if (stopped)
		watchdog_passed(s->watchdog);
	if (stopped && relay_pass(front)) {
		/* what lies there is the next one's to unmount */
		front->mount_id = -1;
		return;
	}
	relay_withdraw(front->relay);
	session_guard(s);
}

static void session_hear(struct session *s)
{
	struct front *front = s->front;

	switch (relay_hear(front)) {
	case RELAY_WANTED:
		session_pass(s);
		break;
	case RELAY_FAILED:
		session_warn(front, "another daemon was to take over and has ended instead");
		break;
	case RELAY_NOTHING:
		break;
	}
}

/* So often, in ms, the main thread looks about unasked; -1: never. */
static int session_pace(const struct session *s)
{
	bool others = relay_look(s->front);

	return !s->summed_up				? SCAN_POLL_MS :
	       others || atomic_load(&s->front->passed) ? PASSED_MS :
							  -1;
}

/* Until a signal asks for the end (true), or the mount is gone or all of it that is this daemon's (false). */
static bool session_serve(struct session *s)
{
	struct front *front = s->front;

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = s->signals, .events = POLLIN },
			{ .fd = front->ready_fd, .events = POLLIN },
			{ .fd = relay_fd(front->relay), .events = POLLIN },
		};
		struct signalfd_siginfo info;
		eventfd_t n;

		poll(fds, ARRAY_SIZE(fds), session_pace(s));
		if (fds[0].revents && read(s->signals, &info, sizeof(info)) > 0) {
			if (info.ssi_signo != SIGUSR2)
				return true;
			session_reload(s);
		}
		if (fds[1].revents)
			eventfd_read(front->ready_fd, &n);
		if (fds[2].revents)
			session_hear(s);
		if (loops_ended(s->loops) || (atomic_load(&front->passed) && relay_over(front)))
			return false;
		if (!s->summed_up)
			sum_up(s);
	}
}

/* Takes the mount out of the tree; processes that still use it have GRACE_MS to finish. */
static void session_detach(struct session *s)
{
	struct pollfd wait = { .fd = s->front->ready_fd, .events = POLLIN };
	int left_ms = GRACE_MS;

	session_stop_parked(s->front);
	if (session_on_top(s->front))
		mountpoint_detach(s->front->opt->mountpoint);
	while (left_ms > 0 && !loops_ended(s->loops)) {
		poll(&wait, 1, 10);
		left_ms -= 10;
	}
}

/* Runs that went on as threads are children of this process: it waits for their end, or for a
 * signal. */
static void session_linger(struct session *s)
{
	struct pollfd end = { .fd = s->signals, .events = POLLIN };
	struct signalfd_siginfo info;
	struct rye_counts counts;

	session_unmount(s->front);
	rye_counts(s->front->rye, &counts);
	while (counts.adopted && poll(&end, 1, LINGER_MS) == 0)
		rye_counts(s->front->rye, &counts);
	while (read(s->signals, &info, sizeof(info)) > 0)
		;
}

static int session(struct session *s, struct rye_err *err)
{
	struct front *front = s->front;
	int r = session_parts_open(front, s->handover, err);
	bool asked;

	/* The kernel has applied the calling process's umask already. The engine has read ours
	 * before: it is given to the processes of runs. */
	umask(0);
	if (r == 0)
		r = session_begin(s, err);
	if (r == 0) {
		s->began_ms = clock_ms();
		rye_death_forget(front->opt->mountpoint);
		sum_up(s);
		asked = session_serve(s);
		daemon_ready(s->daemon);
		if (asked) {
			watchdog_ending(s->watchdog);
			session_detach(s);
		}
	}
	session_stop_notices(front);
	if (s->loops)
		loops_end(s->loops);
	if (r == 0)
		session_linger(s);
	session_parts_close(front);
	return r;
}

/* False: the daemon before this one has ended, or says what is not known here. */
static bool take_kept(struct front *front, struct handover *handover)
{
	struct handover_mount mount = handover_mount(handover);

	if (mount.device < 0)
		return true;
	if (!mount.lives) {
		front->init = mount.init;
		front->init.same = false;
		return true;
	}
	mount.device = front->relay ? relay_follow(front, mount.device) : -1;
	handover_put(handover, &mount);
	return mount.device >= 0;
}

int session_run(struct options *opt)
{
	struct front front = { .opt = opt, .uid = geteuid(), .gid = getegid(), .ready_fd = -1 };
	struct session s = { .front = &front, .signals = -1 };
	struct rye_err err = { 0 };
	bool again = opt->again_fd >= 0;
	int status, r;

	if (again_wanted(opt))
		s.handover = handover_open(opt->again_fd);
	if (again && !s.handover) {
		fprintf(stderr, "ryefs: " AGAIN_WORD " is said by the watchdog of a mount alone\n");
		return 1;
	}
	if (s.handover && !proc_may_mount())
		front.relay = relay_open();
	if (again && !take_kept(&front, s.handover)) {
		handover_close(s.handover);
		relay_free(front.relay);
		return 1;
	}
	if (mountpoint_prepare(opt, again ? s.handover : NULL, &err)) {
		fprintf(stderr, "ryefs: %s\n", err.msg);
		again_failed(opt, s.handover, &err);
		handover_close(s.handover);
		relay_free(front.relay);
		return 1;
	}
	/* a watchdog is in the background already */
	status = daemon_start(!opt->foreground && !again, &s.daemon);
	if (status >= 0) {
		handover_close(s.handover);
		relay_free(front.relay);
		return status;
	}
	s.watchdog = watchdog_start(opt, s.handover);
	front.reloads = s.watchdog && s.handover && (front.relay || proc_may_mount());
	raise_files();
	block_signals(&s);
	clock_gettime(CLOCK_REALTIME, &front.started);
	front.ready_fd = eventfd(0, EFD_CLOEXEC);
	front.uring = opt->io_uring ? URING_NONE : URING_OFF;
	r = session(&s, &err);
	if (r) {
		fprintf(stderr, "ryefs: %s\n", err.msg);
		again_failed(opt, s.handover, &err);
	}
	daemon_end(s.daemon);
	watchdog_end(s.watchdog);
	close(s.signals);
	close(front.ready_fd);
	relay_free(front.relay);
	handover_close(s.handover);
	return r ? 1 : 0;
}
