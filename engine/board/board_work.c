/* SPDX-License-Identifier: MIT */
/*
 * board_work.c: what a worker does with runs: takes the oldest that fits, renews its lease, writes what comes
 * out, settles. Every statement names id and gen, so that an attempt that was given up changes nothing of
 * the next one. No lock, no state.
 */
#include "board/board_inner.h"

#include "memory.h"
#include "scope.h"

#include <errno.h>
#include <string.h>

#define MINE "id = ?1 AND gen = ?2 AND state IN ('running', 'silent')"

static int claim_row(void *arg, const struct board_cells *cells)
{
	struct board_claim *claim = arg;

	board_run_of(cells, &claim->run);
	claim->body = cell_blob(cells, RUN_NEXT);
	claim->sealed = cell_blob(cells, RUN_NEXT + 1);
	return 1;
}

static int claim_end(struct board_claim *claim, unsigned long since, int r, struct rye_err *err)
{
	if (!r)
		r = memory_check(since, err);
	if (r)
		board_claim_done(claim);
	return r ? r : claim->body != NULL;
}

/* Several that claim at once have each counted before the others' claims could be seen. */
#define CROWDED_MAX 8

struct claiming {
	const struct board_seat *seat;
	struct board_claim *ret;
	bool crowded; /* its principal has more at once than it may: taken back */
};

static int crowded_row(void *arg, const struct board_cells *cells)
{
	*(bool *)arg = cell_int(cells, 0) != 0;
	return 1;
}

/* open states, and then without one of them: so the index run_open serves the count */
#define AT_ONCE                                                                                     \
	"(SELECT count(*) FROM run r WHERE r.principal = run.principal AND r.state IN " OPEN_STATES \
	" AND r.state <> 'queued')"

#define CLAIMABLE "state = 'queued' AND {fits} AND " AT_ONCE " < run.jobs"

static int claim_in(void *arg, struct board *board, struct rye_err *err)
{
	struct claiming *what = arg;
	int r;

	board_claim_done(what->ret);
	memset(what->ret, 0, sizeof(*what->ret));
	r = board_step(
		board,
		BOARD_ROWS(claim_row, what->ret,
			   "UPDATE run SET state = 'running', gen = gen + 1, worker = ?1, "
			   "lease = {now} + ?3, heard = {now} WHERE id = (SELECT id FROM run "
			   "WHERE " CLAIMABLE " ORDER BY made LIMIT 1{skip}) AND state = 'queued' "
			   "RETURNING " RUN_COLUMNS ", body, sealed",
			   DB_TEXT(what->seat->worker), DB_TEXT(what->seat->labels),
			   DB_INT(what->seat->lease_ms)),
		NULL, err);
	what->crowded = false;
	if (r || !*what->ret->run.id || !board->engine->hold)
		return r;
	r = board_hold(board, what->ret->run.principal, err);
	if (!r)
		r = board_step(board,
			       BOARD_ROWS(crowded_row, &what->crowded,
					  "SELECT CASE WHEN " AT_ONCE " > run.jobs THEN 1 ELSE 0 "
					  "END FROM run WHERE id = ?1",
					  DB_TEXT(what->ret->run.id)),
			       NULL, err);
	return !r && what->crowded ? rye_fail(err, RYE_BUSY, "crowded") : r;
}

int board_claim(struct board *board, const struct board_seat *seat, struct board_claim *ret,
		struct rye_err *err)
{
	unsigned long since = memory_failures();
	struct claiming what = { seat, ret, false };
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < CROWDED_MAX; i++) {
		r = board_transaction(board, claim_in, &what, err);
		if (!what.crowded)
			break;
		board_claim_done(ret);
		r = 0;
	}
	if (!r && board->engine->taken && ret->body)
		board->engine->taken(board, ret->run.id);
	return claim_end(ret, since, r, err);
}

int board_waits(struct board *board, const struct board_seat *seat, bool *ret, struct rye_err *err)
{
	*ret = false;
	/* ?1 stands for nothing here, as {fits} has ?2 */
	return board_ask(board,
			 BOARD_ROWS(crowded_row, ret,
				    "SELECT 1 FROM run WHERE " CLAIMABLE " AND ?1 <> '' LIMIT 1",
				    DB_TEXT(seat->worker), DB_TEXT(seat->labels)),
			 NULL, err);
}

int board_claimed(struct board *board, const struct board_seat *seat, int n,
		  struct board_claim *ret, struct rye_err *err)
{
	unsigned long since = memory_failures();
	int r;

	memset(ret, 0, sizeof(*ret));
	r = board_ask(board,
		      BOARD_ROWS(claim_row, ret,
				 "SELECT " RUN_COLUMNS ", body, sealed FROM run WHERE worker = ?1 "
				 "AND state IN ('running', 'silent') ORDER BY made, id "
				 "LIMIT 1 OFFSET ?2",
				 DB_TEXT(seat->worker), DB_INT(n)),
		      NULL, err);
	return claim_end(ret, since, r, err);
}

