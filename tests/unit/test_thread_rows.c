/* SPDX-License-Identifier: MIT */
/* Rows of the registry: made of their directories; of those that have none, when such a thread is over. */
#include "thread_place.h"

#include <fcntl.h>
#include <limits.h>

static void insert(struct bench *b, const char *id, int64_t pid)
{
	const struct registry_new row = { .id = id, .directive = "tool:g", .pid = pid };

	assert_works(&told_err, registry_add(b->db, &row, &told_err));
}

/* Its status; with the result. */
static void row_is(struct bench *b, const char *id, const char *status, const char *result)
{
	struct registry_row row = { .result = NULL };

	assert_works(&told_err, registry_get(b->db, id, true, &row, &told_err));
	assert_string_equal(row.status, status);
	if (result)
		assert_string_equal(row.result, result);
	else
		assert_null(row.result);
	free(row.result);
}

/* The descriptor by which the run is walked. */
static int walk(struct bench *b, const char *id)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "state/graphs/%s/transcript.jsonl", id);
	place_write(b->place.place.project, path, SPAN("{}\n"));
	snprintf(path, sizeof(path), "%s/.ai/state/graphs/%s/transcript.jsonl",
		 b->place.place.project, id);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	return fd;
}

/*
 * The process of a graph whose caller waits may be one that is not seen here: it goes on while its
 * record is locked. Behind that a look at all threads records its end.
 */
static void a_graph_goes_on_as_long_as_it_is_walked(void **state)
{
	struct bench *b = *state;
	int fd = walk(b, "g-1");

	insert(b, "g-1", INT_MAX);
	row_is(b, "g-1", "running", NULL);
	rye_thread_recover(b->rye, "g-1");
	rye_thread_recover(b->rye, NULL);
	row_is(b, "g-1", "running", NULL);
	close(fd);
	rye_thread_recover(b->rye, NULL);
	row_is(b, "g-1", "error",
	       "{\"status\":\"error\",\"error\":\"Process died\",\"thread_id\":\"g-1\"}\n");
}

/* It may have come with a clone: its end is recorded when it is asked for. */
static void any_other_row_waits_to_be_asked_for(void **state)
{
	struct bench *b = *state;

	insert(b, "other-1", 0);
	rye_thread_recover(b->rye, NULL);
	row_is(b, "other-1", "created", NULL);
	rye_thread_recover(b->rye, "other-1");
	row_is(b, "other-1", "error",
	       "{\"status\":\"error\",\"error\":\"Process died\","
	       "\"thread_id\":\"other-1\"}\n");
}

struct rows_seen {
	const char *id;
	char status[32];
};

static int see_row(void *arg, const struct rye_thread_row *row)
{
	struct rows_seen *seen = arg;

	if (!strcmp(row->id, seen->id))
		snprintf(seen->status, sizeof(seen->status), "%s", row->status);
	return 0;
}

/* Of a registry that is gone, with its log: a directory's result alone tells its row. */
static void a_result_says_how_its_thread_ended(void **state)
{
	static const struct {
		const char *id, *result, *status;
	} cases[] = {
		{ "made", "{\"status\": \"success\"}", "completed" },
		{ "failed", "{\"status\": \"error\", \"error\": \"no\"}", "error" },
		{ "killed", "{\"status\": \"error\", \"error\": \"Killed by request\"}", "killed" },
		{ "ended", "{\"status\": \"error\", \"state\": \"cancelled\"}", "cancelled" },
	};
	struct bench *b = *state;
	char path[400];

	db_close(b->db);
	b->db = NULL;
	snprintf(path, sizeof(path), "%s/.ai/state/threads/registry.db", b->place.place.project);
	assert_int_equal(unlink(path), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(path, sizeof(path), "state/threads/%s/request.json", cases[i].id);
		place_write(b->place.place.project, path, SPAN("{\"item_id\": \"tool:g\"}"));
		snprintf(path, sizeof(path), "state/threads/%s/result.json", cases[i].id);
		place_write(b->place.place.project, path, span_of(cases[i].result));
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rows_seen seen = { .id = cases[i].id };

		assert_works(&told_err, rye_thread_rows(b->rye, see_row, &seen, &told_err));
		assert_string_equal(seen.status, cases[i].status);
	}
}

/* ---- the directory is the truth, the row is made of it ---- */

static void put(struct bench *b, const char *id, const char *name, const char *text)
{
	char path[400];

	snprintf(path, sizeof(path), "state/threads/%s/%s", id, name);
	place_write(b->place.place.project, path, span_of(text));
}

#define LINE(id, event, at, more) \
	"{\"timestamp\":\"" at "\",\"thread_id\":\"" id "\",\"event\":\"" event "\"" more "}\n"

/* A directory "cut" of a tool that was cancelled, whose runner died between its end and the row. */
static void put_cut(struct bench *b, const char *id)
{
	put(b, id, ".lock", "");
	put(b, id, "request.json", "{\"item_id\":\"t/g\"}");
	put(b, id, "result.json", "{\"status\":\"error\",\"error\":\"cancelled\"}\n");
	put(b, id, ".row.jsonl",
	    LINE("cut", "created", "2026-01-02T03:04:05.000001+00:00",
		 ",\"directive\":\"tool:t/g\",\"parent_id\":\"up\"")
		    LINE("cut", "cancelled", "2026-01-02T03:04:06.000001+00:00", "")
			    LINE("cut", "killed", "2026-01-02T03:04:07.000001+00:00", ""));
}

