/* SPDX-License-Identifier: MIT */
/*
 * Orders of the type "directive": a model works through it (agent/agent.h), on a thread of this
 * process; the main thread takes the signals. The first one asks it to end, which it does within
 * the time of a request that is broken off; the second one ends the process at once.
 */
#include "runner/runner_inner.h"

#include "agent/agent.h"
#include "scope.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Walks over JSON are recursive: as deep as its greatest nesting. */
#define DIRECTIVE_STACK (4 << 20)

struct directive_work {
	struct agent_ask ask;
	struct agent_end end;
	_Atomic bool done;
};

static void directive_live(void *arg, struct rye_span text)
{
	live_put(arg, text);
}

static void *directive_work(void *arg)
{
	struct directive_work *work = arg;

	agent_run(&work->ask, &work->end);
	atomic_store(&work->done, true);
	kill(getpid(), SIGUSR2);
	return NULL;
}

static void directive_wait(struct directive_work *work, struct runner_wait *wait)
{
	/* the mark may have been there first */
	for (int number = SIGIO; !atomic_load(&work->done);
	     number = sigwaitinfo(&wait->signals, NULL))
		if (wait_heard(wait, number))
			(void)!eventfd_write(work->ask.stop, 1);
}

/* Its thread has the mask of this one, so all signals come here. False: errno says why. */
static bool directive_start(struct directive_work *work, pthread_t *ret)
{
	pthread_attr_t attr;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, DIRECTIVE_STACK);
	r = pthread_create(ret, &attr, directive_work, work);
	pthread_attr_destroy(&attr);
	errno = r;
	return !r;
}

int runner_directive(const struct orders *orders)
{
	auto_live struct live live = { .fd = -1 };
	auto_close int stop = -1;
	struct directive_work work = { .ask = { .doc = orders->doc,
						.dir = orders->dir,
						.live = directive_live,
						.live_arg = &live } };
	struct rye_err err = { 0 };
	struct runner_wait wait;
	pthread_t thread;
	int r;

	live_open(orders, &live);
	wait_init(&wait, orders);
	work.ask.stop = stop = eventfd(0, EFD_CLOEXEC);
	if (stop < 0 || !directive_start(&work, &thread)) {
		rye_fail_sys(&err, errno, "cannot begin");
		return runner_fail(orders, &err);
	}
	directive_wait(&work, &wait);
	pthread_join(thread, NULL);
	if (!work.end.outcome.reply) {
		rye_fail_sys(&err, ENOMEM, "cannot record the end");
		return runner_fail(orders, &err);
	}
	r = runner_end(orders, work.end.status, &work.end.outcome, &live);
	rye_outcome_done(&work.end.outcome);
	return r;
}
