/* SPDX-License-Identifier: MIT */
/*
 * The ledger of what threads may spend and have spent. A row's actual_spend is its own cost and that
 * of all that was settled below it; a living child holds its reservation, and so does one whose parent
 * has ended before it. Each function is one transaction; no lock but the database's.
 */
#include "policy/policy.h"

#include "clock.h"
#include "scope.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char ledger_schema[] =
	"PRAGMA foreign_keys = ON;"
	"CREATE TABLE IF NOT EXISTS budget_ledger ("
	" thread_id TEXT PRIMARY KEY,"
	" parent_thread_id TEXT REFERENCES budget_ledger(thread_id) ON DELETE RESTRICT,"
	" reserved_spend REAL NOT NULL DEFAULT 0.0, actual_spend REAL NOT NULL DEFAULT 0.0,"
	" max_spend REAL, status TEXT NOT NULL DEFAULT 'active',"
	" created_at TEXT NOT NULL, updated_at TEXT NOT NULL);"
	"CREATE INDEX IF NOT EXISTS idx_budget_parent ON budget_ledger(parent_thread_id);"
	"CREATE INDEX IF NOT EXISTS idx_budget_status ON budget_ledger(status);";

/* Sums of doubles: what is less than this is no money. */
#define BUDGET_TOLERANCE 1e-9

int budget_open(const char *path, struct db **ret, struct rye_err *err)
{
	return db_open(path, ledger_schema, ret, err);
}

static int budget_whole_row(void *arg, sqlite3_stmt *row)
{
	const char *said = (const char *)sqlite3_column_text(row, 0);

	*(bool *)arg = said && !strcmp(said, "ok");
	return 1;
}

int budget_whole(struct db *db, struct rye_err *err)
{
	bool whole = false;
	int r = db_run(db, DB_ROWS(budget_whole_row, &whole, "PRAGMA quick_check(1)"), NULL, err);

	return r || whole ? r : rye_fail(err, RYE_UNPARSABLE, "%s is damaged", db->path);
}

static bool is_money(double amount)
{
	return isfinite(amount) && amount >= 0;
}

/* ---- one row ---- */

/* UNION, not UNION ALL: a circle in a file from elsewhere ends there. */
#define HELD                                                                         \
	"(WITH RECURSIVE held(id, status, reserved) AS ("                            \
	" SELECT thread_id, status, reserved_spend FROM budget_ledger"               \
	"  WHERE parent_thread_id = ?1 AND thread_id IS NOT ?2"                      \
	" UNION SELECT b.thread_id, b.status, b.reserved_spend FROM budget_ledger b" \
	"  JOIN held ON b.parent_thread_id = held.id"                                \
	"  WHERE held.status <> 'active' AND b.thread_id IS NOT ?2)"                 \
	" SELECT COALESCE(SUM(reserved), 0.0) FROM held WHERE status = 'active')"
#define BELOW                                                                                    \
	"(WITH RECURSIVE below(id, status, actual) AS ("                                         \
	" SELECT thread_id, status, actual_spend FROM budget_ledger WHERE parent_thread_id = ?1" \
	" UNION SELECT b.thread_id, b.status, b.actual_spend FROM budget_ledger b"               \
	"  JOIN below ON b.parent_thread_id = below.id)"                                         \
	" SELECT COALESCE(SUM(actual), 0.0) FROM below WHERE status = 'active')"

#define BUDGET_COLUMNS                                                                     \
	"thread_id, COALESCE(parent_thread_id, ''), status, reserved_spend, actual_spend," \
	" COALESCE(max_spend, 0.0)"

struct budget_walk {
	budget_fn fn;
	void *arg;
	bool sums;
};

static void budget_text(sqlite3_stmt *row, int column, char *out, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	snprintf(out, size, "%s", text ? text : "");
}

static int budget_on_row(void *arg, sqlite3_stmt *row)
{
	struct budget_walk *walk = arg;
	struct budget_row out = { .reserved = sqlite3_column_double(row, 3),
				  .actual = sqlite3_column_double(row, 4),
				  .max = sqlite3_column_double(row, 5) };

	budget_text(row, 0, out.thread_id, sizeof(out.thread_id));
	budget_text(row, 1, out.parent_id, sizeof(out.parent_id));
	budget_text(row, 2, out.status, sizeof(out.status));
	if (walk->sums) {
		out.remaining = out.max - out.actual - sqlite3_column_double(row, 6);
		out.tree = out.actual + sqlite3_column_double(row, 7);
	}
	return walk->fn(walk->arg, &out);
}

static int budget_keep(void *arg, const struct budget_row *row)
{
	*(struct budget_row *)arg = *row;
	return 1;
}

