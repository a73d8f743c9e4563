/* SPDX-License-Identifier: MIT */
/* The ledger of threads: what is left, what was spent, files of other implementations. */
#include "db_place.h"
#include "told.h"

#include "policy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>

static int setup(void **state)
{
	struct db_place *p = test_malloc(sizeof(*p));

	db_place_make(p, "budget_ledger.db", budget_open);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	db_place_drop(*state);
	test_free(*state);
	return 0;
}

static int reserve(struct db_place *f, const char *child, const char *parent, double amount)
{
	return budget_reserve(f->db, &(struct budget_ask){ child, parent, amount, false }, NULL,
			      &f->err);
}

static struct budget_row row_of(struct db_place *f, const char *id)
{
	struct budget_row row;

	if (budget_get(f->db, id, &row, &f->err))
		fail_msg("%s", f->err.msg);
	return row;
}

#define assert_sum(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static void thread_F20_cost_of_a_tree(void **state)
{
	struct db_place *f = *state;

	assert_works(&f->err, budget_root(f->db, "root", 10, &f->err));
	assert_int_equal(reserve(f, "A", "root", 5), 0);
	assert_int_equal(reserve(f, "B", "A", 2), 0);
	assert_sum(row_of(f, "root").remaining, 5);
	assert_works(&f->err, budget_spend(f->db, "B", 1.0, &f->err));
	assert_works(&f->err, budget_spend(f->db, "A", 0.5, &f->err));
	assert_works(&f->err, budget_spend(f->db, "root", 0.25, &f->err));
	assert_sum(row_of(f, "root").tree, 1.75);
	assert_works(&f->err, budget_settle(f->db, "B", "completed", &f->err));
	assert_works(&f->err, budget_settle(f->db, "A", "completed", &f->err));
	assert_sum(row_of(f, "root").remaining, 10 - 1.75);
	assert_works(&f->err, budget_settle(f->db, "root", "completed", &f->err));
	assert_sum(row_of(f, "root").actual, 1.75);
	assert_sum(row_of(f, "root").tree, 1.75);
	assert_sum(row_of(f, "A").actual, 1.5);
}

static void thread_F16_overspend_is_written_down(void **state)
{
	struct db_place *f = *state;

	budget_root(f->db, "root", 1, &f->err);
	reserve(f, "A", "root", 0.5);
	assert_works(&f->err, budget_may_go_on(f->db, "A", &f->err));
	assert_works(&f->err, budget_spend(f->db, "A", 0.75, &f->err));
	assert_sum(row_of(f, "A").actual, 0.75);
	assert_sum(row_of(f, "A").reserved, 0.75);
	assert_refused(&f->err, RYE_BUDGET, budget_may_go_on(f->db, "A", &f->err));
	assert_string_equal(f->err.msg, "Limit exceeded: spend_exceeded (0.75/0.5)");
	assert_sum(row_of(f, "root").remaining, 0.25);
	budget_settle(f->db, "A", "error", &f->err);
	assert_sum(row_of(f, "root").actual, 0.75);
	assert_sum(row_of(f, "root").remaining, 0.25);
}

/* The launcher and its detached child both ask. */
static void thread_F18_reserving_twice(void **state)
{
	struct db_place *f = *state;

	budget_root(f->db, "root", 1, &f->err);
	assert_int_equal(reserve(f, "A", "root", 0.8), 0);
	assert_int_equal(reserve(f, "A", "root", 0.8), 0);
	assert_sum(row_of(f, "root").remaining, 0.2);
	assert_int_equal(reserve(f, "B", "root", 0.3), -RYE_BUDGET);
	assert_string_equal(f->err.msg,
			    "Insufficient budget: parent=root remaining=0.2 requested=0.3");
	assert_refused(&told_err, RYE_NOT_FOUND,
		       budget_get(f->db, "B", &(struct budget_row){ 0 }, &told_err));
	assert_int_equal(reserve(f, "B", "root", 0.2), 0);
	assert_sum(row_of(f, "root").remaining, 0);
}

static void an_undeclared_child_takes_half(void **state)
{
	struct db_place *f = *state;
	double amount = 0;

	budget_root(f->db, "root", 4, &f->err);
	for (int i = 0; i < 2; i++) {
		char id[2] = { (char)('A' + i), 0 };

		assert_works(&f->err,
			     budget_reserve(f->db, &(struct budget_ask){ id, "root", 5, true },
					    &amount, &f->err));
		assert_sum(amount, i ? 1 : 2);
	}
	assert_works(&f->err, budget_reserve(f->db, &(struct budget_ask){ "C", "root", 0.25, true },
					     &amount, &f->err));
	assert_sum(amount, 0.25);
}

