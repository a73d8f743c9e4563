/* SPDX-License-Identifier: MIT */
/*
 * A disk that fails under the two databases of threads. The N-th write fails, N = 1, 2, 3 …, once
 * without room and once broken: a change is there as a whole or not at all, the error is told, and with
 * the disk mended the same change is made.
 */
#include "db_place.h"

#include "err.h"
#include "policy/policy.h"
#include "record/record.h"

#include <errno.h>
#include <string.h>

/* ---- writes that fail ---- */

static struct {
	int left, code, failed; /* left: 0: none fails */
} fault;

static bool fails_now(void)
{
	if (!fault.left || --fault.left)
		return false;
	fault.failed++;
	errno = fault.code;
	return true;
}

static ssize_t failing_pwrite(int fd, const void *bytes, size_t n, off_t off)
{
	return fails_now() ? -1 : pwrite(fd, bytes, n, off);
}

static ssize_t failing_write(int fd, const void *bytes, size_t n)
{
	return fails_now() ? -1 : write(fd, bytes, n);
}

/* What SQLite calls instead; a build of it has one of the first two. */
static int faults_install(void **state)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)failing_pwrite);
	vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)failing_pwrite);
	vfs->xSetSystemCall(vfs, "write", (sqlite3_syscall_ptr)failing_write);
	return 0;
}

static int faults_remove(void **state)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	return vfs->xSetSystemCall(vfs, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

/* ---- changes ---- */

/* Writes of one change: more are another one's. */
#define FAULTS_MAX 12

typedef int (*change_fn)(struct db_place *p, const char *id);

static int row_added(struct db_place *p, const char *id)
{
	return registry_add(p->db, &(struct registry_new){ .id = id, .directive = "t/a" }, &p->err);
}

static int row_running(struct db_place *p, const char *id)
{
	return registry_running(p->db, id, 42, &p->err);
}

static int row_counted(struct db_place *p, const char *id)
{
	return registry_spawn(p->db, -1, id, 1000, &p->err);
}

static int row_costs(struct db_place *p, const char *id)
{
	return registry_snapshot(p->db, id, &(struct thread_cost){ .turns = 1 }, &p->err);
}

static int row_chained(struct db_place *p, const char *id)
{
	return registry_chain(p->db, "first", id, &p->err);
}

static int row_finished(struct db_place *p, const char *id)
{
	return registry_finish(p->db, id, "completed", "{\"status\":\"success\"}", &p->err);
}

static int row_deleted(struct db_place *p, const char *id)
{
	return registry_delete(p->db, id, &p->err);
}

static int money_held(struct db_place *p, const char *id)
{
	return budget_reserve(p->db, &(struct budget_ask){ id, "first", 0.001, false }, NULL,
			      &p->err);
}

static int money_changed(struct db_place *p, const char *id)
{
	return budget_change(p->db, id, 0.002, &p->err);
}

static int money_spent(struct db_place *p, const char *id)
{
	return budget_spend(p->db, id, 0.001, &p->err);
}

static int money_settled(struct db_place *p, const char *id)
{
	return budget_settle(p->db, id, "completed", &p->err);
}

static int money_dropped(struct db_place *p, const char *id)
{
	return budget_drop(p->db, id, &p->err);
}

static int on_check(void *arg, sqlite3_stmt *row)
{
	assert_string_equal((const char *)sqlite3_column_text(row, 0), "ok");
	return 0;
}

static void is_sound(struct db_place *p)
{
	const struct db_query query = { .sql = "PRAGMA integrity_check", .fn = on_check };

	assert_works(&p->err, db_run(p->db, &query, NULL, &p->err));
}

/* Each change of one row, with its n-th write failing; how many failed. */
static int change_each(struct db_place *p, const change_fn *changes, size_t size, int n)
{
	static int rows;
	char id[24];
	int failed = 0;

	snprintf(id, sizeof(id), "row%d", rows++);
	for (size_t i = 0; i < size; i++) {
		int r;

		fault.left = n;
		fault.failed = 0;
		r = changes[i](p, id);
		fault.left = 0;
		failed += fault.failed;
		if (!fault.failed)
			assert_int_equal(r, 0);
		if (r)
			assert_true(r == -RYE_NO_SPACE || r == -RYE_IO);
		is_sound(p);
		/* nothing of it was done: it is done now */
		if (r)
			assert_int_equal(changes[i](p, id), 0);
	}
	return failed;
}

static void fail_changes(struct db_place *p, const change_fn *changes, size_t size)
{
	static const int codes[] = { ENOSPC, EIO };
	int failed = 0;

	for (int n = 1; n <= FAULTS_MAX; n++)
		for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
			fault.code = codes[i];
			failed += change_each(p, changes, size, n);
		}
	assert_true(failed > 10);
}

