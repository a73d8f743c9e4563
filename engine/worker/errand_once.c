/* SPDX-License-Identifier: MIT */
/*
 * errand_once.c: a file of SQLite beside the runs. A row is on the disk before its run begins (synchronous FULL),
 * and stays as long as its order could be taken by its date. Beside it what principals have spent on this
 * machine: the board counts all machines, but a hand in the database can lower that. The lock is that of struct db.
 */
#include "worker/worker_inner.h"

static const char executed_schema[] =
	"PRAGMA synchronous=FULL;"
	"CREATE TABLE IF NOT EXISTS executed (id TEXT PRIMARY KEY, gen BIGINT NOT NULL,"
	" not_after BIGINT NOT NULL);"
	"CREATE INDEX IF NOT EXISTS executed_age ON executed(not_after);"
	"CREATE TABLE IF NOT EXISTS spent (principal TEXT NOT NULL, month TEXT NOT NULL,"
	" spend REAL NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (principal, month));";

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

struct spending_here {
	const char *fp;
	const struct board_used *more;
	const struct principal *who;
};

static int spent_row(void *arg, sqlite3_stmt *row)
{
	struct board_used *used = arg;

	used->spend = sqlite3_column_double(row, 0);
	used->seconds = sqlite3_column_double(row, 1);
	return 1;
}

static int spend_here(void *arg, struct db *db, struct rye_err *err)
{
	const struct spending_here *what = arg;
	const struct principal *who = what->who;
	struct board_used used = { 0 };
	int r = db_step(db,
			DB_QUERY("INSERT INTO spent VALUES (?1, strftime('%Y-%m', 'now'), ?2, ?3) "
				 "ON CONFLICT DO UPDATE SET spend = spend + ?2, "
				 "seconds = seconds + ?3",
				 DB_TEXT(what->fp), DB_REAL(what->more->spend),
				 DB_REAL(what->more->seconds)),
			NULL, err);

	if (!r)
		r = db_step(db,
			    DB_ROWS(spent_row, &used,
				    "SELECT spend, seconds FROM spent WHERE principal = ?1 AND "
				    "month = strftime('%Y-%m', 'now')",
				    DB_TEXT(what->fp)),
			    NULL, err);
	if (r || !who)
		return r;
	if (who->seconds && used.seconds >= (double)who->seconds)
		return rye_fail(err, RYE_BUDGET, "%.0f of %lld seconds of this month are used here",
				used.seconds, (long long)who->seconds);
	if (who->spend_month > 0 && what->more->spend > 0 && used.spend > who->spend_month + 1e-9)
		return rye_fail(err, RYE_BUDGET,
				"%.2f of %.2f dollars of this month are used here, %.2f more are "
				"wanted",
				used.spend - what->more->spend, who->spend_month,
				what->more->spend);
	return 0;
}

int executed_spend(struct db *db, const char *fp, const struct board_used *more,
		   const struct principal *who, struct rye_err *err)
{
	struct spending_here what = { fp, more, who };

	return db_transaction(db, spend_here, &what, err);
}
