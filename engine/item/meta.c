/* SPDX-License-Identifier: MIT */
/*
 * What a tool declares, whatever language it is written in: names are looked up as `__x__`, `x`
 * and `X`, first at the top of the parser's map, then in `data`. Everything returned is borrowed
 * from the item's frozen map, except schemas. Text with a NUL in it counts as absent: C and other
 * readers would see different values.
 */
#include "item/item.h"

#include "base/id.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <string.h>

static const json_t *spelled(const json_t *map, const char *name)
{
	char text[64];
	const json_t *value;
	size_t n = strlen(name);

	if (n + 5 > sizeof(text) || !json_object_size(map))
		return NULL;
	memcpy(text, "__", 2);
	memcpy(text + 2, name, n);
	memcpy(text + 2 + n, "__", 3);
	value = json_object_get(map, text);
	if (!value)
		value = json_object_get(map, name);
	if (value)
		return value;
	for (size_t i = 0; i <= n; i++)
		text[i] = (char)toupper((unsigned char)name[i]);
	return json_object_get(map, text);
}

const json_t *parsed_get(const struct parsed_item *item, const char *name)
{
	const json_t *value = spelled(item->meta, name);

	return value ? value : spelled(json_object_get(item->meta, "data"), name);
}

static const char *meta_text_of(const json_t *value)
{
	const char *text = json_string_value(value);

	return text && strlen(text) == json_string_length(value) ? text : "";
}

static const json_t *object_of(const struct parsed_item *item, const char *name)
{
	const json_t *value = parsed_get(item, name);

	return json_is_object(value) ? value : NULL;
}

static bool all_strings(const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!json_is_string(json_array_get(list, i)))
			return false;
	return json_is_array(list);
}

/* Lists and mappings both; scalars are not what these keys are for. */
static const json_t *container_of_name(const struct parsed_item *item, const char *name)
{
	const json_t *value = parsed_get(item, name);

	return json_is_object(value) || json_is_array(value) ? value : NULL;
}

const json_t *parsed_description(const struct parsed_item *item)
{
	const json_t *value = NULL;

	if (rye_kind_has(item->kind, RYE_KIND_PROCESS))
		value = parsed_get(item, "tool_description");
	return *meta_text_of(value) ? value : parsed_get(item, "description");
}

static void fill_texts(const struct parsed_item *item, struct tool_meta *ret)
{
	const json_t *executor = parsed_get(item, "executor_id");

	ret->version = meta_text_of(parsed_get(item, "version"));
	ret->tool_type = meta_text_of(parsed_get(item, "tool_type"));
	ret->category = meta_text_of(parsed_get(item, "category"));
	ret->executor_id = meta_text_of(executor);
	ret->executor_present = executor;
	ret->executor_null = !executor || json_is_null(executor);
	ret->description = meta_text_of(parsed_description(item));
}

/* `parameters` is a list; written as a mapping it is a schema, when it has `properties`. */
static const json_t *declared_schema(const struct parsed_item *item)
{
	const json_t *schema = object_of(item, "config_schema");
	const json_t *mapping = object_of(item, "parameters");

	if (!schema)
		schema = object_of(item, "input_schema");
	if (!schema && json_is_object(json_object_get(mapping, "properties")))
		schema = mapping;
	return schema;
}

void parsed_tool(const struct parsed_item *item, struct tool_meta *ret)
{
	const json_t *requires_list = parsed_get(item, "requires"), *timeout;

	*ret = (struct tool_meta){ 0 };
	fill_texts(item, ret);
	ret->schema = declared_schema(item);
	ret->parameters = container_of_name(item, "parameters");
	ret->env_config = object_of(item, "env_config");
	ret->config = object_of(item, "config");
	ret->config_resolve = container_of_name(item, "config_resolve");
	ret->anchor = object_of(item, "anchor");
	ret->verify_deps = container_of_name(item, "verify_deps");
	ret->requires_list = all_strings(requires_list) ? requires_list : NULL;
	ret->requires_bad = requires_list && !ret->requires_list;
	ret->retry_policy = object_of(item, "retry_policy");
	ret->actions = object_of(item, "actions");
	ret->inputs = container_of_name(item, "inputs");
	ret->outputs = container_of_name(item, "outputs");
	ret->child_constraints = object_of(item, "child_constraints");
	timeout = parsed_get(item, "timeout");
	ret->timeout = json_is_number(timeout) && json_number_value(timeout) >= 1 &&
				       json_number_value(timeout) < 1e9 ?
			       (json_int_t)json_number_value(timeout) :
			       0;
}

