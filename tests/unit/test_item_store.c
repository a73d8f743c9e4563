/* SPDX-License-Identifier: MIT */
/*
 * The store of verified items: one verification of one file for all callers, but a new one for a
 * file that changed, was trusted otherwise or may not be unsigned; within bounds.
 */
#include "rye_test.h"

#include "item/item_inner.h"
#include "item_place.h"

#include <stdio.h>

static uint64_t verified(struct test_place *p)
{
	struct item_store_counts counts;

	item_store_counts(p->env.store, &counts);
	return counts.verifications;
}

static void place_settled(struct test_place *p)
{
	place_vectors(p);
	place_put(p->project, "tools/vec/b2.py", "binding/b2.py");
	place_open(p, false);
	/* until a file's times tell every later change */
	usleep(150000);
}

static void of_one_file(void **state)
{
	struct test_place p;
	char path[300];

	place_settled(&p);
	for (int i = 0; i < 100; i++)
		assert_works(&told_err, place_load(&p, RYE_TOOL, "vec/b2", NULL, &told_err));
	assert_int_equal(verified(&p), 1);
	/* the same bytes, another file: nothing is taken for granted */
	snprintf(path, sizeof(path), "%s/.ai/tools/vec/b2.py", p.project);
	unlink(path);
	place_put(p.project, "tools/vec/b2.py", "binding/b2.py");
	assert_works(&told_err, place_load(&p, RYE_TOOL, "vec/b2", NULL, &told_err));
	assert_int_equal(verified(&p), 2);
	/* too young to be remembered */
	assert_works(&told_err, place_load(&p, RYE_TOOL, "vec/b2", NULL, &told_err));
	assert_int_equal(verified(&p), 3);
	place_text(p.project, "tools/vec/b2.py", "print(1)\n");
	assert_int_equal(place_load(&p, RYE_TOOL, "vec/b2", NULL, NULL), RYE_UNSIGNED);
	place_drop(&p);
}

/* What changes a file while it is read must have another time: old at the end of the reading is too late. */
static void kept_if_old_before(void **state)
{
	struct test_place p;
	struct path_ask ask = { .kind = RYE_TOOL, .path = "tools/vec/b2.py" };
	struct store_moment read = { .trust = 1 };
	struct rye_item *item = NULL, *held;

	place_settled(&p);
	ask.space = &p.spaces->v[0];
	assert_works(&told_err, place_load(&p, RYE_TOOL, "vec/b2", &item, &told_err));
	item_store_forget(p.env.store);
	read.time = item->st.st_ctim;
	read.time.tv_nsec += read.time.tv_nsec < 999999999;
	item_store_keep(p.env.store, item, &read);
	assert_null(item_store_recall(p.env.store, &ask, &item->st, 1));
	read.time.tv_sec++;
	item_store_keep(p.env.store, item, &read);
	held = item_store_recall(p.env.store, &ask, &item->st, 1);
	assert_ptr_equal(held, item);
	rye_item_unref(held);
	rye_item_unref(item);
	place_drop(&p);
}

/* A file of the very bytes that had the verdict is read, not verified; any other is. */
static void known_by_its_bytes(void **state)
{
	struct test_place *p = *state;
	struct path_ask ask = { .kind = RYE_TOOL, .path = "tools/vec/b2.py" };
	struct item_store_counts before, after;
	struct rye_item *item = NULL;
	unsigned char sha[SHA_LEN];

	place_put(p->project, "tools/vec/b2.py", "binding/b2.py");
	place_open(p, false);
	ask.space = &p->spaces->v[0];
	assert_works(&told_err, rye_load_path(&p->env, &ask, &item, &told_err));
	assert_int_equal(verified(p), 1);
	memcpy(sha, item->verdict.sha, SHA_LEN);
	rye_item_unref(item);
	item_store_forget(p->env.store);
	item_store_counts(p->env.store, &before);
	ask.known = sha;
	assert_works(&told_err, rye_load_path(&p->env, &ask, &item, &told_err));
	item_store_counts(p->env.store, &after);
	assert_int_equal(after.verifications, before.verifications);
	assert_int_equal(after.hits, before.hits + 1);
	rye_item_unref(item);
	item_store_forget(p->env.store);
	/* without a signature, nothing that was known of other bytes helps */
	place_text(p->project, "tools/vec/b2.py", "print(1)\n");
	assert_refused(&told_err, RYE_UNSIGNED, rye_load_path(&p->env, &ask, &item, &told_err));
	assert_int_equal(verified(p), 2);
	sha[0] ^= 1;
	place_put(p->project, "tools/vec/b2.py", "binding/b2.py");
	assert_works(&told_err, rye_load_path(&p->env, &ask, &item, &told_err));
	assert_int_equal(verified(p), 3);
	rye_item_unref(item);
}

