/* SPDX-License-Identifier: MIT */
/*
 * The main thread's wait for the call that is the thread's work. It sits in sigwaitinfo, which the
 * signals of a cancel end, and SIGUSR2 when the worker that ran the call has its outcome.
 */
#include "runner/runner_inner.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Without notices the thread can be ended by signals alone. */
static int watch_marks(int dir)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	if (fd < 0 || inotify_add_watch(fd, path, IN_CREATE | IN_MOVED_TO) < 0)
		return fd;
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC);
	return fd;
}

void wait_init(struct runner_wait *wait, const struct orders *orders)
{
	*wait = (struct runner_wait){ .orders = orders,
				      .leaves = !strcmp(json_str(orders->doc, "type"),
							ORDERS_REMOTE) };
	sigemptyset(&wait->signals);
	sigaddset(&wait->signals, SIGTERM);
	sigaddset(&wait->signals, SIGINT);
	sigaddset(&wait->signals, SIGHUP);
	sigaddset(&wait->signals, SIGUSR2);
	sigaddset(&wait->signals, SIGIO);
	pthread_sigmask(SIG_BLOCK, &wait->signals, NULL);
	wait->notices = watch_marks(wait->orders->dir);
}

/* Looks at the directory, and takes what the kernel has told of it. */
static bool wait_is_marked(const struct runner_wait *wait)
{
	char told[4096];

	while (wait->notices >= 0 && read(wait->notices, told, sizeof(told)) > 0)
		;
	return !faccessat(wait->orders->dir, CANCEL_MARK, F_OK, AT_SYMLINK_NOFOLLOW);
}

bool wait_heard(struct runner_wait *wait, int number)
{
	/* another process may send SIGUSR2, too */
	if (number < 0 || number == SIGUSR2 || (number == SIGIO && !wait_is_marked(wait)))
		return false;
	if (number != SIGIO) {
		/* a machine that goes down, mostly */
		if (wait->leaves && !wait_is_marked(wait))
			raise(SIGKILL);
		if (wait->signalled)
			raise(SIGKILL); /* recovery records it; nothing half-written remains */
		wait->signalled = true;
	}
	if (wait->cancelled)
		return false;
	orders_stopping(wait->orders);
	return wait->cancelled = true;
}

void wait_on_done(void *arg, const struct rye_outcome *outcome)
{
	struct runner_wait *wait = arg;

	wait->outcome = *outcome;
	rye_blob_ref(outcome->reply);
	rye_blob_ref(outcome->output);
	wait->outcome.trace = NULL;
	wait->outcome.message = "";
	atomic_store(&wait->done, true);
	kill(getpid(), SIGUSR2);
}

void wait_call(struct runner_wait *wait)
{
	/* the mark may have been there first */
	for (int number = SIGIO;; number = sigwaitinfo(&wait->signals, NULL)) {
		if (atomic_load(&wait->done))
			return;
		if (wait_heard(wait, number))
			rye_call_cancel(wait->call, RYE_CANCELLED);
	}
}

const char *wait_status(const struct runner_wait *wait)
{
	return wait->outcome.code == RYE_OK ? "completed" : wait->cancelled ? "cancelled" : "error";
}

void wait_done(struct runner_wait *wait)
{
	rye_call_unref(wait->call);
	rye_blob_unref(wait->outcome.reply);
	rye_blob_unref(wait->outcome.output);
}
