/* SPDX-License-Identifier: MIT */
/*
 * Parameters against a JSON Schema: defaults first, then types, ranges, lengths, patterns, lists
 * and nested objects. Keywords that docs/items.md does not list are ignored. Faults are sentences
 * in the format's words; after RYE_SCHEMA_ISSUES of them the check stops. Recursive by the nesting
 * of schema and value, which their parsers have bounded. Pure.
 */
#include "format/format.h"
#include "format/format_inner.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <stdarg.h>

struct schema_check {
	struct schema_report *report;
	struct rye_buf path; /* "a.b[0]" */
	struct regex regex;
	int depth;
};

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

static bool is_full(const struct schema_check *c)
{
	return json_array_size(c->report->issues) >= RYE_SCHEMA_ISSUES;
}

RYE_PRINTF(2, 3) static void issue(struct schema_check *c, const char *format, ...)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char what[512];
	va_list args;

	if (is_full(c))
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	utf8_mend(what);
	if (c->path.len)
		buf_addf(&text, "%s: ", c->path.data);
	buf_adds(&text, what);
	json_array_append_new(c->report->issues, text.failed ?
							 json_string("too many faults") :
							 json_stringn_nocheck(text.data, text.len));
}

/* Python's spelling of a value for a message, cut where it gets long. */
static void spell_value(const json_t *value, char ret[160])
{
	auto_buf struct rye_buf text = { .cap = 1 << 16 };

	if (json_is_string(value))
		json_python_repr(&text, (struct rye_span){ json_string_value(value),
							   json_string_length(value) });
	else
		json_python_str(&text, value);
	utf8_cut(text.failed ? "a long value" : text.data, ret, 160);
}

/* ---- types ---- */