struct budget_look {
	const char *id;
	const char *except; /* a child whose own reservation does not count; NULL: none */
	bool within; /* a transaction */
};

/* One statement sees one state of the ledger, without the file's write lock. */
static int look_up(struct db *db, const struct budget_look *look, struct budget_row *ret,
		   struct rye_err *err)
{
	struct budget_walk walk = { .fn = budget_keep, .arg = ret, .sums = true };
	const struct db_query *query = DB_ROWS(budget_on_row, &walk,
					       "SELECT " BUDGET_COLUMNS ", " HELD ", " BELOW
					       " FROM budget_ledger WHERE thread_id = ?1",
					       DB_TEXT(look->id), DB_TEXT(look->except));
	int r;

	*ret = (struct budget_row){ .thread_id = "" };
	r = look->within ? db_step(db, query, NULL, err) : db_run(db, query, NULL, err);
	if (!r && !*ret->thread_id)
		return rye_fail(err, RYE_NOT_FOUND, "no budget of thread %.900s", look->id);
	return r;
}

static int read_row(struct db *db, const char *id, const char *except, struct budget_row *ret,
		    struct rye_err *err)
{
	return look_up(db, &(struct budget_look){ id, except, true }, ret, err);
}

int budget_get(struct db *db, const char *id, struct budget_row *ret, struct rye_err *err)
{
	return look_up(db, &(struct budget_look){ .id = id }, ret, err);
}

int budget_each(struct db *db, bool active, budget_fn fn, void *arg, struct rye_err *err)
{
	struct budget_walk walk = { .fn = fn, .arg = arg };

	return db_run(db,
		      DB_ROWS(budget_on_row, &walk,
			      active ? "SELECT " BUDGET_COLUMNS " FROM budget_ledger"
				       " WHERE status = 'active' ORDER BY created_at, rowid" :
				       "SELECT " BUDGET_COLUMNS " FROM budget_ledger"
				       " ORDER BY created_at, rowid"),
		      NULL, err);
}

/* ---- roots ---- */

/*
 * A family goes as a whole, once none of it lives; its leaves first, since the format's table forbids
 * to remove a row that another one names.
 */
static int drop_families(struct db *db, struct rye_err *err)
{
	static const char sql[] =
		"WITH RECURSIVE tree(root, id, status) AS ("
		" SELECT thread_id, thread_id, status FROM budget_ledger"
		"  WHERE parent_thread_id IS NULL"
		" UNION SELECT tree.root, b.thread_id, b.status FROM budget_ledger b"
		"  JOIN tree ON b.parent_thread_id = tree.id)"
		" DELETE FROM budget_ledger WHERE thread_id IN (SELECT id FROM tree WHERE root"
		"  NOT IN (SELECT root FROM tree WHERE status = 'active'))"
		" AND thread_id NOT IN (SELECT parent_thread_id FROM budget_ledger"
		"  WHERE parent_thread_id IS NOT NULL)";
	int changes = 1, r = 0;

	while (!r && changes)
		r = db_step(db, DB_QUERY(sql), &changes, err);
	return r;
}

static int add_root(void *arg, struct db *db, struct rye_err *err)
{
	const struct budget_ask *ask = arg;
	char now[40];
	struct budget_row row;
	int r = drop_families(db, err);

	clock_iso_us(now);
	if (!r)
		r = db_step(db,
			    DB_QUERY("INSERT INTO budget_ledger (thread_id, reserved_spend,"
				     " max_spend, created_at, updated_at)"
				     " VALUES (?1, ?2, ?2, ?3, ?3)"
				     " ON CONFLICT(thread_id) DO NOTHING",
				     DB_TEXT(ask->child), DB_REAL(ask->amount), DB_TEXT(now)),
			    NULL, err);
	if (!r)
		r = read_row(db, ask->child, NULL, &row, err);
	if (!r && (*row.parent_id || strcmp(row.status, "active") != 0))
		return rye_fail(err, RYE_BUSY, "thread %.900s has had its budget", ask->child);
	return r;
}

int budget_root(struct db *db, const char *id, double max, struct rye_err *err)
{
	if (!is_money(max))
		return rye_fail(err, RYE_INVALID, "a budget of %g: a number of 0 or more is wanted",
				max);
	return db_transaction(db, add_root, &(struct budget_ask){ .child = id, .amount = max },
			      err);
}

/* ---- children ---- */

static int hold_amount(struct db *db, const struct budget_ask *ask, double amount,
		       struct rye_err *err)
{
	char now[40];
	int changes = 0, r;

