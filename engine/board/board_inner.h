/* SPDX-License-Identifier: MIT */
/*
 * board_inner.h: what the files of board/ share: statements that are the same for every database, and
 * what one database has of its own.
 */
#ifndef RYE_BOARD_BOARD_INNER_H
#define RYE_BOARD_BOARD_INNER_H

#include "base/db.h"
#include "board/board.h"

/* One row of an answer; valid while the function runs that it is given to. */
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
 * run are among those of ?2, {bytes} the type, {month} its month.
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

/* A database: one file and one row of board.c. */
struct board_engine {
	const char *scheme; /* of board_open */
	const char *now, *skip, *fits, *bytes, *month;
	/* holds ?1, a principal, to the end of the transaction; NULL: a transaction is alone anyway */
	const char *hold;
	/* where: behind the scheme's colon, or the whole when that is how the database names itself */
	int (*open)(struct board *board, const char *where, struct rye_err *err);
	void (*close)(struct board *board);
	/* By itself, and in a transaction; changes: rows changed; may be NULL. */
	int (*ask)(struct board *board, const struct board_query *query, int *ret_changes,
		   struct rye_err *err);
	int (*step)(struct board *board, const struct board_query *query, int *ret_changes,
		    struct rye_err *err);
	int (*transaction)(struct board *board, board_work_fn fn, void *arg, struct rye_err *err);
	/* NULL: the value is null */
	const char *(*text)(const struct board_cells *cells, int column, size_t *ret_len);
	void (*wake)(struct board *board);
	void (*wait)(struct board *board, int also, int64_t ms);
};
extern const struct board_engine board_sqlite, board_postgres;

struct board {
	const struct board_engine *engine;
	void *handle; /* the engine's */
};

/* The tables; made where they are not. */
extern const char board_schema[];

/* A statement with its words replaced; ret->data is the text. */
void board_spell(const struct board_engine *engine, const char *sql, struct rye_buf *ret);
/* One statement by itself. */
int board_ask(struct board *board, const struct board_query *query, int *ret_changes,
	      struct rye_err *err);
/* The same within the function of a transaction. */
int board_step(struct board *board, const struct board_query *query, int *ret_changes,
	       struct rye_err *err);
int board_transaction(struct board *board, board_work_fn fn, void *arg, struct rye_err *err);
/* In a transaction: what counts a principal's rows and then adds one is the only one that does. */
int board_hold(struct board *board, const char *principal, struct rye_err *err);
/* Waiting workers and doors are told, after the transaction. */
void board_wake(struct board *board);

/* "" and 0 for null. */
const char *cell_text(const struct board_cells *cells, int column);
int64_t cell_int(const struct board_cells *cells, int column);
double cell_real(const struct board_cells *cells, int column);
struct rye_blob *cell_blob(const struct board_cells *cells, int column); /* NULL: null, no memory */
void cell_copy(const struct board_cells *cells, int column, char *ret, size_t size);

/* Columns of a run that board_run_of reads, in this order; then those of the caller. */
#define RUN_COLUMNS                                                                             \
	"run.id, run.principal, run.sha, run.state, run.worker, run.gen, run.made, run.lease, " \
	"run.heard, run.ended, run.cancel, run.again, {now}"
#define RUN_NEXT 13
void board_run_of(const struct board_cells *cells, struct board_run *ret);

/* A run that is not over. */
#define OPEN_STATES "('queued', 'running', 'silent')"

#endif