static void the_end_is_that_of_the_directory(void **state)
{
	struct bench *b = *state;
	struct registry_row row;

	put_cut(b, "cut");
	insert(b, "cut", 0);
	rye_thread_recover(b->rye, NULL);
	row_is(b, "cut", "cancelled", "{\"status\":\"error\",\"error\":\"cancelled\"}\n");
	assert_works(&told_err, registry_get(b->db, "cut", false, &row, &told_err));
	assert_string_equal(row.completed_at, "2026-01-02T03:04:06.000001+00:00");
}

/* Brought here, or its row was lost by another program: it is there when it is asked for. */
static void a_directory_needs_no_row(void **state)
{
	struct bench *b = *state;
	struct registry_links links;
	struct rye_blob *blob = NULL;

	insert(b, "other", 0);
	put_cut(b, "cut");
	put_cut(b, "copy");
	assert_works(&told_err, rye_thread_file(b->rye, "cut", "directive", &blob, &told_err));
	assert_string_equal(blob->data, "tool:t/g\n");
	rye_blob_unref(blob);
	row_is(b, "cut", "cancelled", "{\"status\":\"error\",\"error\":\"cancelled\"}\n");
	assert_works(&told_err, registry_links(b->db, "cut", &links, &told_err));
	assert_string_equal(links.parent_id, "up");
	/* lines of another thread tell nothing, its result does */
	assert_works(&told_err, rye_thread_file(b->rye, "copy", "status", &blob, &told_err));
	assert_string_equal(blob->data, "error\n");
	rye_blob_unref(blob);
	/* what a launcher is at, or has left, is none */
	put(b, "left", ".lock", "");
	put(b, "left", "request.json", "{\"item_id\":\"t/g\"}");
	put(b, "left", ".row.jsonl", LINE("left", "created", "2026-01-02", ""));
	assert_refused(&told_err, RYE_NOT_FOUND,
		       rye_thread_file(b->rye, "left", "status", &blob, &told_err));
}

/* Another program has ended the row of a thread that works on: it is not deleted beneath its runner. */
static void a_lock_counts_more_than_the_row(void **state)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct bench *b = *state;
	struct rye_err err;
	char path[400];
	int fd;

	put(b, "works", ".lock", "");
	put(b, "works", "request.json", "{\"item_id\":\"t/g\"}");
	insert(b, "works", 0);
	assert_works(&told_err, registry_finish(b->db, "works", "cancelled", NULL, &told_err));
	snprintf(path, sizeof(path), "%s/.ai/state/threads/works/.lock", b->place.place.project);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	assert_refused(&err, RYE_STATE,
		       rye_thread_ctl(b->rye, "works", SPAN("delete"), NULL, &err));
	close(fd);
	assert_works(&told_err, rye_thread_ctl(b->rye, "works", SPAN("delete"), NULL, &told_err));
}

/* The process that resumed it died before both rows said so; the new thread's record tells it. */
static void a_chain_is_linked_by_the_new_record(void **state)
{
	struct bench *b = *state;
	struct registry_links links;

	insert(b, "a", 0);
	assert_works(&told_err, registry_finish(b->db, "a", "completed", "{}", &told_err));
	insert(b, "b", 0);
	put(b, "b", "thread.json", "{\"status\":\"completed\",\"previous_thread_id\":\"a\"}");
	put(b, "b", "result.json", "{\"status\":\"success\"}");
	rye_thread_recover(b->rye, "b");
	row_is(b, "b", "completed", "{\"status\":\"success\"}");
	row_is(b, "a", "continued", "{}");
	assert_works(&told_err, registry_links(b->db, "a", &links, &told_err));
	assert_string_equal(links.continuation_thread_id, "b");
	assert_works(&told_err, registry_links(b->db, "b", &links, &told_err));
	assert_string_equal(links.continuation_of, "a");
	assert_string_equal(links.chain_root_id, "a");
}

/* Those whose start failed have no directory, and count all the same. */
static void children_stay_counted(void **state)
{
	struct bench *b = *state;
	struct registry_links links;
	struct rye_err err;
	char path[400];
	int dir;

	put_cut(b, "cut");
	snprintf(path, sizeof(path), "%s/.ai/state/threads/cut", b->place.place.project);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	insert(b, "cut", 0);
	for (int i = 0; i < 2; i++)
		assert_works(&told_err, registry_spawn(b->db, dir, "cut", 2, &told_err));
	assert_refused(&err, RYE_BUDGET, registry_spawn(b->db, dir, "cut", 2, &err));
	close(dir);
	db_close(b->db);
	b->db = NULL;
	snprintf(path, sizeof(path), "%s/.ai/state/threads/registry.db", b->place.place.project);
	assert_int_equal(unlink(path), 0);
	rye_thread_recover(b->rye, NULL);
	assert_works(&told_err, registry_open(path, &b->db, &told_err));
	assert_works(&told_err, registry_links(b->db, "cut", &links, &told_err));
	assert_int_equal(links.spawn_count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_graph_goes_on_as_long_as_it_is_walked, bench_open,
						bench_close),
		cmocka_unit_test_setup_teardown(a_result_says_how_its_thread_ended, bench_open,
						bench_close),
		cmocka_unit_test_setup_teardown(any_other_row_waits_to_be_asked_for, bench_open,
						bench_close),
		cmocka_unit_test_setup_teardown(the_end_is_that_of_the_directory, bench_open,
						bench_close),
		cmocka_unit_test_setup_teardown(a_directory_needs_no_row, bench_open, bench_close),
		cmocka_unit_test_setup_teardown(a_lock_counts_more_than_the_row, bench_open,
						bench_close),
		cmocka_unit_test_setup_teardown(a_chain_is_linked_by_the_new_record, bench_open,
						bench_close),
		cmocka_unit_test_setup_teardown(children_stay_counted, bench_open, bench_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
