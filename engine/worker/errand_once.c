/* SPDX-License-Identifier: MIT */
/*
 * errand_once.c: a file of SQLite beside the runs. A row is on the disk before its run begins (synchronous FULL),
 * and stays as long as its order could be taken by its date. The lock is that of struct db.
 */
#include "worker/worker_inner.h"

static const char executed_schema[] =
	"PRAGMA synchronous=FULL;"
	"CREATE TABLE IF NOT EXISTS executed (id TEXT PRIMARY KEY, gen BIGINT NOT NULL,"
	" not_after BIGINT NOT NULL);"
	"CREATE INDEX IF NOT EXISTS executed_age ON executed(not_after);";

int executed_open(const char *path, struct db **ret, struct rye_err *err)
{
	int r = db_open(path, executed_schema, ret, err);

	if (!r)
		r = db_run(*ret,
			   DB_QUERY("DELETE FROM executed WHERE not_after < ?1",
				    DB_INT((int64_t)time(NULL) - 2 * ORDER_SKEW_S)),
			   NULL, err);
	return r;
}

int executed_add(struct db *db, const struct order *order, int64_t gen, bool again,
		 struct rye_err *err)
{
	int changes = 0;
	int r = db_run(
		db,
		again ? DB_QUERY("INSERT INTO executed (id, gen, not_after) VALUES (?1, ?2, ?3) "
				 "ON CONFLICT (id) DO UPDATE SET gen = ?2 WHERE gen < ?2",
				 DB_TEXT(order->id), DB_INT(gen), DB_INT(order->not_after)) :
			DB_QUERY("INSERT INTO executed (id, gen, not_after) VALUES (?1, ?2, ?3) "
				 "ON CONFLICT (id) DO NOTHING",
				 DB_TEXT(order->id), DB_INT(gen), DB_INT(order->not_after)),
		&changes, err);

	return r ? r : changes > 0;
}

static int executed_row(void *arg, sqlite3_stmt *row)
{
	*(bool *)arg = true;
	return 1;
}

int executed_has(struct db *db, const char *id, bool *ret, struct rye_err *err)
{
	*ret = false;
	return db_run(
		db, DB_ROWS(executed_row, ret, "SELECT 1 FROM executed WHERE id = ?1", DB_TEXT(id)),
		NULL, err);
}
