/* SPDX-License-Identifier: MIT */
/* Spans, UTF-8, hex, base64url and globs. The globs' plain cases are in tests/table/glob.test. */
#include "str.h"

#include "clock.h"

#include "rye_test.h"

#include <stdio.h>

static void same(struct rye_span s, const char *want)
{
	assert_int_equal(s.len, strlen(want));
	assert_memory_equal(s.ptr, want, s.len);
}

static void spans(void **state)
{
	struct rye_span s = SPAN("ab\ncd\n\nef"), line;

	assert_true(span_eq(s, "ab\ncd\n\nef"));
	assert_false(span_eq(s, "ab"));
	assert_true(span_starts(s, "ab\n") && !span_starts(s, "b") && span_starts(s, ""));
	assert_true(span_ends(s, "ef") && !span_ends(s, "e"));
	assert_int_equal(span_find(s, 0, "cd"), 3);
	assert_int_equal(span_find(s, 4, "cd"), -1);
	assert_int_equal(span_find(s, 10, "x"), -1);
	assert_int_equal(span_find((struct rye_span){ 0 }, 0, "x"), -1);
	assert_true(span_line(&s, &line));
	same(line, "ab");
	assert_true(span_line(&s, &line) && span_line(&s, &line));
	same(line, "");
	assert_true(span_line(&s, &line));
	same(line, "ef");
	assert_false(span_line(&s, &line));
	assert_true(str_ends("a.py", ".py") && !str_ends("py", ".py"));
}

static void trims(void **state)
{
	same(span_trim(SPAN(" \t\r\n\v\f a b \n")), "a b");
	same(span_trim(SPAN("  ")), "");
	same(span_strip_unicode(SPAN("\x1c\xc2\x85\xc2\xa0\xe1\x9a\x80\xe2\x80\x8a\xe2\x80\xaf"
				     "\xe2\x81\x9f\xe3\x80\x80"
				     "é\xe3\x80\x80\x1f")),
	     "é");
	/* zero width space, byte order mark and broken bytes are no blanks */
	same(span_strip_unicode(SPAN("\xe2\x80\x8b")), "\xe2\x80\x8b");
	same(span_strip_unicode(SPAN(" \xef\xbb\xbf ")), "\xef\xbb\xbf");
	same(span_strip_unicode(SPAN(" \xff ")), "\xff");
	same(span_strip_unicode(SPAN("a\x80\x80\x80\x80")), "a\x80\x80\x80\x80");
	same(span_strip_unicode((struct rye_span){ NULL, 0 }), "");
}

static void utf8(void **state)
{
	static const char *const bad[] = { "\x80",
					   "\xc0\x80",
					   "\xc1\xbf",
					   "\xe0\x9f\xbf",
					   "\xed\xa0\x80",
					   "\xed\xbf\xbf",
					   "\xf0\x8f\xbf\xbf",
					   "\xf4\x90\x80\x80",
					   "\xf5\x80\x80\x80",
					   "\xc3",
					   "\xe2\x82",
					   "\xf0\x9f\x98",
					   "\xff",
					   "\xc3(",
					   "\xe2\x28\xa1" };
	static const char *const good[] = { "",
					    "a",
					    "\xc2\x80",
					    "\xdf\xbf",
					    "\xe0\xa0\x80",
					    "\xed\x9f\xbf",
					    "\xee\x80\x80",
					    "\xef\xbf\xbf",
					    "\xf0\x90\x80\x80",
					    "\xf4\x8f\xbf\xbf" };
	char text[4];
	uint32_t cp;

	for (size_t i = 0; i < 15; i++)
		assert_false(utf8_valid(span_of(bad[i])));
	for (size_t i = 0; i < 10; i++)
		assert_true(utf8_valid(span_of(good[i])));
	for (uint32_t want = 1; want < 0x110000; want += 0x3f) {
		size_t n = utf8_put(text, want);

		if (want >= 0xd800 && want <= 0xdfff)
			continue;
		assert_int_equal(utf8_next((struct rye_span){ text, n }, &cp), n);
		assert_int_equal(cp, want);
	}
}

static void mend_and_cut(void **state)
{
	char text[] = "a\xff"
		      "é\xe2\x82";
	char cut[8];

	utf8_mend(text);
	assert_string_equal(text, "a?é??");
	assert_int_equal(utf8_count(span_of("1é…\xf0\x9f\x90\x9f")), 4);
	assert_int_equal(utf8_start("1é3", 1), 1);
	assert_int_equal(utf8_start("1é3", 2), 1);
	assert_int_equal(utf8_start("1é3", 3), 3);
	assert_int_equal(utf8_start("\x80\x80", 1), 0);
	utf8_cut("1234567", cut, sizeof(cut));
	assert_string_equal(cut, "1234567");
	utf8_cut("12345678", cut, sizeof(cut));
	assert_string_equal(cut, "1234…");
	utf8_cut("123éé9", cut, sizeof(cut));
	assert_string_equal(cut, "123…");
}

static void hex(void **state)
{
	char text[7];

	hex_of((const unsigned char *)"\x00\xab\xff", 3, text);
	assert_string_equal(text, "00abff");
	assert_true(is_hex_lower(SPAN("09af")) && !is_hex_lower(SPAN("0g")));
}

