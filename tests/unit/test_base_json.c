/* SPDX-License-Identifier: MIT */
/* Python's spellings and canonical JSON (docs/items.md), case T34's hash. */
#include "bounds.h"
#include "base/sha.h"

#include "rye_json.h"

#include <math.h>

static void canonical_hash(void **state)
{
	static const char *const spellings[] = {
		"{\"f\":0.5,\"l\":[1,\"2\"],\"n\":1,\"status\":\"completed\",\"thread_id\":"
		"\"a/b-1\",\"u\":\"\\u00e9\",\"x\":null}",
		"{\"x\": null, \"u\": \"é\", \"thread_id\": \"a/b-1\", \"status\": \"completed\", "
		"\"n\": 1, \"l\": [1, \"2\"], \"f\": 5e-1}",
	};

	for (size_t i = 0; i < 2; i++) {
		auto_json json_t *value = json_loads(spellings[i], 0, NULL);
		auto_buf struct rye_buf text = RYE_BUF_INIT;
		char hash[SHA_HEX];

		json_canonical(&text, value);
		sha256_hex((struct rye_span){ text.data, text.len }, hash);
		assert_string_equal(
			hash, "781b4793af1217e93a85034cadb69ca1388b87de31952705e40e1bfed469caa0");
	}
}

static void canonical(const char *given, const char *want)
{
	auto_json json_t *value = json_loads(given, JSON_DECODE_ANY, NULL);
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_canonical(&text, value);
	assert_string_equal(text.data, want);
}

static void canonical_forms(void **state)
{
	canonical("{\"b\": 1, \"a\": {\"d\": [], \"c\": {}}}",
		  "{\"a\":{\"c\":{},\"d\":[]},\"b\":1}");
	canonical("{\"\\uffff\": 1, \"\\ud800\\udc00\": 2, \"z\": 3, \"Z\": 4, \"\": 5}",
		  "{\"\":5,\"Z\":4,\"z\":3,\"\\uffff\":1,\"\\ud800\\udc00\":2}");
	canonical("\"\\u0001\\b\\f\\n\\r\\t\\\"\\\\/\\u007f\\u0080 ~\\u20ac\\ud83d\\ude00\"",
		  "\"\\u0001\\b\\f\\n\\r\\t\\\"\\\\/\\u007f\\u0080 ~\\u20ac\\ud83d\\ude00\"");
	canonical("[true, false, null, -1, 9223372036854775807, 1.0, 1e-5, 1e16, 1.5]",
		  "[true,false,null,-1,9223372036854775807,1.0,1e-05,1e+16,1.5]");
}

static void number(double value, const char *want)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_python_float(&text, value);
	assert_string_equal(text.data, want);
}

static void floats(void **state)
{
	number(0, "0.0");
	number(-0.0, "-0.0");
	number(1, "1.0");
	number(-1.5, "-1.5");
	number(0.1, "0.1");
	number(0.1 + 0.2, "0.30000000000000004");
	number(100, "100.0");
	number(123456789.125, "123456789.125");
	number(1e15, "1000000000000000.0");
	number(1e16, "1e+16");
	number(9999999999999998, "9999999999999998.0");
	number(1.5e16, "1.5e+16");
	number(1e20, "1e+20");
	number(1e100, "1e+100");
	number(0.0001, "0.0001");
	number(0.00012, "0.00012");
	number(0.00001, "1e-05");
	number(1.5e-7, "1.5e-07");
	number(5e-324, "5e-324");
	number(1.7976931348623157e308, "1.7976931348623157e+308");
	number(2.2250738585072014e-308, "2.2250738585072014e-308");
	number(1.0 / 3, "0.3333333333333333");
	number(INFINITY, "inf");
	number(-INFINITY, "-inf");
	number(NAN, "nan");
}

/* What a person reads is spelled as shortly as what is hashed. */
static void pretty(void **state)
{
	auto_json json_t *value = json_parse(
		span_of("{\"b\":0.2,\"a\":[1,\"\u00e9\\n\"],\"e\":{},\"f\":[]}"), 0, "text", NULL);
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_pretty(&text, value);
	assert_string_equal(text.data, "{\n  \"b\": 0.2,\n  \"a\": [\n    1,\n    \"\u00e9\\n\"\n"
				       "  ],\n  \"e\": {},\n  \"f\": []\n}\n");
}

static void repr(const char *text, const char *want)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;

	json_python_repr(&out, span_of(text));
	assert_string_equal(out.data, want);
}

static void reprs(void **state)
{
	repr("", "''");
	repr("it's", "\"it's\"");
	repr("\"", "'\"'");
	repr("'\"", "'\\'\"'");
	repr("\\ \n\r\t\x01\x7f", "'\\\\ \\n\\r\\t\\x01\\x7f'");
	repr("é \xc2\xa0 \xc2\xad \xe2\x80\xa8 \xe3\x80\x80", "'é \\xa0 \\xad \\u2028 \\u3000'");
	repr("日本 \xf0\x9f\x98\x80 \xf3\xa0\x80\x81", "'日本 \xf0\x9f\x98\x80 \\U000e0001'");
	repr("\xef\xbb\xbf\xef\xbf\xbd\xef\xbf\xbc", "'\\ufeff\xef\xbf\xbd\xef\xbf\xbc'");
	repr("\xd8\x80\xdb\x9d", "'\\u0600\\u06dd'");
}

