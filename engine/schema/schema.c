/* SPDX-License-Identifier: MIT */
/*
 * A value against a JSON Schema: parameters, whose defaults are filled in first, or what a tool has
 * answered. Types are here, scalars in schema_value.c, what is nested in schema_object.c and
 * schema_array.c, schemas made of others in schema_logic.c. Keywords that docs/items.md does not list
 * are not checked. Faults are sentences in the format's words; after RYE_SCHEMA_ISSUES of them the
 * check stops. Recursive, by at most RYE_JSON_DEPTH. Pure.
 */
#include "schema/schema_inner.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

/* ---- defaults ---- */

static void schema_fill_defaults(const json_t *schema, json_t *value, int depth)
{
	json_t *properties = json_object_get(schema, "properties"), *property, *element;
	const json_t *items = json_object_get(schema, "items");
	const char *key;
	size_t i;

	if (depth > RYE_JSON_DEPTH)
		return;
	if (json_is_object(items))
		json_array_foreach(value, i, element) {
			schema_fill_defaults(items, element, depth + 1);
		}
	if (!json_is_object(value))
		return;
	json_object_foreach(properties, key, property) {
		json_t *fallback = json_object_get(property, "default");

		if (fallback && !json_object_get(value, key))
			json_object_set_new(value, key, json_deep_copy(fallback));
		schema_fill_defaults(property, json_object_get(value, key), depth + 1);
	}
}

/* ---- saying what is wrong ---- */

/* Nothing that is found from now on changes the answer. */
bool schema_is_full(const struct schema_check *c)
{
	if (c->trial)
		return *c->stop || c->faults > c->trial_from;
	return *c->stop || json_array_size(c->report->issues) >= RYE_SCHEMA_ISSUES;
}

void schema_issue(struct schema_check *c, const char *format, ...)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char what[512];

	c->faults++;
	if (c->trial || schema_is_full(c))
		return;
	STR_FORMAT(what, format);
	if (c->path.len)
		buf_addf(&text, "%s: ", c->path.data);
	buf_adds(&text, what);
	json_array_append_new(c->report->issues, text.failed ?
							 json_string("too many faults") :
							 json_stringn_nocheck(text.data, text.len));
}

void schema_stop(struct schema_check *c, const char *format, ...)
{
	if (*c->stop)
		return;
	STR_FORMAT(c->stop, format);
}

/* ---- types ---- */

static const char *const types[] = { "string", "integer", "number", "boolean",
				     "object", "array",	  "null" };

const char *schema_type_name(size_t n)
{
	return n < ARRAY_SIZE(types) ? types[n] : NULL;
}

bool schema_type_known(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

bool schema_type_fits(const char *type, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return !strcmp(type, "object") || !schema_type_known(type);
	case JSON_ARRAY:
		return !strcmp(type, "array") || !schema_type_known(type);
	case JSON_STRING:
		return !strcmp(type, "string") || !schema_type_known(type);
	case JSON_INTEGER:
		return !strcmp(type, "integer") || !strcmp(type, "number") ||
		       !schema_type_known(type);
	case JSON_REAL:
		return !strcmp(type, "number") || !schema_type_known(type);
	case JSON_NULL:
		return !strcmp(type, "null") || !schema_type_known(type);
	default:
		return !strcmp(type, "boolean") || !schema_type_known(type);
	}
}

static bool check_type(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const json_t *type = json_object_get(schema, "type");
	auto_buf struct rye_buf wanted = RYE_BUF_INIT;

	if (json_is_string(type)) {
		if (schema_type_fits(json_string_value(type), value))
			return true;
		schema_issue(c, "expected %.80s, got %s", json_string_value(type),
			     json_python_type(value));
		return false;
	}
	for (size_t i = 0; i < json_array_size(type); i++) {
		const char *name = json_string_value(json_array_get(type, i));

		if (!name || schema_type_fits(name, value))
			return true;
		buf_addf(&wanted, "%s%s", i ? " or " : "", name);
	}
	if (!wanted.len)
		return true;
	schema_issue(c, "expected %.200s, got %s", wanted.data, json_python_type(value));
	return false;
}

/* One that is an object, and of whose type the value is. */
static void check_keywords(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const struct schema_scope *before = c->scope;
	struct schema_scope scope;

	c->scope = schema_enter(c, schema, &scope);
	c->depth++;
	schema_check_scalar(c, schema, value);
	if (json_is_object(value))
		schema_check_object(c, schema, value);
	else if (json_is_array(value))
		schema_check_array(c, schema, value);
	schema_check_logic(c, schema, value);
	schema_check_unseen(c, schema, value);
	c->depth--;
	c->scope = before;
}

void schema_check_value(struct schema_check *c, const json_t *schema, const json_t *value)
{
	if (schema_is_full(c))
		return;
	if (json_is_false(schema))
		schema_issue(c, "is not allowed");
	if (!json_is_object(schema) || !check_type(c, schema, value))
		return;
	if (c->depth >= RYE_JSON_DEPTH || (c->inside && ++c->steps > SCHEMA_STEPS)) {
		schema_stop(c, "cannot be checked: its schema asks for too much");
		return;
	}
	check_keywords(c, schema, value);
}

void schema_report_done(struct schema_report *report)
{
	json_decref(report->missing);
	json_decref(report->unknown);
	json_decref(report->issues);
	json_decref(report->warnings);
	memset(report, 0, sizeof(*report));
}

static bool check_all(const json_t *schema, const json_t *value, int depth,
		      struct schema_report *ret)
{
	struct schema_scope scope = { .whole = schema };
	struct schema_check c = { .root = schema, .scope = &scope, .report = ret, .depth = depth };

	*ret = (struct schema_report){ json_array(), json_array(), json_array(), json_array() };
	buf_reserve(&c.path, 0);
	buf_adds(&c.path, "");
	schema_check_value(&c, schema, value);
	if (*c.stop)
		json_array_append_new(ret->issues, json_string(c.stop));
	buf_done(&c.path);
	regex_done(&c.regex);
	json_decref(c.names);
	return !json_array_size(ret->missing) && !json_array_size(ret->unknown) &&
	       !json_array_size(ret->issues);
}

bool schema_check(const json_t *schema, json_t *value, struct schema_report *ret)
{
	schema_fill_defaults(schema, value, 0);
	return check_all(schema, value, 0, ret);
}

bool schema_fit(const json_t *schema, const json_t *value, struct schema_report *ret)
{
	/* not the outermost: then every fault is an issue, and what is not declared no warning */
	return check_all(schema, value, 1, ret);
}
