/* SPDX-License-Identifier: MIT */
/* Buffers keep their invariants whatever is appended; blobs count. */
#include "buf.h"

#include "rye_test.h"

static void holds(const struct rye_buf *buf, const char *want)
{
	assert_false(buf->failed);
	assert_int_equal(buf->len, strlen(want));
	assert_string_equal(buf->data, want);
	assert_true(buf->size > buf->len);
}

static void appends(void **state)
{
	auto_buf struct rye_buf buf = RYE_BUF_INIT;

	buf_add(&buf, NULL, 0);
	holds(&buf, "");
	buf_adds(&buf, "ab");
	buf_addc(&buf, 'c');
	buf_addspan(&buf, (struct rye_span){ "dex", 2 });
	buf_addf(&buf, "%d-%s", 7, "");
	holds(&buf, "abcde7-");
	for (int i = 0; i < 1000; i++)
		buf_addf(&buf, "%s", "0123456789");
	assert_int_equal(buf.len, 10007);
	assert_int_equal(buf.data[buf.len], 0);
	buf_cut(&buf, 3);
	assert_int_equal(buf.len, 3);
	assert_int_equal(buf.data[buf.len], 0);
	buf_cut(&buf, 4);
	assert_int_equal(buf.len, 3);
	buf_clear(&buf);
	buf_cut(&buf, 0);
	holds(&buf, "");
}

static void cap_is_sticky(void **state)
{
	auto_buf struct rye_buf buf = { .cap = 4 };

	buf_adds(&buf, "abcd");
	holds(&buf, "abcd");
	buf_addc(&buf, 'e');
	assert_true(buf.failed);
	assert_string_equal(buf.data, "abcd");
	buf_add(&buf, NULL, 0);
	buf_addf(&buf, "%s", "");
	assert_true(buf.failed);
	assert_int_equal(buf.len, 4);
	assert_null(buf_blob(&buf));
	assert_false(buf.failed);
	buf_adds(&buf, "wxyz");
	holds(&buf, "wxyz");
	buf_addf(&buf, "%s", "0123456789");
	assert_true(buf.failed);
	assert_null(buf_steal(&buf));
	assert_false(buf_reserve(&buf, SIZE_MAX));
}

static void moving_out(void **state)
{
	struct rye_buf buf = RYE_BUF_INIT;
	struct rye_blob *blob;
	char *text = buf_steal(&buf);

	assert_string_equal(text, "");
	free(text);
	buf_adds(&buf, "x");
	text = buf_steal(&buf);
	assert_string_equal(text, "x");
	free(text);
	assert_null(buf.data);
	blob = buf_blob(&buf);
	assert_int_equal(blob->len, 0);
	assert_int_equal(blob->data[0], 0);
	rye_blob_unref(blob);
	buf_add(&buf, "a\0b", 3);
	blob = buf_blob(&buf);
	assert_int_equal(blob->len, 3);
	assert_memory_equal(blob->data, "a\0b", 4);
	assert_ptr_equal(rye_blob_ref(blob), blob);
	rye_blob_unref(blob);
	rye_blob_unref(blob);
	rye_blob_unref(NULL);
	assert_null(rye_blob_ref(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends),
		cmocka_unit_test(cap_is_sticky),
		cmocka_unit_test(moving_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
