/* SPDX-License-Identifier: MIT */
/* The registry of threads: its rows, its one-way statuses, files of other implementations. */
#include "db_place.h"

#include "record/record.h"
#include "scope.h"

static int registry_insert(struct db *db, const char *id, const char *directive,
			   struct rye_err *err)
{
	return registry_add(db, &(struct registry_new){ .id = id, .directive = directive }, err);
}

static int setup(void **state)
{
	struct db_place *p = test_malloc(sizeof(*p));

	db_place_make(p, "registry.db", registry_open);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	db_place_drop(*state);
	test_free(*state);
	return 0;
}

static void a_row_goes_from_created_to_completed(void **state)
{
	struct db_place *f = *state;
	struct registry_row row;

	assert_works(&f->err, registry_insert(f->db, "a", "tool:x", &f->err));
	assert_works(&f->err, registry_get(f->db, "a", false, &row, &f->err));
	assert_string_equal(row.status, "created");
	assert_string_equal(row.directive, "tool:x");
	assert_works(&f->err, registry_running(f->db, "a", 42, &f->err));
	assert_works(&f->err, registry_get(f->db, "a", true, &row, &f->err));
	assert_int_equal(row.pid, 42);
	assert_false(registry_has_result(f->db, "a"));
	assert_works(&f->err, registry_finish(f->db, "a", "completed", "{\"x\":1}", &f->err));
	assert_works(&f->err, registry_get(f->db, "a", true, &row, &f->err));
	assert_string_equal(row.status, "completed");
	/* not read with the rest: it stands behind the result */
	assert_int_equal(row.pid, 0);
	assert_int_equal(registry_pid(f->db, "a"), 42);
	assert_true(registry_has_result(f->db, "a"));
	assert_string_equal(row.result, "{\"x\":1}");
	assert_true(strlen(row.completed_at) > 20);
	free(row.result);
}

static void a_terminal_status_is_final(void **state)
{
	struct db_place *f = *state;
	struct registry_row row;

	registry_insert(f->db, "a", "tool:x", &f->err);
	registry_finish(f->db, "a", "killed", "{}", &f->err);
	registry_finish(f->db, "a", "completed", "{\"late\":1}", &f->err);
	registry_running(f->db, "a", 7, &f->err);
	assert_works(&f->err, registry_get(f->db, "a", true, &row, &f->err));
	assert_string_equal(row.status, "killed");
	assert_string_equal(row.result, "{}");
	free(row.result);
}

static void a_taken_id_is_refused(void **state)
{
	struct db_place *f = *state;

	assert_works(&f->err, registry_insert(f->db, "a", "tool:x", &f->err));
	assert_refused(&f->err, RYE_BUSY, registry_insert(f->db, "a", "tool:y", &f->err));
}

static void a_living_row_cannot_be_deleted(void **state)
{
	struct db_place *f = *state;
	struct registry_row row;

	registry_insert(f->db, "a", "tool:x", &f->err);
	registry_delete(f->db, "a", &f->err);
	assert_works(&f->err, registry_get(f->db, "a", false, &row, &f->err));
	registry_finish(f->db, "a", "error", NULL, &f->err);
	registry_delete(f->db, "a", &f->err);
	assert_refused(&f->err, RYE_NOT_FOUND, registry_get(f->db, "a", false, &row, &f->err));
	assert_string_equal(f->err.msg, "Thread not found: a");
}

static int count(void *arg, const struct registry_row *row)
{
	(void)row;
	++*(int *)arg;
	return 0;
}

static void active_rows_are_those_not_ended(void **state)
{
	struct db_place *f = *state;
	int active = 0, all = 0;

	registry_insert(f->db, "a", "tool:x", &f->err);
	registry_insert(f->db, "b", "tool:x", &f->err);
	registry_finish(f->db, "b", "completed", "{}", &f->err);
	assert_works(&f->err, registry_each(f->db, true, count, &active, &f->err));
	assert_works(&f->err, registry_each(f->db, false, count, &all, &f->err));
	assert_int_equal(active, 1);
	assert_int_equal(all, 2);
}

static void thread_T08_columns_missing_in_an_old_file(void **state)
{
	struct db_place *f = *state;
	struct registry_row row;
	struct db *old;
	char path[128];

	snprintf(path, sizeof(path), "%s/old.db", f->dir);
	assert_works(&f->err,
		     db_open(path,
			     "CREATE TABLE threads (result TEXT, thread_id TEXT PRIMARY KEY, "
			     "status TEXT DEFAULT 'created', directive TEXT NOT NULL, "
			     "created_at TEXT, updated_at TEXT, completed_at TEXT, "
			     "parent_id TEXT); INSERT INTO threads (thread_id, directive) "
			     "VALUES ('old', 'd')",
			     &old, &f->err));
	db_close(old);
	assert_works(&f->err, registry_open(path, &old, &f->err));
	assert_works(&f->err, registry_insert(old, "a", "tool:x", &f->err));
	assert_works(&f->err, registry_get(old, "a", false, &row, &f->err));
	assert_works(&f->err, registry_get(old, "old", false, &row, &f->err));
	assert_string_equal(row.directive, "d");
	assert_string_equal(row.status, "created");
	assert_works(&f->err, registry_spawn(old, -1, "old", 1, &f->err));
	db_close(old);
	unlink(path);
}

