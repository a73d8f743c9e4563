/* SPDX-License-Identifier: MIT */
/*
 * board.h: where orders wait for a worker, and what becomes of them: leases, results, words, the output
 * of runs, heads of projects, what principals use. In a database of SQL, by rows (board.c): each of the
 * functions is one transaction, and the database's clock alone counts.
 *
 * A worker takes an order once: `gen` counts the attempts and fences what an earlier one says. A lease that
 * is not renewed makes a run silent, and lost when it stays so. A lost run is never begun again, unless
 * its order says so.
 *
 * Any thread may call these; they wait for the database. RYE_BUSY with EBUSY, and RYE_IO: it could not
 * be reached, and what was asked may have been done or not; each may be asked again.
 */
#ifndef RYE_BOARD_BOARD_H
#define RYE_BOARD_BOARD_H

#include "base/db.h"
#include "base/id.h"
#include "base/sha.h"
#include "buf.h"

struct board;

/* "sqlite:/path/board.db" makes the file; another scheme: the rows of board.c. */
int board_open(const char *where, struct board **ret, struct rye_err *err);
void board_close(struct board *board); /* NULL is fine */
#define auto_board __attribute__((cleanup(auto_board_)))

#define BOARD_WORKER_MAX 65
#define BOARD_STATE_MAX 16
#define BOARD_FP_MAX 17 /* of principals: fingerprints */

/* "queued", "running", "silent", "lost", "done", "refused", "cancelled". */
bool board_is_over(const char *state); /* the last four; "lost" too */

struct board_run {
	char id[ID_UUID_MAX], principal[BOARD_FP_MAX], sha[SHA_HEX];
	char state[BOARD_STATE_MAX], worker[BOARD_WORKER_MAX];
	int64_t gen, made, lease, heard, ended, now; /* milliseconds since 1970; 0: never */
	bool cancel, again;
	/* Only with board_find; the caller's. NULL: none */
	struct rye_blob *receipt, *late;
};
void board_run_done(struct board_run *run);

/* ---- what the door does (board_runs.c) ---- */

struct board_order {
	const char *id, *principal, *sha; /* as they were checked */
	const char *body; /* the envelope, without what is sealed */
	const char *sealed; /* or NULL */
	const char *labels; /* JSON: a list of names, which its worker has */
	const char *manifest; /* of its project, which board_roots tells; "" or NULL: none */
	bool again;
	int64_t queued, jobs; /* the principal's limits: that many wait, that many run at once */
};
/*
 * *ret: the run as it stands, of now or of an earlier time. RYE_STATE with EEXIST: another order has this id;
 * RYE_BUSY with EAGAIN: too many of this principal's wait.
 */
int board_submit(struct board *board, const struct board_order *order, struct board_run *ret,
		 struct rye_err *err);
/* RYE_NOT_FOUND also for another principal's. */
int board_find(struct board *board, const char *principal, const char *id, struct board_run *ret,
	       struct rye_err *err);
/* The newest first, at most 1000; fn's nonzero result stops. before: of `made`; 0: from the newest on. */
typedef int (*board_run_fn)(void *arg, const struct board_run *run);
int board_list(struct board *board, const char *principal, int64_t before, board_run_fn fn,
	       void *arg, struct rye_err *err);
/* One that waits is over at once. RYE_STATE: it is over. */
int board_cancel(struct board *board, const char *principal, const char *id, struct board_run *ret,
		 struct rye_err *err);
/* A file of a run: for each word that its worker has passed on a line {"word": n, "error": "" or a sentence}. */
#define BOARD_ANSWERS "answers.jsonl"
/* Another, of a model's thread: {"receipt", "files": {name: text}, "cost"}, each as it was recorded last. */
#define BOARD_NEWS "news.jsonl"
/* For its worker, as the n-th word, from 1 on; RYE_STATE: it is over. */
int board_say(struct board *board, const char *principal, const char *id, const char *text,
	      int64_t *ret_n, struct rye_err *err);
/* Of a file of its thread's, what is there from an offset on, at most max bytes. */
struct board_part {
	const char *run, *file;
	int64_t off;
};
int board_read(struct board *board, const struct board_part *part, size_t max, struct rye_buf *ret,
	       struct rye_err *err);
