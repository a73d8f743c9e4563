/* SPDX-License-Identifier: MIT */
/* Scope locks: held to the end of the block, given back on every way out of it. */
#include "scope.h"

#include <errno.h>

#include "rye_test.h"

struct door {
	pthread_mutex_t lock;
	int seen; /* what releasing `watched` found */
};

static bool is_held(struct door *door)
{
	if (pthread_mutex_trylock(&door->lock) == EBUSY)
		return true;
	pthread_mutex_unlock(&door->lock);
	return false;
}

static void look(struct door *door)
{
	door->seen = is_held(door);
}

DEFINE_AUTO(auto_look_, struct door *, look)
#define auto_look __attribute__((cleanup(auto_look_), unused))

static void guard_holds_to_the_end_of_its_block(void **state)
{
	struct door door = { .lock = PTHREAD_MUTEX_INITIALIZER };

	{
		assert_false(is_held(&door));
		GUARD(&door.lock);
		assert_true(is_held(&door));
	}
	assert_false(is_held(&door));
}

static bool guarded_answer(struct door *door)
{
	GUARD(&door->lock);
	return is_held(door);
}

static void guard_is_given_back_by_return(void **state)
{
	struct door door = { .lock = PTHREAD_MUTEX_INITIALIZER };

	assert_true(guarded_answer(&door));
	assert_false(is_held(&door));
}

static void guard_is_given_back_by_each_round(void **state)
{
	struct door door = { .lock = PTHREAD_MUTEX_INITIALIZER };
	int rounds = 0;

	for (int i = 0; i < 5; i++) {
		GUARD(&door.lock);
		if (i == 1)
			continue;
		if (i == 3)
			break;
		rounds++;
	}
	assert_int_equal(rounds, 2);
	assert_false(is_held(&door));
}

static void two_guards_in_one_block(void **state)
{
	struct door outer = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct door inner = { .lock = PTHREAD_MUTEX_INITIALIZER };

	{
		GUARD(&outer.lock);
		GUARD(&inner.lock);
		assert_true(is_held(&outer) && is_held(&inner));
	}
	assert_false(is_held(&outer) || is_held(&inner));
}

static void what_is_above_a_guard_outlives_it(void **state)
{
	struct door door = { .lock = PTHREAD_MUTEX_INITIALIZER, .seen = -1 };

	{
		struct door *above auto_look = &door;
		GUARD(&door.lock);
	}
	assert_int_equal(door.seen, false);
	{
		GUARD(&door.lock);
		struct door *below auto_look = &door;
	}
	assert_int_equal(door.seen, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guard_holds_to_the_end_of_its_block),
		cmocka_unit_test(guard_is_given_back_by_return),
		cmocka_unit_test(guard_is_given_back_by_each_round),
		cmocka_unit_test(two_guards_in_one_block),
		cmocka_unit_test(what_is_above_a_guard_outlives_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