/* A project may come with such a file: what its schema asks for is not done. */
static void what_a_foreign_schema_asks_for_is_not_done(void **state)
{
	static const char trigger[] = "CREATE TRIGGER more AFTER INSERT ON threads BEGIN "
				      "INSERT OR IGNORE INTO threads (thread_id, directive) "
				      "VALUES ('forged', 'tool:x'); END";
	struct db_place *f = *state;
	struct registry_row row;
	int all = 0;

	assert_int_equal(sqlite3_exec(f->db->handle, trigger, NULL, NULL, NULL), SQLITE_OK);
	assert_works(&f->err, registry_insert(f->db, "a", "tool:x", &f->err));
	assert_works(&f->err, registry_each(f->db, false, count, &all, &f->err));
	assert_int_equal(all, 1);
	assert_int_equal(sqlite3_exec(f->db->handle,
				      "DROP TABLE threads; CREATE VIEW threads AS "
				      "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n FROM t "
				      "LIMIT 1000) SELECT n AS thread_id, 'tool:x' AS directive, "
				      "'running' AS status, '' AS created_at, '' AS updated_at, "
				      "'' AS completed_at, 0 AS pid, '' AS result FROM t",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_refused(&f->err, RYE_IO, registry_get(f->db, "1", false, &row, &f->err));
}

static void a_link_is_not_followed(void **state)
{
	struct db_place *f = *state;
	struct db *db = NULL;
	char link[128];

	snprintf(link, sizeof(link), "%s/link.db", f->dir);
	assert_int_equal(symlink(f->path, link), 0);
	assert_int_not_equal(registry_open(link, &db, &f->err), 0);
	assert_null(db);
	unlink(link);
}

/* thread T48: two children asked for at once; the second is one too many. */
static void thread_T48_spawns_are_counted(void **state)
{
	struct db_place *f = *state;
	struct registry_links links;

	assert_refused(&f->err, RYE_NOT_FOUND, registry_spawn(f->db, -1, "p", 1, &f->err));
	registry_insert(f->db, "p", "d", &f->err);
	assert_works(&f->err, registry_spawn(f->db, -1, "p", 1, &f->err));
	assert_refused(&f->err, RYE_BUDGET, registry_spawn(f->db, -1, "p", 1, &f->err));
	assert_string_equal(f->err.msg, "Spawn limit exceeded for parent p: 1/1");
	assert_works(&f->err, registry_links(f->db, "p", &links, &f->err));
	assert_int_equal(links.spawn_count, 1);
}

static int note_ids(void *arg, const struct registry_row *row)
{
	((char *)arg)[strlen(arg)] = *row->thread_id;
	return 0;
}

static void families_and_chains(void **state)
{
	struct db_place *f = *state;
	struct registry_links links;
	struct registry_row row;
	char ids[16] = "", last[1025];

	assert_works(&f->err, registry_add(f->db,
					   &(struct registry_new){ "b", "d", .parent_id = "p",
								   .tool_id = "t" },
					   &f->err));
	registry_add(f->db, &(struct registry_new){ "a", "d", .parent_id = "p" }, &f->err);
	registry_add(f->db, &(struct registry_new){ "c", "d" }, &f->err);
	assert_works(&f->err, registry_children(f->db, "p", note_ids, ids, &f->err));
	assert_string_equal(ids, "ba");
	registry_snapshot(f->db, "a", &(struct thread_cost){ 2, 30, 4, 0.5, 9 }, &f->err);
	registry_finish(f->db, "a", "completed", "{}", &f->err);
	registry_snapshot(f->db, "a", &(struct thread_cost){ 3, 30, 4, 0.5, 9 }, &f->err);
	assert_refused(&f->err, RYE_INVALID, registry_chain(f->db, "a", "a", &f->err));
	assert_refused(&f->err, RYE_NOT_FOUND, registry_chain(f->db, "a", "x", &f->err));
	assert_works(&f->err, registry_last(f->db, "a", last, &f->err));
	assert_string_equal(last, "a");
	assert_works(&f->err, registry_chain(f->db, "a", "b", &f->err));
	assert_works(&f->err, registry_chain(f->db, "b", "c", &f->err));
	assert_works(&f->err, registry_links(f->db, "c", &links, &f->err));
	assert_string_equal(links.chain_root_id, "a");
	assert_string_equal(links.continuation_of, "b");
	assert_works(&f->err, registry_links(f->db, "a", &links, &f->err));
	assert_int_equal(links.cost.turns, 2);
	assert_string_equal(links.parent_id, "p");
	registry_get(f->db, "a", false, &row, &f->err);
	assert_string_equal(row.status, "continued");
	registry_get(f->db, "b", false, &row, &f->err);
	assert_string_equal(row.status, "created");
	assert_works(&f->err, registry_last(f->db, "a", last, &f->err));
	assert_string_equal(last, "c");
	/* a circle ends somewhere */
	assert_works(&f->err, registry_chain(f->db, "c", "a", &f->err));
	assert_works(&f->err, registry_last(f->db, "a", last, &f->err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_row_goes_from_created_to_completed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_terminal_status_is_final, setup, teardown),
		cmocka_unit_test_setup_teardown(a_taken_id_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(a_living_row_cannot_be_deleted, setup, teardown),
		cmocka_unit_test_setup_teardown(active_rows_are_those_not_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(thread_T08_columns_missing_in_an_old_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_a_foreign_schema_asks_for_is_not_done, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_link_is_not_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(thread_T48_spawns_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(families_and_chains, setup, teardown),
	};

	return cmocka_run_group_tests_name("store_registry", tests, NULL, NULL);
}
