/* SPDX-License-Identifier: MIT */
/*
 * worker.c: the loop of a worker: takes what fits while it has a free place, renews, tells what comes out,
 * settles. One thread; it never waits for a run. Nothing it holds has to survive it: its successor of the
 * same name finds claims on the board, threads on the disk and what was begun in executed.db.
 */
#include "worker/worker_inner.h"

#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <poll.h>
#include <sys/eventfd.h>

/* How often output is told, and without anything to do: how long a lost wake-up is not noticed. */
#define TELL_MS 100
#define POLL_MS 5000
/* Behind an error of the board. */
#define AGAIN_MS 200
/* How often leases of others are looked at: each look is a statement, and a fleet has many workers. */
#define EXPIRE_MS 1000

static void errand_free(struct errand *errand)
{
	errand_aside_end(errand);
	threads_close(errand->threads);
	order_done(&errand->order);
	rye_blob_unref(errand->body);
	rye_blob_unref(errand->sealed);
	errand_pieces_end(errand, NULL);
	buf_done(&errand->receipt);
	buf_done(&errand->lent_names);
	env_done(&errand->lent);
	buf_done(&errand->news.line);
	free(errand);
}

static void errands_free(struct node_worker *worker)
{
	while (worker->errands) {
		struct errand *next = worker->errands->next;

		errand_free(worker->errands);
		worker->errands = next;
	}
}

/* Takes the claim over. */
static struct errand *errand_new(struct node_worker *worker, struct board_claim *claim)
{
	struct errand *errand = memory_note(calloc(1, sizeof(*errand)));

	if (!errand)
		return NULL;
	errand->worker = worker;
	errand->claim = claim->run;
	errand->claim.receipt = errand->claim.late = NULL;
	errand->body = steal(&claim->body);
	errand->sealed = steal(&claim->sealed);
	errand->renew_at = clock_ms() + worker->seat.lease_ms / 3;
	errand->next = worker->errands;
	worker->errands = errand;
	worker->n_errands++;
	return errand;
}

/* What was claimed under this name before: begun, then it is gone on with; not begun, then it is begun. */
static int take_up(struct node_worker *worker, struct rye_err *err)
{
	for (int n = 0;; n++) {
		auto_claim struct board_claim claim = { .body = NULL };
		int r = board_claimed(worker->board, &worker->seat, n, &claim, err);
		bool begun = false;
		struct errand *errand;

		if (r <= 0)
			return r;
		r = executed_has(worker->executed, claim.run.id, &begun, err);
		if (r)
			return r;
		errand = errand_new(worker, &claim);
		if (!errand)
			return memory_fail(err);
		if (!begun)
			errand_begin(errand);
		else if (!errand_adopt(errand))
			errand->gone = true;
	}
}

static int take_one(struct node_worker *worker, struct rye_err *err)
{
	auto_claim struct board_claim claim = { .body = NULL };
	int r = board_claim(worker->board, &worker->seat, &claim, err);
	struct errand *errand;

	if (r <= 0)
		return r;
	errand = errand_new(worker, &claim);
	if (!errand)
		return memory_fail(err);
	errand_begin(errand);
	return 1;
}

/* What it has left is known, or why not: both are told by its receipt. */
static void errand_left(struct errand *errand, int r, const struct rye_err *why)
{
	(void)r;
	(void)why;
	errand->has_left = true;
}

static int look_at_left(struct errand *errand, struct rye_err *err)
{
	(void)err;
	errand_leave(errand);
	return 0;
}

static int errand_settle(struct errand *errand, struct rye_err *err)
{
	enum board_settled is;
	int r = 0;

	if (errand->threads && !errand->end.state && errand_has_tree(errand) && !errand->has_left) {
		errand_aside(errand, look_at_left, errand_left);
		return 0;
	}
	if (errand->threads && !errand->end.state) {
		r = errand_tell_all(errand, err);
		/* lost meanwhile: its files are no longer taken */
		if (!r || r == -(int)RYE_STATE || r == -(int)RYE_NOT_FOUND)
			r = errand_receipt(errand, err);
	}
	if (!r)
		r = board_settle(errand->worker->board, &errand->claim, &errand->end, &is, err);
	if (r)
		return r;
	/* behind what others wait for: were it lost, what was reserved would stay counted here */
	if (errand->end.used)
		executed_spend(errand->worker->executed, errand->claim.principal, errand->end.used,
			       NULL, NULL);
	errand_item_done(errand);
	errand_clear(errand);
	return 0;
}

