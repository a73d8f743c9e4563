/* SPDX-License-Identifier: MIT */
/*
 * Three first-in-first-out lists: `waiting` for runs, `nested` for those that children of runs
 * asked for, `refused` for calls that only want an answer. At most `jobs` threads take runs.
 * A run that waits for one of its own children lends it its place: one child of each run may
 * run beyond `jobs`, so a chain of runs never waits for a place that it holds itself. A run that
 * only waits for a thread of another process has stepped aside and holds no place. One more
 * thread may exist while `refused` is not empty, so that full pools still answer. All signals
 * are blocked in these threads: the program's main thread handles them, and a write to a
 * closed pipe is EPIPE. A guest is a thread of another that carries out one call itself and has a place
 * for so long; it takes no other.
 */
#include "run/run_inner.h"

#include "bounds.h"
#include "clock.h"
#include "scope.h"

#include <errno.h>
#include <time.h>

/* Enough for our walks over JSON at its greatest depth; only touched pages count. */
#define STACK_SIZE (1 << 20)

struct list {
	struct rye_call *first, **last;
	size_t n;
};

/* What a worker's call counts as. */
enum queue_place { PLACE_NONE, PLACE_OWN, PLACE_LENT, PLACE_ASIDE };

struct worker {
	pthread_t thread;
	struct runq *runq;
	struct rye_call *call; /* that it has taken; what follows is of this one */
	enum rye_code verdict;
	enum queue_place place;
	uint64_t parent; /* that lends the place */
	bool guest; /* `thread` is not there */
	struct worker *next; /* of `workers`, then of `ended` */
};

struct runq {
	pthread_mutex_t lock; /* all of this, and the workers but for `thread` and `runq` */
	pthread_cond_t work, gone; /* something to take; a thread has ended */
	struct list waiting, nested, refused;
	struct worker *workers;
	struct worker *ended; /* have left the loop and want to be joined */
	size_t threads, idle, busy, lent; /* busy: threads that run in a place of their own */
	size_t aside; /* threads that only wait for what another process does */
	size_t guests; /* none of `threads` */
	size_t jobs;
	bool closing;
	runq_fn fn;
	void *arg;
};

static void queue_append(struct list *list, struct rye_call *call)
{
	call->next = NULL;
	*list->last = call;
	list->last = &call->next;
	list->n++;
}

static struct rye_call *take_first(struct list *list)
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

/* With the lock held: is the place of this run not lent yet? */
static bool may_lend(const struct runq *runq, uint64_t parent)
{
	for (const struct worker *at = runq->workers; at; at = at->next)
		if (at->place == PLACE_LENT && at->parent == parent)
			return false;
	return true;
}

/* With the lock held: the first of `nested` that may run now; NULL: none. */
static struct rye_call *next_nested(const struct runq *runq)
{
	for (struct rye_call *at = runq->nested.first; at; at = at->next)
		if (runq->busy < runq->jobs || may_lend(runq, at->parent))
			return at;
	return NULL;
}

/* With the lock held. */
static bool has_work(const struct runq *runq)
{
	return runq->refused.n || (runq->waiting.n && runq->busy < runq->jobs) || next_nested(runq);
}

/* Waits for work; false: none came for a while, or closing. With the lock held. */
static bool wait_for_work(struct runq *runq)
{
	int64_t end = clock_ns() + RYE_IDLE_S * NS_PER_S;
	int r = 0;

	runq->idle++;
	while (!r && !has_work(runq)) {
		if (runq->closing)
			r = ETIMEDOUT;
		else
			r = clock_cond_wait(&runq->work, &runq->lock, end);
	}
	runq->idle--;
	/* it may have come when the time was over, to a thread that was counted as idle */
	return has_work(runq);
}

static enum rye_code verdict_of(const struct runq *runq, struct rye_call *call, bool refused)
{
	enum rye_code code = call_cancelled(call);

	if (code == RYE_OK && runq->closing)
		code = RYE_CANCELLED;
	return code == RYE_OK && refused ? RYE_BUSY : code;
}

