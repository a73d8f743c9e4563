/* SPDX-License-Identifier: MIT */
/* Parameter schemas: cases 22 to 27, and what signing finds wrong with a schema. */
#include "clock.h"
#include "bounds.h"
#include "item/item.h"
#include "format/format.h"

#include "rye_json.h"

static json_t *read_json(const char *text)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

	assert_non_null(value);
	return value;
}

/* The check's sentence ("" when nothing is wrong) and the value with its defaults. */
static void check(const char *schema_text, const char *given, const char *want, const char *filled)
{
	auto_json json_t *schema = read_json(schema_text), *value = read_json(given);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct schema_report report;

	buf_adds(&text, "");
	if (!schema_check(schema, value, &report))
		schema_message(&report, schema, &text);
	schema_report_done(&report);
	assert_string_equal(text.data, want);
	if (filled)
		same_json(json_incref(value), filled);
}

#define CASE_22                                                                                \
	"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\", \"minimum\": " \
	"3, \"default\": 7, \"description\": \"A\"}, \"b\": {\"type\": \"string\"}}, "         \
	"\"required\": [\"b\"], \"additionalProperties\": false}"

static void case_22_everything_wrong(void **state)
{
	check(CASE_22, "{\"a\": \"str\", \"zzz\": 1}",
	      "Invalid parameters: a: expected integer, got str; b: required field missing; "
	      "Unknown parameters: zzz. Valid parameters: a, b",
	      NULL);
	check(CASE_22, "{\"a\": true, \"b\": \"x\"}",
	      "Invalid parameters: a: expected integer, got bool", NULL);
}

static void case_23_default(void **state)
{
	check(CASE_22, "{\"b\": \"x\"}", "", "{\"b\": \"x\", \"a\": 7}");
}

static void case_24_missing(void **state)
{
	auto_json json_t *schema = read_json(CASE_22);

	check(CASE_22, "{}", "Missing required parameters: b", NULL);
	same_json(schema_declared(schema),
		  "[{\"name\": \"a\", \"type\": \"integer\", \"required\": false, \"default\": 7, "
		  "\"description\": \"A\"}, {\"name\": \"b\", \"type\": \"string\", "
		  "\"required\": true}]");
}

static void case_25_unknown(void **state)
{
	check(CASE_22, "{\"b\": \"x\", \"zzz\": 1}",
	      "Unknown parameters: zzz. Valid parameters: a, b", NULL);
}

static void case_26_list_of_parameters(void **state)
{
	struct rye_err err = { 0 };
	struct rye_item item = { .kind = RYE_TOOL };
	auto_json json_t *schema = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	item.meta = parse_yaml_tool(SPAN("parameters:\n  - {name: n, type: integer, required: "
					 "false, default: 10, minimum: 1}\n"),
				    &err);
	schema = meta_schema(&item);
	json_put(&text, schema, false);
	check(text.data, "{\"n\": 0}", "Invalid parameters: n: must be >= 1, got 0", NULL);
	check(text.data, "{}", "", "{\"n\": 10}");
	json_decref(item.meta);
}

static void types(void **state)
{
	static const char schema[] = "{\"properties\": {\"v\": {\"type\": [\"string\", \"null\"]}, "
				     "\"i\": {\"type\": \"integer\"}, \"n\": {\"type\": "
				     "\"number\"}, \"x\": {\"type\": \"colour\"}}}";

	check(schema, "{\"v\": null, \"i\": 1, \"n\": 1, \"x\": []}", "", NULL);
	check(schema, "{\"v\": 1.5}", "Invalid parameters: v: expected string or null, got float",
	      NULL);
	check(schema, "{\"i\": 1.0}", "Invalid parameters: i: expected integer, got float", NULL);
	check(schema, "{\"n\": true}", "Invalid parameters: n: expected number, got bool", NULL);
	check(schema, "{\"n\": null, \"i\": {}}",
	      "Invalid parameters: n: expected number, got NoneType; i: expected integer, got dict",
	      NULL);
}