static void refusals(void **state)
{
	struct db_place *f = *state;

	assert_int_equal(reserve(f, "A", "root", 1), -RYE_NOT_FOUND);
	assert_refused(&f->err, RYE_NOT_FOUND, budget_spend(f->db, "A", 1, &f->err));
	budget_root(f->db, "root", 1, &f->err);
	assert_works(&f->err, budget_root(f->db, "root", 1, &f->err));
	assert_refused(&f->err, RYE_INVALID, budget_root(f->db, "x", -1, &f->err));
	assert_refused(&f->err, RYE_INVALID, budget_root(f->db, "x", NAN, &f->err));
	assert_int_equal(reserve(f, "A", "root", -1), -RYE_INVALID);
	assert_int_equal(reserve(f, "root", "root", 0), -RYE_INVALID);
	assert_refused(&f->err, RYE_INVALID, budget_settle(f->db, "root", "active", &f->err));
	reserve(f, "A", "root", 0.5);
	assert_int_equal(reserve(f, "root", "A", 0.1), -RYE_BUSY); /* a circle */
	budget_settle(f->db, "A", "completed", &f->err);
	assert_int_equal(reserve(f, "A", "root", 0.5), -RYE_BUSY);
	assert_int_equal(reserve(f, "B", "A", 0), -RYE_BUSY);
	assert_string_equal(f->err.msg, "thread A has ended: it funds no children");
	assert_refused(&f->err, RYE_NOT_FOUND, budget_spend(f->db, "A", 1, &f->err));
	assert_works(&f->err, budget_settle(f->db, "nobody", "completed", &f->err));
}

/* thread F46: cancelled and completed at the same instant. */
static void thread_F46_settled_once(void **state)
{
	struct db_place *f = *state;

	budget_root(f->db, "root", 1, &f->err);
	reserve(f, "A", "root", 0.5);
	budget_spend(f->db, "A", 0.5, &f->err);
	budget_settle(f->db, "A", "cancelled", &f->err);
	budget_settle(f->db, "A", "completed", &f->err);
	assert_string_equal(row_of(f, "A").status, "cancelled");
	assert_sum(row_of(f, "root").actual, 0.5);
}

/* thread F25: the reservation of a child stays held when its parent has ended before it. */
static void children_that_outlive_their_parent(void **state)
{
	struct db_place *f = *state;

	budget_root(f->db, "root", 10, &f->err);
	reserve(f, "A", "root", 5);
	reserve(f, "B", "A", 3);
	budget_spend(f->db, "A", 1, &f->err);
	budget_spend(f->db, "B", 2, &f->err);
	budget_settle(f->db, "A", "error", &f->err);
	assert_sum(row_of(f, "root").remaining, 10 - 1 - 3);
	assert_sum(row_of(f, "root").tree, 3);
	budget_settle(f->db, "B", "completed", &f->err);
	assert_sum(row_of(f, "A").actual, 3);
	assert_sum(row_of(f, "root").actual, 3);
	assert_sum(row_of(f, "root").remaining, 7);
}

/* Its launcher has funded it: the child may ask itself when the parent is over already. */
static void thread_F18_a_child_that_is_slower_than_its_parent(void **state)
{
	struct db_place *f = *state;
	double amount = 0;

	budget_root(f->db, "root", 1, &f->err);
	assert_int_equal(reserve(f, "A", "root", 0.6), 0);
	/* what the parent's next request may cost does not take it back */
	budget_spend(f->db, "root", 0.5, &f->err);
	assert_int_equal(reserve(f, "A", "root", 0.6), 0);
	budget_spend(f->db, "root", 0.1 - 0.5, &f->err);
	budget_settle(f->db, "root", "completed", &f->err);
	assert_works(&f->err, budget_root(f->db, "other", 1, &f->err)); /* cleans up */
	assert_int_equal(reserve(f, "A", "root", 0.7), -RYE_BUSY);
	assert_int_equal(reserve(f, "A", "root", 0.6), 0);
	assert_works(&f->err, budget_reserve(f->db, &(struct budget_ask){ "A", "root", 5, true },
					     &amount, &f->err));
	assert_sum(amount, 0.6);
	assert_int_equal(reserve(f, "B", "root", 0.1), -RYE_BUSY);
	assert_works(&f->err, budget_spend(f->db, "A", 0.25, &f->err));
	assert_works(&f->err, budget_settle(f->db, "A", "completed", &f->err));
	assert_sum(row_of(f, "root").actual, 0.35);
}

