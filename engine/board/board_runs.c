/* SPDX-License-Identifier: MIT */
/*
 * board_runs.c: what the door does with runs: takes orders, looks, cancels, says, reads, forgets. Of another
 * principal's run each says what it says of none. No lock, no state.
 */
#include "board/board_inner.h"

#include "memory.h"
#include "scope.h"

#include <errno.h>
#include <string.h>

static int run_row(void *arg, const struct board_cells *cells)
{
	board_run_of(cells, arg);
	return 0;
}

static int number_row(void *arg, const struct board_cells *cells)
{
	*(int64_t *)arg = cell_int(cells, 0);
	return 0;
}

/* In a transaction. ret->id is "" when there is none. */
static int run_get(struct board *board, const char *id, struct board_run *ret, struct rye_err *err)
{
	memset(ret, 0, sizeof(*ret));
	return board_step(board,
			  BOARD_ROWS(run_row, ret, "SELECT " RUN_COLUMNS " FROM run WHERE id = ?1",
				     DB_TEXT(id)),
			  NULL, err);
}

static int not_there(const char *id, struct rye_err *err)
{
	return rye_fail(err, RYE_NOT_FOUND, "there is no run %s of yours", id);
}

struct submission {
	const struct board_order *order;
	struct board_run *ret;
	bool added;
};

/* It was sent before, then this is what became of it; or it is another order's id. */
static int submitted_before(const struct submission *what, struct rye_err *err)
{
	const struct board_order *order = what->order;

	if (!strcmp(what->ret->sha, order->sha) && !strcmp(what->ret->principal, order->principal))
		return 0;
	memset(what->ret, 0, sizeof(*what->ret));
	rye_fail(err, RYE_STATE, "another order has the id %s", order->id);
	if (err)
		err->sys = EEXIST;
	return -(int)RYE_STATE;
}

static int submit_in(void *arg, struct board *board, struct rye_err *err)
{
	struct submission *what = arg;
	const struct board_order *order = what->order;
	int64_t waiting = 0;
	int changes = 0, r = run_get(board, order->id, what->ret, err);

	if (r || *what->ret->id)
		return r ? r : submitted_before(what, err);
	r = board_hold(board, order->principal, err);
	if (!r)
		r = board_step(board,
			       BOARD_ROWS(number_row, &waiting,
					  "SELECT count(*) FROM run WHERE principal = ?1 AND "
					  "state = 'queued'",
					  DB_TEXT(order->principal)),
			       NULL, err);
	if (!r && waiting >= order->queued) {
		rye_fail(err, RYE_BUSY, "%lld orders of yours wait already, that is the limit",
			 (long long)waiting);
		if (err)
			err->sys = EAGAIN;
		return -(int)RYE_BUSY;
	}
	if (!r)
		r = board_step(
			board,
			BOARD_QUERY("INSERT INTO run (id, principal, body, sha, labels, again, "
				    "jobs, state, made, sealed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
				    "?7, 'queued', {now}, ?8) ON CONFLICT (id) DO NOTHING",
				    DB_TEXT(order->id), DB_TEXT(order->principal),
				    DB_TEXT(order->body), DB_TEXT(order->sha),
				    DB_TEXT(order->labels), DB_INT(order->again),
				    DB_INT(order->jobs), DB_TEXT(order->sealed)),
			&changes, err);
	if (!r && changes)
		r = board_pin(board, order->id, order->manifest, err);
	if (!r)
		r = run_get(board, order->id, what->ret, err);
	what->added = changes > 0;
	return r || changes ? r : submitted_before(what, err);
}

int board_submit(struct board *board, const struct board_order *order, struct board_run *ret,
		 struct rye_err *err)
{
	struct submission what = { order, ret, false };
	int r = board_transaction(board, submit_in, &what, err);

	if (!r && what.added)
		board_wake(board, BOARD_ORDER, order->id);
	return r;
}

