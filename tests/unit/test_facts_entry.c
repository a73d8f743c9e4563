/* SPDX-License-Identifier: MIT */
/*
 * One look at a name of a thread's: its directories cost what they are, not what is in them, and a
 * text that takes long is made once for one state of what it is made of.
 */
#include "exec_tools.h"
#include "told.h"

#include "clock.h"
#include "facts/facts.h"

#include <fcntl.h>
#include <time.h>

#define THREADS ".ai/state/threads"

struct bench {
	struct exec_place place;
	struct rye *rye;
	struct db *db;
};

static void in_thread(struct bench *b, const char *name, char ret[400])
{
	snprintf(ret, 400, "%s/" THREADS "/%s", b->place.place.project, name);
}

/* Appended to; `text` as often as that. Old enough that a later change has another time stamp. */
static void put_more(struct bench *b, const char *name, const char *text, int times)
{
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	char path[400];
	FILE *file;

	in_thread(b, name, path);
	file = fopen(path, "a");
	assert_non_null(file);
	for (int i = 0; i < times; i++)
		fputs(text, file);
	fclose(file);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	usleep(30000); /* from now on a change has another time stamp */
}

#define LINE(type, payload)                                                \
	"{\"timestamp\": 1, \"thread_id\": \"a\", \"event_type\": \"" type \
	"\", \"payload\": {" payload "}}\n"
#define TURN                                                          \
	LINE("cognition_in", "\"role\": \"user\", \"text\": \"ask\"") \
	LINE("cognition_out", "\"text\": \"say\"")

static int setup(void **state)
{
	struct bench *b = test_calloc(1, sizeof(*b));
	const struct registry_new row = { .id = "a", .directive = "x" };
	char path[400];

	exec_place_make(&b->place);
	b->rye = place_engine(&b->place.place, (struct rye_options){ 0 });
	snprintf(path, sizeof(path), "%s/.ai", b->place.place.project);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/.ai/state", b->place.place.project);
	mkdir(path, 0700);
	in_thread(b, "", path);
	assert_int_equal(mkdir(path, 0700), 0);
	in_thread(b, "a", path);
	assert_int_equal(mkdir(path, 0700), 0);
	in_thread(b, "registry.db", path);
	assert_works(&told_err, registry_open(path, &b->db, &told_err));
	assert_works(&told_err, registry_add(b->db, &row, &told_err));
	assert_works(&told_err, registry_finish(b->db, "a", "completed", "{}", &told_err));
	put_more(b, "a/thread.json", "{\"thread_id\": \"a\"}", 1);
	put_more(b, "a/transcript.jsonl", TURN, 2);
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

struct had {
	uint64_t version; /* that was asked for; 0: none was */
	bool yes;
};

static bool has(void *arg, uint64_t version)
{
	struct had *had = arg;

	had->version = version;
	return had->yes;
}

static struct rye_thread_entry look(struct bench *b, const char *path, struct had *had)
{
	const struct rye_thread_at at = { "a", path, had ? has : NULL, had };
	struct rye_thread_entry entry;

	assert_works(&told_err, rye_thread_entry(b->rye, &at, &entry, &told_err));
	return entry;
}

/* What the look tells, once the caller has none of it and once it has all. */
static uint64_t version_of(struct bench *b, const char *path)
{
	struct had had = { 0, false };
	struct rye_thread_entry entry = look(b, path, &had);

	assert_non_null(entry.blob);
	assert_int_equal(entry.version, had.version);
	rye_blob_unref(entry.blob);
	had.yes = true;
	entry = look(b, path, &had);
	assert_int_equal(entry.version, had.version);
	assert_true(entry.version ? !entry.blob : entry.blob != NULL);
	rye_blob_unref(entry.blob);
	return entry.version;
}

static void a_long_text_is_made_once(void **state)
{
	static const char *const paths[] = { "messages.json", "transcript.md", "integrity" };
	struct bench *b = *state;
	uint64_t before[ARRAY_SIZE(paths)];

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		before[i] = version_of(b, paths[i]);
		assert_int_not_equal(before[i], 0);
		assert_int_equal(version_of(b, paths[i]), before[i]);
	}
	put_more(b, "a/transcript.jsonl", TURN, 1);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_not_equal(version_of(b, paths[i]), before[i]);
	before[2] = version_of(b, "integrity");
	put_more(b, "a/thread.json", " ", 1);
	assert_int_not_equal(version_of(b, "integrity"), before[2]);
	assert_int_equal(version_of(b, "model"), 0);
}

/* What changes while it is looked at may bear the same time stamp: it is made each time. */
static void what_changes_now_is_made_anew(void **state)
{
	struct bench *b = *state;
	char path[400];

	in_thread(b, "a/transcript.jsonl", path);
	for (int i = 0; i < 20; i++) {
		struct had had = { 0, true };
		struct rye_thread_entry entry;
		int64_t begun = clock_ms();

		assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
		entry = look(b, "messages.json", &had);
		rye_blob_unref(entry.blob);
		if (clock_ms() - begun > 10)
			continue;
		assert_int_equal(had.version, 0);
		assert_non_null(entry.blob);
		return;
	}
}

/* Processor time of this thread for looks at that name, the best of some. */
static int64_t cost_ns(struct bench *b, const char *path)
{
	struct timespec from, to;
	int64_t best = INT64_MAX;

	look(b, path, NULL);
	for (int i = 0; i < 40; i++) {
		int64_t took;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		look(b, path, NULL);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		took = (to.tv_sec - from.tv_sec) * 1000000000ll + to.tv_nsec - from.tv_nsec;
		best = took < best ? took : best;
	}
	return best;
}

/* `ls -l turns` looks at the directory for each of them. */
static void turns_cost_no_more_when_they_are_many(void **state)
{
	struct bench *b = *state;
	uint64_t two = look(b, "turns", NULL).number, many;
	int64_t few_ns = cost_ns(b, "turns"), many_ns;

	put_more(b, "a/transcript.jsonl", TURN, 20000);
	many = look(b, "turns", NULL).number;
	assert_int_not_equal(two, many);
	assert_int_equal(look(b, "turns", NULL).number, many);
	many_ns = cost_ns(b, "turns");
	if (many_ns > 3 * few_ns)
		fail_msg("a look at 20 002 turns takes %lld ns, at 2 %lld", (long long)many_ns,
			 (long long)few_ns);
	assert_int_equal(look(b, "turns/20002", NULL).sort, RYE_THREAD_DIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_long_text_is_made_once, setup, teardown),
		cmocka_unit_test_setup_teardown(what_changes_now_is_made_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(turns_cost_no_more_when_they_are_many, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
