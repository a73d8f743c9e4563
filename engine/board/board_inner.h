/* SPDX-License-Identifier: MIT */
/*
 * board_inner.h: what the files of board/ share: statements that are the same for every database, and
 * what one database has of its own.
 */
#ifndef RYE_BOARD_BOARD_INNER_H
#define RYE_BOARD_BOARD_INNER_H

#include "board/board.h"

/* A database: one file and one row of board.c. */
struct board_engine {
	const char *scheme; /* of board_open */
	const char *now, *skip, *fits, *bytes, *month, *rows, *rowless;
	/* holds ?1, a principal, to the end of the transaction; NULL: a transaction is alone anyway */
	const char *hold;
	/* where: behind the scheme's colon, or the whole when that is how the database names itself */
	int (*open)(struct board *board, const char *where, const struct board_tables *tables,
		    struct rye_err *err);
	void (*close)(struct board *board);
	/* By itself, and in a transaction; changes: rows changed; may be NULL. */
	int (*ask)(struct board *board, const struct board_query *query, int *ret_changes,
		   struct rye_err *err);
	int (*step)(struct board *board, const struct board_query *query, int *ret_changes,
		    struct rye_err *err);
	int (*transaction)(struct board *board, board_work_fn fn, void *arg, struct rye_err *err);
	/* NULL: the value is null */
	const char *(*text)(const struct board_cells *cells, int column, size_t *ret_len);
	void (*wake)(struct board *board, enum board_news news, const char *id);
	unsigned (*wait)(struct board *board, int also, unsigned news, int64_t ms);
	/* id was taken by this process: those that have heard of it need not look; NULL: all look */
	void (*taken)(struct board *board, const char *id);
};
extern const struct board_engine board_sqlite, board_postgres;

struct board {
	const struct board_engine *engine;
	void *handle; /* the engine's */
};

/* A statement with its words replaced; ret->data is the text. */
void board_spell(const struct board_engine *engine, const char *sql, struct rye_buf *ret);
/* Waiting workers and doors are told, after the transaction, of the run `id`; "": of several. */
void board_wake(struct board *board, enum board_news news, const char *id);

/* Columns of a run that board_run_of reads, in this order; then those of the caller. */
#define RUN_COLUMNS                                                                             \
	"run.id, run.principal, run.sha, run.state, run.worker, run.gen, run.made, run.lease, " \
	"run.heard, run.ended, run.cancel, run.again, {now}"
#define RUN_NEXT 13
void board_run_of(const struct board_cells *cells, struct board_run *ret);

/* board_roots.c: in a transaction. A manifest of a run; NULL and "" are none. What a project stands for from now on. */
int board_pin(struct board *board, const char *run, const char *manifest, struct rye_err *err);
int board_past(struct board *board, const struct board_advance *what, struct rye_err *err);
/* board_heads.c: board_spend, in a transaction. */
int board_count(struct board *board, const char *principal, const struct board_used *more,
		double cap, struct rye_err *err);

/* A run that is not over. */
#define OPEN_STATES "('queued', 'running', 'silent')"

#endif
