/* SPDX-License-Identifier: MIT */
/* Parameter schemas: cases 22 to 27, and what signing finds wrong with a schema. */
#include "clock.h"
#include "bounds.h"
#include "item/item.h"
#include "schema/schema.h"

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

static void accepts(const char *schema, const char *given)
{
	check(schema, given, "", NULL);
}

static void refuses(const char *schema, const char *given, const char *why)
{
	char want[500];

	snprintf(want, sizeof(want), "Invalid parameters: %s", why);
	check(schema, given, want, NULL);
}

#define CASE_22                                                                                \
	"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\", \"minimum\": " \
	"3, \"default\": 7, \"description\": \"A\"}, \"b\": {\"type\": \"string\"}}, "         \
	"\"required\": [\"b\"], \"additionalProperties\": false}"

static void case_22_everything_wrong(void **state)
{
	refuses(CASE_22, "{\"a\": \"str\", \"zzz\": 1}",
		"a: expected integer, got str; b: required field missing; "
		"Unknown parameters: zzz. Valid parameters: a, b");
	refuses(CASE_22, "{\"a\": true, \"b\": \"x\"}", "a: expected integer, got bool");
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
	refuses(text.data, "{\"n\": 0}", "n: must be >= 1, got 0");
	check(text.data, "{}", "", "{\"n\": 10}");
	json_decref(item.meta);
}

/* An entry of the list has every keyword that counts; `required` as a list is of its own fields. */
static void a_list_of_parameters_with_all_keywords(void **state)
{
	struct rye_err err = { 0 };
	struct rye_item item = { .kind = RYE_TOOL };
	auto_json json_t *schema = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	item.meta = parse_yaml_tool(
		SPAN("parameters:\n"
		     "  - {name: l, type: array, uniqueItems: true}\n"
		     "  - {name: f, multipleOf: 0.5, exclusiveMaximum: 2}\n"
		     "  - {name: o, required: [a], additionalProperties: false, properties: {a: {}}}\n"
		     "  - {name: x, oneOf: [{type: string}, {const: 1}]}\n"
		     "  - {name: m, example: 5, required: true}\n"),
		&err);
	schema = meta_schema(&item);
	json_put(&text, schema, false);
	assert_null(strstr(text.data, "example"));
	refuses(text.data, "{\"m\": 1, \"l\": [1, 1]}", "l: items 0 and 1 are the same");
	refuses(text.data, "{\"m\": 1, \"f\": 0.3}", "f: must be a multiple of 0.5, got 0.3");
	refuses(text.data, "{\"m\": 1, \"f\": 2}", "f: must be < 2, got 2");
	refuses(text.data, "{\"m\": 1, \"o\": {\"b\": 1}}",
		"o: unknown field b; o.a: required field missing");
	refuses(text.data, "{\"m\": 1, \"x\": 2}", "x: fits no schema of oneOf");
	check(text.data, "{}", "Missing required parameters: m", NULL);
	json_decref(item.meta);
}

static void types(void **state)
{
	static const char schema[] = "{\"properties\": {\"v\": {\"type\": [\"string\", \"null\"]}, "
				     "\"i\": {\"type\": \"integer\"}, \"n\": {\"type\": "
				     "\"number\"}, \"x\": {\"type\": \"colour\"}}}";

	accepts(schema, "{\"v\": null, \"i\": 1, \"n\": 1, \"x\": []}");
	refuses(schema, "{\"v\": 1.5}", "v: expected string or null, got float");
	refuses(schema, "{\"i\": 1.0}", "i: expected integer, got float");
	refuses(schema, "{\"n\": true}", "n: expected number, got bool");
	refuses(schema, "{\"n\": null, \"i\": {}}",
		"n: expected number, got NoneType; i: expected integer, got dict");
}

static void constraints(void **state)
{
	accepts("{\"properties\": {\"a\": {\"enum\": [\"x\", 2]}}}", "{\"a\": 2.0}");
	refuses("{\"properties\": {\"a\": {\"enum\": [\"x\", 2]}}}", "{\"a\": \"y\"}",
		"a: must be one of ['x', 2], got 'y'");
	refuses("{\"properties\": {\"a\": {\"maximum\": 1.5}}}", "{\"a\": 2}",
		"a: must be <= 1.5, got 2");
	refuses("{\"properties\": {\"a\": {\"minLength\": 2, \"maxLength\": 3}}}", "{\"a\": \"é\"}",
		"a: must have at least 2 characters, got 1");
	refuses("{\"properties\": {\"a\": {\"minLength\": 2, \"maxLength\": 3}}}",
		"{\"a\": \"abcd\"}", "a: must have at most 3 characters, got 4");
	refuses("{\"properties\": {\"a\": {\"minItems\": 2, \"items\": {\"type\": \"string\"}}}}",
		"{\"a\": [1]}",
		"a: must have at least 2 items, got 1; a[0]: expected string, "
		"got int");
}