static void thread_F30_the_registry(void **state)
{
	static const change_fn changes[] = { row_added,	  row_running,	row_counted, row_costs,
					     row_chained, row_finished, row_deleted };
	struct db_place p;

	db_place_make(&p, "registry.db", registry_open);
	assert_int_equal(row_added(&p, "first"), 0);
	fail_changes(&p, changes, sizeof(changes) / sizeof(*changes));
	db_place_drop(&p);
}

static void thread_F30_the_ledger(void **state)
{
	static const change_fn changes[] = { money_held, money_changed, money_spent, money_settled,
					     money_dropped };
	struct db_place p;

	db_place_make(&p, "budget_ledger.db", budget_open);
	assert_int_equal(budget_root(p.db, "first", 10, &p.err), 0);
	fail_changes(&p, changes, sizeof(changes) / sizeof(*changes));
	db_place_drop(&p);
}

/* ---- memory that runs out within SQLite ---- */

static struct {
	sqlite3_mem_methods real;
	int left, failed; /* left: 0: none fails */
} memory;

static bool memory_fails(void)
{
	if (!memory.left || --memory.left)
		return false;
	memory.failed++;
	return true;
}

static void *failing_malloc(int size)
{
	return memory_fails() ? NULL : memory.real.xMalloc(size);
}

static void *failing_realloc(void *old, int size)
{
	return memory_fails() ? NULL : memory.real.xRealloc(old, size);
}

static int memory_install(void **state)
{
	sqlite3_mem_methods failing;

	if (sqlite3_shutdown() || sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory.real))
		return -1;
	failing = memory.real;
	failing.xMalloc = failing_malloc;
	failing.xRealloc = failing_realloc;
	return sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
}

static int memory_remove(void **state)
{
	return sqlite3_shutdown() || sqlite3_config(SQLITE_CONFIG_MALLOC, &memory.real);
}

/* A row is read as it is, or not at all, and then it may be there a moment later. */
static void a_row_without_memory(void **state)
{
	struct db_place p;
	int failures = 0;

	db_place_make(&p, "registry.db", registry_open);
	assert_int_equal(row_added(&p, "first"), 0);
	assert_int_equal(row_finished(&p, "first"), 0);
	db_close(p.db);
	for (int n = 1, failed = 1; failed; n++) {
		struct registry_row row = { .status = "" };
		struct db *db = NULL;
		int r;

		memory.failed = 0;
		memory.left = n;
		r = registry_open(p.path, &db, &p.err);
		if (!r)
			r = registry_get(db, "first", true, &row, &p.err);
		memory.left = 0;
		failed = memory.failed;
		failures += r != 0;
		if (r)
			assert_true(err_scarce(&p.err));
		else
			assert_string_equal(row.status, "completed");
		if (!r)
			assert_string_equal(row.result, "{\"status\":\"success\"}");
		free(row.result);
		db_close(db);
	}
	assert_true(failures > 10);
	p.db = NULL;
	db_place_drop(&p);
}

static int too_many_opens(const char *path, int flags, int mode)
{
	errno = EMFILE;
	return -1;
}

/* Without descriptors there is a word of it, and later it may go well. */
static void a_database_without_descriptors(void **state)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	struct db_place p;
	struct db *db = NULL;

	db_place_make(&p, "registry.db", registry_open);
	vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)too_many_opens);
	assert_int_equal(registry_open(p.path, &db, &p.err), -RYE_BUSY);
	assert_int_equal(p.err.sys, EMFILE);
	assert_non_null(strstr(p.err.msg, "Too many open files"));
	vfs->xSetSystemCall(vfs, "open", NULL);
	db_place_drop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(thread_F30_the_registry, faults_install,
						faults_remove),
		cmocka_unit_test_setup_teardown(thread_F30_the_ledger, faults_install,
						faults_remove),
		cmocka_unit_test_setup_teardown(a_database_without_descriptors, NULL,
						faults_remove),
		cmocka_unit_test_setup_teardown(a_row_without_memory, memory_install,
						memory_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