static int whole_row(void *arg, const struct board_cells *cells)
{
	struct board_run *run = arg;

	board_run_of(cells, run);
	run->receipt = cell_blob(cells, RUN_NEXT);
	run->late = cell_blob(cells, RUN_NEXT + 1);
	return 0;
}

int board_find(struct board *board, const char *principal, const char *id, struct board_run *ret,
	       struct rye_err *err)
{
	unsigned long since = memory_failures();
	int r;

	memset(ret, 0, sizeof(*ret));
	r = board_ask(board,
		      BOARD_ROWS(whole_row, ret,
				 "SELECT " RUN_COLUMNS ", receipt, late FROM run "
				 "WHERE id = ?1 AND principal = ?2",
				 DB_TEXT(id), DB_TEXT(principal)),
		      NULL, err);
	if (!r)
		r = memory_check(since, err);
	if (!r && !*ret->id)
		r = not_there(id, err);
	if (r)
		board_run_done(ret);
	return r;
}

struct board_listing {
	board_run_fn fn;
	void *arg;
};

static int list_row(void *arg, const struct board_cells *cells)
{
	const struct board_listing *listing = arg;
	struct board_run run;

	board_run_of(cells, &run);
	return listing->fn(listing->arg, &run);
}

int board_list(struct board *board, const char *principal, int64_t before, board_run_fn fn,
	       void *arg, struct rye_err *err)
{
	struct board_listing listing = { fn, arg };

	return board_ask(board,
			 BOARD_ROWS(list_row, &listing,
				    "SELECT " RUN_COLUMNS " FROM run WHERE principal = ?1 "
				    "AND (?2 = 0 OR made < ?2) ORDER BY made DESC, id LIMIT 1000",
				    DB_TEXT(principal), DB_INT(before)),
			 NULL, err);
}

struct telling {
	const char *principal, *id, *text;
	struct board_run *ret;
	int64_t *ret_n;
};

/* The run, which is this principal's and is not over. */
static int open_run(struct board *board, const struct telling *what, struct rye_err *err)
{
	int r = run_get(board, what->id, what->ret, err);

	if (r)
		return r;
	if (strcmp(what->ret->principal, what->principal) != 0)
		return not_there(what->id, err);
	if (board_is_over(what->ret->state))
		return rye_fail(err, RYE_STATE, "the run %s is over: %s", what->id,
				what->ret->state);
	return 0;
}

static int cancel_in(void *arg, struct board *board, struct rye_err *err)
{
	const struct telling *what = arg;
	int r = open_run(board, what, err);

	if (!r)
		r = board_step(
			board,
			BOARD_QUERY(
				"UPDATE run SET cancel = 1, "
				"sealed = CASE WHEN state = 'queued' THEN NULL ELSE sealed END, "
				"ended = CASE WHEN state = 'queued' THEN {now} ELSE ended END, "
				"state = CASE WHEN state = 'queued' THEN 'cancelled' ELSE state END "
				"WHERE id = ?1 AND state IN " OPEN_STATES,
				DB_TEXT(what->id)),
			NULL, err);
	return r ? r : run_get(board, what->id, what->ret, err);
}

int board_cancel(struct board *board, const char *principal, const char *id, struct board_run *ret,
		 struct rye_err *err)
{
	struct telling what = { principal, id, NULL, ret, NULL };
	int r = board_transaction(board, cancel_in, &what, err);

	/* a queued one is over by it */
	if (!r)
		board_wake(board, BOARD_WORD | BOARD_TOLD, id);
	return r;
}

static int said_row(void *arg, const struct board_cells *cells)
{
	*(int64_t *)arg = cell_int(cells, 0);
	return 1;
}

