/* SPDX-License-Identifier: MIT */
/*
 * Two first-in-first-out lists: `waiting` for runs, `refused` for calls that only want an
 * answer. At most `jobs` threads take runs; one more may exist while `refused` is not empty,
 * so that full pools still answer. All signals are blocked in these threads: the program's
 * main thread handles them, and a write to a closed pipe is EPIPE.
 */
#include "exec/runq.h"

#include "base/auto.h"
#include "base/limits.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

/* Enough for our walks over JSON at its greatest depth; only touched pages count. */
#define STACK_SIZE (1 << 20)

struct list {
	struct rye_call *first, **last;
	size_t n;
};

struct worker {
	pthread_t thread;
	struct runq *runq;
	struct worker *next;
};

struct runq {
	pthread_mutex_t lock; /* all of this */
	pthread_cond_t work, gone; /* something to take; a thread has ended */
	struct list waiting, refused;
	struct worker *ended; /* have left the loop and want to be joined */
	size_t threads, idle, busy; /* busy: threads that carry out a run */
	size_t jobs;
	bool closing;
	runq_fn fn;
	void *arg;
};

static void append(struct list *list, struct rye_call *call)
{
	call->next = NULL;
	*list->last = call;
	list->last = &call->next;
	list->n++;
}

static struct rye_call *take(struct list *list)
{
	struct rye_call *call = list->first;

	list->first = call->next;
	if (!list->first)
		list->last = &list->first;
	list->n--;
	return call;
}

static bool remove_call(struct list *list, struct rye_call *call)
{
	for (struct rye_call **at = &list->first; *at; at = &(*at)->next) {
		if (*at != call)
			continue;
		*at = call->next;
		if (!*at)
			list->last = at;
		list->n--;
		return true;
	}
	return false;
}

/* Waits for work; false: none came for a while, or closing. With the lock held. */
static bool wait_for_work(struct runq *runq)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += RYE_IDLE_S;
	runq->idle++;
	while (!r && !runq->refused.n && !(runq->waiting.n && runq->busy < runq->jobs)) {
		if (runq->closing)
			r = ETIMEDOUT;
		else
			r = pthread_cond_timedwait(&runq->work, &runq->lock, &until);
	}
	runq->idle--;
	return !r;
}

static enum rye_code verdict_of(const struct runq *runq, struct rye_call *call, bool refused)
{
	enum rye_code code = call_cancelled(call);

	if (code == RYE_OK && runq->closing)
		code = RYE_CANCELLED;
	return code == RYE_OK && refused ? RYE_BUSY : code;
}

/* The next call and what to do with it; NULL: this thread may go. */
static struct rye_call *next_call(struct runq *runq, enum rye_code *ret_verdict)
{
	struct rye_call *call;

	if (!wait_for_work(runq))
		return NULL;
	if (runq->refused.n) {
		call = take(&runq->refused);
		*ret_verdict = verdict_of(runq, call, true);
		return call;
	}
	call = take(&runq->waiting);
	*ret_verdict = verdict_of(runq, call, false);
	if (*ret_verdict == RYE_OK)
		runq->busy++;
	return call;
}

static void *work(void *arg)
{
	struct worker *self = arg;
	struct runq *runq = self->runq;
	struct rye_call *call;
	enum rye_code verdict;

	pthread_mutex_lock(&runq->lock);
	while ((call = next_call(runq, &verdict))) {
		pthread_mutex_unlock(&runq->lock);
		runq->fn(runq->arg, call, verdict);
		pthread_mutex_lock(&runq->lock);
		if (verdict == RYE_OK)
			runq->busy--;
	}
	runq->threads--;
	self->next = runq->ended;
	runq->ended = self;
	pthread_cond_broadcast(&runq->gone);
	pthread_mutex_unlock(&runq->lock);
	return NULL;
}

/* With the lock held; they have nothing left to do but return. */
static void join_ended(struct runq *runq)
{
	while (runq->ended) {
		struct worker *worker = runq->ended;

		runq->ended = worker->next;
		pthread_mutex_unlock(&runq->lock);
		pthread_join(worker->thread, NULL);
		pthread_mutex_lock(&runq->lock);
		free(worker);
	}
}

static void start_thread(struct runq *runq)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	pthread_attr_t attr;
	sigset_t all, before;

	if (!worker)
		return;
	worker->runq = runq;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	if (pthread_create(&worker->thread, &attr, work, worker) == 0)
		runq->threads++;
	else
		free(worker);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* With the lock held: somebody idle for each waiting call, or a new thread. */
static void ensure_thread(struct runq *runq)
{
	size_t most = runq->jobs + (runq->refused.n ? 1 : 0);

	if (runq->idle >= runq->waiting.n + runq->refused.n || runq->threads >= most) {
		pthread_cond_signal(&runq->work);
		return;
	}
	start_thread(runq);
	join_ended(runq);
}

int runq_open(int jobs, runq_fn fn, void *arg, struct runq **ret, struct rye_err *err)
{
	struct runq *runq = calloc(1, sizeof(*runq));
	pthread_condattr_t attr;

	if (!runq)
		return rye_fail_sys(err, ENOMEM, "run queue");
	runq->jobs = jobs > 0 ? (size_t)jobs : RYE_JOBS_DEFAULT;
	if (runq->jobs > RYE_JOBS_MAX)
		runq->jobs = RYE_JOBS_MAX;
	runq->fn = fn;
	runq->arg = arg;
	runq->waiting.last = &runq->waiting.first;
	runq->refused.last = &runq->refused.first;
	pthread_mutex_init(&runq->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&runq->work, &attr);
	pthread_cond_init(&runq->gone, &attr);
	pthread_condattr_destroy(&attr);
	*ret = runq;
	return 0;
}

void runq_push(struct runq *runq, struct rye_call *call)
{
	WITH_LOCK(&runq->lock) {
		bool full = runq->closing || runq->waiting.n >= RYE_QUEUE_MAX;

		append(full ? &runq->refused : &runq->waiting, call);
		ensure_thread(runq);
	}
}

void runq_hurry(struct runq *runq, struct rye_call *call)
{
	WITH_LOCK(&runq->lock) {
		if (remove_call(&runq->waiting, call)) {
			append(&runq->refused, call);
			ensure_thread(runq);
		}
	}
}

void runq_close(struct runq *runq)
{
	if (!runq)
		return;
	WITH_LOCK(&runq->lock) {
		runq->closing = true;
		while (runq->waiting.n)
			append(&runq->refused, take(&runq->waiting));
		if (runq->refused.n)
			ensure_thread(runq);
		pthread_cond_broadcast(&runq->work);
		while (runq->threads)
			pthread_cond_wait(&runq->gone, &runq->lock);
		join_ended(runq);
	}
	pthread_mutex_destroy(&runq->lock);
	pthread_cond_destroy(&runq->work);
	pthread_cond_destroy(&runq->gone);
	free(runq);
}
