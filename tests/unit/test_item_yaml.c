/* SPDX-License-Identifier: MIT */
/* YAML 1.1 (docs/items.md): types of plain scalars, merges, aliases, limits. */
#include "bounds.h"
#include "format/format.h"

#include "rye_json.h"

static void plain(const char *text, const char *want)
{
	same_json(yaml_scalar(span_of(text), NULL, true), want);
}

static void booleans_and_nulls(void **state)
{
	static const char *const yes[] = { "yes", "Yes", "YES", "on", "On", "ON", "true", "True" };
	static const char *const no[] = { "no", "No", "NO", "off", "Off", "OFF", "false", "FALSE" };
	static const char *const text[] = { "y", "n", "Y", "N", "tRUE", "oN", "nUll", "none" };
	static const char *const null[] = { "", "~", "null", "Null", "NULL" };

	for (size_t i = 0; i < 8; i++) {
		char quoted[16];

		plain(yes[i], "true");
		plain(no[i], "false");
		snprintf(quoted, sizeof(quoted), "\"%s\"", text[i]);
		plain(text[i], quoted);
	}
	for (size_t i = 0; i < 5; i++)
		plain(null[i], "null");
}

static void integers(void **state)
{
	plain("0", "0");
	plain("+12", "12");
	plain("-12", "-12");
	plain("1_000", "1000");
	plain("014", "12");
	plain("-0777", "-511");
	plain("08", "\"08\"");
	plain("0o14", "\"0o14\"");
	plain("0x1F", "31");
	plain("-0x_ff", "-255");
	plain("0x", "\"0x\"");
	plain("0b101", "5");
	plain("0b", "\"0b\"");
	plain("0b12", "\"0b12\"");
	plain("_1", "\"_1\"");
	plain("1,000", "\"1,000\"");
	plain("9223372036854775807", "9223372036854775807");
	plain("-9223372036854775808", "-9223372036854775808");
	plain("9223372036854775808", "9.2233720368547758e18");
	plain("99999999999999999999999", "1e23");
}

static void sexagesimals(void **state)
{
	plain("12:30:45", "45045");
	plain("-1:30", "-90");
	plain("1:60", "\"1:60\"");
	plain("0:30", "\"0:30\"");
	plain("190:20:30.15", "685230.15");
	plain("1:", "\"1:\"");
}

static void floats(void **state)
{
	plain("1.0", "1.0");
	plain("1.", "1.0");
	plain(".5", "0.5");
	plain("-.5", "\"-.5\"");
	plain("1e3", "\"1e3\"");
	plain("1.0e3", "\"1.0e3\"");
	plain("1.0e+3", "1000.0");
	plain("1_0.5_0", "10.5");
	plain("1.0.0", "\"1.0.0\"");
	plain("-0.0", "-0.0");
	plain(".inf", "\".inf\"");
	plain("-.Inf", "\"-.inf\"");
	plain("+.INF", "\".inf\"");
	plain(".NaN", "\".nan\"");
	plain("-.nan", "\"-.nan\"");
	plain("1.5e+400", "\".inf\"");
}

static void dates(void **state)
{
	plain("2026-02-18", "\"2026-02-18\"");
	plain("2026-2-8", "\"2026-2-8\"");
	plain("2026-02-18T00:00:00Z", "\"2026-02-18T00:00:00Z\"");
	plain("2001-12-14 21:59:43.10 -5", "\"2001-12-14T21:59:43.10-05:00\"");
	plain("2001-2-4t1:59:43.1234567 +05:30", "\"2001-02-04T01:59:43.123456+05:30\"");
	plain("2026-13-18", "\"2026-13-18\"");
	plain("2026-02-18T25:00:00Z", "\"2026-02-18T25:00:00Z\"");
}

static void tags(void **state)
{
	parses(parse_yaml, "!!str 12", "\"12\"");
	parses(parse_yaml, "! 12", "\"12\"");
	parses(parse_yaml, "!!int \"12\"", "12");
	parses(parse_yaml, "!!float 3", "3.0");
	parses(parse_yaml, "!!bool \"yes\"", "true");
	parses(parse_yaml, "!!null \"\"", "null");
	parses(parse_yaml, "!!binary |\n  aGk\n  =\n", "\"aGk=\"");
	parses(parse_yaml, "!!set {a}", "{\"a\": null}");
	parses(parse_yaml, "!!omap [a: 1]", "[{\"a\": 1}]");
	faults(parse_yaml, "!foo x", "does not fit its tag !foo", "!");
	faults(parse_yaml, "!!python/name:os.system x", "does not fit its tag", "!");
	faults(parse_yaml, "!!python/dict {}", "unknown tag", "!");
	faults(parse_yaml, "!!int x", "does not fit its tag", "!");
}