/* One look at a run. woken: something was done to the board. */
static int errand_step(struct errand *errand, bool woken, struct rye_err *err)
{
	int64_t now = clock_ms();
	int r = 0;

	if (errand->gone)
		return 0;
	if (errand->aside.under_way)
		return errand_aside_step(errand, woken, err);
	if (errand->ended)
		return errand_settle(errand, err);
	if (woken || now >= errand->renew_at)
		r = errand_hear(errand, err);
	if (!r && now >= errand->look_at) {
		errand->look_at = now + TELL_MS;
		r = errand_tell(errand, err);
		if (r == -(int)RYE_STATE)
			r = 0;
	}
	return r;
}

static int step_all(struct node_worker *worker, bool woken, struct rye_err *err)
{
	int worst = 0;

	for (struct errand **at = &worker->errands; *at;) {
		struct errand *errand = *at;
		int r = errand_step(errand, woken, err);

		worst = worst ? worst : r;
		if (!errand->gone) {
			at = &errand->next;
			continue;
		}
		*at = errand->next;
		worker->n_errands--;
		errand_free(errand);
	}
	return worst;
}

static bool is_stopped(const struct node_worker *worker)
{
	struct pollfd polled = { .fd = worker->ask.stop, .events = POLLIN };

	return poll(&polled, 1, 0) > 0;
}

/* Everything that can be done now. woken: a run may have been told something. 1: something was taken. */
static int worker_round(struct node_worker *worker, bool woken, struct rye_err *err)
{
	eventfd_t n;
	int taken = 0, r = 0;

	(void)!eventfd_read(worker->wake, &n);
	if (clock_ms() >= worker->expire_at) {
		r = board_expire(worker->board, &worker->seat, err);
		worker->expire_at = clock_ms() + MIN_OF(EXPIRE_MS, worker->seat.lease_ms / 4);
	}
	if (!r)
		r = step_all(worker, woken, err);
	while (!r && worker->n_errands < worker->slots) {
		r = take_one(worker, err);
		if (r <= 0)
			break;
		taken = 1;
		r = step_all(worker, false, err);
	}
	return r < 0 ? r : taken;
}

/* With a place that is free it would take an order; only one that has runs is told something of them. */
static unsigned news_of(const struct node_worker *worker)
{
	return (worker->n_errands < worker->slots ? BOARD_ORDER : 0u) |
	       (worker->n_errands ? BOARD_WORD : 0u);
}

static int64_t next_look(const struct node_worker *worker)
{
	return worker->n_errands ? TELL_MS : MIN_OF(POLL_MS, worker->seat.lease_ms);
}

/*
 * It has been idle for long and ends. Its name is given up before it looks a last time: what a door has put
 * on the board until then is seen here, and behind that the door sees that no worker is there. True: there is something, and
 * the name was still free.
 */
static bool stays(struct node_worker *worker)
{
	bool waits = false;
	struct rye_err err = { 0 };

	worker_leave(worker);
	return !board_waits(worker->board, &worker->seat, &waits, &err) && waits &&
	       !worker_enter(worker, &err);
}

static int worker_loop(struct node_worker *worker, struct rye_err *err)
{
	int64_t idle_since = clock_ms();
	unsigned heard = BOARD_WORD;

	while (!is_stopped(worker)) {
		int r = worker_round(worker, heard & BOARD_WORD, err);

		if (r < 0 && err->code != RYE_BUSY && err->code != RYE_IO && !err_scarce(err))
			return r;
		if (r < 0)
			log_line(&worker->log, RYE_LOG_WARN, "worker", "%s", err->msg);
		if (r || worker->n_errands)
			idle_since = clock_ms();
		if (worker->ask.idle_ms && clock_ms() - idle_since >= worker->ask.idle_ms) {
			if (!stays(worker))
				return 0;
			continue;
		}
		heard = board_wait(worker->board, worker->wake, news_of(worker),
				   r < 0 ? AGAIN_MS : next_look(worker));
	}
	return 0;
}

int worker_serve(const struct worker_ask *ask, struct rye_err *err)
{
	struct node_worker worker = { .ask = *ask, .log = ask->log, .lock = -1, .wake = -1 };
	int r = worker_open(&worker, err);

	if (!r)
		r = take_up(&worker, err);
	if (!r)
		r = worker_loop(&worker, err);
	errands_free(&worker);
	worker_done(&worker);
	return r;
}
