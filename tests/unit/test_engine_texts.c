/* SPDX-License-Identifier: MIT */
/*
 * The texts of items: one for all readers of a version, made when its verdict is, and the old one for
 * as long as a reader has it; where there is no room before a reader asks, the first one has it loaded.
 */
#include "item_place.h"

#include "api/api_inner.h"
#include "base/spool.h"

#include <stdatomic.h>

struct shelf {
	struct test_place place;
	struct rye *rye;
};

static void shelf_open(struct shelf *s)
{
	place_make(&s->place);
	place_text(s->place.project, "knowledge/a.md", "# one\n");
	/* until a file's times tell every later change */
	usleep(150000);
	s->rye = place_engine(&s->place, (struct rye_options){ .dev_mode = true });
}

static void shelf_close(struct shelf *s)
{
	rye_close(s->rye);
	place_drop(&s->place);
}

static bool any(void *arg, const struct rye_stat *st)
{
	return !arg && st;
}

static struct rye_text *text_of(struct shelf *s, const char *wanted)
{
	const struct rye_want want = { RYE_KNOWLEDGE, "a.md", any, NULL };
	struct rye_blob *blob = NULL;
	struct rye_file file;

	assert_works(&told_err, rye_read(s->rye, &want, &file, &told_err));
	assert_non_null(file.text);
	assert_works(&told_err, rye_text_get(file.text, &blob, &told_err));
	assert_string_equal(blob->data, wanted);
	rye_blob_unref(blob);
	return file.text;
}

static void look(struct shelf *s)
{
	struct rye_stat st;

	assert_works(&told_err, rye_lookup(s->rye, RYE_KNOWLEDGE, "a.md", &st, &told_err));
}

/* Files that were loaded so far. */
static uint64_t loads(struct shelf *s)
{
	return atomic_load(s->rye->cache.loads);
}

static void one_of_a_version(void **state)
{
	struct rye_text *first, *second, *changed;
	struct rye_blob *blob = NULL;
	struct shelf s;

	shelf_open(&s);
	look(&s);
	first = text_of(&s, "# one\n");
	second = text_of(&s, "# one\n");
	assert_ptr_equal(first, second);
	assert_int_equal(loads(&s), 1);
	rye_text_unref(second);
	place_text(s.place.project, "knowledge/a.md", "# two, and longer\n");
	rye_touched(s.rye, 0, "knowledge/a.md");
	changed = text_of(&s, "# two, and longer\n");
	assert_int_equal(loads(&s), 2);
	rye_text_unref(changed);
	/* a reader that has the old version open reads it to its end */
	assert_works(&told_err, rye_text_get(first, &blob, &told_err));
	assert_string_equal(blob->data, "# one\n");
	rye_blob_unref(blob);
	rye_text_unref(first);
	shelf_close(&s);
}

static void no_room_before_a_reader(void **state)
{
	struct rye_text *most, *text;
	struct shelf s;

	shelf_open(&s);
	most = spool_keep(s.rye->spool, rye_blob_new(NULL, SPOOL_UNREAD));
	assert_non_null(most);
	look(&s);
	assert_int_equal(loads(&s), 1);
	text = text_of(&s, "# one\n");
	assert_int_equal(loads(&s), 2);
	rye_text_unref(text);
	/* one reader is enough for it to stay */
	rye_text_unref(text_of(&s, "# one\n"));
	assert_int_equal(loads(&s), 2);
	/* what is read at once is not read twice */
	place_text(s.place.project, "knowledge/a.md", "# two, and longer\n");
	rye_touched(s.rye, 0, "knowledge/a.md");
	rye_text_unref(text_of(&s, "# two, and longer\n"));
	assert_int_equal(loads(&s), 3);
	rye_text_unref(most);
	shelf_close(&s);
}

/* What a thread that must not wait is told, once that is known: its text. */
static void comes_to_be_known(struct shelf *s, const char *wanted)
{
	struct rye_blob *blob = NULL;
	struct rye_file file = { .text = NULL };

	for (int i = 0; i < 2000 && !file.text; i++) {
		if (i)
			usleep(5000);
		(void)rye_known(s->rye, RYE_KNOWLEDGE, "a.md", &file);
	}
	assert_non_null(file.text);
	assert_true(file.watched && file.st.is_file && file.st.verdict == RYE_OK);
	assert_works(&told_err, rye_text_get(file.text, &blob, &told_err));
	assert_string_equal(blob->data, wanted);
	rye_blob_unref(blob);
	rye_text_unref(file.text);
}

static void known_without_a_reader(void **state)
{
	struct rye_file file;
	struct shelf s;

	place_make(&s.place);
	place_text(s.place.project, "knowledge/a.md", "# one\n");
	s.rye = place_engine(&s.place, (struct rye_options){ .dev_mode = true, .scan = true });
	comes_to_be_known(&s, "# one\n");
	assert_true(rye_known(s.rye, RYE_KNOWLEDGE, "b.md", &file));
	assert_true(!file.st.is_file && !file.st.is_dir && !file.text);
	place_text(s.place.project, "knowledge/a.md", "# two, and longer\n");
	rye_touched(s.rye, 0, "knowledge/a.md");
	/* never the old text from here on */
	comes_to_be_known(&s, "# two, and longer\n");
	shelf_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_a_version),
		cmocka_unit_test(no_room_before_a_reader),
		cmocka_unit_test(known_without_a_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