static void spell(const char *given, const char *want)
{
	auto_json json_t *value = json_loads(given, JSON_DECODE_ANY, NULL);
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_python_str(&text, value);
	assert_string_equal(text.len ? text.data : "", want);
}

static void strs(void **state)
{
	spell("\"it's\\n\"", "it's\n");
	spell("[\"it's\\n\", {\"k\": [1.0, null]}, {}, []]",
	      "[\"it's\\n\", {'k': [1.0, None]}, {}, []]");
	spell("{\"b\": true, \"a\": false}", "{'b': True, 'a': False}");
	spell("\"\"", "");
}

static void parse(const char *text, int flags, const char *error)
{
	struct rye_err err = { 0 };
	json_t *value = json_parse(span_of(text), flags, "it", &err);

	assert_string_equal(err.msg, error);
	assert_int_equal(!value, *error != 0);
	json_decref(value);
}

static void strict_parsing(void **state)
{
	auto_buf struct rye_buf deep = RYE_BUF_INIT;

	parse("{\"a\": [1]}", 0, "");
	parse("[1]", 0, "it: a JSON object is wanted");
	parse("[1]", JSON_LOAD_ANY, "");
	parse("{} x", 0, "it: not valid JSON: end of file expected near 'x' (line 1, column 4)");
	parse("{\"a\": 1, \"a\": 2}", 0,
	      "it: not valid JSON: duplicate object key near '\"a\"' (line 1, column 12), in \"a\"");
	parse("{\"a\": 1, \"a\": 2}", JSON_LOAD_LAST_WINS, "");
	/* the library names its own flag there */
	parse("{\"a\": \"\\u0000\"}", 0,
	      "it: not valid JSON: a NUL character is not allowed here (line 1, column 14), in \"a\"");
	for (int i = 0; i < RYE_JSON_DEPTH + 1; i++)
		buf_addc(&deep, '[');
	parse(deep.data, JSON_LOAD_ANY, "it: JSON nested deeper than 256 levels");
}

static void nul_and_noise(void **state)
{
	static const char *const bad[] = { "{\"a\": \"\\u0000\"}",
					   "{\"a\\u0000b\": 1}",
					   "{\"a\": \"\\ud800\"}",
					   "{\"a\": \"\xff\"}",
					   "{\"a\": NaN}",
					   "{\"a\": 1e999}",
					   "",
					   "{'a': 1}" };

	for (size_t i = 0; i < 8; i++) {
		struct rye_err err = { 0 };

		assert_null(json_parse(span_of(bad[i]), JSON_LOAD_ANY, "it", &err));
		assert_int_equal(err.code, RYE_INVALID);
		assert_true(utf8_valid(span_of(err.msg)));
	}
}

static void accessors(void **state)
{
	auto_json json_t *map = json_loads("{\"s\": \"x\", \"i\": 3, \"t\": true, \"z\": 0, \"e\": "
					   "\"\", \"l\": [], \"r\": 0.5, \"n\": null}",
					   0, NULL);

	assert_string_equal(json_str(map, "s"), "x");
	assert_string_equal(json_str(map, "i"), "");
	assert_string_equal(json_str(NULL, "i"), "");
	assert_int_equal(json_int(map, "i", 7), 3);
	assert_int_equal(json_int(map, "s", 7), 7);
	assert_true(json_flag(map, "t", false));
	assert_true(json_flag(map, "s", true));
	assert_true(json_truthy(json_object_get(map, "r")));
	assert_false(json_truthy(json_object_get(map, "z")));
	assert_false(json_truthy(json_object_get(map, "e")));
	assert_false(json_truthy(json_object_get(map, "l")));
	assert_false(json_truthy(json_object_get(map, "n")));
	assert_false(json_truthy(NULL));
	assert_null(json_find(json_object_get(map, "l"), "s", ""));
	assert_null(json_find(map, "s", "x"));
	assert_true(json_sets(map, "s", NULL));
	assert_true(json_is_null(json_object_get(map, "s")));
	assert_false(json_sets(map, "bad", "\xff"));
	assert_false(json_set(map, "bad", NULL));
}

static void found_in_lists(void **state)
{
	auto_json json_t *list = json_loads(
		"[3, {\"s\": 3}, {\"s\": \"x\", \"n\": 1}, {\"s\": \"x\"}, {\"s\": \"y\"}]", 0,
		NULL);

	assert_ptr_equal(json_find(list, "s", "x"), json_array_get(list, 2));
	assert_ptr_equal(json_find(list, "s", "y"), json_array_get(list, 4));
	assert_null(json_find(list, "s", "z"));
	assert_null(json_find(NULL, "s", "x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(canonical_hash), cmocka_unit_test(canonical_forms),
		cmocka_unit_test(floats),	  cmocka_unit_test(pretty),
		cmocka_unit_test(reprs),	  cmocka_unit_test(strs),
		cmocka_unit_test(strict_parsing), cmocka_unit_test(nul_and_noise),
		cmocka_unit_test(accessors),	  cmocka_unit_test(found_in_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
