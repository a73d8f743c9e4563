/* SPDX-License-Identifier: MIT */
/*
 * Work on a thread of this process, while the main thread takes the signals. The first one asks it to end;
 * the second one ends the process at once.
 */
#include "runner/runner_inner.h"

#include "scope.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Walks over JSON are recursive: as deep as its greatest nesting. */
#define JOB_STACK (4 << 20)

void runner_job_live(void *arg, struct rye_span text)
{
	live_put(arg, text);
}

static void *job_work(void *arg)
{
	struct runner_job *job = arg;

	job->work(job);
	atomic_store(&job->done, true);
	kill(getpid(), SIGUSR2);
	return NULL;
}

static void job_wait(struct runner_job *job, struct runner_wait *wait)
{
	/* the mark may have been there first */
	for (int number = SIGIO; !atomic_load(&job->done); number = wait_signal(wait))
		if (wait_heard(wait, number))
			(void)!eventfd_write(job->stop, 1);
}

/* Its thread has the mask of this one, so all signals come here. False: errno says why. */
static bool job_start(struct runner_job *job, pthread_t *ret)
{
	pthread_attr_t attr;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, JOB_STACK);
	r = pthread_create(ret, &attr, job_work, job);
	pthread_attr_destroy(&attr);
	errno = r;
	return !r;
}

int runner_job(const struct orders *orders, void (*work)(struct runner_job *job))
{
	auto_live struct live live = { .fd = -1 };
	auto_close int stop = -1;
	struct runner_job job = { .orders = orders, .work = work, .live = &live };
	struct rye_err err = { 0 };
	struct runner_wait wait;
	pthread_t thread;
	int r;

	live_open(orders, &live);
	wait_init(&wait, orders);
	job.stop = stop = eventfd(0, EFD_CLOEXEC);
	if (stop < 0 || !job_start(&job, &thread)) {
		rye_fail_sys(&err, errno, "cannot begin");
		return runner_fail(orders, &err);
	}
	job_wait(&job, &wait);
	pthread_join(thread, NULL);
	if (!job.outcome.reply) {
		rye_fail_sys(&err, ENOMEM, "cannot record the end");
		return runner_fail(orders, &err);
	}
	r = runner_end(orders, job.status, &job.outcome, &live);
	rye_outcome_done(&job.outcome);
	return r;
}