static void documents(void **state)
{
	parses(parse_yaml, "", "null");
	parses(parse_yaml, "# only a comment\n", "null");
	parses(parse_yaml, "a: |\n  x\n  y\nb: >-\n  p\n  q\n",
	       "{\"a\": \"x\\ny\\n\", \"b\": \"p q\"}");
	parses(parse_yaml, "a: 'it''s'\nb: \"\\u00e9\\n\"",
	       "{\"a\": \"it's\", \"b\": \"\\u00e9\\n\"}");
	parses(parse_yaml, "a: 'yes'\nb: \"1\"", "{\"a\": \"yes\", \"b\": \"1\"}");
	parses(parse_yaml, "{a, b: }", "{\"a\": null, \"b\": null}");
	parses(parse_yaml, "a: 1\nb: 2\na: 3\n", "{\"a\": 3, \"b\": 2}");
	parses(parse_yaml, "1: a\nyes: b\n1.5: c\n~: d\n2026-01-01: e",
	       "{\"1\": \"a\", \"true\": \"b\", \"1.5\": \"c\", \"null\": \"d\", "
	       "\"2026-01-01\": \"e\"}");
	faults(parse_yaml, "--- 1\n--- 2\n", "second document", "!");
	faults(parse_yaml, "? [1]\n: x\n", "wanted a scalar", "!");
	faults(parse_yaml, "a: b: c", "line 1", "!");
	faults(parse_yaml,
	       "\xef\xbb\xbf"
	       "a: 1",
	       "byte order mark", "!");
	faults(parse_yaml, "a: \xff", "Not valid UTF-8: byte 3", "!");
}

static void merges(void **state)
{
	parses(parse_yaml, "a: &x {b: 1, c: 2}\nd:\n  c: 3\n  <<: *x\n",
	       "{\"a\": {\"b\": 1, \"c\": 2}, \"d\": {\"b\": 1, \"c\": 3}}");
	parses(parse_yaml, "- &x {b: 1}\n- &y {b: 2, z: 1}\n- {<<: [*x, *y], q: 3}\n",
	       "[{\"b\": 1}, {\"b\": 2, \"z\": 1}, {\"b\": 1, \"z\": 1, \"q\": 3}]");
	parses(parse_yaml, "{<<: {a: 1}, <<: {a: 2}}", "{\"a\": 2}");
	parses(parse_yaml, "{\"<<\": 1}", "{\"<<\": 1}");
	faults(parse_yaml, "<<: 3", "merge key wants a mapping", "!");
}

static void aliases(void **state)
{
	parses(parse_yaml, "a: &q [1]\nb: *q\n", "{\"a\": [1], \"b\": [1]}");
	parses(parse_yaml, "&k x: 1\n*k : 2\n", "{\"x\": 2}");
	faults(parse_yaml, "&a [*a]", "names nothing that is complete", "!");
	faults(parse_yaml, "x: *nope", "*nope", "!");
}

/* lol0 … lol8, each ten of the one before: 10^8 nodes from 400 bytes. */
static void billion_laughs(void **state)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_adds(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
	for (int i = 1; i < 9; i++)
		buf_addf(&text, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n",
			 i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1,
			 i - 1);
	faults(parse_yaml, text.data, "more than 100000 nodes", "!");
}

/* One long scalar named often: few nodes, many bytes. */
static void long_scalar_by_alias(void **state)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_adds(&text, "- &a ");
	for (int i = 0; i < 1 << 20; i++)
		buf_addc(&text, 'x');
	for (int i = 0; i < 64; i++)
		buf_adds(&text, "\n- *a");
	faults(parse_yaml, text.data, "bytes after alias expansion", "!");
}

static void nesting(void **state)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct rye_err err = { 0 };
	json_t *value;

	for (int i = 0; i < RYE_YAML_DEPTH; i++)
		buf_addc(&text, '[');
	for (int i = 0; i < RYE_YAML_DEPTH; i++)
		buf_addc(&text, ']');
	value = parse_yaml(span_of(text.data), &err);
	assert_non_null(value);
	json_decref(value);
	buf_clear(&text);
	for (int i = 0; i < 1000000; i++)
		buf_addc(&text, '[');
	faults(parse_yaml, text.data, "nested too deep", "!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(booleans_and_nulls),
		cmocka_unit_test(integers),
		cmocka_unit_test(sexagesimals),
		cmocka_unit_test(floats),
		cmocka_unit_test(dates),
		cmocka_unit_test(tags),
		cmocka_unit_test(documents),
		cmocka_unit_test(merges),
		cmocka_unit_test(aliases),
		cmocka_unit_test(billion_laughs),
		cmocka_unit_test(long_scalar_by_alias),
		cmocka_unit_test(nesting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
