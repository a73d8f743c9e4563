/* SPDX-License-Identifier: MIT */
/*
 * The main thread's wait for the call that is the thread's work. It sits in sigwaitinfo, which the
 * signals of a cancel end, and SIGUSR2 when the worker that ran the call has its outcome.
 */
#include "runner/runner_inner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

void wait_init(struct runner_wait *wait, const struct orders *orders)
{
	*wait = (struct runner_wait){ .orders = orders };
	sigemptyset(&wait->signals);
	sigaddset(&wait->signals, SIGTERM);
	sigaddset(&wait->signals, SIGINT);
	sigaddset(&wait->signals, SIGHUP);
	sigaddset(&wait->signals, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &wait->signals, NULL);
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
	for (;;) {
		int number = sigwaitinfo(&wait->signals, NULL);

		if (atomic_load(&wait->done))
			return;
		/* another process may send SIGUSR2, too */
		if (number < 0 || number == SIGUSR2)
			continue;
		if (wait->cancelled)
			raise(SIGKILL); /* recovery records it; nothing half-written remains */
		wait->cancelled = true;
		orders_stopping(wait->orders);
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