bool schema_type_known(const char *type)
{
	static const char *const types[] = { "string", "integer", "number", "boolean",
					     "object", "array",	  "null" };

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
		issue(c, "expected %.80s, got %s", json_string_value(type),
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
	issue(c, "expected %.200s, got %s", wanted.data, json_python_type(value));
	return false;
}

/* ---- one value ---- */

static int schema_compare(const json_t *a, const json_t *b)
{
	double x = json_number_value(a), y = json_number_value(b);

	if (json_is_integer(a) && json_is_integer(b))
		return (json_integer_value(a) > json_integer_value(b)) -
		       (json_integer_value(a) < json_integer_value(b));
	return (x > y) - (x < y);
}

static bool is_equal(const json_t *a, const json_t *b)
{
	return json_is_number(a) && json_is_number(b) ? !schema_compare(a, b) : json_equal(a, b);
}

static void check_enum(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const json_t *choices = json_object_get(schema, "enum");
	char listed[160], got[160];

	if (!json_is_array(choices))
		return;
	for (size_t i = 0; i < json_array_size(choices); i++)
		if (is_equal(json_array_get(choices, i), value))
			return;
	spell_value(choices, listed);
	spell_value(value, got);
	issue(c, "must be one of %s, got %s", listed, got);
}

static void check_range(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const json_t *least = json_object_get(schema, "minimum");
	const json_t *most = json_object_get(schema, "maximum");
	char bound[160], got[160];

	spell_value(value, got);
	if (json_is_number(least) && schema_compare(value, least) < 0) {
		spell_value(least, bound);
		issue(c, "must be >= %s, got %s", bound, got);
	}
	if (json_is_number(most) && schema_compare(value, most) > 0) {
		spell_value(most, bound);
		issue(c, "must be <= %s, got %s", bound, got);
	}
}

static void check_count(struct schema_check *c, const json_t *schema, const char *const keys[3],
			json_int_t n)
{
	const json_t *least = json_object_get(schema, keys[0]);
	const json_t *most = json_object_get(schema, keys[1]);

	if (json_is_integer(least) && n < json_integer_value(least))
		issue(c, "must have at least %lld %s, got %lld", json_integer_value(least), keys[2],
		      n);
	if (json_is_integer(most) && n > json_integer_value(most))
		issue(c, "must have at most %lld %s, got %lld", json_integer_value(most), keys[2],
		      n);
}

static void check_pattern(struct schema_check *c, const char *pattern, struct rye_span text)
{
	auto_buf struct rye_buf warning = RYE_BUF_INIT;
	char shown[160];

	utf8_cut(pattern, shown, sizeof(shown));
	switch (regex_search(&c->regex, pattern, text)) {
	case REGEX_NO_MATCH:
		issue(c, "does not match pattern %s", shown);
		break;
	case REGEX_TOO_MUCH:
		issue(c, "cannot be checked against pattern %s: it takes too long", shown);
		break;
	case REGEX_BAD:
		buf_addf(&warning, "%s: pattern %s is ignored: %s", c->path.data, shown,
			 c->regex.why);
		if (!warning.failed && json_array_size(c->report->warnings) < RYE_SCHEMA_ISSUES)
			json_array_append_new(c->report->warnings, json_string(warning.data));
		break;
	default:
		break;
	}
}

static json_int_t count_characters(struct rye_span s)
{
	json_int_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
	return n;
}

static void check_string(struct schema_check *c, const json_t *schema, const json_t *value)
{
	static const char *const keys[] = { "minLength", "maxLength", "characters" };
	struct rye_span text = { json_string_value(value), json_string_length(value) };
	const char *pattern = json_string_value(json_object_get(schema, "pattern"));

	check_count(c, schema, keys, count_characters(text));
	if (pattern)
		check_pattern(c, pattern, text);
}

/* ---- nesting ---- */

static void schema_check_value(struct schema_check *c, const json_t *schema, const json_t *value);

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

static void missing_member(struct schema_check *c, const char *key)
{
	size_t len = c->path.len;

	if (c->depth == 1) {
		json_array_append_new(c->report->missing, json_string(key));
		return;
	}
	buf_addf(&c->path, "%s%s", len ? "." : "", key);
	issue(c, "required field missing");
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

/* A key that the schema does not declare. */
static void check_extra(struct schema_check *c, const json_t *schema, const char *key,
			const json_t *value)
{
	const json_t *rule = json_object_get(schema, "additionalProperties");
	auto_buf struct rye_buf warning = RYE_BUF_INIT;

	if (json_is_object(rule)) {
		check_member(c, key, rule, value);
	} else if (json_is_false(rule) && c->depth == 1) {
		if (json_array_size(c->report->unknown) < RYE_SCHEMA_ISSUES)
			json_array_append_new(c->report->unknown, json_string(key));
	} else if (json_is_false(rule)) {
		issue(c, "unknown field %.200s", key);
	} else if (!rule && c->depth == 1 &&
		   json_array_size(c->report->warnings) < RYE_SCHEMA_ISSUES) {
		buf_addf(&warning, "parameter %s is not declared", key);
		if (!warning.failed)
			json_array_append_new(c->report->warnings, json_string(warning.data));
	}
}

static void schema_check_object(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const json_t *properties = json_object_get(schema, "properties");
	const char *key;
	json_t *member;

	json_object_foreach((json_t *)value, key, member) {
		const json_t *property = json_object_get(properties, key);

		if (is_full(c))
			return;
		if (property)
			check_member(c, key, property, member);
		else if (json_object_size(properties) ||
			 json_object_get(schema, "additionalProperties"))
			check_extra(c, schema, key, member);
	}
	check_required(c, schema, value);
}

static void schema_check_array(struct schema_check *c, const json_t *schema, const json_t *value)
{
	static const char *const keys[] = { "minItems", "maxItems", "items" };
	const json_t *items = json_object_get(schema, "items");
	size_t len = c->path.len;

	check_count(c, schema, keys, (json_int_t)json_array_size(value));
	for (size_t i = 0; json_is_object(items) && i < json_array_size(value) && !is_full(c);
	     i++) {
		buf_addf(&c->path, "[%zu]", i);
		if (!c->path.failed)
			schema_check_value(c, items, json_array_get(value, i));
		c->path.len = len;
		c->path.data[len] = 0;
	}
}

static void schema_check_value(struct schema_check *c, const json_t *schema, const json_t *value)
{
	if (!json_is_object(schema) || c->depth >= RYE_JSON_DEPTH || is_full(c) ||
	    !check_type(c, schema, value))
		return;
	c->depth++;
	check_enum(c, schema, value);
	if (json_is_object(value))
		schema_check_object(c, schema, value);
	else if (json_is_array(value))
		schema_check_array(c, schema, value);
	else if (json_is_string(value))
		check_string(c, schema, value);
	else if (json_is_number(value))
		check_range(c, schema, value);
	c->depth--;
}

void schema_report_done(struct schema_report *report)
{
	json_decref(report->missing);
	json_decref(report->unknown);
	json_decref(report->issues);
	json_decref(report->warnings);
	memset(report, 0, sizeof(*report));
}

bool schema_check(const json_t *schema, json_t *value, struct schema_report *ret)
{
	struct schema_check c = { .report = ret };

	ret->missing = json_array();
	ret->unknown = json_array();
	ret->issues = json_array();
	ret->warnings = json_array();
	buf_reserve(&c.path, 0);
	buf_adds(&c.path, "");
	schema_fill_defaults(schema, value, 0);
	schema_check_value(&c, schema, value);
	buf_done(&c.path);
	regex_done(&c.regex);
	return !json_array_size(ret->missing) && !json_array_size(ret->unknown) &&
	       !json_array_size(ret->issues);
}