	clock_iso_us(now);
	r = db_step(db,
		    DB_QUERY("INSERT INTO budget_ledger (thread_id, parent_thread_id,"
			     " reserved_spend, max_spend, created_at, updated_at)"
			     " VALUES (?1, ?2, ?3, ?3, ?4, ?4)"
			     " ON CONFLICT(thread_id) DO UPDATE SET max_spend = ?3,"
			     " reserved_spend = MAX(?3, actual_spend), updated_at = ?4"
			     " WHERE status = 'active' AND parent_thread_id IS ?2",
			     DB_TEXT(ask->child), DB_TEXT(ask->parent), DB_REAL(amount),
			     DB_TEXT(now)),
		    &changes, err);
	if (!r && !changes)
		return rye_fail(err, RYE_BUSY, "thread %.900s has had its budget", ask->child);
	return r;
}

struct budget_hold {
	const struct budget_ask *ask;
	double amount;
};

/*
 * What its launcher has reserved is the child's, when it asks itself: also when the parent has ended
 * meanwhile, or has written down what its next request may cost. False: that is not enough.
 */
static bool holds_amount(struct db *db, struct budget_hold *hold)
{
	const struct budget_ask *ask = hold->ask;
	struct budget_row own;

	if (read_row(db, ask->child, NULL, &own, NULL) || strcmp(own.status, "active") != 0 ||
	    strcmp(own.parent_id, ask->parent) != 0 ||
	    (!ask->half && ask->amount > own.max + BUDGET_TOLERANCE))
		return false;
	hold->amount = MIN_OF(hold->amount, own.max);
	return true;
}

static int reserve_amount(void *arg, struct db *db, struct rye_err *err)
{
	struct budget_hold *hold = arg;
	const struct budget_ask *ask = hold->ask;
	struct budget_row parent;
	int r = read_row(db, ask->parent, ask->child, &parent, err);

	if (r)
		return r;
	if (holds_amount(db, hold))
		return hold_amount(db, ask, hold->amount, err);
	if (strcmp(parent.status, "active") != 0)
		return rye_fail(err, RYE_BUSY, "thread %.900s has ended: it funds no children",
				ask->parent);
	if (ask->half)
		hold->amount = MAX_OF(0, MIN_OF(hold->amount, parent.remaining / 2));
	if (hold->amount > parent.remaining + BUDGET_TOLERANCE)
		return rye_fail(
			err, RYE_BUDGET,
			"Insufficient budget: parent=%.700s remaining=%.10g requested=%.10g",
			ask->parent, parent.remaining, hold->amount);
	return hold_amount(db, ask, hold->amount, err);
}

int budget_reserve(struct db *db, const struct budget_ask *ask, double *ret_amount,
		   struct rye_err *err)
{
	struct budget_hold hold = { ask, ask->amount };
	int r;

	if (!is_money(ask->amount) || !strcmp(ask->child, ask->parent))
		return rye_fail(err, RYE_INVALID, "thread %.700s cannot reserve %g of %.100s",
				ask->child, ask->amount, ask->parent);
	r = db_transaction(db, reserve_amount, &hold, err);
	if (!r && ret_amount)
		*ret_amount = hold.amount;
	return r;
}

struct budget_new_max {
	const char *id;
	double max;
};

static int change_max(void *arg, struct db *db, struct rye_err *err)
{
	const struct budget_new_max *new = arg;
	char now[40];
	struct budget_row row;
	int r = read_row(db, new->id, NULL, &row, err);

	if (r)
		return r;
	if (*row.parent_id) {
		const struct budget_ask ask = { .child = new->id,
						.parent = row.parent_id,
						.amount = new->max };

		return reserve_amount(&(struct budget_hold){ &ask, new->max }, db, err);
	}
	clock_iso_us(now);
	return db_step(db,
		       DB_QUERY("UPDATE budget_ledger SET max_spend = ?2, reserved_spend ="
				" MAX(?2, actual_spend), updated_at = ?3"
				" WHERE thread_id = ?1 AND status = 'active'",
				DB_TEXT(new->id), DB_REAL(new->max), DB_TEXT(now)),
		       NULL, err);
}

int budget_change(struct db *db, const char *id, double max, struct rye_err *err)
{
	if (!is_money(max))
		return rye_fail(err, RYE_INVALID, "a budget of %g: a number of 0 or more is wanted",
				max);
	return db_transaction(db, change_max, &(struct budget_new_max){ id, max }, err);
}

/* ---- spending ---- */

