/* SPDX-License-Identifier: MIT */
/*
 * What a schema says of an object: its fields, their names, which have to be there, and which may be
 * besides. Recursive with schema.c, which bounds depth. Pure.
 */
#include "schema/schema_inner.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

static void check_member(struct schema_check *c, const char *key, const json_t *schema,
			 const json_t *value)
{
	size_t len = c->path.len;

	buf_addf(&c->path, "%s%s", len ? "." : "", key);
	if (!c->path.failed)
		schema_check_value(c, schema, value);
	c->path.len = len;
	c->path.data[len] = 0;
}

/* ---- fields that have to be there ---- */

static void missing_member(struct schema_check *c, const char *key)
{
	size_t len = c->path.len;

	if (c->depth == 1) {
		c->faults++;
		json_array_append_new(c->report->missing, json_string(key));
		return;
	}
	buf_addf(&c->path, "%s%s", len ? "." : "", key);
	schema_issue(c, "required field missing");
	c->path.len = len;
	c->path.data[len] = 0;
}

static void check_required(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const json_t *names = json_object_get(schema, "required");

	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));

		if (name && !json_object_get(value, name))
			missing_member(c, name);
	}
}

/* The fields that this one cannot be without. */
static void check_needed(struct schema_check *c, const json_t *schema, const char *key,
			 const json_t *value)
{
	const json_t *names = json_object_get(json_object_get(schema, "dependentRequired"), key);

	if (!names)
		names = json_object_get(json_object_get(schema, "dependencies"), key);
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));

		if (name && !json_object_get(value, name))
			schema_issue(c, "%.160s needs %.160s as well", key, name);
	}
}

/* ---- fields that are not declared ---- */

/* What is declared may stand in one of these, too. */
static bool says_more(const json_t *schema)
{
	static const char *const keys[] = { "allOf",
					    "anyOf",
					    "oneOf",
					    "if",
					    "dependentSchemas",
					    "dependencies",
					    "unevaluatedProperties" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_object_get(schema, keys[i]))
			return true;
	return schema_refers(schema);
}

bool schema_is_narrow(const json_t *schema)
{
	size_t n = json_object_size(json_object_get(schema, "properties"));
	const json_t *others = json_object_get(schema, "additionalProperties");

	return n <= 1 && (others ? json_is_false(others) : n) &&
	       !json_object_get(schema, "patternProperties") && !says_more(schema);
}

void schema_check_extra(struct schema_check *c, const json_t *rule, const char *key,
			const json_t *value)
{
	if (json_is_object(rule)) {
		check_member(c, key, rule, value);
	} else if (json_is_false(rule) && c->depth == 1) {
		c->faults++;
		if (json_array_size(c->report->unknown) < RYE_SCHEMA_ISSUES)
			json_array_append_new(c->report->unknown, json_string(key));
	} else if (json_is_false(rule)) {
		schema_issue(c, "unknown field %.200s", key);
	}
}

static void check_undeclared(struct schema_check *c, const json_t *schema, const char *key,
			     const json_t *value)
{
	const json_t *rule = json_object_get(schema, "additionalProperties");

	if (rule)
		schema_check_extra(c, rule, key, value);
	else if (c->depth == 1 && json_object_size(json_object_get(schema, "properties")) &&
		 !says_more(schema))
		schema_warn(c->report, "parameter %s is not declared", key);
}

bool schema_check_patterns(struct schema_check *c, const json_t *schema, const char *key,
			   const json_t *check)
{
	const char *pattern;
	json_t *rule;
	bool found = false;

	json_object_foreach(json_object_get(schema, "patternProperties"), pattern, rule) {
		if (!schema_matches(c, pattern, span_of(key)))
			continue;
		if (check)
			check_member(c, key, rule, check);
		found = true;
	}
	return found;
}

static void check_name(struct schema_check *c, const json_t *schema, const char *key)
{
	const json_t *rule = json_object_get(schema, "propertyNames");
	auto_json json_t *name = rule ? json_string(key) : NULL;

	if (name && !schema_tries(c, rule, name))
		schema_issue(c, "a field must not be named %.200s", key);
}

void schema_check_object(struct schema_check *c, const json_t *schema, const json_t *value)
{
	static const char *const keys[] = { "minProperties", "maxProperties", "members" };
	const json_t *properties = json_object_get(schema, "properties");
	const char *key;
	json_t *member;

	schema_check_count(c, schema, keys, (json_int_t)json_object_size(value));
	json_object_foreach((json_t *)value, key, member) {
		const json_t *property = json_object_get(properties, key);

		if (schema_is_full(c))
			return;
		check_name(c, schema, key);
		check_needed(c, schema, key, value);
		if (property)
			check_member(c, key, property, member);
		if (!schema_check_patterns(c, schema, key, member) && !property)
			check_undeclared(c, schema, key, member);
	}
	check_required(c, schema, value);
}
