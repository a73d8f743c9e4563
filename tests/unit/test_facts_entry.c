/* SPDX-License-Identifier: MIT */
/*
 * One look at a name of a thread's: its directories cost what they are, not what is in them, and a
 * text that takes long is made once for one state of what it is made of.
 */
#include "thread_place.h"

#include "clock.h"
#include "facts/facts.h"

#include <fcntl.h>
#include <time.h>

#define THREADS ".ai/state/threads"

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
	const struct registry_new row = { .id = "a", .directive = "x" };
	struct bench *b;

	bench_open(state);
	b = *state;
	assert_works(&told_err, registry_add(b->db, &row, &told_err));
	assert_works(&told_err, registry_finish(b->db, "a", "completed", "{}", &told_err));
	place_write(b->place.place.project, "state/threads/a/.keep", SPAN(""));
	put_more(b, "a/thread.json", "{\"thread_id\": \"a\"}", 1);
	put_more(b, "a/transcript.jsonl", TURN, 2);
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

	rye_blob_unref(look(b, path, NULL).blob);
	for (int i = 0; i < 40; i++) {
		struct rye_thread_entry entry;
		int64_t took;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		entry = look(b, path, NULL);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		took = (to.tv_sec - from.tv_sec) * 1000000000ll + to.tv_nsec - from.tv_nsec;
		best = took < best ? took : best;
		rye_blob_unref(entry.blob);
	}
	return best;
}

/* A look at a directory of many names must not make them all anew. */
static void costs_as_much(const char *path, size_t n, int64_t few_ns, int64_t many_ns)
{
	if (many_ns > 3 * few_ns)
		fail_msg("a look at %s of %zu names takes %lld ns, at those of one %lld", path, n,
			 (long long)many_ns, (long long)few_ns);
}

/* `ls -l turns` looks at the directory for each of them. */
static void turns_cost_no_more_when_they_are_many(void **state)
{
	struct bench *b = *state;
	uint64_t two = look(b, "turns", NULL).number, many;
	int64_t few_ns = cost_ns(b, "turns");

	put_more(b, "a/transcript.jsonl", TURN, 20000);
	many = look(b, "turns", NULL).number;
	assert_int_not_equal(two, many);
	assert_int_equal(look(b, "turns", NULL).number, many);
	costs_as_much("turns", 20002, few_ns, cost_ns(b, "turns"));
	assert_int_equal(look(b, "turns/20002", NULL).sort, RYE_THREAD_DIR);
}

#define MANY 2000

static void add_child(struct bench *b, int n)
{
	char id[40];
	const struct registry_new row = { .id = id, .directive = "x", .parent_id = "a" };

	snprintf(id, sizeof(id), "child-%d", n);
	assert_works(&told_err, registry_add(b->db, &row, &told_err));
}

static void children_cost_no_more_when_they_are_many(void **state)
{
	struct bench *b = *state;
	uint64_t one, number;
	int64_t few_ns;

	add_child(b, 0);
	one = look(b, "children", NULL).number;
	few_ns = cost_ns(b, "children");
	for (int i = 1; i < MANY; i++)
		add_child(b, i);
	number = look(b, "children", NULL).number;
	assert_int_not_equal(number, one);
	assert_int_equal(look(b, "children", NULL).number, number);
	costs_as_much("children", MANY, few_ns, cost_ns(b, "children"));
	add_child(b, MANY);
	assert_int_not_equal(look(b, "children", NULL).number, number);
	rye_blob_unref(look(b, "children/child-2000", NULL).blob);
}

static int64_t bench_now(void *arg)
{
	return *(const int64_t *)arg;
}

/* The thread's record, for what its runner writes. */
static struct record record_open(struct bench *b, struct key_secret *key, int64_t *now)
{
	struct record record = { .id = "a", .key = key, .now_us = bench_now, .now_arg = now };
	char path[400];

	*now = INT64_C(1767323045000000);
	place_key(0, key);
	snprintf(path, sizeof(path), "%s/.ai", b->place.place.project);
	record.ai = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	in_thread(b, "a", path);
	record.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return record;
}

static void record_close(struct record *record)
{
	close(record->ai);
	close(record->dir);
}

static void put_tools(const struct record *record, int n)
{
	auto_json json_t *tools = json_array();

	for (int i = 0; i < n; i++) {
		char name[20];

		snprintf(name, sizeof(name), "tool_%d", i);
		json_array_append_new(tools, json_pack("{s:s, s:{}}", "name", name, "schema"));
	}
	assert_works(&told_err, capabilities_md_write(record, tools, NULL, &told_err));
}

static void tools_cost_no_more_when_they_are_many(void **state)
{
	struct bench *b = *state;
	auto_key struct key_secret key;
	int64_t now, few_ns;
	struct record record = record_open(b, &key, &now);
	uint64_t one;

	put_tools(&record, 1);
	usleep(30000); /* from now on a change has another time stamp */
	one = look(b, "tools", NULL).number;
	few_ns = cost_ns(b, "tools");
	put_tools(&record, MANY);
	assert_int_not_equal(look(b, "tools", NULL).number, one);
	usleep(30000); /* as above */
	costs_as_much("tools", MANY, few_ns, cost_ns(b, "tools"));
	rye_blob_unref(look(b, "tools/tool_1999.json", NULL).blob);
	put_tools(&record, 1);
	assert_int_equal(look(b, "tools", NULL).number, one);
	record_close(&record);
}

static void put_artifacts(const struct record *record, int from, int to)
{
	for (int i = from; i < to; i++) {
		auto_json json_t *value = json_integer(i);
		char id[20], key[ARTIFACT_KEY_MAX];
		const struct artifact what = { .call_id = id, .tool_name = "t" };

		snprintf(id, sizeof(id), "call_%d", i);
		assert_works(&told_err, artifact_put(record, &what, value, key, &told_err));
	}
}

static void artifacts_cost_no_more_when_they_are_many(void **state)
{
	struct bench *b = *state;
	auto_key struct key_secret key;
	int64_t now, few_ns, file_ns;
	struct record record = record_open(b, &key, &now);
	uint64_t one;

	put_artifacts(&record, 0, 1);
	usleep(30000); /* from now on a change has another time stamp */
	one = look(b, "artifacts", NULL).number;
	few_ns = cost_ns(b, "artifacts");
	file_ns = cost_ns(b, "artifacts/call_0");
	put_artifacts(&record, 1, 500);
	assert_int_not_equal(look(b, "artifacts", NULL).number, one);
	usleep(30000); /* as above */
	costs_as_much("artifacts", 500, few_ns, cost_ns(b, "artifacts"));
	costs_as_much("artifacts/call_0", 500, file_ns, cost_ns(b, "artifacts/call_0"));
	record_close(&record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_long_text_is_made_once, setup, bench_close),
		cmocka_unit_test_setup_teardown(what_changes_now_is_made_anew, setup, bench_close),
		cmocka_unit_test_setup_teardown(turns_cost_no_more_when_they_are_many, setup,
						bench_close),
		cmocka_unit_test_setup_teardown(children_cost_no_more_when_they_are_many, setup,
						bench_close),
		cmocka_unit_test_setup_teardown(tools_cost_no_more_when_they_are_many, setup,
						bench_close),
		cmocka_unit_test_setup_teardown(artifacts_cost_no_more_when_they_are_many, setup,
						bench_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