static void what_goes_on_has_what_was_left(void **state)
{
	struct db_place *f = *state;

	budget_root(f->db, "root", 1, &f->err);
	reserve(f, "A", "root", 0.6);
	reserve(f, "C", "A", 0.1);
	budget_spend(f->db, "A", 0.2, &f->err);
	assert_works(&f->err, budget_pass_on(f->db, "A", "B", &f->err));
	assert_string_equal(row_of(f, "A").status, "continued");
	assert_sum(row_of(f, "B").max, 0.3);
	assert_sum(row_of(f, "root").remaining, 0.4);
	budget_settle(f->db, "root", "completed", &f->err);
	/* also without the parent */
	assert_works(&f->err, budget_pass_on(f->db, "B", "D", &f->err));
	assert_int_equal(reserve(f, "D", "root", 0.3), 0);
	assert_refused(&f->err, RYE_BUSY, budget_pass_on(f->db, "B", "E", &f->err));
	/* a root's next one begins a family of its own */
	budget_root(f->db, "other", 1, &f->err);
	assert_works(&f->err, budget_pass_on(f->db, "other", "next", &f->err));
	assert_refused(&told_err, RYE_NOT_FOUND,
		       budget_get(f->db, "next", &(struct budget_row){ 0 }, &told_err));
}

static void estimates(void **state)
{
	struct db_place *f = *state;

	budget_root(f->db, "root", 1, &f->err);
	budget_spend(f->db, "root", 0.4, &f->err);
	assert_sum(row_of(f, "root").actual, 0.4);
	budget_spend(f->db, "root", 0.1 - 0.4, &f->err);
	assert_sum(row_of(f, "root").actual, 0.1);
	budget_spend(f->db, "root", -5, &f->err);
	assert_sum(row_of(f, "root").actual, 0);
	assert_sum(row_of(f, "root").reserved, 1);
	assert_refused(&f->err, RYE_INVALID, budget_spend(f->db, "root", INFINITY, &f->err));
}