/* With the lock held: gives a place to what the worker has taken. */
static void take_place(struct runq *runq, struct worker *self, bool nested)
{
	if (self->verdict != RYE_OK)
		return;
	self->place = nested && runq->busy >= runq->jobs ? PLACE_LENT : PLACE_OWN;
	self->parent = self->call->parent;
	runq->busy += self->place == PLACE_OWN;
	runq->lent += self->place == PLACE_LENT;
}

static void leave_place(struct runq *runq, struct worker *self)
{
	runq->busy -= self->place == PLACE_OWN;
	runq->lent -= self->place == PLACE_LENT;
	runq->aside -= self->place == PLACE_ASIDE;
	self->place = PLACE_NONE;
}

/* With the lock held. */
static void unlist_worker(struct runq *runq, const struct worker *self)
{
	struct worker **at = &runq->workers;

	while (*at != self)
		at = &(*at)->next;
	*at = self->next;
}

/* With the lock held: what is queued from here on counts on other threads. */
static void leave_pool(struct runq *runq, struct worker *self)
{
	unlist_worker(runq, self);
	runq->threads--;
	self->next = runq->ended;
	runq->ended = self;
	pthread_cond_broadcast(&runq->gone);
}

/* The last call is over; the next one and what to do with it. False: the thread has left the pool. */
static bool next_call(struct runq *runq, struct worker *self)
{
	struct rye_call *nested;

	GUARD(&runq->lock);
	leave_place(runq, self);
	if (!wait_for_work(runq)) {
		leave_pool(runq, self);
		return false;
	}
	nested = next_nested(runq);
	if (runq->refused.n) {
		self->call = take_first(&runq->refused);
		self->verdict = verdict_of(runq, self->call, true);
		return true;
	}
	if (nested)
		remove_call(&runq->nested, nested);
	self->call = nested ? nested : take_first(&runq->waiting);
	self->verdict = verdict_of(runq, self->call, false);
	take_place(runq, self, nested);
	return true;
}

static void *queue_work(void *arg)
{
	struct worker *self = arg;
	struct runq *runq = self->runq;

	while (next_call(runq, self))
		runq->fn(runq->arg, self->call, self->verdict);
	return NULL;
}

/* Without the lock; they have nothing left to do but return. */
static void join_all(struct worker *ended)
{
	while (ended) {
		struct worker *next = ended->next;

		pthread_join(ended->thread, NULL);
		free(ended);
		ended = next;
	}
}

/* With the lock held. */
static void start_thread(struct runq *runq)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	pthread_attr_t attr;

	if (!worker)
		return;
	worker->runq = runq;
	HOLD_SIGNALS();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	if (pthread_create(&worker->thread, &attr, queue_work, worker) == 0) {
		runq->threads++;
		worker->next = runq->workers;
		runq->workers = worker;
	} else {
		free(worker);
	}
	pthread_attr_destroy(&attr);
}

/* With the lock held: an idle thread for each waiting call, or a new one. */
static void queue_ensure_thread(struct runq *runq)
{
	size_t most = runq->jobs + runq->lent + runq->aside + (runq->refused.n ? 1 : 0) +
		      (next_nested(runq) ? 1 : 0);
	size_t wanted = runq->waiting.n + runq->nested.n + runq->refused.n;

	if (runq->idle >= wanted || runq->threads >= most)
		pthread_cond_signal(&runq->work);
	else
		start_thread(runq);
}

/*
 * With the lock held: will a thread take it? Where none could be started, those that run may all wait
 * for what the nested call of one of them comes to; one that is free, or runs a sibling, does not.
 */
static bool will_be_taken(const struct runq *runq, uint64_t parent)
{
	for (const struct worker *at = runq->workers; at; at = at->next)
		if (!at->guest && (!parent || at->place == PLACE_NONE || at->parent == parent))
			return true;
	return false;
}

int runq_open(int jobs, runq_fn fn, void *arg, struct runq **ret, struct rye_err *err)
{
	struct runq *runq = calloc(1, sizeof(*runq));

	if (!runq)
		return rye_fail_sys(err, ENOMEM, "run queue");
	runq->jobs = jobs > 0 ? (size_t)jobs : RYE_JOBS_DEFAULT;
	if (runq->jobs > RYE_JOBS_MAX)
		runq->jobs = RYE_JOBS_MAX;
	runq->fn = fn;
	runq->arg = arg;
	runq->waiting.last = &runq->waiting.first;
	runq->nested.last = &runq->nested.first;
	runq->refused.last = &runq->refused.first;
	pthread_mutex_init(&runq->lock, NULL);
	clock_cond_init(&runq->work);
	clock_cond_init(&runq->gone);
	*ret = runq;
	return 0;
}

