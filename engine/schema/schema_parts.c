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

void schema_each_part(const json_t *schema, schema_part_fn *fn, void *arg)
{
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