static void constraints(void **state)
{
	check("{\"properties\": {\"a\": {\"enum\": [\"x\", 2]}}}", "{\"a\": 2.0}", "", NULL);
	check("{\"properties\": {\"a\": {\"enum\": [\"x\", 2]}}}", "{\"a\": \"y\"}",
	      "Invalid parameters: a: must be one of ['x', 2], got 'y'", NULL);
	check("{\"properties\": {\"a\": {\"maximum\": 1.5}}}", "{\"a\": 2}",
	      "Invalid parameters: a: must be <= 1.5, got 2", NULL);
	check("{\"properties\": {\"a\": {\"minLength\": 2, \"maxLength\": 3}}}", "{\"a\": \"é\"}",
	      "Invalid parameters: a: must have at least 2 characters, got 1", NULL);
	check("{\"properties\": {\"a\": {\"minLength\": 2, \"maxLength\": 3}}}",
	      "{\"a\": \"abcd\"}", "Invalid parameters: a: must have at most 3 characters, got 4",
	      NULL);
	check("{\"properties\": {\"a\": {\"minItems\": 2, \"items\": {\"type\": \"string\"}}}}",
	      "{\"a\": [1]}",
	      "Invalid parameters: a: must have at least 2 items, got 1; a[0]: expected string, "
	      "got int",
	      NULL);
}

static void patterns(void **state)
{
	static const char schema[] = "{\"properties\": {\"a\": {\"pattern\": \"^[a-z]+$\"}, "
				     "\"b\": {\"pattern\": \"b\\\\d\"}}}";

	check(schema, "{\"a\": \"abc\", \"b\": \"ab1c\"}", "", NULL);
	check(schema, "{\"a\": \"abc\\n\"}",
	      "Invalid parameters: a: does not match pattern ^[a-z]+$", NULL);
	check(schema, "{\"b\": \"b\\u0661\"}", "Invalid parameters: b: does not match pattern b\\d",
	      NULL);
	check("{\"properties\": {\"a\": {\"pattern\": \"^\\\\u00e9$\"}}}", "{\"a\": \"é\"}", "",
	      NULL);
}

static void bad_pattern_warns(void **state)
{
	auto_json json_t *schema = read_json("{\"properties\": {\"a\": {\"pattern\": \"(\"}}}");
	auto_json json_t *value = read_json("{\"a\": \"x\", \"b\": 1}");
	struct schema_report report;

	assert_true(schema_check(schema, value, &report));
	assert_int_equal(json_array_size(report.warnings), 2);
	assert_string_equal(json_string_value(json_array_get(report.warnings, 0)),
			    "a: pattern ( is ignored: missing closing parenthesis");
	assert_string_equal(json_string_value(json_array_get(report.warnings, 1)),
			    "parameter b is not declared");
	schema_report_done(&report);
}