static void raw(struct db_place *f, const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(f->db->handle, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
}

#define OLD_ROW(id, parent, status)                                                   \
	"INSERT INTO budget_ledger (thread_id, parent_thread_id, status, created_at," \
	" updated_at, max_spend) VALUES ('" id "', " parent ", '" status "', 'x', 'x', 1);"

static int count_rows(void *arg, const struct budget_row *row)
{
	++*(int *)arg;
	return 0;
}

/* What another implementation leaves: there a middle row is removed before its child, and fails. */
static void thread_F19_old_families_go(void **state)
{
	struct db_place *f = *state;
	int rows = 0;

	raw(f, OLD_ROW("r", "NULL", "completed") OLD_ROW("a", "'r'", "continued")
		       OLD_ROW("b", "'a'", "killed") OLD_ROW("s", "NULL", "error")
			       OLD_ROW("c", "'s'", "active") OLD_ROW("d", "'c'", "completed"));
	assert_works(&f->err, budget_root(f->db, "new", 1, &f->err));
	budget_each(f->db, false, count_rows, &rows, &f->err);
	assert_int_equal(rows, 4); /* new, and the family of which one lives */
	rows = 0;
	budget_each(f->db, true, count_rows, &rows, &f->err);
	assert_int_equal(rows, 2);
	assert_works(&f->err, budget_settle(f->db, "c", "error", &f->err));
	assert_works(&f->err, budget_root(f->db, "newer", 1, &f->err));
	rows = 0;
	budget_each(f->db, false, count_rows, &rows, &f->err);
	assert_int_equal(rows, 2);
}

static void a_circle_from_elsewhere(void **state)
{
	struct db_place *f = *state;

	raw(f, "PRAGMA foreign_keys = OFF;" OLD_ROW("x", "'y'", "error")
		       OLD_ROW("y", "'x'", "error") OLD_ROW("z", "'x'", "active"));
	assert_sum(row_of(f, "x").remaining, 1);
	assert_works(&f->err, budget_settle(f->db, "z", "error", &f->err));
	assert_works(&f->err, budget_root(f->db, "new", 1, &f->err));
}

static void thread_F34_another_process_has_it_locked(void **state)
{
	struct db_place *f = *state;
	sqlite3 *other = NULL;

	budget_root(f->db, "root", 1, &f->err);
	sqlite3_busy_timeout(f->db->handle, 100);
	assert_int_equal(sqlite3_open(f->path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_refused(&f->err, RYE_BUSY, budget_settle(f->db, "root", "completed", &f->err));
	assert_int_equal(f->err.sys, EBUSY);
	assert_non_null(strstr(f->err.msg, "another process has it locked"));
	assert_refused(&f->err, RYE_BUSY, budget_spend(f->db, "root", 1, &f->err));
	sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_close(other);
	assert_works(&f->err, budget_settle(f->db, "root", "completed", &f->err));
}

/* Nothing of a transaction is kept when the disk is full in it, and it works again with room. */
static void thread_F30_disk_full(void **state)
{
	struct db_place *f = *state;
	char id[16], sql[64];
	int r = 0, rows = 0, n;

	budget_root(f->db, "root", 1000, &f->err);
	raw(f, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA max_page_count = 8");
	for (n = 0; !r && n < 2000; n++) {
		snprintf(id, sizeof(id), "child%d", n);
		r = reserve(f, id, "root", 0.001);
	}
	assert_int_equal(r, -RYE_NO_SPACE);
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %d", 10000);
	raw(f, sql);
	budget_each(f->db, true, count_rows, &rows, &f->err);
	assert_int_equal(rows, n);
	assert_int_equal(reserve(f, id, "root", 0.001), 0);
	assert_sum(row_of(f, "root").remaining, 1000 - 0.001 * n);
}

static void a_limit_that_is_changed(void **state)
{
	struct db_place *f = *state;

	budget_root(f->db, "root", 2, &f->err);
	assert_works(&f->err, budget_spend(f->db, "root", 1.5, &f->err));
	assert_works(&f->err, budget_change(f->db, "root", 1, &f->err));
	assert_refused(&f->err, RYE_BUDGET, budget_may_go_on(f->db, "root", &f->err));
	assert_works(&f->err, budget_change(f->db, "root", 5, &f->err));
	assert_works(&f->err, budget_may_go_on(f->db, "root", &f->err));
	assert_sum(row_of(f, "root").max, 5);
	assert_int_equal(reserve(f, "A", "root", 1), 0);
	assert_works(&f->err, budget_change(f->db, "A", 3.5, &f->err));
	assert_sum(row_of(f, "A").max, 3.5);
	assert_sum(row_of(f, "root").remaining, 0);
	assert_refused(&f->err, RYE_BUDGET, budget_change(f->db, "A", 3.6, &f->err));
	assert_sum(row_of(f, "A").max, 3.5);
	assert_refused(&f->err, RYE_INVALID, budget_change(f->db, "A", -1, &f->err));
	assert_refused(&f->err, RYE_NOT_FOUND, budget_change(f->db, "none", 1, &f->err));
}

static void a_deleted_thread_has_no_row(void **state)
{
	struct db_place *f = *state;
	struct budget_row row;

	budget_root(f->db, "root", 2, &f->err);
	assert_int_equal(reserve(f, "A", "root", 1), 0);
	assert_works(&f->err, budget_spend(f->db, "A", 0.5, &f->err));
	/* named by a child: it stays, settled */
	assert_works(&f->err, budget_drop(f->db, "root", &f->err));
	assert_string_equal(row_of(f, "root").status, "error");
	assert_works(&f->err, budget_drop(f->db, "A", &f->err));
	assert_refused(&f->err, RYE_NOT_FOUND, budget_get(f->db, "A", &row, &f->err));
	assert_sum(row_of(f, "root").actual, 0.5);
	assert_works(&f->err, budget_drop(f->db, "root", &f->err));
	assert_refused(&f->err, RYE_NOT_FOUND, budget_get(f->db, "root", &row, &f->err));
	assert_works(&f->err, budget_drop(f->db, "root", &f->err));
}

static void thread_F35_no_database(void **state)
{
	struct db_place *f = *state;
	char path[128];
	struct db *db = NULL;
	int fd;

	snprintf(path, sizeof(path), "%s/other.db", f->dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "this is no database, not at all, no", 35), 35);
	close(fd);
	assert_refused(&f->err, RYE_UNPARSABLE, budget_open(path, &db, &f->err));
	assert_non_null(strstr(f->err.msg, "not a database"));
	unlink(path);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(thread_F20_cost_of_a_tree),
		CASE(thread_F16_overspend_is_written_down),
		CASE(thread_F18_reserving_twice),
		CASE(an_undeclared_child_takes_half),
		CASE(refusals),
		CASE(thread_F46_settled_once),
		CASE(children_that_outlive_their_parent),
		CASE(thread_F18_a_child_that_is_slower_than_its_parent),
		CASE(what_goes_on_has_what_was_left),
		CASE(estimates),
		CASE(thread_F19_old_families_go),
		CASE(a_circle_from_elsewhere),
		CASE(thread_F34_another_process_has_it_locked),
		CASE(thread_F30_disk_full),
		CASE(a_limit_that_is_changed),
		CASE(a_deleted_thread_has_no_row),
		CASE(thread_F35_no_database),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
