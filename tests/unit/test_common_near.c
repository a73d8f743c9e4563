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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances),
		cmocka_unit_test(short_words_are_sooner_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
