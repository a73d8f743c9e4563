/* SPDX-License-Identifier: MIT */
/*
 * db.h: one SQLite connection: WAL, synchronous NORMAL, a busy timeout (DELETE mode: p99 2.4 s with
 * 200 writers; WAL: 4 ms).
 *
 * Lock: `lock` of struct db, taken by the functions here; callers hold none.
 */
#ifndef RYE_BASE_DB_H
#define RYE_BASE_DB_H

#include "err.h"

#include <sqlite3.h>

#include <pthread.h>
#include <sys/stat.h>

/* Statements that stay prepared, the newest of them: preparing one costs more than running it, and a
 * model's thread asks the same few in every turn. */
#define DB_KEPT 16

struct db {
	pthread_mutex_t lock; /* what follows, but for the path */
	sqlite3 *handle; /* NULL: retired */
	sqlite3_stmt *kept[DB_KEPT];
	size_t next; /* of kept: its place is the next one's */
	char *path; /* for messages */
	_Atomic bool damaged; /* a statement has failed with RYE_UNPARSABLE */
	struct stat st; /* of the file when it was opened */
	bool frozen; /* its file system cannot be written: writing fails with RYE_READ_ONLY */
	struct db *older; /* the owner's: one that it has replaced and retired */
};

/* Creates the file when it is missing; `schema` is run each time (CREATE … IF NOT EXISTS). */
int db_open(const char *path, const char *schema, struct db **ret, struct rye_err *err);
/* The same of what is made anew, or not missed, where the machine loses its power: nothing is synced. */
int db_open_passing(const char *path, const char *schema, struct db **ret, struct rye_err *err);
void db_close(struct db *db);
/* The file is given back, its descriptors and the room of a deleted one too; whatever still asks gets
 * RYE_UNPARSABLE, as of a damaged one. Waits for the statement under way. */
void db_retire(struct db *db);
/* Is it damaged, was another file put in its place, or can a frozen one have changed? */
bool db_is_spent(struct db *db);

/* A value to bind; text and blob are borrowed until the statement is done. */
struct db_value {
	enum { DB_NULL, DB_TEXT, DB_INT, DB_REAL, DB_BLOB } type;
	const char *text;
	size_t len; /* of a blob */
	int64_t number;
	double real;
};

#define DB_TEXT(t) ((struct db_value){ .type = DB_TEXT, .text = (t) })
#define DB_INT(n) ((struct db_value){ .type = DB_INT, .number = (n) })
#define DB_REAL(x) ((struct db_value){ .type = DB_REAL, .real = (x) })
#define DB_BLOB(span) ((struct db_value){ .type = DB_BLOB, .text = (span).ptr, .len = (span).len })

/* Called per row; nonzero stops. Must not call back into the same db. */
typedef int (*db_row_fn)(void *arg, sqlite3_stmt *row);

struct db_query {
	const char *sql;
	const struct db_value *values;
	size_t n;
	db_row_fn fn; /* may be NULL */
	void *arg;
};

#define DB_VALUES(...) ((const struct db_value[]){ __VA_ARGS__ })
/* The text of a query that asks for no rows, and its values: to be given where it is written. */
#define DB_QUERY(text, ...) DB_ROWS(NULL, NULL, text, __VA_ARGS__)
/* The same of one whose rows `each` is called with. */
#define DB_ROWS(each, with, text, ...)                                                            \
	(&(const struct db_query){ .sql = (text),                                                 \
				   .values = DB_VALUES(__VA_ARGS__),                              \
				   .n = sizeof(DB_VALUES(__VA_ARGS__)) / sizeof(struct db_value), \
				   .fn = (each),                                                  \
				   .arg = (with) })

/*
 * *ret_changes (may be NULL): rows changed. RYE_UNPARSABLE: the file is damaged. RYE_BUSY: a violated
 * constraint, err->sys is EEXIST; or another process held the file for longer than any should, EBUSY.
 */
int db_run(struct db *db, const struct db_query *query, int *ret_changes, struct rye_err *err);

/*
 * Calls fn with the write lock of the file held; what it did with db_step is kept when it returns 0,
 * otherwise none of it, and its result is returned. fn must not call the functions above.
 */
typedef int (*db_work_fn)(void *arg, struct db *db, struct rye_err *err);
int db_transaction(struct db *db, db_work_fn fn, void *arg, struct rye_err *err);
/* db_run, for the function of a transaction. */
int db_step(struct db *db, const struct db_query *query, int *ret_changes, struct rye_err *err);

#endif