static int told_row(void *arg, const struct board_cells *cells)
{
	struct board_told *told = arg;

	told->gone = false;
	told->cancel = cell_int(cells, 0) != 0;
	told->words = cell_int(cells, 1);
	return 0;
}

int board_renew(struct board *board, const struct board_seat *seat, const struct board_run *claim,
		struct board_told *ret, struct rye_err *err)
{
	*ret = (struct board_told){ .gone = true };
	return board_ask(board,
			 BOARD_ROWS(told_row, ret,
				    "UPDATE run SET state = 'running', lease = {now} + ?3, "
				    "heard = {now} WHERE " MINE " RETURNING cancel, "
				    "(SELECT count(*) FROM word WHERE word.run = run.id)",
				    DB_TEXT(claim->id), DB_INT(claim->gen), DB_INT(seat->lease_ms)),
			 NULL, err);
}

/* One behind the other, each with its NUL. */
static int word_row(void *arg, const struct board_cells *cells)
{
	struct rye_buf *words = arg;
	const char *text = cell_text(cells, 0);

	buf_add(words, text, strlen(text) + 1);
	return words->failed;
}

/* Told when the board has answered: what hears a word may ask it something itself, and waits for a runner. */
int board_words(struct board *board, const char *id, int64_t after, rye_name_fn fn, void *arg,
		struct rye_err *err)
{
	auto_buf struct rye_buf words = RYE_BUF_INIT;
	int r = board_ask(board,
			  BOARD_ROWS(word_row, &words,
				     "SELECT text FROM word WHERE run = ?1 AND n > ?2 ORDER BY n",
				     DB_TEXT(id), DB_INT(after)),
			  NULL, err);
	int told = 0;

	for (size_t at = 0; !r && !told && at < words.len; at += strlen(words.data + at) + 1)
		told = fn(arg, words.data + at);
	return r;
}

static int expire_in(void *arg, struct board *board, struct rye_err *err)
{
	const struct board_seat *seat = arg;
	int r = board_step(board,
			   &(struct board_query){ .sql = "UPDATE run SET state = 'silent' WHERE "
							 "state = 'running' AND lease < {now}" },
			   NULL, err);

	if (!r)
		r = board_step(
			board,
			BOARD_QUERY("UPDATE run SET worker = NULL, lease = NULL, state = "
				    "CASE WHEN cancel = 1 THEN 'cancelled' ELSE 'queued' END "
				    "WHERE state = 'silent' AND again = 1 AND lease < {now} - ?1",
				    DB_INT(seat->silent_ms)),
			NULL, err);
	if (!r)
		r = board_step(board,
			       BOARD_QUERY("UPDATE run SET state = 'lost', ended = {now}, "
					   "sealed = NULL WHERE state = 'silent' AND "
					   "lease < {now} - ?1",
					   DB_INT(seat->silent_ms)),
			       NULL, err);
	return r;
}

static int any_row(void *arg, const struct board_cells *cells)
{
	*(bool *)arg = true;
	return 1;
}

/* Most of the time there is nothing: asked first, which needs no lock for writing. */
int board_expire(struct board *board, const struct board_seat *seat, struct rye_err *err)
{
	bool any = false;
	int r = board_ask(board,
			  BOARD_ROWS(any_row, &any,
				     "SELECT 1 FROM run WHERE state IN ('running', 'silent') AND "
				     "lease < {now} AND (state = 'running' OR lease < {now} - ?1) "
				     "LIMIT 1",
				     DB_INT(seat->silent_ms)),
			  NULL, err);

	if (r || !any)
		return r;
	r = board_transaction(board, expire_in, (void *)seat, err);
	if (!r)
		board_wake(board, BOARD_ORDER | BOARD_TOLD, "");
	return r;
}

struct board_writing {
	const struct board_run *claim;
	const struct board_part *part;
	struct rye_span bytes;
};

static int bool_row(void *arg, const struct board_cells *cells)
{
	*(bool *)arg = cell_int(cells, 0) != 0;
	return 1;
}

static int put_part(struct board *board, const struct board_part *part, struct rye_span bytes,
		    struct rye_err *err)
{
	if (!bytes.len)
		return 0;
	return board_step(board,
			  BOARD_QUERY("INSERT INTO part (run, file, off, ends, bytes) "
				      "VALUES (?1, ?2, ?3, ?4, ?5)",
				      DB_TEXT(part->run), DB_TEXT(part->file), DB_INT(part->off),
				      DB_INT(part->off + (int64_t)bytes.len), DB_BLOB(bytes)),
			  NULL, err);
}

