/* SPDX-License-Identifier: MIT */
/* Renderings between the scan and the first reader: taken once, by state, within bounds. */
#include "rye_test.h"

#include "item/texts.h"

#include <stdio.h>

static struct index_item named(const char *id, uint64_t gen)
{
	struct index_item item = { .kind = RYE_TOOL, .gen = gen };

	snprintf(item.id, sizeof(item.id), "%s", id);
	return item;
}

static void put(struct texts *texts, const char *id, uint64_t gen, const char *text)
{
	struct index_item item = named(id, gen);
	struct rye_blob *blob = rye_blob_new(text, strlen(text));

	texts_put(texts, &item, blob);
	rye_blob_unref(blob);
}

static bool take(struct texts *texts, const char *id, uint64_t gen, const char *wanted)
{
	struct index_item item = named(id, gen);
	struct rye_blob *blob = texts_take(texts, &item);
	bool same = blob ? wanted && strcmp(blob->data, wanted) == 0 : !wanted;

	rye_blob_unref(blob);
	return same;
}

static void taken_once(void **state)
{
	struct texts *texts = texts_new();

	put(texts, "a/b", 1, "one");
	put(texts, "a/c", 1, "two");
	assert_true(take(texts, "a/d", 1, NULL));
	assert_true(take(texts, "a/b", 1, "one"));
	assert_true(take(texts, "a/b", 1, NULL));
	assert_true(take(texts, "a/c", 1, "two"));
	texts_free(texts);
}

static void of_one_state(void **state)
{
	struct texts *texts = texts_new();

	put(texts, "a", 1, "old");
	put(texts, "a", 2, "new");
	assert_true(take(texts, "a", 2, "new"));
	put(texts, "a", 2, "stale");
	assert_true(take(texts, "a", 3, NULL));
	/* and what was of another state is not kept for anybody */
	assert_true(take(texts, "a", 2, NULL));
	put(texts, "a", 3, "x");
	texts_clear(texts);
	assert_true(take(texts, "a", 3, NULL));
	texts_free(texts);
}

static void the_oldest_go_first(void **state)
{
	struct texts *texts = texts_new();
	size_t len = TEXTS_BYTES / 8;
	char *big = malloc(len + 1);
	char id[16];

	memset(big, 'x', len);
	big[len] = 0;
	for (int i = 0; i < 10; i++) {
		snprintf(id, sizeof(id), "i%d", i);
		put(texts, id, 1, big);
	}
	assert_true(take(texts, "i0", 1, NULL));
	assert_true(take(texts, "i2", 1, NULL));
	assert_true(take(texts, "i9", 1, big));
	assert_true(take(texts, "i4", 1, big));
	free(big);
	texts_free(texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(taken_once),
		cmocka_unit_test(of_one_state),
		cmocka_unit_test(the_oldest_go_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