/* Exponential and quadratic patterns, and many of them, end soon and are refused. */
static void catastrophic_patterns(void **state)
{
	auto_json json_t *schema = read_json(
		"{\"properties\": {\"a\": {\"pattern\": \"(a+)+$\"}, \"b\": {\"pattern\": "
		"\"a*a*a*[bc]\"}, \"c\": {\"items\": {\"pattern\": \"(x+x+)+y\"}}}}");
	auto_json json_t *value = json_object(), *list = json_array();
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	int64_t start = clock_ms();
	struct schema_report report;

	for (int i = 0; i < 500000; i++)
		buf_addc(&text, 'a');
	json_sets(value, "b", text.data);
	json_sets(value, "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
	for (int i = 0; i < 2000; i++)
		json_array_append_new(list, json_string("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
	json_object_set(value, "c", list);
	assert_false(schema_check(schema, value, &report));
	assert_true(clock_ms() - start < 20 * RYE_REGEX_MS);
	buf_clear(&text);
	schema_message(&report, schema, &text);
	assert_non_null(strstr(text.data,
			       "b: cannot be checked against pattern a*a*a*[bc]: it takes "
			       "too long"));
	assert_non_null(strstr(text.data, "a: cannot be checked against pattern (a+)+$"));
	assert_true(json_array_size(report.issues) <= RYE_SCHEMA_ISSUES);
	schema_report_done(&report);
}

static void nesting(void **state)
{
	static const char schema[] =
		"{\"properties\": {\"o\": {\"type\": \"object\", \"properties\": {\"p\": "
		"{\"type\": \"string\", \"default\": \"d\"}, \"q\": {\"type\": \"integer\"}}, "
		"\"required\": [\"q\"], \"additionalProperties\": false}, \"l\": {\"items\": "
		"{\"properties\": {\"z\": {\"default\": [1]}}}}}, \"additionalProperties\": "
		"{\"type\": \"boolean\"}}";

	check(schema, "{\"o\": {\"q\": 1}, \"l\": [{}, {\"z\": 2}], \"more\": true}", "",
	      "{\"o\": {\"q\": 1, \"p\": \"d\"}, \"l\": [{\"z\": [1]}, {\"z\": 2}], \"more\": "
	      "true}");
	check(schema, "{\"o\": {\"y\": 1}}",
	      "Invalid parameters: o: unknown field y; o.q: required field missing", NULL);
	check(schema, "{\"more\": 1}", "Invalid parameters: more: expected boolean, got int", NULL);
	check("{}", "{\"a\": 1}", "", NULL);
	check("{\"additionalProperties\": false}", "{\"a\": 1}",
	      "Unknown parameters: a. Valid parameters: ", NULL);
}

/* A default is a copy: changing the value must not change the schema. */
static void defaults_are_copies(void **state)
{
	auto_json json_t *schema = read_json("{\"properties\": {\"a\": {\"default\": []}}}");
	auto_json json_t *value = json_object();
	struct schema_report report;

	assert_true(schema_check(schema, value, &report));
	schema_report_done(&report);
	json_array_append_new(json_object_get(value, "a"), json_integer(1));
	same_json(json_incref(schema), "{\"properties\": {\"a\": {\"default\": []}}}");
}

static void lint(void **state)
{
	auto_json json_t *schema = read_json(
		"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"strng\"}, \"b\": "
		"{\"pattern\": \"[\"}, \"c\": {\"enum\": []}, \"d\": {\"type\": \"integer\", "
		"\"enum\": [1, \"2\"]}, \"e\": {\"items\": {\"type\": [\"string\", \"foo\"]}}, "
		"\"f\": 1}}");
	auto_json json_t *good = read_json(CASE_22);

	same_json(schema_lint(schema),
		  "[\"Parameter 'a': unknown type 'strng', wanted one of string, integer, number, "
		  "boolean, object, array, null\", "
		  "\"Parameter 'b': pattern '[' is not a valid regular expression: missing "
		  "terminating ] for character class\", "
		  "\"Parameter 'c': enum must have at least one value\", "
		  "\"Parameter 'd': enum value 2 is not of type integer\", "
		  "\"Parameter 'e[]': unknown type 'foo', wanted one of string, integer, number, "
		  "boolean, object, array, null\", "
		  "\"Parameter 'f': must be an object\"]");
	same_json(schema_lint(good), "[]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_22_everything_wrong),
		cmocka_unit_test(case_23_default),
		cmocka_unit_test(case_24_missing),
		cmocka_unit_test(case_25_unknown),
		cmocka_unit_test(case_26_list_of_parameters),
		cmocka_unit_test(types),
		cmocka_unit_test(constraints),
		cmocka_unit_test(patterns),
		cmocka_unit_test(bad_pattern_warns),
		cmocka_unit_test(catastrophic_patterns),
		cmocka_unit_test(nesting),
		cmocka_unit_test(defaults_are_copies),
		cmocka_unit_test(lint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
