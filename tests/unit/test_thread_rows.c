/* SPDX-License-Identifier: MIT */
/* Rows of the registry that have no directory among the threads: when such a thread is over. */
#include "exec_tools.h"
#include "told.h"

#include "record/record.h"

#include <fcntl.h>
#include <limits.h>

struct bench {
	struct exec_place place;
	struct rye *rye;
	struct db *db;
};

static int setup(void **state)
{
	struct bench *b = test_calloc(1, sizeof(*b));
	char path[400];

	exec_place_make(&b->place);
	b->rye = place_engine(&b->place.place, (struct rye_options){ 0 });
	place_write(b->place.place.project, "state/threads/.keep", SPAN(""));
	snprintf(path, sizeof(path), "%s/.ai/state/threads/registry.db", b->place.place.project);
	assert_works(&told_err, registry_open(path, &b->db, &told_err));
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	db_close(b->db);
	rye_close(b->rye);
	nftw(b->place.place.base, place_remove_, 16, FTW_DEPTH | FTW_PHYS);
	test_free(b);
	return 0;
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_graph_goes_on_as_long_as_it_is_walked, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_result_says_how_its_thread_ended, setup,
						teardown),
		cmocka_unit_test_setup_teardown(any_other_row_waits_to_be_asked_for, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
