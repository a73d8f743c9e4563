/* SPDX-License-Identifier: MIT */
/*
 * The schemas that stand in a schema, by the keywords that have some: what a name may stand in, and
 * what is looked at when an item is signed. Pure.
 */
#include "schema/schema_inner.h"

#include "scope.h"

#include <string.h>

static void list_parts(const json_t *list, const char *keyword, schema_part_fn *fn, void *arg)
{
	json_t *schema;
	size_t i;

	json_array_foreach(list, i, schema) {
		fn(arg, &(struct schema_part){ keyword, NULL, schema });
	}
}

static void map_parts(const json_t *map, const char *keyword, schema_part_fn *fn, void *arg)
{
	const char *key;
	json_t *schema;

	json_object_foreach((json_t *)map, key, schema) {
		/* until 2019 a list of names could stand there */
		if (!json_is_array(schema))
			fn(arg, &(struct schema_part){ keyword, key, schema });
	}
}

static const char *const single[] = { "additionalProperties",
				      "additionalItems",
				      "items",
				      "prefixItems",
				      "contains",
				      "propertyNames",
				      "unevaluatedItems",
				      "unevaluatedProperties",
				      "allOf",
				      "anyOf",
				      "oneOf",
				      "not",
				      "if",
				      "then",
				      "else" };
static const char *const maps[] = {
	"properties", "patternProperties", "dependentSchemas", "dependencies",
	"$defs",      "definitions"
};

void schema_each_part(const json_t *schema, schema_part_fn *fn, void *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		map_parts(json_object_get(schema, maps[i]), maps[i], fn, arg);
	for (size_t i = 0; i < ARRAY_SIZE(single); i++) {
		const json_t *part = json_object_get(schema, single[i]);

		if (json_is_array(part))
			list_parts(part, single[i], fn, arg);
		else if (part)
			fn(arg, &(struct schema_part){ single[i], NULL, part });
	}
}

json_t *schema_of_schemas(const char *self)
{
	json_t *types = json_array(), *members;
	auto_free char *names = NULL;
	json_t *schema;

	for (size_t i = 0; schema_type_name(i); i++)
		json_array_append_new(types, json_string(schema_type_name(i)));
	names = schema_text(types);
	schema = schema_of(
		"{'type': ['object', 'boolean'], 'properties': {"
		" 'type': {'anyOf': [{'enum': %s}, {'type': 'array', 'items': {'enum': %s}}]},"
		" 'enum': {'type': 'array', 'minItems': 1}, 'pattern': {'type': 'string'},"
		" 'description': {'type': 'string'}, 'default': {},"
		" 'multipleOf': {'type': 'number', 'exclusiveMinimum': 0},"
		" 'required': {'type': 'array', 'items': {'type': 'string'}}}}",
		names ? names : "[]", names ? names : "[]");
	members = json_object_get(schema, "properties");
	for (size_t i = 0; i < ARRAY_SIZE(single); i++)
		json_set(members, single[i],
			 schema_of("{'anyOf': [{'$ref': '%s'},"
				   " {'type': 'array', 'items': {'$ref': '%s'}}]}",
				   self, self));
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		json_set(members, maps[i],
			 schema_of("{'type': 'object', 'additionalProperties':"
				   " {'anyOf': [{'$ref': '%s'}, {'type': 'array'}]}}",
				   self));
	return schema;
}
