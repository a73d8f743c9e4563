/* SPDX-License-Identifier: MIT */
/*
 * Is a schema itself in order? Types have to exist, patterns to compile, choices (enum) to be
 * there and of the declared type, references to lead somewhere. Used when a tool is signed; a run only
 * warns. Recursive by the schema's nesting. Pure.
 */
#include "schema/schema_inner.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

struct lint {
	json_t *issues;
	struct rye_buf path;
	struct schema_check check; /* for where references lead, and patterns */
	int depth;
};

RYE_PRINTF(2, 3) static void issue(struct lint *lint, const char *format, ...)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char what[512];

	if (json_array_size(lint->issues) >= RYE_SCHEMA_ISSUES)
		return;
	STR_FORMAT(what, format);
	if (lint->path.len)
		buf_addf(&text, "Parameter '%s': ", lint->path.data);
	buf_adds(&text, what);
	json_array_append_new(lint->issues, json_string(text.failed ? "out of memory" : text.data));
}

static void lint_type_name(struct lint *lint, const json_t *type)
{
	const char *name = json_string_value(type);

	if (!name || !schema_type_known(name))
		issue(lint,
		      "unknown type '%.80s', wanted one of string, integer, number, boolean, "
		      "object, array, null",
		      name ? name : "(no text)");
}

static void lint_type(struct lint *lint, const json_t *type)
{
	if (!json_is_array(type)) {
		lint_type_name(lint, type);
		return;
	}
	for (size_t i = 0; i < json_array_size(type); i++)
		lint_type_name(lint, json_array_get(type, i));
}

static void lint_pattern(struct lint *lint, const json_t *pattern)
{
	const char *text = json_string_value(pattern);

	if (!text)
		issue(lint, "pattern must be a string");
	else if (regex_check(&lint->check.regex, text) == REGEX_BAD)
		issue(lint, "pattern '%.160s' is not a valid regular expression: %s", text,
		      lint->check.regex.why);
}

static void lint_enum(struct lint *lint, const json_t *choices, const json_t *type)
{
	const char *name = json_string_value(type);

	if (!json_array_size(choices)) {
		issue(lint, "enum must have at least one value");
		return;
	}
	for (size_t i = 0; name && i < json_array_size(choices); i++)
		if (!schema_type_fits(name, json_array_get(choices, i))) {
			issue(lint, "enum value %zu is not of type %.80s", i + 1, name);
			return;
		}
}

static void lint_reference(struct lint *lint, const json_t *schema)
{
	struct schema_check *c = &lint->check;
	struct schema_scope scope;

	for (enum schema_ref which = 0; which < SCHEMA_REFS; which++) {
		schema_reference(c, schema, which, &scope);
		if (*c->stop)
			issue(lint, "%s", c->stop);
		*c->stop = 0;
	}
}

/* The patterns that stand for names. */
static void lint_names(struct lint *lint, const json_t *schema)
{
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(schema, "patternProperties"), key, value) {
		auto_json json_t *pattern = json_string(key);

		lint_pattern(lint, pattern);
	}
}

static void lint_members(struct lint *lint, const json_t *schema);

static void lint_schema(struct lint *lint, const json_t *schema)
{
	json_t *type = json_object_get(schema, "type");
	json_t *choices = json_object_get(schema, "enum");
	json_t *pattern = json_object_get(schema, "pattern");
	json_t *factor = json_object_get(schema, "multipleOf");
	json_t *names = json_object_get(schema, "required");

	if (!json_is_object(schema)) {
		issue(lint, "must be an object");
		return;
	}
	if (type)
		lint_type(lint, type);
	if (choices)
		lint_enum(lint, choices, type);
	if (pattern)
		lint_pattern(lint, pattern);
	lint_names(lint, schema);
	if (factor && !(json_number_value(factor) > 0))
		issue(lint, "multipleOf must be a number above 0");
	if (names && !json_is_array(names))
		issue(lint, "required must be a list of names");
	lint_members(lint, schema);
}

/* schema_part_fn */
static void lint_part(void *arg, const struct schema_part *part)
{
	struct lint *lint = arg;
	size_t len = lint->path.len;
	bool items = !strcmp(part->keyword, "items");

	if (items)
		buf_adds(&lint->path, "[]");
	else if (strcmp(part->keyword, "properties"))
		buf_addf(&lint->path, "%s%s", len ? "." : "", part->keyword);
	if (part->key)
		buf_addf(&lint->path, "%s%s", lint->path.len ? "." : "", part->key);
	if (!lint->path.failed && !json_is_boolean(part->schema))
		lint_schema(lint, part->schema);
	lint->path.len = len;
	lint->path.data[len] = 0;
}

static void lint_members(struct lint *lint, const json_t *schema)
{
	const struct schema_scope *before = lint->check.scope;
	struct schema_scope scope;

	if (lint->depth >= RYE_JSON_DEPTH)
		return;
	lint->check.scope = schema_enter(&lint->check, schema, &scope);
	lint->depth++;
	lint_reference(lint, schema);
	schema_each_part(schema, lint_part, lint);
	lint->depth--;
	lint->check.scope = before;
}

json_t *schema_lint(const json_t *schema)
{
	struct schema_scope scope = { .whole = schema };
	struct lint lint = { .issues = json_array(), .check = { .root = schema } };

	lint.check.scope = &scope;
	buf_adds(&lint.path, "");
	lint_schema(&lint, schema);
	buf_done(&lint.path);
	regex_done(&lint.check.regex);
	json_decref(lint.check.names);
	return lint.issues;
}

const char *schema_unlisted(const json_t *schema)
{
	static const char *const other[] = { "additionalProperties",
					     "patternProperties",
					     "allOf",
					     "anyOf",
					     "oneOf",
					     "if",
					     "$ref",
					     "dependentSchemas",
					     "propertyNames" };
	const json_t *properties = json_object_get(schema, "properties"), *name;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(other); i++)
		if (json_object_get(schema, other[i]) &&
		    !json_is_false(json_object_get(schema, other[i])))
			return NULL;
	json_array_foreach(json_object_get(schema, "required"), i, name)
		if (json_is_string(name) && json_is_object(properties) &&
		    !json_object_get(properties, json_string_value(name)))
			return json_string_value(name);
	return NULL;
}
