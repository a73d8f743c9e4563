/* SPDX-License-Identifier: MIT */
/*
 * What a schema says of a list: how many, each item by its place, that one of some sort is there,
 * that no two are the same. Recursive with schema.c, which bounds depth. Pure.
 */
#include "schema/schema_inner.h"

#include "base/json.h"
#include "scope.h"
#include "str.h"

void schema_check_item(struct schema_check *c, const json_t *rule, const json_t *list, size_t i)
{
	size_t len = c->path.len;

	buf_addf(&c->path, "[%zu]", i);
	if (!c->path.failed)
		schema_check_value(c, rule, json_array_get(list, i));
	c->path.len = len;
	c->path.data[len] = 0;
}

const json_t *schema_item_rule(const json_t *schema, size_t i)
{
	const json_t *items = json_object_get(schema, "items");
	const json_t *first = json_object_get(schema, "prefixItems");

	if (json_is_array(items)) { /* until 2019, where additionalItems were the others */
		first = items;
		items = json_object_get(schema, "additionalItems");
	}
	return i < json_array_size(first) ? json_array_get(first, i) : items;
}

/* What two items that are the same have in common; owned. 1.0 is 1. */
static char *item_key(const json_t *item)
{
	auto_json json_t *whole = NULL;
	double n = json_real_value(item);

	if (json_is_real(item) && n > -1e15 && n < 1e15 && (double)(json_int_t)n == n)
		whole = json_integer((json_int_t)n);
	return json_dumps(whole ? whole : item, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
}

static void check_unique(struct schema_check *c, const json_t *value)
{
	auto_json json_t *seen = json_object();
	const json_t *before, *item;
	size_t i;

	json_array_foreach(value, i, item) {
		auto_free char *key = item_key(item);

		before = key ? json_object_get(seen, key) : NULL;
		if (before) {
			schema_issue(c, "items %lld and %zu are the same",
				     (long long)json_integer_value(before), i);
			return;
		}
		if (key)
			json_set(seen, key, json_integer((json_int_t)i));
	}
}

static void check_contains(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const json_t *rule = json_object_get(schema, "contains"), *item;
	const json_t *most = json_object_get(schema, "maxContains");
	json_int_t least = json_int(schema, "minContains", 1), n = 0;
	size_t i;

	if (!rule)
		return;
	json_array_foreach(value, i, item) {
		if (*c->stop || (n >= least && !most))
			break;
		n += schema_tries(c, rule, item);
	}
	if (n < least)
		schema_issue(c, "must have at least %lld items that fit contains, got %lld",
			     (long long)least, (long long)n);
	if (json_is_integer(most) && n > json_integer_value(most))
		schema_issue(c, "must have at most %lld items that fit contains, got %lld",
			     (long long)json_integer_value(most), (long long)n);
}

void schema_check_array(struct schema_check *c, const json_t *schema, const json_t *value)
{
	static const char *const keys[] = { "minItems", "maxItems", "items" };
	const json_t *rule;

	schema_check_count(c, schema, keys, (json_int_t)json_array_size(value));
	for (size_t i = 0; i < json_array_size(value) && !schema_is_full(c); i++) {
		rule = schema_item_rule(schema, i);
		if (!rule)
			break;
		schema_check_item(c, rule, value, i);
	}
	if (json_is_true(json_object_get(schema, "uniqueItems")) && !schema_is_full(c))
		check_unique(c, value);
	check_contains(c, schema, value);
}