static int say_in(void *arg, struct board *board, struct rye_err *err)
{
	const struct telling *what = arg;
	int r = open_run(board, what, err);

	if (r)
		return r;
	return board_step(board,
			  BOARD_ROWS(said_row, what->ret_n,
				     "INSERT INTO word (run, n, text) SELECT ?1, count(*) + 1, ?2 "
				     "FROM word WHERE run = ?1 RETURNING n",
				     DB_TEXT(what->id), DB_TEXT(what->text)),
			  NULL, err);
}

int board_say(struct board *board, const char *principal, const char *id, const char *text,
	      int64_t *ret_n, struct rye_err *err)
{
	struct board_run run;
	struct telling what = { principal, id, text, &run, ret_n };
	int r = board_transaction(board, say_in, &what, err);

	if (!r)
		board_wake(board, BOARD_WORD, id);
	return r;
}

struct board_reading {
	int64_t off; /* of the next byte */
	size_t left;
	struct rye_buf *ret;
};

static int part_row(void *arg, const struct board_cells *cells)
{
	struct board_reading *reading = arg;
	int64_t from = cell_int(cells, 0);
	size_t len = 0, skip, n;
	const char *bytes = cells->engine->text(cells, 1, &len);

	/* a part begins where the last one ended */
	if (!bytes || from > reading->off || from + (int64_t)len <= reading->off)
		return bytes && from <= reading->off ? 0 : 1;
	skip = (size_t)(reading->off - from);
	n = MIN_OF(len - skip, reading->left);
	buf_add(reading->ret, bytes + skip, n);
	reading->off += (int64_t)n;
	reading->left -= n;
	return reading->left ? 0 : 1;
}

int board_read(struct board *board, const struct board_part *part, size_t max, struct rye_buf *ret,
	       struct rye_err *err)
{
	struct board_reading reading = { part->off, max, ret };
	int r = board_ask(board,
			  BOARD_ROWS(part_row, &reading,
				     "SELECT off, bytes FROM part WHERE run = ?1 AND file = ?2 "
				     "AND ends > ?3 ORDER BY off",
				     DB_TEXT(part->run), DB_TEXT(part->file), DB_INT(part->off)),
			  NULL, err);

	return !r && ret->failed ? memory_fail(err) : r;
}

static int body_row(void *arg, const struct board_cells *cells)
{
	buf_adds(arg, cell_text(cells, 0));
	return 1;
}

int board_body(struct board *board, const char *principal, const char *id, struct rye_buf *ret,
	       struct rye_err *err)
{
	int r = board_ask(board,
			  BOARD_ROWS(body_row, ret,
				     "SELECT body FROM run WHERE id = ?1 AND principal = ?2",
				     DB_TEXT(id), DB_TEXT(principal)),
			  NULL, err);

	if (!r && ret->failed)
		return memory_fail(err);
	return r || ret->len ? r : not_there(id, err);
}

static int forget_in(void *arg, struct board *board, struct rye_err *err)
{
	static const char *const statements[] = {
		"DELETE FROM part WHERE run = ?1",
		"DELETE FROM word WHERE run = ?1",
		"DELETE FROM pin WHERE run = ?1",
		"UPDATE run SET body = '', receipt = NULL, late = NULL WHERE id = ?1",
	};
	const struct telling *what = arg;
	int r = run_get(board, what->id, what->ret, err);

	if (r)
		return r;
	if (strcmp(what->ret->principal, what->principal) != 0)
		return not_there(what->id, err);
	if (!board_is_over(what->ret->state))
		return rye_fail(err, RYE_STATE, "the run %s goes on: cancel it first", what->id);
	for (size_t i = 0; !r && i < ARRAY_SIZE(statements); i++)
		r = board_step(board, BOARD_QUERY(statements[i], DB_TEXT(what->id)), NULL, err);
	return r;
}

int board_forget(struct board *board, const char *principal, const char *id, struct rye_err *err)
{
	struct board_run run;
	struct telling what = { principal, id, NULL, &run };

	return board_transaction(board, forget_in, &what, err);
}