/* The order itself, without what was sealed. RYE_NOT_FOUND. */
int board_body(struct board *board, const char *principal, const char *id, struct rye_buf *ret,
	       struct rye_err *err);
/* Everything of a run that is over; what it has cost stays counted. */
int board_forget(struct board *board, const char *principal, const char *id, struct rye_err *err);

/* ---- what a worker does (board_work.c) ---- */

struct board_seat {
	const char *worker; /* its name, no other worker's: what is running under it is its own */
	const char *labels; /* JSON */
	int64_t lease_ms, silent_ms;
};
struct board_claim {
	struct board_run run;
	struct rye_blob *body, *sealed; /* the caller's; sealed may be NULL */
};
#define auto_claim __attribute__((cleanup(board_claim_done)))
void board_claim_done(struct board_claim *claim);
/* 1: the oldest that fits is this worker's now; 0: there is none. */
int board_claim(struct board *board, const struct board_seat *seat, struct board_claim *ret,
		struct rye_err *err);
/* Is there one? */
int board_waits(struct board *board, const struct board_seat *seat, bool *ret, struct rye_err *err);
/* The same of what it has claimed before and never heard of, or not settled: the n-th, from 0 on. */
int board_claimed(struct board *board, const struct board_seat *seat, int n,
		  struct board_claim *ret, struct rye_err *err);

struct board_told {
	bool gone; /* it is no longer this worker's: lost, or begun again */
	bool cancel;
	int64_t words; /* how many were said */
};
/* `claim`: its id and gen. */
int board_renew(struct board *board, const struct board_seat *seat, const struct board_run *claim,
		struct board_told *ret, struct rye_err *err);
/* Words behind the first `after` of them; fn may ask the board. */
int board_words(struct board *board, const char *id, int64_t after, rye_name_fn fn, void *arg,
		struct rye_err *err);
/* Leases that are over: silent; long silent: lost, or waiting again. Any worker and door does it. */
int board_expire(struct board *board, const struct board_seat *seat, struct rye_err *err);
/* Where what is there ends, or RYE_STATE where the run is not this claim's. */
int board_write(struct board *board, const struct board_run *claim, const struct board_part *part,
		struct rye_span bytes, struct rye_err *err);

enum board_settled {
	BOARD_SETTLED, /* now, or before and the answer was not heard */
	BOARD_LATE, /* it was lost: the receipt is kept, the state stays */
	BOARD_STALE, /* another attempt has it: nothing was kept */
};
struct board_used {
	double spend, seconds; /* of one month */
	int64_t bytes;
};
struct board_piece {
	struct board_part part;
	struct rye_span bytes;
};
struct board_end {
	const char *state; /* "done", "refused", "cancelled" */
	const char *receipt;
	const char *manifest; /* of what it has left, as an order's */
	const struct board_piece *pieces; /* kept with a result that counts */
	size_t n;
	const struct board_used
		*used; /* counted once, whatever the result counts for; NULL: nothing */
};
int board_settle(struct board *board, const struct board_run *claim, const struct board_end *end,
		 enum board_settled *ret, struct rye_err *err);

/* What was done to a board. */
enum board_news {
	BOARD_ORDER =
		1, /* an order can be taken: to workers that would take one; of many that wait one is woken */
	BOARD_WORD =
		2, /* a run is to be cancelled, or was told something: to workers that have runs */
	BOARD_TOLD = 4, /* what came out of a run, its end: to doors that follow one */
};

/*
 * Waits until something of `news` was done to the board by any process, or `also` is readable (-1: none), at most so
 * long; may return sooner. What of it may have been done. A process that waits for BOARD_ORDER has asked for one behind
 * its last wait.
 */
unsigned board_wait(struct board *board, int also, unsigned news, int64_t ms);

/* ---- heads, and what principals use (board_heads.c) ---- */

struct board_head {
	int64_t number; /* 0: there is none yet */
	char manifest[SHA_HEX];
	char by[BOARD_FP_MAX];
	int64_t at;
};
int board_head(struct board *board, const char *principal, const char *project,
	       struct board_head *ret, struct rye_err *err);
