/* SPDX-License-Identifier: MIT */
/*
 * Where items lay last time: found again without looking, and never once anything has changed, however
 * it changed. What is found is compared with what a search of everything finds.
 */
#include "item_place.h"

#include "item/item_inner.h"

#include <errno.h>
#include <stdlib.h>

#define SETTLED_US 150000
#define ROUNDS 60

struct bench {
	struct test_place place;
	struct watch *watch;
	struct index *index;
	struct item_env plain; /* the same without what is remembered */
};

static void on_changes(void *arg, const struct index_changes *changes)
{
}

static void start(struct bench *b)
{
	static const struct log silent = { 0 }; /* lives as long as the watch */
	struct index_env env = { .log = &silent, .watch = watch_add, .unwatch = watch_del };

	place_open(&b->place, false);
	assert_int_equal(watch_open(&silent, &b->watch, NULL), 0);
	env.spaces = b->place.spaces;
	env.arg = b->watch;
	assert_int_equal(index_open(&env, &b->index, NULL), 0);
	b->plain = b->place.env;
	b->plain.store = NULL;
	b->place.env.recents = recents_open(b->index, b->watch);
	index_scan(b->index, 2, false);
	assert_int_equal(watch_start(b->watch, b->index, on_changes, b, NULL), 0);
}

static void done(struct bench *b)
{
	watch_stop(b->watch);
	recents_close(b->place.env.recents);
	index_close(b->index);
	watch_close(b->watch);
	place_drop(&b->place);
}

/* Has the watch's thread told everything? */
static void quiet(struct bench *b)
{
	for (int i = 0; i < 4000 && !watch_stamp(b->watch); i++)
		usleep(500);
	assert_true(watch_stamp(b->watch));
}

static bool is_known(struct bench *b, const char *id)
{
	const struct recent_ask ask = { .kind = RYE_TOOL, .name = id };
	struct recent_found found;

	return recents_find(b->place.env.recents, &ask, &found);
}

static bool remembered(struct bench *b, const char *id)
{
	quiet(b);
	return is_known(b, id);
}

static void check_same(struct bench *b, const char *id)
{
	struct rye_item *held = NULL, *found = NULL;
	bool beside[2] = { false, false };
	struct item_ask ask = { .kind = RYE_TOOL, .id = id, .ret_ambiguous = &beside[0] };
	bool known = is_known(b, id);
	int r = rye_load(&b->place.env, &ask, &held, NULL);

	ask.ret_ambiguous = &beside[1];
	assert_int_equal(rye_load(&b->plain, &ask, &found, NULL), r);
	if (!r) {
		assert_string_equal(held->abspath, found->abspath);
		assert_memory_equal(held->verdict.sha, found->verdict.sha, SHA_LEN);
		/* else that it was alone is believed for a second */
		assert_true(!known || beside[0] == beside[1]);
	}
	rye_item_unref(held);
	rye_item_unref(found);
}

static char *full(const char *root, const char *path)
{
	char *text = NULL;

	if (asprintf(&text, "%s/.ai/%s", root, path) < 0)
		fail();
	return text;
}

static void begin(struct bench *b)
{
	place_vectors(&b->place);
	place_put(b->place.project, "tools/vec/b2.py", "binding/b2.py");
	place_text(b->place.user, "tools/vec/other.py", "x");
	place_text(b->place.system, "config/a/b.yaml", "x: 1\n");
	start(b);
	usleep(SETTLED_US);
}

static void found_again(void **state)
{
	struct bench b = { 0 };
	auto_free char *path = NULL, *link_path = NULL;

	begin(&b);
	check_same(&b, "vec/b2");
	assert_true(remembered(&b, "vec/b2"));
	check_same(&b, "vec/b2");
	/* a change anywhere is one, until it was looked at again */
	place_text(b.place.user, "tools/vec/other.py", "y");
	assert_false(remembered(&b, "vec/b2"));
	check_same(&b, "vec/b2");
	assert_true(remembered(&b, "vec/b2"));
	/* by another name it could be changed unseen */
	path = full(b.place.project, "tools/vec/b2.py");
	link_path = full(b.place.project, "b2.again");
	assert_int_equal(link(path, link_path), 0);
	quiet(&b);
	check_same(&b, "vec/b2");
	assert_false(remembered(&b, "vec/b2"));
	done(&b);
}