static void patterns(void **state)
{
	static const char schema[] = "{\"properties\": {\"a\": {\"pattern\": \"^[a-z]+$\"}, "
				     "\"b\": {\"pattern\": \"b\\\\d\"}}}";

	accepts(schema, "{\"a\": \"abc\", \"b\": \"ab1c\"}");
	refuses(schema, "{\"a\": \"abc\\n\"}", "a: does not match pattern ^[a-z]+$");
	refuses(schema, "{\"b\": \"b\\u0661\"}", "b: does not match pattern b\\d");
	accepts("{\"properties\": {\"a\": {\"pattern\": \"^\\\\u00e9$\"}}}", "{\"a\": \"é\"}");
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
	int64_t start = clock_own_us();
	struct schema_report report;

	for (int i = 0; i < 500000; i++)
		buf_addc(&text, 'a');
	json_sets(value, "b", text.data);
	json_sets(value, "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
	for (int i = 0; i < 2000; i++)
		json_array_append_new(list, json_string("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
	json_object_set(value, "c", list);
	assert_false(schema_check(schema, value, &report));
	assert_true(clock_own_us() - start < 20 * RYE_REGEX_MS * 1000);
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
	refuses(schema, "{\"o\": {\"y\": 1}}", "o: unknown field y; o.q: required field missing");
	refuses(schema, "{\"more\": 1}", "more: expected boolean, got int");
	accepts("{}", "{\"a\": 1}");
	check("{\"additionalProperties\": false}", "{\"a\": 1}",
	      "Unknown parameters: a. Valid parameters: ", NULL);
}

static void bounds_of_all_sorts(void **state)
{
	static const char schema[] =
		"{\"properties\": {\"a\": {\"exclusiveMinimum\": 1, \"exclusiveMaximum\": 3}, "
		"\"b\": {\"const\": \"x\"}, \"c\": {\"minProperties\": 1, \"maxProperties\": 2}, "
		"\"d\": {\"prefixItems\": [{\"type\": \"string\"}, true], \"items\": false}, "
		"\"e\": false}}";

	accepts(schema, "{\"a\": 2, \"b\": \"x\", \"c\": {\"k\": 1}, \"d\": [\"s\", 2]}");
	refuses(schema, "{\"a\": 1}", "a: must be > 1, got 1");
	refuses(schema, "{\"a\": 3.0}", "a: must be < 3, got 3.0");
	refuses(schema, "{\"b\": null}", "b: must be 'x', got None");
	/* numbers are equal by value, and no text is one */
	accepts("{\"properties\": {\"a\": {\"const\": 0}}}", "{\"a\": 0.0}");
	refuses("{\"properties\": {\"a\": {\"const\": 0}}}", "{\"a\": \"x\"}",
		"a: must be 0, got 'x'");
	refuses(schema, "{\"c\": {}}", "c: must have at least 1 members, got 0");
	refuses(schema, "{\"d\": [1, 2, 3]}",
		"d[0]: expected string, got int; d[2]: is not allowed");
	refuses(schema, "{\"e\": 1}", "e: is not allowed");
	refuses("{\"patternProperties\": {\"^x-\": {\"type\": \"string\"}}, "
		"\"additionalProperties\": false}",
		"{\"x-a\": 1, \"x-b\": \"s\", \"y\": 1}",
		"x-a: expected string, got int; Unknown parameters: y. Valid "
		"parameters: ");
}

static void lists_as_a_whole(void **state)
{
	static const char unique[] = "{\"properties\": {\"l\": {\"uniqueItems\": true}}}";
	static const char some[] =
		"{\"properties\": {\"l\": {\"contains\": {\"type\": \"integer\"}}, \"m\": "
		"{\"contains\": {\"const\": \"x\"}, \"minContains\": 2, \"maxContains\": 3}, "
		"\"n\": {\"contains\": false, \"minContains\": 0}}}";
	static const char old[] = "{\"properties\": {\"l\": {\"items\": [{\"type\": \"string\"}], "
				  "\"additionalItems\": {\"type\": \"null\"}}}}";

	accepts(unique, "{\"l\": [1, \"1\", true, [1], {\"a\": 1, \"b\": 2}, null, 1.5, 0]}");
	refuses(unique, "{\"l\": [0, 1, 2, 1.0]}", "l: items 1 and 3 are the same");
	refuses(unique, "{\"l\": [{\"a\": 1, \"b\": 2}, {\"b\": 2, \"a\": 1}]}",
		"l: items 0 and 1 are the same");
	accepts("{\"properties\": {\"l\": {\"uniqueItems\": false}}}", "{\"l\": [1, 1]}");
	accepts(some, "{\"l\": [\"a\", 1], \"m\": [\"x\", 1, \"x\"], \"n\": [1]}");
	refuses(some, "{\"l\": [\"a\"]}", "l: must have at least 1 items that fit contains, got 0");
	refuses(some, "{\"l\": [1], \"m\": [\"x\"]}",
		"m: must have at least 2 items that fit contains, got 1");
	refuses(some, "{\"m\": [\"x\", \"x\", \"x\", \"x\"]}",
		"m: must have at most 3 items that fit contains, got 4");
	accepts(old, "{\"l\": [\"s\", null]}");
	refuses(old, "{\"l\": [1, 1]}",
		"l[0]: expected string, got int; l[1]: expected null, got int");
}

static void multiples(void **state)
{
	static const char schema[] = "{\"properties\": {\"a\": {\"multipleOf\": 4}, \"b\": "
				     "{\"multipleOf\": 0.01}, \"c\": {\"multipleOf\": 0}}}";

	accepts(schema, "{\"a\": -8, \"b\": 19.99, \"c\": 1}");
	accepts(schema, "{\"a\": 0, \"b\": 0.3}");
	accepts(schema, "{\"a\": 4.0, \"b\": 1e300}");
	refuses(schema, "{\"a\": 6}", "a: must be a multiple of 4, got 6");
	refuses(schema, "{\"b\": -0.015}", "b: must be a multiple of 0.01, got -0.015");
}

static void fields_that_hang_together(void **state)
{
	static const char needs[] =
		"{\"properties\": {\"card\": {}, \"address\": {}}, \"dependentRequired\": "
		"{\"card\": [\"address\"]}, \"dependentSchemas\": {\"ship\": {\"properties\": "
		"{\"address\": {\"type\": \"string\"}}}}, \"dependencies\": {\"x\": [\"y\"], "
		"\"z\": {\"required\": [\"y\"]}}}";
	static const char names[] =
		"{\"properties\": {\"o\": {\"propertyNames\": {\"pattern\": \"^[a-z]+$\"}}}}";

	accepts(needs, "{\"address\": 1}");
	accepts(needs, "{\"card\": 1, \"address\": 1}");
	refuses(needs, "{\"card\": 1}", "card needs address as well");
	refuses(needs, "{\"ship\": 1, \"address\": 1}", "address: expected string, got int");
	refuses(needs, "{\"x\": 1}", "x needs y as well");
	refuses(needs, "{\"z\": 1}", "y: required field missing");
	accepts(names, "{\"o\": {\"good\": 1}}");
	refuses(names, "{\"o\": {\"good\": 1, \"Bad\": 1}}", "o: a field must not be named Bad");
}

/* What no part of the schema that holds has spoken of. */
static void unevaluated(void **state)
{
	static const char fields[] =
		"{\"$ref\": \"#/$defs/base\", \"properties\": {\"own\": {}}, "
		"\"patternProperties\": {\"^x-\": {}}, \"oneOf\": [{\"properties\": {\"k\": "
		"{\"const\": \"a\"}, \"of_a\": {}}}, {\"properties\": {\"k\": {\"const\": "
		"\"b\"}, \"of_b\": {}}}], \"if\": {\"required\": [\"own\"]}, \"then\": "
		"{\"properties\": {\"more\": {}}}, \"else\": {\"properties\": {\"less\": {}}}, "
		"\"dependentSchemas\": {\"own\": {\"properties\": {\"dep\": {}}}}, "
		"\"unevaluatedProperties\": false, \"$defs\": {\"base\": {\"allOf\": "
		"[{\"properties\": {\"base\": {}}}]}}}";
	static const char below[] =
		"{\"properties\": {\"o\": {\"anyOf\": [{\"properties\": {\"a\": {\"type\": "
		"\"integer\"}}}, {\"additionalProperties\": {\"type\": \"string\"}}], "
		"\"unevaluatedProperties\": {\"type\": \"null\"}}}}";
	static const char items[] =
		"{\"properties\": {\"l\": {\"prefixItems\": [true], \"contains\": {\"type\": "
		"\"string\"}, \"unevaluatedItems\": false}}}";

	accepts(fields,
		"{\"own\": 1, \"base\": 1, \"k\": \"a\", \"of_a\": 1, \"more\": 1, \"dep\": 1, "
		"\"x-y\": 1}");
	check(fields, "{\"k\": \"a\", \"of_b\": 1, \"less\": 1}",
	      "Unknown parameters: of_b. Valid parameters: own", NULL);
	check(fields, "{\"k\": \"b\", \"more\": 1, \"dep\": 1}",
	      "Unknown parameters: more, dep. Valid parameters: own", NULL);
	accepts(below, "{\"o\": {\"a\": 1, \"b\": null}}");
	accepts(below, "{\"o\": {\"a\": \"s\", \"b\": \"s\"}}");
	refuses(below, "{\"o\": {\"a\": 1, \"b\": 2}}", "o.b: expected null, got int");
	accepts(items, "{\"l\": [1, \"s\", \"t\"]}");
	refuses(items, "{\"l\": [1, \"s\", 2]}", "l[2]: is not allowed");
}

static void schemas_of_others(void **state)
{
	static const char either[] =
		"{\"properties\": {\"a\": {\"type\": \"integer\"}, \"b\": {}}, \"anyOf\": "
		"[{\"required\": [\"a\"]}, {\"required\": [\"b\"]}]}";
	static const char one[] = "{\"properties\": {\"v\": {\"oneOf\": [{\"type\": \"integer\"}, "
				  "{\"minimum\": 2}]}, \"w\": {\"not\": {\"const\": 0}}}}";
	static const char when[] =
		"{\"allOf\": [{\"if\": {\"properties\": {\"k\": {\"const\": \"file\"}}}, \"then\": "
		"{\"required\": [\"path\"]}, \"else\": {\"properties\": {\"url\": {\"type\": "
		"\"string\"}}}}]}";

	accepts(either, "{\"a\": 1}");
	accepts(either, "{\"b\": 1}");
	refuses(either, "{}", "fits no schema of anyOf");
	refuses(either, "{\"a\": \"x\"}", "a: expected integer, got str");
	accepts(one, "{\"v\": 1, \"w\": 1}");
	accepts(one, "{\"v\": 2.5}");
	refuses(one, "{\"v\": 2}", "v: fits more than one schema of oneOf");
	refuses(one, "{\"v\": 1.5}", "v: fits no schema of oneOf");
	refuses(one, "{\"w\": 0}", "w: is what it must not be (not)");
	accepts(when, "{\"k\": \"file\", \"path\": \"p\"}");
	refuses(when, "{\"k\": \"file\"}", "path: required field missing");
	refuses(when, "{\"k\": \"web\", \"url\": 1}", "url: expected string, got int");
}

static void references_in_the_document(void **state)
{
	static const char tree[] =
		"{\"properties\": {\"t\": {\"$ref\": \"#/$defs/a~1b%20c\"}}, \"$defs\": {\"a/b c\": "
		"{\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}, \"kids\": "
		"{\"items\": {\"$ref\": \"#/$defs/a~1b%20c\"}}}}}}";

	accepts(tree, "{\"t\": {\"n\": 1, \"kids\": [{\"n\": 2}, {\"kids\": [{\"n\": 3}]}]}}");
	refuses(tree, "{\"t\": {\"kids\": [{\"n\": 2}, {\"kids\": [{\"n\": \"x\"}]}]}}",
		"t.kids[1].kids[0].n: expected integer, got str");
	refuses("{\"properties\": {\"a\": {\"$ref\": \"#/anyOf/1\"}}, \"anyOf\": [true, {\"type\": "
		"\"null\"}]}",
		"{\"a\": 1}", "a: expected null, got int");
	refuses("{\"$ref\": \"#/no\"}", "{}", "cannot be checked: $ref #/no leads nowhere");
	refuses("{\"$ref\": \"#\"}", "{}", "cannot be checked: its schema asks for too much");
}

/* What leads to another document is not fetched, and nothing hides it: not, an anyOf that would do. */
static void MCP33_no_other_document(void **state)
{
	static const char why[] =
		"Invalid parameters: cannot be checked: $ref http://127.0.0.1:1/s "
		"is another document: none is fetched";

	check("{\"$ref\": \"http://127.0.0.1:1/s\"}", "{}", why, NULL);
	check("{\"not\": {\"$ref\": \"http://127.0.0.1:1/s\"}}", "{}", why, NULL);
	check("{\"anyOf\": [{\"$ref\": \"http://127.0.0.1:1/s\"}, true]}", "{}", why, NULL);
	refuses("{\"$ref\": \"file.json#/a\"}", "{}",
		"cannot be checked: $ref file.json#/a is another document: none "
		"is fetched");
}

/* Schemas that double with each level end: a minute is for a sanitizer on a busy machine, without end is 2^100. */
static void schemas_without_end(void **state)
{
	auto_json json_t *schema = json_object(), *value = json_object(), *defs = json_object();
	struct schema_report report;
	int64_t start = clock_own_us();

	for (int i = 0; i < 100; i++) {
		char name[16], next[32];

		snprintf(name, sizeof(name), "d%d", i);
		snprintf(next, sizeof(next), "#/$defs/d%d", i + 1);
		json_object_set_new(defs, name,
				    json_pack("{s:[{s:s},{s:s}]}", "allOf", "$ref", next, "$ref",
					      next));
	}
	json_object_set_new(defs, "d100", json_object());
	json_object_set(schema, "$defs", defs);
	json_object_set_new(schema, "$ref", json_string("#/$defs/d0"));
	assert_false(schema_check(schema, value, &report));
	assert_string_equal(json_string_value(json_array_get(report.issues, 0)),
			    "cannot be checked: its schema asks for too much");
	schema_report_done(&report);
	json_object_set_new(schema, "unevaluatedProperties", json_false());
	json_object_del(schema, "$ref");
	json_object_set_new(schema, "anyOf", json_pack("[b, {s:s}]", 1, "$ref", "#/$defs/d0"));
	json_object_set_new(value, "x", json_true());
	assert_false(schema_check(schema, value, &report));
	assert_string_equal(json_string_value(json_array_get(report.issues, 0)),
			    "cannot be checked: its schema asks for too much");
	schema_report_done(&report);
	assert_true(clock_own_us() - start < 60 * 1000000);
}

/* Nothing is filled in, what is missing is told like the rest. */
static void MCP32_an_answer(void **state)
{
	auto_json json_t *schema = read_json(
		"{\"type\": \"object\", \"properties\": {\"a\": {\"default\": 1}, \"l\": {\"items\": "
		"{\"$recursiveRef\": \"#/$defs/n\"}, \"contains\": {\"$dynamicRef\": \"#m\"}}}, "
		"\"required\": [\"a\"], \"additionalProperties\": false, \"$defs\": {\"n\": {\"type\": "
		"\"integer\"}, \"m\": {\"$dynamicAnchor\": \"m\", \"minimum\": 2}}}");
	auto_json json_t *value = read_json("{\"l\": [1, 1], \"m\": 1}"), *list = read_json("[]");
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct schema_report report;

	assert_false(schema_fit(schema, value, &report));
	schema_faults(&report, &text);
	assert_string_equal(text.data,
			    "l: must have at least 1 items that fit contains, got 0; unknown "
			    "field m; a: required field missing");
	same_json(json_incref(report.warnings), "[]");
	schema_report_done(&report);
	assert_false(schema_fit(schema, list, &report));
	buf_clear(&text);
	schema_faults(&report, &text);
	assert_string_equal(text.data, "expected object, got list");
	schema_report_done(&report);
}

/* What is left over is found in one go: an object with very many fields is no schema without end. */
static void unevaluated_of_many(void **state)
{
	auto_json json_t *schema = read_json(
		"{\"properties\": {\"o\": {\"oneOf\": [{\"patternProperties\": {\"^k\": {\"type\": "
		"\"integer\"}}, \"required\": [\"k1\"]}, {\"required\": [\"z\"]}], "
		"\"unevaluatedProperties\": false}}}");
	auto_json json_t *value = json_object();
	json_t *many = json_object();
	struct schema_report report;

	json_object_set_new(value, "o", many);
	for (int i = 0; i < 5000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "k%d", i);
		json_object_set_new(many, name, json_integer(i));
	}
	assert_true(schema_check(schema, value, &report));
	schema_report_done(&report);
	json_object_set_new(many, "rest", json_true());
	assert_false(schema_check(schema, value, &report));
	same_json(json_incref(report.issues), "[\"o: unknown field rest\"]");
	schema_report_done(&report);
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

/* What signing finds wrong with a schema of one member; issue NULL: nothing. */
static void finds(const char *member, const char *issue)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *schema = NULL, *list = NULL;

	buf_addf(&text, "{\"properties\": {\"n\": %s}}", member);
	schema = read_json(text.data);
	list = schema_lint(schema);
	assert_int_equal(json_array_size(list), issue != NULL);
	if (issue)
		assert_non_null(strstr(json_string_value(json_array_get(list, 0)), issue));
}

static void case_116_types_exist(void **state)
{
	finds("{\"type\": \"text\"}", "Parameter 'n': unknown type 'text'");
	finds("{\"type\": \"string\"}", NULL);
	finds("{\"anyOf\": [true, {\"type\": \"text\"}]}", "Parameter 'n.anyOf': unknown type");
	finds("{\"additionalProperties\": {\"items\": [{\"type\": 7}]}}",
	      "Parameter 'n.additionalProperties[]': unknown type '(no text)'");
	finds("{\"$defs\": {\"d\": {\"properties\": {\"x\": {\"type\": \"text\"}}}}}",
	      "Parameter 'n.$defs.d.x': unknown type");
	finds("{\"dependencies\": {\"a\": [\"b\"], \"c\": {\"type\": \"null\"}}}", NULL);
}

static void references_lead_somewhere(void **state)
{
	finds("{\"$ref\": \"#/properties/n/$defs/no\"}",
	      "Parameter 'n': cannot be checked: $ref #/properties/n/$defs/no leads nowhere");
	finds("{\"$dynamicRef\": \"https://example.com/x\"}",
	      "Parameter 'n': cannot be checked: $dynamicRef https://example.com/x is another document");
	finds("{\"items\": {\"$ref\": \"#/properties/n\"}}", NULL);
	finds("{\"$id\": \"m\", \"items\": {\"$ref\": \"#a\"}, \"$defs\": {\"d\": {\"$anchor\": \"a\"}}}",
	      NULL);
	finds("{\"items\": {\"$ref\": \"#a\"}, \"$defs\": {\"d\": {\"$id\": \"m\", \"$anchor\": \"a\"}}}",
	      "Parameter 'n[]': cannot be checked: $ref #a leads nowhere");
}

static void case_118_patterns_are_expressions(void **state)
{
	finds("{\"pattern\": \"[a-\"}", "Parameter 'n': pattern '[a-' is not a valid regular");
	finds("{\"pattern\": \"^[a-z]$\"}", NULL);
	finds("{\"patternProperties\": {\"(\": true}}",
	      "Parameter 'n': pattern '(' is not a valid");
	finds("{\"not\": {\"pattern\": \"(\"}}", "Parameter 'n.not': pattern '(' is not a valid");
}

static void case_119_choices_are_some(void **state)
{
	finds("{\"enum\": []}", "Parameter 'n': enum must have at least one value");
	finds("{\"enum\": [\"one\"]}", NULL);
	finds("{\"prefixItems\": [{\"enum\": []}]}",
	      "Parameter 'n.prefixItems': enum must have at least one value");
	finds("{\"multipleOf\": 0}", "Parameter 'n': multipleOf must be a number above 0");
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
		cmocka_unit_test(a_list_of_parameters_with_all_keywords),
		cmocka_unit_test(types),
		cmocka_unit_test(constraints),
		cmocka_unit_test(patterns),
		cmocka_unit_test(bad_pattern_warns),
		cmocka_unit_test(catastrophic_patterns),
		cmocka_unit_test(nesting),
		cmocka_unit_test(bounds_of_all_sorts),
		cmocka_unit_test(lists_as_a_whole),
		cmocka_unit_test(multiples),
		cmocka_unit_test(fields_that_hang_together),
		cmocka_unit_test(unevaluated),
		cmocka_unit_test(schemas_of_others),
		cmocka_unit_test(references_in_the_document),
		cmocka_unit_test(MCP33_no_other_document),
		cmocka_unit_test(schemas_without_end),
		cmocka_unit_test(unevaluated_of_many),
		cmocka_unit_test(MCP32_an_answer),
		cmocka_unit_test(defaults_are_copies),
		cmocka_unit_test(case_116_types_exist),
		cmocka_unit_test(case_118_patterns_are_expressions),
		cmocka_unit_test(case_119_choices_are_some),
		cmocka_unit_test(references_lead_somewhere),
		cmocka_unit_test(lint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