bool runq_push(struct runq *runq, struct rye_call *call, uint64_t parent)
{
	struct worker *ended = NULL;
	bool taken = true;

	call->parent = parent;
	{
		GUARD(&runq->lock);
		struct list *list = parent ? &runq->nested : &runq->waiting;
		bool full = runq->closing || list->n >= RYE_QUEUE_MAX;

		queue_append(full ? &runq->refused : list, call);
		queue_ensure_thread(runq);
		taken = will_be_taken(runq, parent) ||
			!remove_call(full ? &runq->refused : list, call);
		ended = steal(&runq->ended);
	}
	join_all(ended);
	return taken;
}

/* With the lock held. */
static struct worker *find_worker(const struct runq *runq, const struct rye_call *call)
{
	struct worker *worker = runq->workers;

	while (worker && worker->call != call)
		worker = worker->next;
	return worker;
}

/* ---- guests ---- */

bool runq_enter(struct runq *runq, struct rye_call *call)
{
	struct worker *guest = calloc(1, sizeof(*guest));
	bool enters = false;

	if (!guest)
		return false;
	*guest = (struct worker){ .runq = runq, .call = call, .guest = true };
	call->parent = 0;
	{
		GUARD(&runq->lock);
		/* those that wait were first */
		enters = !runq->closing && !runq->waiting.n && !runq->nested.n &&
			 runq->busy < runq->jobs;
		if (enters) {
			take_place(runq, guest, false);
			guest->next = runq->workers;
			runq->workers = guest;
			runq->guests++;
		}
	}
	if (!enters)
		free(guest);
	return enters;
}

void runq_leave(struct runq *runq, const struct rye_call *call)
{
	auto_free struct worker *guest = NULL;

	GUARD(&runq->lock);
	guest = find_worker(runq, call);
	leave_place(runq, guest);
	unlist_worker(runq, guest);
	runq->guests--;
	if (has_work(runq))
		pthread_cond_signal(&runq->work);
	pthread_cond_broadcast(&runq->gone);
}

void runq_carry(struct runq *runq, struct rye_call *call)
{
	enum rye_code verdict;

	{
		GUARD(&runq->lock);
		verdict = verdict_of(runq, call, false);
	}
	runq->fn(runq->arg, call, verdict);
	runq_leave(runq, call);
}

void runq_step_aside(struct runq *runq, const struct rye_call *call)
{
	GUARD(&runq->lock);
	struct worker *self = find_worker(runq, call);

	if (!self || self->place == PLACE_NONE || runq->aside >= RYE_ASIDE_MAX)
		return;
	leave_place(runq, self);
	self->place = PLACE_ASIDE;
	runq->aside++;
	if (runq->waiting.n || runq->nested.n)
		queue_ensure_thread(runq);
}

void runq_hurry(struct runq *runq, struct rye_call *call)
{
	GUARD(&runq->lock);
	if (remove_call(&runq->waiting, call) || remove_call(&runq->nested, call)) {
		queue_append(&runq->refused, call);
		queue_ensure_thread(runq);
	}
}

void runq_close(struct runq *runq)
{
	if (!runq)
		return;
	{
		GUARD(&runq->lock);
		runq->closing = true;
		while (runq->waiting.n)
			queue_append(&runq->refused, take_first(&runq->waiting));
		while (runq->nested.n)
			queue_append(&runq->refused, take_first(&runq->nested));
		if (runq->refused.n)
			queue_ensure_thread(runq);
		pthread_cond_broadcast(&runq->work);
		while (runq->threads || runq->guests)
			pthread_cond_wait(&runq->gone, &runq->lock);
	}
	join_all(runq->ended);
	pthread_mutex_destroy(&runq->lock);
	pthread_cond_destroy(&runq->work);
	pthread_cond_destroy(&runq->gone);
	free(runq);
}