static void base64url(void **state)
{
	unsigned char bytes[64], again[64];
	char text[90];

	for (size_t i = 0; i < 64; i++)
		bytes[i] = (unsigned char)(i * 37 + 3);
	for (size_t n = 0; n <= 64; n++) {
		b64url_of(bytes, n, text);
		assert_int_equal(strlen(text), (n * 4 + 2) / 3);
		assert_true(b64url_to(span_of(text), again, n));
		assert_memory_equal(bytes, again, n);
	}
	b64url_of((const unsigned char *)"\xfb\xff\xfe", 3, text);
	assert_string_equal(text, "-__-");
	assert_true(b64url_to(SPAN("QQ"), again, 1));
	assert_true(b64url_to(SPAN("QQ="), again, 1) && b64url_to(SPAN("QQ=="), again, 1));
	assert_false(b64url_to(SPAN("QQ==="), again, 1));
	assert_false(b64url_to(SPAN("QR"), again, 1)); /* trailing bits */
	assert_false(b64url_to(SPAN("Q+"), again, 1));
	assert_false(b64url_to(SPAN("QQ"), again, 2));
}

/* Patterns that make naive matchers exponential. */
static void hostile_globs(void **state)
{
	char pattern[2001] = "", text[4001] = "";
	int64_t start = clock_own_us();

	memset(text, 'a', 4000);
	for (size_t i = 0; i < 1000; i++)
		memcpy(pattern + 2 * i, "a*", 2);
	assert_true(glob_match(pattern, text));
	pattern[1999] = 'b';
	assert_false(glob_match(pattern, text));
	for (size_t i = 0; i < 660; i++)
		memcpy(pattern + 3 * i, "a**", 3);
	memcpy(pattern + 1980, "b", 2);
	assert_false(glob_match(pattern, text));
	for (size_t i = 0; i < 4000; i += 2)
		text[i] = '/';
	memcpy(pattern, "**/a/*/a/*/*/**/*b", 19);
	assert_false(glob_match(pattern, text));
	assert_true(clock_own_us() - start < 5 * 1000000);
}

static void dups(void **state)
{
	char *copy = span_dup(span_skip(SPAN("abc"), 1));

	assert_string_equal(copy, "bc");
	free(copy);
	copy = span_dup((struct rye_span){ NULL, 0 });
	assert_string_equal(copy, "");
	free(copy);
}

static void one_names(void **state)
{
	char name[256], id[400];

	assert_true(str_one_name("a/b-1", true, name));
	assert_string_equal(name, "a:b-1");
	assert_true(str_one_name("a:b/50%", true, name));
	assert_string_equal(name, "a%3Ab:50%25");
	assert_true(str_one_name("tool:a/50%", false, name));
	assert_string_equal(name, "tool:a:50%");
	memset(id, 'x', sizeof(id) - 1);
	id[sizeof(id) - 1] = 0;
	assert_false(str_one_name(id, true, name));
	id[250] = 0;
	assert_true(str_one_name(id, true, name));
	snprintf(name, sizeof(name), "a%%2Fb%%2f%%25%%3A");
	str_one_name_old(name);
	assert_string_equal(name, "a:b:%25%3A");
}

static void below(const char *path, const char *dir, const char *want)
{
	const char *found = path_below(path, dir);

	if (want)
		assert_string_equal(found, want);
	else
		assert_null(found);
}

static void paths_below(void **state)
{
	(void)state;
	below("/p/a/b", "/p", "a/b");
	below("/p", "/p", "");
	below("/p/a", "/p/", "a");
	below("/pa", "/p", NULL);
	below("/", "/p", NULL);
	below("/p/a", "/p/a/b", NULL);
	/* the root of all, and the beginning of what is relative */
	below("/p/a", "/", "p/a");
	below("/", "/", "");
	below("tools/a", "", "tools/a");
	below("tools/a", "tools", "a");
}

static void stamps(void **state)
{
	struct timespec at;
	char text[40];

	assert_true(clock_iso_read("2026-01-02T03:04:05.678901+00:00", &at));
	assert_int_equal(at.tv_sec, 1767323045);
	assert_int_equal(at.tv_nsec, 678901000);
	clock_iso_at(INT64_C(1767323045678901), text);
	assert_string_equal(text, "2026-01-02T03:04:05.678901+00:00");
	assert_true(clock_iso_read("2026-01-02 05:34:05+02:30", &at) && at.tv_sec == 1767323045);
	assert_true(clock_iso_read("2026-01-01T22:04:05-05:00", &at) && at.tv_sec == 1767323045);
	assert_true(clock_iso_read("2026-01-02T03:04:05Z", &at) && !at.tv_nsec);
	assert_false(clock_iso_read("", &at) || clock_iso_read("2026-01-02", &at) ||
		     clock_iso_read("2026-01-02T03:04:05 of a day", &at) ||
		     clock_iso_read("2026-01-02T03:04:05+x", &at));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans),	 cmocka_unit_test(trims),
		cmocka_unit_test(utf8),		 cmocka_unit_test(mend_and_cut),
		cmocka_unit_test(hex),		 cmocka_unit_test(base64url),
		cmocka_unit_test(hostile_globs), cmocka_unit_test(dups),
		cmocka_unit_test(one_names),	 cmocka_unit_test(stamps),
		cmocka_unit_test(paths_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
