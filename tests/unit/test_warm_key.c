/* SPDX-License-Identifier: MIT */
/*
 * The key of a pool of warm processes tells apart what its children are born with, and it is the whole
 * key or none where memory is short: calls that are confined in different ways share no parent.
 */
#include "rye_test.h"

#include "warm/warm_inner.h"

static long left; /* allocations until those that fail; 0: none does */

uint64_t __wrap_boxes_stamp(const struct boxes *boxes);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

uint64_t __wrap_boxes_stamp(const struct boxes *boxes)
{
	return 7;
}

static bool is_lacking(void)
{
	return left > 0 && (left == 1 || !--left);
}

void *__wrap_realloc(void *old, size_t size)
{
	return is_lacking() ? NULL : __real_realloc(old, size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return is_lacking() ? NULL : __real_calloc(n, size);
}

static char word_python[] = "python3", word_c[] = "-c", word_loader[] = "run(it)",
	    word_more[] = "more";
static char path[] = "/usr/bin/python3", warm[] = "python-function";
static char *argv[] = { word_python, word_c, word_loader, word_more, NULL };
/* long enough that the text grows more than once */
static char row_path[] = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
static char row_long[] =
	"PYTHONPATH=/a/directory/with/a/long/name:/another/directory/with/a/long/name";
static char *env[] = { row_path, row_long };

struct asked {
	struct program program;
	struct plan plan;
};

static void asked_fill(struct asked *ret)
{
	*ret = (struct asked){
		.program = { .path = path, .argv = argv, .warm = warm, .loader = word_loader },
		.plan = { .env = { .v = env, .n = ARRAY_SIZE(env) } },
	};
	ret->program.preload = json_pack("[{s:s}]", "module", "json");
	ret->plan.own = &ret->program;
	assert_non_null(ret->program.preload);
}

static void what_a_child_is_born_with_tells_pools_apart(void **state)
{
	char first[SHA_HEX], other[SHA_HEX];
	struct asked asked;

	asked_fill(&asked);
	assert_true(warm_key(NULL, &asked.plan, first));
	assert_true(warm_key(NULL, &asked.plan, other));
	assert_string_equal(first, other);
	asked.plan.confine.net = true;
	assert_true(warm_key(NULL, &asked.plan, other));
	assert_string_not_equal(first, other);
	asked.plan.confine.net = false;
	asked.plan.env.n--;
	assert_true(warm_key(NULL, &asked.plan, other));
	assert_string_not_equal(first, other);
	json_decref(asked.program.preload);
}

static void short_of_memory_there_is_no_key(void **state)
{
	char whole[SHA_HEX];
	struct asked asked;
	long n = 1;
	bool got = false;

	asked_fill(&asked);
	assert_true(warm_key(NULL, &asked.plan, whole));
	for (; !got && n < 100; n++) {
		char key[SHA_HEX] = "";

		left = n;
		got = warm_key(NULL, &asked.plan, key);
		left = 0;
		assert_string_equal(key, got ? whole : "");
	}
	assert_true(got);
	assert_true(n > 3); /* the text's first bytes, its growth, the sorted keys of a value */
	json_decref(asked.program.preload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_child_is_born_with_tells_pools_apart),
		cmocka_unit_test(short_of_memory_there_is_no_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
