/* SPDX-License-Identifier: MIT */
/* test_common_near.c - how far words are from each other. */
#include "rye_test.h"

#include "near.h"

#include <string.h>

static void distances(void **state)
{
	char longer[NEAR_MAX + 2];

	(void)state;
	assert_int_equal(near_distance("sign", "sign"), 0);
	assert_int_equal(near_distance("", "abc"), 3);
	assert_int_equal(near_distance("abc", ""), 3);
	assert_int_equal(near_distance("sing", "sign"), 1);
	assert_int_equal(near_distance("verfy", "verify"), 1);
	assert_int_equal(near_distance("tols", "tools"), 1);
	assert_int_equal(near_distance("kitten", "sitting"), 3);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(near_distance(longer, longer), NEAR_MAX);
	longer[NEAR_MAX] = 0;
	assert_int_equal(near_distance(longer, longer), 0);
}

static void short_words_are_sooner_others(void **state)
{
	(void)state;
	assert_true(near_limit("ls") < near_limit("count-words-of"));
}

static const char *nearest(const char *word)
{
	static const char *const known[] = { "name", "times", "description", "to" };
	struct near_word near;

	near_start(&near, word);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		near_offer(&near, known[i], known[i]);
	return near.best ? near.best : "none";
}

static void the_nearest_of_several(void **state)
{
	(void)state;
	assert_string_equal(nearest("nmae"), "name");
	assert_string_equal(nearest("tims"), "times");
	assert_string_equal(nearest("desc"), "description");
	assert_string_equal(nearest("ti"), "to");
	assert_string_equal(nearest("x"), "none");
	assert_string_equal(nearest(""), "none");
}

static void a_whole_word_is_none_that_was_cut(void **state)
{
	struct near_word near;

	(void)state;
	near_start(&near, "java");
	near_offer(&near, "javascript", "javascript");
	assert_non_null(near.best);
	near_start(&near, "java");
	near.whole = true;
	near_offer(&near, "javascript", "javascript");
	assert_null(near.best);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_word_is_none_that_was_cut),
		cmocka_unit_test(the_nearest_of_several),
		cmocka_unit_test(distances),
		cmocka_unit_test(short_words_are_sooner_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
