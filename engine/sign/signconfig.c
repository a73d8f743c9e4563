/* SPDX-License-Identifier: MIT */
/*
 * Schemas for configuration: a tool `*.config-schema.yaml` whose `target_config` names or globs a
 * config file tells the types of its values. Only schemas that verify are asked; only the types of
 * values that are there are looked at.
 */
#include "item/item.h"
#include "scope.h"
#include "sign/sign.h"
#include "sign/sign_inner.h"
#include "space/space.h"
#include "str.h"

/* Schemas and documents may nest; the walk calls itself. */
#define DEPTH_MAX 32

static bool is_type(const char *type, const json_t *value)
{
	if (!strcmp(type, "string"))
		return json_is_string(value);
	if (!strcmp(type, "integer"))
		return json_is_integer(value);
	if (!strcmp(type, "number"))
		return json_is_number(value);
	if (!strcmp(type, "boolean"))
		return json_is_boolean(value);
	if (!strcmp(type, "object"))
		return json_is_object(value);
	return strcmp(type, "array") || json_is_array(value);
}

struct signconfig_walk {
	json_t *issues;
	char path[300];
	int depth;
};

static void signconfig_check(struct signconfig_walk *walk, const json_t *schema,
			     const json_t *value);

static void check_members(struct signconfig_walk *walk, const json_t *properties,
			  const json_t *value)
{
	size_t n = strlen(walk->path);
	const char *name;
	json_t *property;

	if (walk->depth == DEPTH_MAX)
		return;
	walk->depth++;
	json_object_foreach((json_t *)properties, name, property) {
		const json_t *member = json_object_get(value, name);

		if (!member || json_is_null(member))
			continue;
		snprintf(walk->path + n, sizeof(walk->path) - n, "%s%.80s", n ? "." : "", name);
		signconfig_check(walk, property, member);
		walk->path[n] = 0;
	}
	walk->depth--;
}

static void signconfig_check(struct signconfig_walk *walk, const json_t *schema,
			     const json_t *value)
{
	const char *type = json_str(schema, "type");
	const json_t *properties = json_object_get(schema, "properties");

	if (*type && !is_type(type, value))
		sign_tell(walk->issues, "%s: expected %s, got %s", walk->path, type,
			  json_python_type(value));
	else if (json_is_object(properties) && json_is_object(value))
		check_members(walk, properties, value);
}

static bool is_meant(const struct rye_item *schema, const char *file)
{
	const char *target = json_string_value(meta_get(schema, "target_config"));

	return target && (!strcmp(target, file) || glob_match(target, file));
}

static void check_with(const struct item_env *env, const struct path_ask *where,
		       const struct parsed_item *config, struct sign_report *report)
{
	struct signconfig_walk walk = { .issues = report->issues };
	auto_item struct rye_item *schema_tool = NULL;
	auto_json json_t *schema = NULL;
	char file[1100];

	snprintf(file, sizeof(file), "%s%s", config->id, config->ext);
	if (rye_load_path(env, where, &schema_tool, NULL) < 0 || !is_meant(schema_tool, file))
		return;
	schema = meta_schema(schema_tool);
	if (schema)
		signconfig_check(&walk, schema, json_object_get(config->meta, "data"));
}

void sign_check_config(const struct item_env *env, const struct parsed_item *config,
		       struct sign_report *report)
{
	for (size_t i = 0; i < env->spaces->n; i++) {
		const struct space *space = &env->spaces->v[i];
		auto_json json_t *paths = sign_find(space, RYE_TOOL, "*.config-schema");

		for (size_t k = 0; k < json_array_size(paths); k++)
			check_with(
				env,
				&(struct path_ask){ space, RYE_TOOL,
						    json_string_value(json_array_get(paths, k)) },
				config, report);
	}
}
