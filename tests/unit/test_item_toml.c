/* SPDX-License-Identifier: MIT */
/* TOML: what is read, as compact JSON, and what is refused, with its line. */
#include "rye_test.h"

#include "scope.h"
#include "str.h"
#include "format/format.h"

#include <stdio.h>

static const char *const good[][2] = {
	{ "", "{}" },
	{ "# c\n\n \t# d\r\n", "{}" },
	{ "a = 1 # c", "{\"a\":1}" },
	{ "a = +1_000\nb = -0\nc = 0xFf\nd = 0o17\ne = 0b1_01\n",
	  "{\"a\":1000,\"b\":0,\"c\":255,\"d\":15,\"e\":5}" },
	{ "a = 1.5\nb = -2e3\nc = 1_0.2_5E+0", "{\"a\":1.5,\"b\":-2000.0,\"c\":10.25}" },
	{ "a = inf\nb = -nan", "{\"a\":\"inf\",\"b\":\"-nan\"}" },
	{ "a = true\nb = false", "{\"a\":true,\"b\":false}" },
	{ "a = \"x\\t\\u00e9\\U0001F600\\\\\\\"\"", "{\"a\":\"x\\té😀\\\\\\\"\"}" },
	{ "a = 'x\\n\"'", "{\"a\":\"x\\\\n\\\"\"}" },
	{ "a = \"\"\"\nx\r\ny\"\"\"\"\"", "{\"a\":\"x\\ny\\\"\\\"\"}" },
	{ "a = \"\"\"x \\\n   \r\n  y\"\"\"", "{\"a\":\"x y\"}" },
	{ "a = '''\nx\\y\n'''", "{\"a\":\"x\\\\y\\n\"}" },
	{ "a = \"\"\nb = ''\nc = ''''''\n", "{\"a\":\"\",\"b\":\"\",\"c\":\"\"}" },
	{ "a = 2026-01-02\nb = 03:04:05.5\nc = 2026-01-02T03:04:05Z\nd = 2026-01-02 "
	  "03:04:05.1+01:30\n",
	  "{\"a\":\"2026-01-02\",\"b\":\"03:04:05.5\",\"c\":\"2026-01-02T03:04:05Z\",\"d\":\"2026-"
	  "01-02 03:04:05.1+01:30\"}" },
	{ "a = [1, [2, 3], 'x', # c\n true,\n]", "{\"a\":[1,[2,3],\"x\",true]}" },
	{ "a = []\nb = [ ]", "{\"a\":[],\"b\":[]}" },
	{ "a = {}\nb = {x = 1, y.z = 'q'}", "{\"a\":{},\"b\":{\"x\":1,\"y\":{\"z\":\"q\"}}}" },
	{ "a.b.c = 1\na.b.d = 2\na.e = 3", "{\"a\":{\"b\":{\"c\":1,\"d\":2},\"e\":3}}" },
	{ "'a b'.\"c.d\" . e = 1\n\"\" = 2", "{\"a b\":{\"c.d\":{\"e\":1}},\"\":2}" },
	{ "1-2_3 = 1", "{\"1-2_3\":1}" },
	{ "[a]\nx = 1\n[a.b]\ny = 2\n[c]", "{\"a\":{\"x\":1,\"b\":{\"y\":2}},\"c\":{}}" },
	{ "[a.b]\ny = 2\n[a]\nx = 1", "{\"a\":{\"b\":{\"y\":2},\"x\":1}}" },
	{ "[[a]]\nx = 1\n[[a]]\n[a.b]\ny = 1\n[[a.c]]\n",
	  "{\"a\":[{\"x\":1},{\"b\":{\"y\":1},\"c\":[{}]}]}" },
	{ "[a]\nb.c = 1\n[a.b.d]\nx = 1", "{\"a\":{\"b\":{\"c\":1,\"d\":{\"x\":1}}}}" },
	{ "[ a . 'b' ] # c\n", "{\"a\":{\"b\":{}}}" },
};

