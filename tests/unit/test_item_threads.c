/* SPDX-License-Identifier: MIT */
/*
 * Many threads at once: T97, a file signed again and again is always whole to its readers,
 * while trust is reloaded under them. Worth most under the thread sanitizer.
 */
#include "item_place.h"

#include "sign/sign.h"

#include <pthread.h>
#include <stdatomic.h>

#define ROUNDS 60

struct world {
	struct test_place p;
	_Atomic bool stop;
	_Atomic unsigned loads, failures, reloads;
};

static void *load_again(void *arg)
{
	const struct item_ask ask = { .kind = RYE_TOOL, .id = "vec/b2" };
	struct world *w = arg;

	do {
		struct rye_item *item = NULL;

		if (rye_load(&w->p.env, &ask, &item, NULL) < 0)
			atomic_fetch_add(&w->failures, 1);
		rye_item_unref(item);
		atomic_fetch_add(&w->loads, 1);
	} while (!atomic_load(&w->stop));
	return NULL;
}

static void *reload_again(void *arg)
{
	struct world *w = arg;

	do {
		if (trust_reload(w->p.trust, NULL) < 0)
			atomic_fetch_add(&w->failures, 1);
		atomic_fetch_add(&w->reloads, 1);
	} while (!atomic_load(&w->stop));
	return NULL;
}

static void T97_readers_see_old_or_new(void **state)
{
	auto_key struct key_secret key = { 0 };
	struct world w = { 0 };
	struct sign_ask ask = { .kind = RYE_TOOL, .id = "vec/b2", .key = &key };
	pthread_t threads[3];
	char stamp[24];

	place_vectors(&w.p);
	place_put(w.p.project, "tools/vec/b2.py", "binding/b2.py");
	place_open(&w.p, false);
	place_key(0, &key);
	ask.space = &w.p.spaces->v[0];
	ask.stamp = stamp;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						i < 2 ? load_again : reload_again, &w),
				 0);
	for (int i = 0; i < ROUNDS; i++) {
		auto_json json_t *reply = NULL;

		snprintf(stamp, sizeof(stamp), "2026-01-02T03:04:%02dZ", i);
		assert_works(&told_err, sign_request(&w.p.env, &ask, &reply, &told_err));
	}
	atomic_store(&w.stop, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(w.failures, 0);
	assert_true(w.loads >= 2 && w.reloads >= 1);
	place_drop(&w.p);
}

/* Two signers of one file: the loser is told, nothing is lost or mixed. */
static void *sign_again(void *arg)
{
	auto_key struct key_secret key = { 0 };
	struct world *w = arg;
	struct sign_ask ask = { .kind = RYE_TOOL, .id = "vec/b2", .key = &key };

	place_key(0, &key);
	ask.space = &w->p.spaces->v[0];
	for (int i = 0; i < ROUNDS; i++) {
		auto_json json_t *reply = NULL;
		int r = sign_request(&w->p.env, &ask, &reply, NULL);

		if (r < 0 && r != -RYE_BUSY)
			atomic_fetch_add(&w->failures, 1);
	}
	return NULL;
}

static void T97_two_signers(void **state)
{
	struct world w = { 0 };
	pthread_t threads[2];

	place_vectors(&w.p);
	place_put(w.p.project, "tools/vec/b2.py", "binding/b2.py");
	place_open(&w.p, false);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, sign_again, &w), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(w.failures, 0);
	assert_works(&told_err, place_load(&w.p, RYE_TOOL, "vec/b2", NULL, &told_err));
	place_drop(&w.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(T97_readers_see_old_or_new),
		cmocka_unit_test(T97_two_signers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
