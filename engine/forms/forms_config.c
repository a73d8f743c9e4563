/* SPDX-License-Identifier: MIT */
/* Configuration, and what else has the fields of its kind alone. */
#include "forms/forms_inner.h"

#include "expr/expr.h"
#include "remote/remote.h"
#include "schema/schema.h"
#include "sign/sign.h"

static json_t *form_of_kind(enum rye_kind kind)
{
	return fields_schema(sign_fields(kind), false);
}

json_t *form_config(json_t *definitions)
{
	(void)definitions;
	return form_of_kind(RYE_CONFIG);
}

/* A configuration with such a member. */
static json_t *form_with(const char *name, json_t *member, bool required)
{
	json_t *schema = form_of_kind(RYE_CONFIG);

	json_set(json_object_get(schema, "properties"), name, member);
	if (required)
		json_array_append_new(json_object_get(schema, "required"), json_string(name));
	return schema;
}

json_t *form_knowledge(json_t *definitions)
{
	(void)definitions;
	return form_of_kind(RYE_KNOWLEDGE);
}

json_t *form_skill(json_t *definitions)
{
	json_t *schema = form_of_kind(RYE_SKILL);

	(void)definitions;
	json_set(
		json_object_get(schema, "properties"), "files",
		schema_of(
			"{'type': 'object', 'minProperties': 1, 'maxProperties': 2000,"
			" 'required': ['SKILL.md'], 'additionalProperties': {'type': 'object',"
			"  'required': ['sha256', 'size'], 'properties': {"
			"   'sha256': {'type': 'string', 'pattern': '^[0-9a-f]{64}$'},"
			"   'size': {'type': 'integer', 'minimum': 0}, 'x': {'type': 'boolean'}}}}"));
	json_array_append_new(json_object_get(schema, "required"), json_string("files"));
	return schema;
}

json_t *form_remotes(json_t *definitions)
{
	(void)definitions;
	return form_with("remotes", remote_schema(), false);
}

json_t *form_hooks(json_t *definitions)
{
	json_t *list = json_pack("{s:s, s:o}", "type", "array", "items",
				 expr_hook_schema(HOOK_OF_CONFIG, NULL));

	json_set(definitions, "condition", expr_condition_schema());
	return form_with("hooks", list, true);
}

json_t *form_agent(json_t *definitions)
{
	json_t *schema = form_with(
		"provider",
		schema_of("{'type': 'object', 'properties': {'default': {'type': 'string',"
			  " 'description': 'The provider that goes before the others.'}}}"),
		false);

	(void)definitions;
	json_set(json_object_get(schema, "properties"), "tier_mapping",
		 schema_of("{'type': 'object', 'additionalProperties': {'type': 'string'},"
			   " 'description': 'fast, general, high, max: the model of each.'}"));
	return schema;
}

json_t *form_execution(json_t *definitions)
{
	json_t *schema = form_with(
		"defaults",
		schema_of("{'type': 'object', 'properties': {'timeout': {'type': 'number',"
			  " 'description': 'Seconds, where nobody says otherwise.'}}}"),
		false);
	json_t *members = json_object_get(schema, "properties");

	(void)definitions;
	json_set(members, "max_output_bytes", schema_of("{'type': 'integer', 'minimum': 1}"));
	json_set(members, "lockfiles", schema_of("{'enum': ['enforce', 'create', '', null]}"));
	json_set(members, "tools",
		 schema_of("{'type': 'object', 'additionalProperties': {'type': 'object',"
			   " 'properties': {'timeout': {'type': 'number'}}}}"));
	return schema;
}