/* Another trust is another verdict. */
static void of_one_trust(void **state)
{
	struct test_place p;
	char path[300];

	place_settled(&p);
	assert_works(&told_err, place_load(&p, RYE_TOOL, "vec/b2", NULL, &told_err));
	snprintf(path, sizeof(path), "%s/.ai/config/keys/trusted/" KEY1 ".toml", p.user);
	unlink(path);
	assert_works(&told_err, trust_reload(p.trust, &told_err));
	assert_int_equal(place_load(&p, RYE_TOOL, "vec/b2", NULL, NULL), RYE_UNTRUSTED);
	place_drop(&p);
}

static void unsigned_where_allowed(void **state)
{
	struct test_place *p = *state;
	struct path_ask ask = { .kind = RYE_CONFIG, .path = "config/web/a.yaml" };
	struct config_file file = { .id = "web/a", .ext = ".yaml" };
	struct rye_item *item = NULL;

	place_text(p->project, "config/web/a.yaml", "a: 1\n");
	place_open(p, false);
	usleep(150000); /* until the file's times tell every later change */
	ask.space = file.space = &p->spaces->v[0];
	for (int i = 0; i < 2; i++) {
		assert_works(&told_err, config_load_file(&p->env, &file, &item, &told_err));
		rye_item_unref(item);
	}
	assert_int_equal(verified(p), 1);
	assert_refused(&told_err, RYE_UNSIGNED, rye_load_path(&p->env, &ask, &item, &told_err));
}

static void check_named(struct test_place *p, bool unsigned_ok, enum rye_code wanted,
			const char *text)
{
	const struct path_ask ask = { .space = &p->spaces->v[0],
				      .kind = RYE_CONFIG,
				      .path = "config/web/a.yaml",
				      .unsigned_ok = unsigned_ok };
	struct rye_item *item = NULL;

	assert_int_equal(rye_load_path(&p->env, &ask, &item, NULL), -(int)wanted);
	if (text)
		assert_memory_equal(item->raw->data, text, item->raw->len);
	rye_item_unref(item);
}

/* A named file that comes, changes, is a link, goes with its directory: as it is each time. */
static void named_as_it_is(void **state)
{
	struct test_place *p = *state;
	char dir[200], file[300], aside[200];

	place_open(p, false);
	snprintf(dir, sizeof(dir), "%s/.ai/config/web", p->project);
	snprintf(file, sizeof(file), "%s/a.yaml", dir);
	snprintf(aside, sizeof(aside), "%s/aside", p->base);
	check_named(p, true, RYE_NOT_FOUND, NULL);
	place_text(p->project, "config/web/a.yaml", "a: 1\n");
	usleep(150000); /* the same */
	for (int i = 0; i < 2; i++)
		check_named(p, true, RYE_OK, "a: 1\n");
	check_named(p, false, RYE_UNSIGNED, NULL);
	place_text(p->project, "config/web/a.yaml", "a: 2\n");
	check_named(p, true, RYE_OK, "a: 2\n");
	unlink(file);
	check_named(p, true, RYE_NOT_FOUND, NULL);
	assert_int_equal(symlink("/etc/passwd", file), 0);
	check_named(p, true, RYE_DENIED, NULL);
	unlink(file);
	place_text(p->project, "config/web/a.yaml", "a: 3\n");
	usleep(150000); /* the same */
	for (int i = 0; i < 2; i++)
		check_named(p, true, RYE_OK, "a: 3\n");
	assert_int_equal(rename(dir, aside), 0);
	check_named(p, true, RYE_NOT_FOUND, NULL);
	assert_int_equal(symlink(aside, dir), 0);
	check_named(p, true, RYE_DENIED, NULL);
}

/* ---- within bounds ---- */

#define BIG (1u << 20)

static struct rye_item *recalled(struct test_place *p, const struct rye_item *item)
{
	struct path_ask ask = { .space = item->space,
				.kind = item->kind,
				.path = item->path,
				.unsigned_ok = true };

	return item_store_recall(p->env.store, &ask, &item->st, 1);
}

static void the_oldest_go_first(void **state)
{
	const struct store_moment late = { .time = { INT32_MAX, 0 }, .trust = 1 };
	struct test_place *p = *state;
	struct rye_item *items[4] = { NULL };
	char *big = malloc(BIG + 1), id[16], path[40];

	memset(big, 'x', BIG);
	big[BIG] = 0;
	place_open(p, false);
	p->env.dev_mode = true;
	for (int i = 0; i < 4; i++) {
		snprintf(id, sizeof(id), "i%d", i);
		snprintf(path, sizeof(path), "knowledge/%s.md", id);
		place_text(p->project, path, big);
		assert_works(&told_err, place_load(p, RYE_KNOWLEDGE, id, &items[i], &told_err));
		item_store_keep(p->env.store, items[i], &late);
	}
	/* the newest stays, however big it is */
	for (int i = 0; i < 4; i++) {
		struct rye_item *held = recalled(p, items[i]);

		assert_ptr_equal(held, i == 3 ? items[i] : NULL);
		rye_item_unref(held);
		rye_item_unref(items[i]);
	}
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_one_file),	    cmocka_unit_test(kept_if_old_before),
		place_test(known_by_its_bytes),	    cmocka_unit_test(of_one_trust),
		place_test(unsigned_where_allowed), place_test(named_as_it_is),
		place_test(the_oldest_go_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