static int write_in(void *arg, struct board *board, struct rye_err *err)
{
	const struct board_writing *what = arg;
	bool mine = false, there = false;
	int r = board_step(board,
			   BOARD_ROWS(bool_row, &mine, "SELECT 1 FROM run WHERE " MINE,
				      DB_TEXT(what->claim->id), DB_INT(what->claim->gen)),
			   NULL, err);

	if (!r && !mine)
		return rye_fail(err, RYE_STATE, "the run %s is not this claim's", what->claim->id);
	/* the answer to the same may have been lost */
	if (!r)
		r = board_step(
			board,
			BOARD_ROWS(bool_row, &there,
				   "SELECT 1 FROM part WHERE run = ?1 AND file = ?2 AND ends > ?3",
				   DB_TEXT(what->part->run), DB_TEXT(what->part->file),
				   DB_INT(what->part->off)),
			NULL, err);
	return r || there ? r : put_part(board, what->part, what->bytes, err);
}

int board_write(struct board *board, const struct board_run *claim, const struct board_part *part,
		struct rye_span bytes, struct rye_err *err)
{
	struct board_writing what = { claim, part, bytes };
	int r = board_transaction(board, write_in, &what, err);

	if (!r)
		board_wake(board, BOARD_TOLD, claim->id);
	return r;
}

struct settling {
	const struct board_run *claim;
	const struct board_end *end;
	enum board_settled is;
	bool done;
	bool before; /* by this very receipt: all of it was kept and counted then */
	bool room; /* one that waited can be taken, and maybe not by the worker that has a free place now */
};

struct settled {
	bool there, same, lost;
	int64_t gen;
};

static int settled_row(void *arg, const struct board_cells *cells)
{
	struct settled *settled = arg;

	settled->there = true;
	settled->gen = cell_int(cells, 0);
	settled->lost = !strcmp(cell_text(cells, 1), "lost");
	settled->same = cell_int(cells, 2) != 0;
	return 1;
}

/* It is no longer running under this claim: was it settled by it, or is it lost? */
static int settle_after(struct board *board, struct settling *what, struct rye_err *err)
{
	struct settled was = { .gen = -1 };
	int r = board_step(
		board,
		BOARD_ROWS(settled_row, &was,
			   "SELECT gen, state, CASE WHEN receipt = ?2 OR late = ?2 THEN 1 "
			   "ELSE 0 END FROM run WHERE id = ?1",
			   DB_TEXT(what->claim->id), DB_TEXT(what->end->receipt)),
		NULL, err);

	what->is = BOARD_STALE;
	if (r || was.gen != what->claim->gen)
		return r;
	if (was.lost) {
		what->is = BOARD_LATE;
		what->before = was.same;
		r = board_step(
			board,
			BOARD_QUERY("UPDATE run SET late = ?2 WHERE id = ?1 AND late IS NULL",
				    DB_TEXT(what->claim->id), DB_TEXT(what->end->receipt)),
			NULL, err);
		return r ? r : board_pin(board, what->claim->id, what->end->manifest, err);
	}
	if (was.same)
		what->is = BOARD_SETTLED;
	what->before = was.same;
	return 0;
}

static int settle_row(void *arg, const struct board_cells *cells)
{
	struct settling *what = arg;

	what->done = true;
	what->room = cell_int(cells, 0) != 0;
	return 1;
}

/* What is kept of a run with its end. */
static int settle_with(struct board *board, struct settling *what, struct rye_err *err)
{
	const struct board_end *end = what->end;
	int r = board_pin(board, what->claim->id, end->manifest, err);

	for (size_t i = 0; !r && i < end->n; i++)
		r = put_part(board, &end->pieces[i].part, end->pieces[i].bytes, err);
	return r;
}

static int settle_in(void *arg, struct board *board, struct rye_err *err)
{
	struct settling *what = arg;
	int r;

	what->done = what->room = what->before = false;
	r = board_step(board,
		       BOARD_ROWS(settle_row, what,
				  "UPDATE run SET state = ?3, receipt = ?4, sealed = NULL, "
				  "ended = {now}, heard = {now} WHERE " MINE
				  " RETURNING CASE WHEN EXISTS (SELECT 1 FROM run w WHERE "
				  "w.principal = run.principal AND w.state = 'queued' AND "
				  "w.labels <> '[]') THEN 1 ELSE 0 END",
				  DB_TEXT(what->claim->id), DB_INT(what->claim->gen),
				  DB_TEXT(what->end->state), DB_TEXT(what->end->receipt)),
		       NULL, err);
	what->is = BOARD_SETTLED;
	if (!r)
		r = (what->done ? settle_with : settle_after)(board, what, err);
	return r || what->before || !what->end->used ?
		       r :
		       board_count(board, what->claim->principal, what->end->used, -1, err);
}

int board_settle(struct board *board, const struct board_run *claim, const struct board_end *end,
		 enum board_settled *ret, struct rye_err *err)
{
	struct settling what = { .claim = claim, .end = end, .is = BOARD_STALE };
	int r = board_transaction(board, settle_in, &what, err);

	*ret = what.is;
	if (!r)
		board_wake(board, what.room ? BOARD_TOLD | BOARD_ORDER : BOARD_TOLD, claim->id);
	return r;
}
