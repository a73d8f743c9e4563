/* SPDX-License-Identifier: MIT */
/*
 * Generated pages: what was added, or as many whole lines of it as a page may have and one that says
 * that there is more.
 */
#include "rye_test.h"

#include "core/page.h"

#include <string.h>

static void short_pages(void **state)
{
	struct text text = { 0 };
	struct rye_blob *blob = text_blob(&text);

	assert_int_equal(blob->len, 0);
	rye_blob_unref(blob);
	text_add(&text, "a ");
	text_addf(&text, "%d ", 7);
	text_add_json(&text, "x\n\"");
	blob = text_blob(&text);
	assert_string_equal(blob->data, "a 7 \"x\\u000a\\\"\"");
	rye_blob_unref(blob);
}

static void full_pages(void **state)
{
	struct text text = { 0 };
	struct rye_blob *blob;
	const char *last;

	for (int i = 0; i < 1000000; i++) {
		text_addf(&text, "%d: ", i);
		text_add(&text, "faulty\n");
	}
	blob = text_blob(&text);
	assert_non_null(blob);
	assert_true(blob->len < TEXT_MAX && blob->len > TEXT_MAX - 200);
	last = memrchr(blob->data, '\n', blob->len - 1);
	assert_string_equal(last + 1, "there is more: this page was cut at 4 MiB\n");
	/* and before it a whole line */
	assert_memory_equal(last - 6, "faulty", 6);
	rye_blob_unref(blob);
	/* one piece that is too long by itself */
	text_add(&text, "first\n");
	text_addf(&text, "%*d\n", (int)TEXT_MAX, 1);
	text_add(&text, "never\n");
	blob = text_blob(&text);
	assert_string_equal(blob->data, "first\nthere is more: this page was cut at 4 MiB\n");
	rye_blob_unref(blob);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_pages),
		cmocka_unit_test(full_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