int budget_spend(struct db *db, const char *id, double delta, struct rye_err *err)
{
	char now[40];
	int changes = 0, r;

	if (!isfinite(delta))
		return rye_fail(err, RYE_INVALID, "thread %.900s cannot spend %g", id, delta);
	clock_iso_us(now);
	r = db_run(db,
		   DB_QUERY("UPDATE budget_ledger SET"
			    " actual_spend = MAX(0.0, actual_spend + ?2), reserved_spend ="
			    " MAX(COALESCE(max_spend, 0.0), actual_spend + ?2),"
			    " updated_at = ?3 WHERE thread_id = ?1 AND status = 'active'",
			    DB_TEXT(id), DB_REAL(delta), DB_TEXT(now)),
		   &changes, err);
	if (!r && !changes)
		return rye_fail(err, RYE_NOT_FOUND, "no living budget of thread %.900s", id);
	return r;
}

int budget_may_go_on(struct db *db, const char *id, struct rye_err *err)
{
	struct budget_row row;
	int r = budget_get(db, id, &row, err);

	if (!r && row.remaining <= BUDGET_TOLERANCE)
		return rye_fail(err, RYE_BUDGET, "Limit exceeded: spend_exceeded (%.10g/%.10g)",
				row.max - row.remaining, row.max);
	return r;
}

/* ---- the end ---- */

struct budget_end {
	const char *id, *status;
};

/*
 * To the parent; and when that one has been settled already, further up too, to the first that
 * lives: it has the parent's cost without this.
 */
#define PAY_ABOVE                                                                                     \
	"WITH RECURSIVE above(id, status, parent) AS ("                                               \
	" SELECT p.thread_id, p.status, p.parent_thread_id FROM budget_ledger p"                      \
	"  JOIN budget_ledger c ON p.thread_id = c.parent_thread_id WHERE c.thread_id = ?1"           \
	" UNION SELECT p.thread_id, p.status, p.parent_thread_id FROM budget_ledger p"                \
	"  JOIN above ON p.thread_id = above.parent WHERE above.status <> 'active'),"                 \
	" paid(amount) AS (SELECT actual_spend FROM budget_ledger WHERE thread_id = ?1)"              \
	" UPDATE budget_ledger SET"                                                                   \
	" actual_spend = actual_spend + (SELECT amount FROM paid),"                                   \
	" reserved_spend = MAX(CASE status WHEN 'active' THEN COALESCE(max_spend, 0.0) ELSE 0.0 END," \
	"  actual_spend + (SELECT amount FROM paid)), updated_at = ?2"                                \
	" WHERE thread_id IN (SELECT id FROM above) AND thread_id <> ?1"

static int settle_row(void *arg, struct db *db, struct rye_err *err)
{
	const struct budget_end *end = arg;
	char now[40];
	int changes = 0, r;

	clock_iso_us(now);
	r = db_step(db,
		    DB_QUERY("UPDATE budget_ledger SET status = ?3, updated_at = ?2,"
			     " reserved_spend = actual_spend"
			     " WHERE thread_id = ?1 AND status = 'active'",
			     DB_TEXT(end->id), DB_TEXT(now), DB_TEXT(end->status)),
		    &changes, err);
	if (r || !changes)
		return r;
	return db_step(db, DB_QUERY(PAY_ABOVE, DB_TEXT(end->id), DB_TEXT(now)), NULL, err);
}

static int pass_on(void *arg, struct db *db, struct rye_err *err)
{
	const struct budget_ask *ask = arg;
	struct budget_row old;
	struct budget_ask next = { .child = ask->child };
	int r = read_row(db, ask->parent, NULL, &old, err);

	if (!r && strcmp(old.status, "active") != 0)
		r = rye_fail(err, RYE_BUSY, "thread %.900s has ended", ask->parent);
	if (!r)
		r = settle_row(&(struct budget_end){ ask->parent, "continued" }, db, err);
	next.parent = old.parent_id;
	return r || !*next.parent ? r : hold_amount(db, &next, MAX_OF(0, old.remaining), err);
}

int budget_pass_on(struct db *db, const char *id, const char *next, struct rye_err *err)
{
	struct budget_ask ask = { .child = next, .parent = id };

	return db_transaction(db, pass_on, &ask, err);
}

int budget_settle(struct db *db, const char *id, const char *status, struct rye_err *err)
{
	if (!strcmp(status, "active"))
		return rye_fail(err, RYE_INVALID, "thread %.900s: active is no end", id);
	return db_transaction(db, settle_row, &(struct budget_end){ id, status }, err);
}

/* Its cost is its parent's by now; a row that others name as their parent has to stay. */
int budget_drop(struct db *db, const char *id, struct rye_err *err)
{
	int r = budget_settle(db, id, "error", err);

	return r ? r :
		   db_run(db,
			  DB_QUERY("DELETE FROM budget_ledger WHERE thread_id = ?1 AND NOT"
				   " EXISTS (SELECT 1 FROM budget_ledger"
				   "  WHERE parent_thread_id = ?1)",
				   DB_TEXT(id)),
			  NULL, err);
}
