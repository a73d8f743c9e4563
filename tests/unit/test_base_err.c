/* SPDX-License-Identifier: MIT */
/* Errors, log lines, digests and time stamps. */
#include "err.h"

#include "clock.h"
#include "base/log.h"
#include "base/sha.h"
#include "str.h"

#include "rye_test.h"

#include <errno.h>
#include <stdio.h>

static void table(void **state)
{
	for (int code = 0; code < RYE_CODE__MAX; code++) {
		assert_true(code == RYE_OK || rye_code_errno(code) > 0);
		assert_true(*rye_code_remedy(code));
	}
	assert_int_equal(rye_code_errno(RYE_CODE__MAX), EIO);
	assert_string_equal(rye_code_name(RYE_CODE__MAX), "unknown");
	assert_true(rye_code_integrity(RYE_MOVED) && !rye_code_integrity(RYE_UNPARSABLE));
}

static void messages(void **state)
{
	char longer[2000], line[32];
	struct rye_err err;

	assert_int_equal(rye_fail(&err, RYE_INVALID, "a %d", 1), -(int)RYE_INVALID);
	assert_string_equal(err.msg, "a 1");
	assert_int_equal(rye_wrap(&err, "%s", "b"), -(int)RYE_INVALID);
	assert_string_equal(err.msg, "b: a 1");
	assert_int_equal(rye_fail_sys(&err, ENOENT, "f"), -(int)RYE_NOT_FOUND);
	assert_string_equal(err.msg, "f: No such file or directory");
	assert_int_equal(err.sys, ENOENT);
	assert_int_equal(rye_fail(NULL, RYE_INVALID, "x"), -(int)RYE_INVALID);
	for (size_t i = 0; i + 2 < sizeof(longer); i += 2)
		memcpy(longer + i, "é", 3);
	rye_fail(&err, RYE_IO, "x%s", longer);
	assert_true(utf8_valid(span_of(err.msg)));
	rye_wrap(&err, "%s", longer);
	assert_true(utf8_valid(span_of(err.msg)));
	rye_fail(&err, RYE_IO, "%s", "bad \xff name");
	assert_string_equal(err.msg, "bad ? name");
	rye_fail(&err, RYE_IO, "%s", "two\nlines\x7f and a lot of text behind them");
	rye_err_line(&err, line, sizeof(line));
	assert_string_equal(line, "two lines  and a lot of text be");
	rye_fail(&err, RYE_IO, "%s", "123456789012345678901234567890é");
	rye_err_line(&err, line, sizeof(line));
	assert_string_equal(line, "123456789012345678901234567890");
}

static void keep_line(void *arg, enum rye_level level, const char *module, const char *line)
{
	snprintf(arg, 64, "%d %s %s", (int)level, module, line);
}

static void log_lines(void **state)
{
	char kept[64] = "";
	const struct log log = { .fn = keep_line, .arg = kept };

	log_line(&log, RYE_LOG_WARN, "item", "%s", "a\nb \xff");
	assert_string_equal(kept, "1 item a b ?");
	log_line(NULL, RYE_LOG_WARN, "item", "x");
}

static void digests(void **state)
{
	const struct rye_span parts[] = { SPAN("a"), { NULL, 0 }, SPAN("bc") };
	char hash[SHA_HEX], again[SHA_HEX];

	sha256_hex(SPAN("abc"), hash);
	assert_string_equal(hash,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sha256_parts(parts, 3, again);
	assert_string_equal(hash, again);
}

static void stamps(void **state)
{
	char text[40];
	int64_t before = clock_us();

	clock_stamp(1767323045, text);
	assert_string_equal(text, "2026-01-02T03:04:05Z");
	clock_iso_us(text);
	assert_int_equal(strlen(text), 32);
	assert_string_equal(text + 26, "+00:00");
	assert_true(clock_us() >= before && clock_ms() >= before / 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),   cmocka_unit_test(messages), cmocka_unit_test(log_lines),
		cmocka_unit_test(digests), cmocka_unit_test(stamps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