static const struct {
	const char *text;
	int line;
} bad[] = {
	{ "a", 1 },
	{ "a =", 1 },
	{ "\na = \n", 2 },
	{ "= 1", 1 },
	{ "a = 1 b = 2", 1 },
	{ "a = 1\na = 2", 2 },
	{ "a.b = 1\na = 2", 2 },
	{ "a = 1\na.b = 2", 2 },
	{ "[a]\n[a]", 2 },
	{ "[a]\n[[a]]", 2 },
	{ "[[a]]\n[a]", 2 },
	{ "a = []\n[[a]]", 2 },
	{ "a = {}\n[a.b]", 2 },
	{ "a = {b = 1}\na.c = 1", 2 },
	{ "a.b = 1\n[a]", 2 },
	{ "[a.b]\n[a]\nb.c = 1", 3 },
	{ "a = 1\n[a.b]", 2 },
	{ "[a", 1 },
	{ "[]", 1 },
	{ "[a]]", 1 },
	{ "[[a]", 1 },
	{ "[a] x", 1 },
	{ "a = 01", 1 },
	{ "a = 1__0", 1 },
	{ "a = _1", 1 },
	{ "a = 1_", 1 },
	{ "a = .5", 1 },
	{ "a = 1.", 1 },
	{ "a = 1.e1", 1 },
	{ "a = 1e", 1 },
	{ "a = +0x1", 1 },
	{ "a = 0x", 1 },
	{ "a = 9223372036854775808", 1 },
	{ "a = 0xffffffffffffffff", 1 },
	{ "a = True", 1 },
	{ "a = nul", 1 },
	{ "a = 2026-13-01", 1 },
	{ "a = 2026-01-02T25:00:00Z", 1 },
	{ "a = 2026-01-02T03:04Z", 1 },
	{ "a = \"x", 1 },
	{ "a = \"x\ny\"", 1 },
	{ "a = '''x", 1 },
	{ "a = \"\\q\"", 1 },
	{ "a = \"\\u12\"", 1 },
	{ "a = \"\\uD800\"", 1 },
	{ "a = \"\\u0000\"", 1 },
	{ "a = \"\x01\"", 1 },
	{ "a = '\x7f'", 1 },
	{ "# \x02", 1 },
	{ "a = \"\"\"\rx\"\"\"", 1 },
	{ "a = 'x'\rb = 1", 1 },
	{ "a = \"\xff\"", 1 },
	{ "a = [1 2]", 1 },
	{ "a = [1,,2]", 1 },
	{ "a = [", 1 },
	{ "a = [\n\n1", 3 },
	{ "a = {b = 1,}", 1 },
	{ "a = {b = 1\n}", 1 },
	{ "a = {b = 1, b = 2}", 1 },
	{ "a = {b.c = 1, b = 2}", 1 },
	{ "\"\"\"a\"\"\" = 1", 1 },
	{ "a b = 1", 1 },
	{ "a..b = 1", 1 },
	{ "é = 1", 1 },
};

static void good_texts(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct rye_err err = { 0 };
		auto_json json_t *doc = parse_toml(span_of(good[i][0]), &err);
		auto_free char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;

		if (!text || strcmp(text, good[i][1]))
			fail_msg("%s: %s%s, wanted %s", good[i][0], text, err.msg, good[i][1]);
		assert_int_equal(err.code, RYE_OK);
	}
}

static void bad_texts(void **state)
{
	char wanted[64];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct rye_err err = { 0 };
		auto_json json_t *doc = parse_toml(span_of(bad[i].text), &err);

		snprintf(wanted, sizeof(wanted), "TOML parse error: line %d: ", bad[i].line);
		if (doc || strncmp(err.msg, wanted, strlen(wanted)))
			fail_msg("%s: %s", bad[i].text, doc ? json_dumps(doc, 0) : err.msg);
		assert_int_equal(err.code, RYE_UNPARSABLE);
	}
}

/* Texts made to cost more than their length. */
static void bounds(void **state)
{
	size_t n = 1 << 20;
	auto_free char *text = malloc(n + 8);
	struct rye_err err = { 0 };

	memset(text, '[', n);
	memcpy(text, "a = ", 4);
	assert_null(parse_toml((struct rye_span){ text, n }, &err));
	assert_non_null(strstr(err.msg, "nested too deep"));
	for (size_t i = 5; i + 1 < n; i += 2)
		memcpy(text + i, "1,", 2);
	memcpy(text, "a = [", 5);
	assert_null(parse_toml((struct rye_span){ text, n }, &err));
	assert_non_null(strstr(err.msg, "too many values"));
	memset(text, '.', n);
	for (size_t i = 0; i < n; i += 2)
		text[i] = 'a';
	assert_null(parse_toml((struct rye_span){ text, n }, &err));
	assert_non_null(strstr(err.msg, "too many parts"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_texts),
		cmocka_unit_test(bad_texts),
		cmocka_unit_test(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
