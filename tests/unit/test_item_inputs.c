/* SPDX-License-Identifier: MIT */
/* Inputs of directives: case T78, and the query behind a name. */
#include "item/item.h"

#include "rye_json.h"

#define DECLARED                                                                             \
	"{\"inputs\": [{\"name\": \"x\", \"type\": \"string\", \"required\": true, "         \
	"\"description\": \"X\"}, {\"name\": \"y\", \"type\": \"int\", \"required\": true, " \
	"\"default\": \"\"}, {\"name\": \"z\", \"type\": \"string\", \"required\": false}]}"

static void resolve(const char *meta, const char *given_text, const char *error, const char *want)
{
	struct rye_item item = { .kind = RYE_DIRECTIVE, .id = (char *)"a/b" };
	auto_json json_t *given = given_text ? json_loads(given_text, JSON_DECODE_ANY, NULL) : NULL;
	auto_json json_t *before = json_deep_copy(given);
	json_t *values = NULL, *extra = NULL;
	struct rye_err err = { 0 };
	int r;

	item.meta = json_loads(meta, 0, NULL);
	r = inputs_resolve(&item, given, &values, &extra, &err);
	assert_string_equal(err.msg, error);
	assert_int_equal(r, *error ? -(int)RYE_INVALID : 0);
	same_json(*error ? extra : values, want);
	assert_true(!given || json_equal(given, before));
	json_decref(item.meta);
}

#define REPLY                                                                                  \
	"{\"item_id\": \"a/b\", \"declared_inputs\": [{\"name\": \"x\", \"type\": \"string\"," \
	" \"required\": true, \"description\": \"X\"}, {\"name\": \"y\", \"type\": \"int\", "  \
	"\"required\": true, \"default\": \"\"}, {\"name\": \"z\", \"type\": \"string\", "     \
	"\"required\": false}]}"

/* T78: missing, unknown, null for a required one. */
static void T78_missing_unknown_null(void **state)
{
	resolve(DECLARED, "{}", "Missing required inputs: x", REPLY);
	resolve(DECLARED, "{\"a\": 1, \"x\": 1, \"b\": 2}",
		"Unknown parameters: a, b. Valid inputs: x, y, z", REPLY);
	resolve(DECLARED, "{\"x\": null}", "", "{\"x\": null, \"y\": \"\"}");
	resolve(DECLARED, "{\"x\": \"\", \"y\": 3}", "", "{\"x\": \"\", \"y\": 3}");
}

static void undeclared(void **state)
{
	resolve("{}", "{\"any\": 1}", "", "{\"any\": 1}");
	resolve("{}", NULL, "", "{}");
	resolve("{}", "[]", "parameters must be an object",
		"{\"item_id\": \"a/b\", \"declared_inputs\": []}");
}

static void query(const char *text, const char *error, const char *want)
{
	struct rye_err err = { 0 };
	json_t *map = inputs_query(text, &err);

	assert_string_equal(err.msg, error);
	same_json(map, want);
}

static void queries(void **state)
{
	query(NULL, "", "{}");
	query("", "", "{}");
	query("a=b&c=d", "", "{\"a\": \"b\", \"c\": \"d\"}");
	query("a=&b&&c==x", "", "{\"a\": \"\", \"b\": \"\", \"c\": \"=x\"}");
	query("%61=%2Fx%20y+z&gr%C3%B6%c3%9fe=1", "",
	      "{\"a\": \"/x y+z\", \"gr\\u00f6\\u00dfe\": \"1\"}");
	query("a=%2", "bad percent escape in the query at a=%2, wanted %HH of UTF-8", "!");
	query("a=%zz", "bad percent escape in the query at a=%zz, wanted %HH of UTF-8", "!");
	query("a=%00", "bad percent escape in the query at a=%00, wanted %HH of UTF-8", "!");
	query("a=%ff", "bad percent escape in the query at a=%ff, wanted %HH of UTF-8", "!");
	query("=x", "the query has a value without a name", "!");
	query("a=1&a=2", "the query names a twice", "!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(T78_missing_unknown_null),
		cmocka_unit_test(undeclared),
		cmocka_unit_test(queries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