static void no_file_again(void **state)
{
	struct path_ask ask = { .kind = RYE_CONFIG,
				.path = "config/a/b.yaml",
				.unsigned_ok = true };
	struct bench b = { 0 };

	begin(&b);
	ask.space = &b.place.spaces->v[0];
	for (int i = 0; i < 3; i++) {
		struct rye_err err = { 0 };
		struct rye_item *item = NULL;

		assert_int_equal(rye_load_path(&b.place.env, &ask, &item, &err), -RYE_NOT_FOUND);
		assert_int_equal(err.sys, ENOENT);
		assert_non_null(strstr(err.msg, "cannot open"));
		quiet(&b);
	}
	place_text(b.place.project, "config/a/b.yaml", "x: 2\n");
	for (int i = 0; i < 3; i++) {
		struct rye_item *item = NULL;

		assert_int_equal(rye_load_path(&b.place.env, &ask, &item, NULL), 0);
		rye_item_unref(item);
		usleep(SETTLED_US);
	}
	ask.unsigned_ok = false;
	{
		struct rye_item *item = NULL;

		assert_int_equal(rye_load_path(&b.place.env, &ask, &item, NULL), -RYE_UNSIGNED);
	}
	done(&b);
}

/* ---- whatever happens ---- */

static void move(const char *from, const char *to)
{
	(void)!rename(from, to);
}

static void happen(struct bench *b, int what)
{
	const char *roots[] = { b->place.project, b->place.user, b->place.system };
	const char *root = roots[what / 16 % 3];
	auto_free char *file = full(root, "tools/vec/b2.py"), *dir = full(root, "tools/vec");
	auto_free char *away = full(root, "tools/away"), *more = full(root, "tools/vec/b2.sh");
	auto_free char *ai = full(root, "tools"), *aside = full(root, "aside");
	struct stat st;

	/* nothing can be written behind a link that leads nowhere */
	if (lstat(dir, &st) == 0 && stat(dir, &st) < 0)
		unlink(dir);
	switch (what % 16) {
	case 0:
	case 1:
	case 2:
		place_put(root, "tools/vec/b2.py", "binding/b2.py");
		break;
	case 3:
	case 4:
		unlink(file);
		break;
	case 5:
		place_text(root, "tools/vec/b2.py", "print(1)\n");
		break;
	case 6:
		move(dir, away);
		break;
	case 7:
		move(away, dir);
		break;
	case 8:
		place_text(root, "tools/vec/b2.sh", "echo\n");
		break;
	case 9:
		unlink(more);
		break;
	case 10:
		move(ai, aside);
		break;
	case 11:
		move(aside, ai);
		break;
	case 12:
		move(dir, aside);
		(void)!symlink("../aside", dir);
		break;
	case 13:
		if (unlink(dir) == 0)
			move(aside, dir);
		break;
	case 14:
		usleep(SETTLED_US);
		break;
	default:
		quiet(b);
	}
}

static void any_change_is_seen(void **state)
{
	const char *told = getenv("RYE_SEED");
	unsigned seed = told ? (unsigned)atoi(told) : (unsigned)getpid();
	struct bench b = { 0 };
	int hits = 0;

	print_message("# RYE_SEED=%u\n", seed);
	srand(seed);
	begin(&b);
	for (int i = 0; i < ROUNDS; i++) {
		if (rand() % 3)
			usleep(SETTLED_US);
		for (int k = 0; k < 2; k++) {
			check_same(&b, "vec/b2");
			check_same(&b, "vec/other");
		}
		hits += remembered(&b, "vec/b2");
		happen(&b, rand());
		check_same(&b, "vec/b2");
		check_same(&b, "vec/other");
	}
	print_message("# remembered %d of %d times\n", hits, ROUNDS);
	done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_again),
		cmocka_unit_test(no_file_again),
		cmocka_unit_test(any_change_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
