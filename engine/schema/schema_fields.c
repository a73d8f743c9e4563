/* SPDX-License-Identifier: MIT */
/*
 * The members of a mapping of ours as rows: what reads such a mapping checks it by them, and they are
 * written as JSON Schema (draft-07, which editors know best). Null is as good as
 * absent, so is an empty text. Recursive by the rows' own nesting. Pure.
 */
#include "schema/schema.h"

#include "scope.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct schema_field *field_named(const struct schema_field *fields, const char *name)
{
	for (; fields->name; fields++)
		if (!strcmp(fields->name, name))
			return fields;
	return NULL;
}

static bool fields_all_texts(const json_t *list)
{
	const json_t *text;
	size_t i;

	json_array_foreach(list, i, text) {
		if (!json_string_length(text))
			return false;
	}
	return json_is_array(list);
}

bool field_fits(const struct schema_field *field, const json_t *value)
{
	switch (field->type) {
	case FIELD_ANY:
	case FIELD_NAMES:
		return true;
	case FIELD_BOOL:
		return json_is_boolean(value);
	case FIELD_INTEGER:
		return json_is_integer(value);
	case FIELD_COUNT:
		return json_is_integer(value) && json_integer_value(value) >= 1;
	case FIELD_NUMBER:
		return json_is_number(value);
	case FIELD_MAP:
		return json_is_object(value);
	case FIELD_LIST:
		return json_is_array(value);
	case FIELD_TEXTS:
		return fields_all_texts(value);
	default:
		return json_is_string(value);
	}
}

const char *field_wanted(const struct schema_field *field)
{
	switch (field->type) {
	case FIELD_BOOL:
		return "true or false";
	case FIELD_INTEGER:
		return "a whole number";
	case FIELD_COUNT:
		return "a whole number of at least 1";
	case FIELD_NUMBER:
		return "a number";
	case FIELD_MAP:
		return "a mapping";
	case FIELD_LIST:
		return "a list";
	case FIELD_TEXTS:
		return "a list of texts";
	default:
		return "a text";
	}
}

bool field_chosen(const struct schema_field *field, const char *text)
{
	for (const char *const *choice = field->choices; choice && *choice; choice++)
		if (!strcmp(*choice, text))
			return true;
	return !field->choices;
}

/* ---- as JSON Schema ---- */

json_t *schema_of(const char *format, ...)
{
	auto_free char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	for (int i = 0; i < n; i++)
		text[i] = text[i] == '\'' ? '"' : text[i];
	return n < 0 ? NULL : json_loads(text, 0, NULL);
}

char *schema_text(json_t *value)
{
	auto_json json_t *held = value;

	return json_dumps(held, JSON_COMPACT | JSON_ENCODE_ANY);
}

static json_t *fields_of_type(const char *type, bool required)
{
	return required ? json_pack("{s:s}", "type", type) :
			  json_pack("{s:[s, s]}", "type", type, "null");
}

/* One of the texts, or none of them where it need not be there. */
static json_t *fields_choice(const char *const *choices, bool required)
{
	json_t *list = json_array();

	for (; *choices; choices++)
		json_array_append_new(list, json_string(*choices));
	if (!required) {
		json_array_append_new(list, json_string(""));
		json_array_append_new(list, json_null());
	}
	return json_pack("{s:o}", "enum", list);
}

static json_t *fields_pattern(const char *pattern, bool required)
{
	auto_json json_t *text = json_sprintf(required ? "^(%s)$" : "^(%s)?$", pattern);
	json_t *schema = fields_of_type("string", required);

	json_set(schema, "pattern", json_incref(text));
	return schema;
}

/* A text that has to be there is not empty; a category may be, at the top. */
static json_t *fields_text(const struct schema_field *field)
{
	json_t *schema = fields_of_type("string", field->required);

	if (field->required && field->type != FIELD_CATEGORY)
		json_set(schema, "minLength", json_integer(1));
	return schema;
}

static json_t *fields_list(const struct schema_field *field)
{
	json_t *schema = fields_of_type("array", field->required);

	if (field->parts)
		json_set(schema, "items", fields_schema(field->parts, false));
	return schema;
}

static json_t *fields_map(const struct schema_field *field)
{
	json_t *schema = field->parts ? fields_schema(field->parts, false) : json_object();
	auto_json json_t *type = fields_of_type("object", field->required);

	json_object_update(schema, type);
	return schema;
}

static json_t *fields_value(const struct schema_field *field)
{
	static const char *const truths[] = { "true", "false", NULL };

	if (field->choices)
		return fields_choice(field->choices, field->required);
	switch (field->type) {
	case FIELD_ANY:
		return field->required ?
			       json_pack("{s:{s:[n, s, i, b, [], {}]}}", "not", "enum", "", 0, 0) :
			       json_object();
	case FIELD_SNAKE:
		return fields_pattern("[a-z][a-z0-9_]*", field->required);
	case FIELD_SEMVER:
		return fields_pattern("[0-9]+\\.[0-9]+\\.[0-9]+", field->required);
	case FIELD_TRUTH:
		return fields_choice(truths, field->required);
	case FIELD_BOOL:
		return fields_of_type("boolean", field->required);
	case FIELD_INTEGER:
		return fields_of_type("integer", field->required);
	case FIELD_COUNT:
		return json_pack("{s:[s, s], s:i}", "type", "integer", "null", "minimum", 1);
	case FIELD_NUMBER:
		return fields_of_type("number", field->required);
	case FIELD_MAP:
		return fields_map(field);
	case FIELD_LIST:
		return fields_list(field);
	case FIELD_TEXTS:
		return json_pack("{s:s, s:{s:s, s:i}}", "type", "array", "items", "type", "string",
				 "minLength", 1);
	case FIELD_NAMES:
		return json_pack("{s:[s, s, s], s:{s:s}}", "type", "string", "array", "null",
				 "items", "type", "string");
	default:
		return fields_text(field);
	}
}

/* Under its name or the older one. */
static json_t *fields_either(const struct schema_field *field)
{
	return json_pack("{s:[{s:[s]}, {s:[s]}]}", "anyOf", "required", field->name, "required",
			 field->also);
}

json_t *fields_schema(const struct schema_field *fields, bool closed)
{
	json_t *properties = json_object(), *required = json_array(), *either = json_array();
	json_t *schema = json_pack("{s:s, s:o}", "type", "object", "properties", properties);

	for (; fields->name; fields++) {
		json_t *value = fields_value(fields);

		if (fields->about)
			json_sets(value, "description", fields->about);
		if (fields->also)
			json_object_set(properties, fields->also, value);
		json_set(properties, fields->name, value);
		if (fields->required && fields->also)
			json_array_append_new(either, fields_either(fields));
		else if (fields->required)
			json_array_append_new(required, json_string(fields->name));
	}
	if (json_array_size(required))
		json_object_set(schema, "required", required);
	if (json_array_size(either))
		json_object_set(schema, "allOf", either);
	if (closed)
		json_set(schema, "additionalProperties", json_false());
	json_decref(required);
	json_decref(either);
	return schema;
}
