/* SPDX-License-Identifier: MIT */
/*
 * The main thread's wait for the call that is the thread's work. It sits in sigwaitinfo, which the
 * signals of a cancel end, and SIGUSR2 when the worker that ran the call has its outcome.
 */
#include "runner/runner_inner.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Where the kernel gives no notices, so often the directory is looked at. */
#define UNNOTICED_NS 500000000

/*
 * A name that is made there is told by SIGIO. Not by inotify, whose end the end of the process would wait for: 8 to 12 ms,
 * and what waits for the thread with it. A descriptor of its own: the close of any copy ends the notices.
 */
static int watch_marks(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && fcntl(fd, F_NOTIFY, (long)(DN_CREATE | DN_MULTISHOT)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
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

int wait_signal(const struct runner_wait *wait)
{
	const struct timespec period = { .tv_nsec = UNNOTICED_NS };
	int number;

	if (wait->notices >= 0)
		return sigwaitinfo(&wait->signals, NULL);
	number = sigtimedwait(&wait->signals, NULL, &period);
	return number < 0 ? SIGIO : number;
}

static bool wait_is_marked(const struct runner_wait *wait)
{
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
	for (int number = SIGIO;; number = wait_signal(wait)) {
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
