/* SPDX-License-Identifier: MIT */
/*
 * A change that is reported was told to the watcher when rye_touched returns: also a directory's, which
 * the watch's thread has found first, and has not told yet.
 */
#include "item_place.h"

#include <stdatomic.h>

struct listener {
	atomic_bool told;
	pthread_t self;
};

/* Slow where it is called by the watch's thread: the index knows of the change, the listener not yet. */
static void on_change(void *arg, const struct rye_change *change)
{
	struct listener *listener = arg;

	if (change->type != RYE_CHANGE_PATH || strcmp(change->path, "knowledge/there") != 0)
		return;
	if (!pthread_equal(pthread_self(), listener->self))
		usleep(200000); /* what is slow here */
	atomic_store(&listener->told, true);
}

static void found_by_the_watch(void **state)
{
	struct listener listener = { .self = pthread_self() };
	char from[200], to[200];
	struct rye_stat st;
	struct test_place p;
	struct rye *rye;
	int tries = 0;

	place_make(&p);
	place_text(p.project, "knowledge/here/a.md", "# a\n");
	snprintf(from, sizeof(from), "%s/.ai/knowledge/here", p.project);
	snprintf(to, sizeof(to), "%s/.ai/knowledge/there", p.project);
	rye = place_engine(&p, (struct rye_options){ .dev_mode = true, .scan = true });
	/* when it has scanned, directories are watched */
	while (rye_lookup(rye, RYE_KNOWLEDGE, "here/a.md", &st, NULL) && tries++ < 5000)
		usleep(1000);
	rye_watch(rye, on_change, &listener);
	assert_int_equal(rename(from, to), 0);
	while (rye_lookup(rye, RYE_KNOWLEDGE, "there/a.md", &st, NULL) && tries++ < 5000)
		usleep(1000);
	rye_touched(rye, 0, "knowledge/there");
	assert_true(atomic_load(&listener.told));
	rye_close(rye);
	place_drop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_by_the_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