/*
 * From the number `expected` to the next one. RYE_STATE with ESTALE: it has moved, and *ret says where to.
 */
struct board_advance {
	const char *principal, *project, *manifest;
	int64_t expected;
};
int board_advance(struct board *board, const struct board_advance *what, struct board_head *ret,
		  struct rye_err *err);

/*
 * board_roots.c: the manifests that a principal needs: those its projects' names have stood for, the last five of
 * each, and those of runs that are not over, or ended less than keep_ms ago and were not forgotten.
 */
#define BOARD_PAST 5
int board_roots(struct board *board, const char *principal, int64_t keep_ms, rye_name_fn fn,
		void *arg, struct rye_err *err);
/* It is not known any more: what it has pushed and its ended runs were given is in use no longer. */
int board_leave(struct board *board, const char *principal, struct rye_err *err);

/* month: "2026-01", or NULL: the database's own. */
int board_account(struct board *board, const char *principal, const char *month,
		  struct board_used *ret, struct rye_err *err);
/*
 * Reserves, or settles with negative numbers. RYE_BUDGET: `spend` would go above `cap`, and nothing was
 * added; cap < 0: none.
 */
int board_spend(struct board *board, const char *principal, const struct board_used *more,
		double cap, struct rye_err *err);

/* ---- tables of another room, in a database of any row (board.c) ---- */

struct board_tables {
	const char *sql; /* CREATE … IF NOT EXISTS; the last one is made last: */
	const char *last; /* its name */
	bool quiet; /* no process waits for a change, and what a power cut takes back is mended */
};
/* As board_open, with those tables only. */
int board_open_tables(const char *where, const struct board_tables *tables, struct board **ret,
		      struct rye_err *err);

/* One row of an answer; valid while the function runs that it is given to. */
struct board_engine;
struct board_cells {
	const struct board_engine *engine;
	void *row;
	int at; /* of a result that has all rows */
};

/* Nonzero stops. Must not ask the board. */
typedef int (*board_cells_fn)(void *arg, const struct board_cells *cells);

/*
 * A statement, with ?1 … ?n for its values, and these words that each database spells in its own way:
 * {now} its clock in milliseconds, {skip} of a row that is locked by another claim, {fits} the labels of a
 * run are among those of ?2, {bytes} the type, {month} its month, {rows} as a table `e` the lists in ?2, a
 * list of lists as JSON, whose members are e.value->>0 and so on, {rowless} behind a table without numbers of its rows.
 */
struct board_query {
	const char *sql;
	const struct db_value *values;
	size_t n;
	board_cells_fn fn; /* may be NULL */
	void *arg;
};
#define BOARD_ROWS(each, with, text, ...)                                   \
	(&(const struct board_query){ .sql = (text),                        \
				      .values = DB_VALUES(__VA_ARGS__),     \
				      .n = sizeof(DB_VALUES(__VA_ARGS__)) / \
					   sizeof(struct db_value),         \
				      .fn = (each),                         \
				      .arg = (with) })
#define BOARD_QUERY(text, ...) BOARD_ROWS(NULL, NULL, text, __VA_ARGS__)

/* Called with the transaction open; what it did is kept when it returns 0. */
typedef int (*board_work_fn)(void *arg, struct board *board, struct rye_err *err);

/* One statement by itself; the same within the function of a transaction. */
int board_ask(struct board *board, const struct board_query *query, int *ret_changes,
	      struct rye_err *err);
int board_step(struct board *board, const struct board_query *query, int *ret_changes,
	       struct rye_err *err);
int board_transaction(struct board *board, board_work_fn fn, void *arg, struct rye_err *err);
/* In a transaction, to its end: no other one that holds this name, as a principal's. */
int board_hold(struct board *board, const char *name, struct rye_err *err);

/* "" and 0 for null. */
const char *cell_text(const struct board_cells *cells, int column);
int64_t cell_int(const struct board_cells *cells, int column);
double cell_real(const struct board_cells *cells, int column);
struct rye_blob *cell_blob(const struct board_cells *cells, int column); /* NULL: null, no memory */
void cell_copy(const struct board_cells *cells, int column, char *ret, size_t size);

DEFINE_AUTO(auto_board_, struct board *, board_close)

#endif