/* One entry of a YAML `parameters` or a directive's `inputs` list into a schema. */
static void add_parameter(json_t *properties, json_t *needed, const json_t *entry)
{
	static const char *const copied[] = { "type",
					      "default",
					      "description",
					      "enum",
					      "const",
					      "minimum",
					      "maximum",
					      "exclusiveMinimum",
					      "exclusiveMaximum",
					      "multipleOf",
					      "minLength",
					      "maxLength",
					      "pattern",
					      "items",
					      "prefixItems",
					      "minItems",
					      "maxItems",
					      "uniqueItems",
					      "contains",
					      "minContains",
					      "maxContains",
					      "properties",
					      "patternProperties",
					      "additionalProperties",
					      "propertyNames",
					      "minProperties",
					      "maxProperties",
					      "dependentRequired",
					      "dependentSchemas",
					      "allOf",
					      "anyOf",
					      "oneOf",
					      "not",
					      "if",
					      "then",
					      "else" };
	const char *name = meta_text_of(json_object_get(entry, "name"));
	json_t *required = json_object_get(entry, "required");
	json_t *property;

	if (!*name)
		return;
	property = json_object();
	for (size_t i = 0; i < ARRAY_SIZE(copied); i++) {
		json_t *value = json_object_get(entry, copied[i]);

		if (value)
			json_object_set_new(property, copied[i], json_deep_copy(value));
	}
	/* a list names fields of this one; what is true or false speaks of itself */
	if (json_is_array(required))
		json_object_set_new(property, "required", json_deep_copy(required));
	json_object_set_new(properties, name, property);
	if (json_is_true(required))
		json_array_append_new(needed, json_string(name));
}

static json_t *schema_of_list(const json_t *list, bool closed)
{
	json_t *properties = json_object(), *needed = json_array();
	json_t *schema = json_pack("{s:s, s:o}", "type", "object", "properties", properties);

	for (size_t i = 0; i < json_array_size(list); i++)
		add_parameter(properties, needed, json_array_get(list, i));
	if (json_array_size(needed))
		json_object_set(schema, "required", needed);
	if (closed && json_object_size(properties))
		json_object_set_new(schema, "additionalProperties", json_false());
	json_decref(needed);
	return schema;
}

json_t *meta_schema_list(const json_t *parameters)
{
	return schema_of_list(parameters, false);
}

/* A mapping of names is the list of its members; a text in it is the type. A new reference. */
static json_t *parameter_list(const struct parsed_item *item)
{
	const json_t *written = container_of_name(item, "parameters");
	const char *name;
	json_t *list, *value;

	if (!json_is_object(written))
		return json_incref((json_t *)written);
	list = json_array();
	json_object_foreach((json_t *)written, name, value) {
		json_t *entry = json_is_object(value) ? json_copy(value) : json_object();

		if (json_is_string(value))
			json_object_set(entry, "type", value);
		json_sets(entry, "name", name);
		json_array_append_new(list, entry);
	}
	return list;
}

json_t *parsed_schema(const struct parsed_item *item)
{
	auto_json json_t *list = NULL;
	const json_t *schema;

	if (rye_kind_has(item->kind, RYE_KIND_INPUTS))
		return schema_of_list(json_object_get(item->meta, "inputs"), true);
	schema = declared_schema(item);
	if (schema)
		return json_deep_copy(schema);
	list = parameter_list(item);
	return schema_of_list(list, false);
}
