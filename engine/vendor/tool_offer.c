/* SPDX-License-Identifier: MIT */
/*
 * What a model is offered: the thread's tools, each as the wire's rules want it, or left out with a word; and
 * strict schemas, where the vendor has its model keep to them. Pure.
 */
#include "vendor/vendor_inner.h"

#include "scope.h"
#include "str.h"

/* Levels of a strict schema (OpenAI: 10), and parameters that may be left out (Anthropic: 16 unions). */
#define STRICT_DEPTH 10
#define STRICT_OPTIONAL 16
/* Keys of an object; no vendor takes more in a whole schema. */
#define STRICT_KEYS 5000

/* ---- strict schemas ---- */

static bool strict_part(json_t *schema, int depth, unsigned *optional);

/* A strict schema has all parameters; null stands for what is left out. */
static void allow_null(json_t *schema)
{
	json_t *type = json_object_get(schema, "type"), *any = json_object_get(schema, "anyOf");

	if (json_is_string(type))
		json_object_set_new(schema, "type", json_pack("[O, s]", type, "null"));
	else if (json_is_array(type) && !json_lists(type, "null"))
		json_array_append_new(type, json_string("null"));
	if (json_object_get(schema, "enum"))
		json_array_append_new(json_object_get(schema, "enum"), json_null());
	if (any)
		json_array_append_new(any, json_pack("{s:s}", "type", "null"));
}

static bool strict_object(json_t *schema, int depth, unsigned *optional)
{
	json_t *keys = json_object_get(schema, "properties"), *one;
	const json_t *more = json_object_get(schema, "additionalProperties");
	auto_json json_t *names = json_array();
	const char *key;

	if ((more && !json_is_false(more)) || (depth && !json_object_size(keys)) ||
	    json_object_size(keys) > STRICT_KEYS)
		return false;
	json_object_foreach(keys, key, one) {
		if (!strict_part(one, depth + 1, optional))
			return false;
		if (!json_lists(json_object_get(schema, "required"), key)) {
			allow_null(one);
			++*optional;
		}
		json_array_append_new(names, json_string(key));
	}
	json_object_set(schema, "required", names);
	json_object_set_new(schema, "additionalProperties", json_false());
	return true;
}

/* Makes it strict; false: it says too little, or more than a strict one can. */
static bool strict_part(json_t *schema, int depth, unsigned *optional)
{
	json_t *any = json_object_get(schema, "anyOf"), *one;
	size_t i;

	if (depth > STRICT_DEPTH || json_object_get(schema, "allOf"))
		return false;
	json_array_foreach(any, i, one)
		if (!strict_part(one, depth + 1, optional))
			return false;
	if (!any && !json_object_get(schema, "type") && !json_object_get(schema, "enum"))
		return false;
	if (schema_is(schema, "array") &&
	    !strict_part(json_object_get(schema, "items"), depth + 1, optional))
		return false;
	return !schema_is(schema, "object") || strict_object(schema, depth, optional);
}

json_t *schema_strict(const struct tool_telling *how, const json_t *tool)
{
	bool wanted = how->all_strict || (how->strict && json_flag(tool, "strict", false));
	json_t *schema =
		wanted ? schema_mend(how->rules, WORDS_STRICT, json_object_get(tool, "schema")) :
			 NULL;
	unsigned optional = 0;

	if (schema && strict_part(schema, 0, &optional) && optional <= STRICT_OPTIONAL)
		return schema;
	json_decref(schema);
	return NULL;
}

/* ---- tools ---- */

/* What it does; Gemini wants a word at least. */
static json_t *tool_about(const struct wire_rules *rules, const json_t *tool)
{
	struct rye_span about = span_of(json_str(tool, "description"));
	size_t n = 0, room = rules->about;
	uint32_t cp;

	if (!span_trim(about).len)
		return json_incref(json_object_get(tool, "name"));
	if (!room || utf8_count(about) <= room)
		return json_stringn_nocheck(about.ptr, about.len);
	while (--room)
		n += utf8_next(span_skip(about, n), &cp);
	return json_sprintf("%.*s…", (int)n, about.ptr);
}

static json_t *tool_told(const struct tool_telling *how, const json_t *tool)
{
	json_t *strict = schema_strict(how, tool), *schema = strict;

	if (!schema)
		schema = schema_mend(how->rules, how->words, json_object_get(tool, "schema"));
	if (!schema)
		return NULL;
	return json_pack("{s:s, s:o, s:o, s:b}", "name", json_str(tool, "name"), "description",
			 tool_about(how->rules, tool), "schema", schema, "strict", strict != NULL);
}

static void leave_out(json_t *warnings, const json_t *tool, const char *why)
{
	if (warnings)
		json_array_append_new(warnings, json_sprintf("tool_left_out:%s: %s",
							     json_str(tool, "name"), why));
}

/* Of more tools than are taken the last one is kept, too: it returns a directive's outputs. */
json_t *tools_told(const struct tool_telling *how, const json_t *tools, json_t *warnings)
{
	const struct wire_rules *rules = how->rules;
	size_t i, n = json_array_size(tools);
	json_t *taken = json_array(), *one;
	const json_t *tool;

	json_array_foreach(tools, i, tool) {
		bool fits = rule_fits(&rules->name, json_str(tool, "name"));

		one = fits ? tool_told(how, tool) : NULL;
		if (!fits)
			leave_out(warnings, tool, "the model's provider does not take its name");
		else if (!one)
			leave_out(warnings, tool, "its schema is not an object's");
		else if (json_array_size(taken) + 1 >= rules->tools && i + 1 < n)
			leave_out(warnings, tool, "the model's provider does not take so many");
		else
			json_array_append(taken, one);
		json_decref(one);
	}
	return taken;
}
