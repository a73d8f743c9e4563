/* SPDX-License-Identifier: MIT */
/* Tools: their fields, their parameters, and what graphs and providers say besides. */
#include "forms/forms_inner.h"

#include "graph/graph.h"
#include "provider/provider.h"
#include "schema/schema.h"
#include "sign/sign.h"

#define SCHEMA_AT "#/definitions/parameters_schema"
#define PARAMETER_AT "#/definitions/parameter"

static const struct schema_field tool_members[] = {
	{ "config", FIELD_MAP, .about = "What its runtime and primitive are told." },
	{ "actions", FIELD_MAP, .about = "Several calls in one tool, each with its parameters." },
	{ "env_config", FIELD_MAP,
	  .about = "interpreter, and env: the variables that it asks for." },
	{ "anchor", FIELD_MAP, .about = "The directory that is verified and imported as a whole." },
	{ "timeout", FIELD_ANY, .about = "Seconds." },
	{ NULL },
};

/* What stands at a parameter's name, or beside it: words of JSON Schema, and required, true or false. */
static json_t *tool_parameter(void)
{
	return schema_of(
		"{'type': 'object', 'allOf': [{'if': {'properties': {'required': {'type': 'boolean'}}},"
		"   'else': {'$ref': '" SCHEMA_AT "'}}],"
		" 'properties': {'name': {'type': 'string', 'minLength': 1},"
		"  'type': {'$ref': '" SCHEMA_AT "/properties/type'},"
		"  'enum': {'$ref': '" SCHEMA_AT "/properties/enum'},"
		"  'pattern': {'type': 'string'},"
		"  'multipleOf': {'$ref': '" SCHEMA_AT "/properties/multipleOf'},"
		"  'items': {'$ref': '" SCHEMA_AT "/properties/items'},"
		"  'properties': {'$ref': '" SCHEMA_AT "/properties/properties'},"
		"  'description': {'type': 'string'}}}");
}

/* A list of {name, type, …}; a mapping of names, whose text is a type; or a schema of them all. */
static json_t *tool_parameters(void)
{
	return schema_of("{'properties': {"
			 " 'config_schema': {'$ref': '" SCHEMA_AT "'},"
			 " 'input_schema': {'$ref': '" SCHEMA_AT "'},"
			 " 'parameters': {'type': ['array', 'object', 'null'],"
			 "  'items': {'required': ['name'], 'allOf': [{'$ref': '" PARAMETER_AT
			 "'}]},"
			 "  'if': {'type': 'object'},"
			 "  'then': {'if': {'required': ['properties'],"
			 "     'properties': {'properties': {'type': 'object'}}},"
			 "    'then': {'$ref': '" SCHEMA_AT "'},"
			 "    'else': {'additionalProperties': {'if': {'type': 'string'},"
			 "      'then': {'$ref': '" SCHEMA_AT "/properties/type'},"
			 "      'else': {'$ref': '" PARAMETER_AT "'}}}}}}}");
}

/* A tool of any type. */
static json_t *tool_any(json_t *definitions)
{
	json_set(definitions, "parameters_schema", schema_of_schemas(SCHEMA_AT));
	json_set(definitions, "parameter", tool_parameter());
	return json_pack("[o, o, o, o]", fields_schema(sign_fields(RYE_TOOL), false),
			 sign_tool_schema(), fields_schema(tool_members, false), tool_parameters());
}

json_t *form_graph(json_t *definitions)
{
	json_t *all = tool_any(definitions);

	json_array_append_new(all, schema_of("{'properties': {'tool_type': {'const': 'graph'}}}"));
	json_array_append_new(all, graph_schema(definitions));
	return json_pack("{s:s, s:o}", "type", "object", "allOf", all);
}

json_t *form_provider(json_t *definitions)
{
	json_t *all = tool_any(definitions);

	json_array_append_new(all, provider_schema());
	return json_pack("{s:s, s:o}", "type", "object", "allOf", all);
}

json_t *form_tool(json_t *definitions)
{
	json_t *all = tool_any(definitions);
	json_t *graph = schema_of("{'if': {'required': ['tool_type'],"
				  " 'properties': {'tool_type': {'const': 'graph'}}}}");
	json_t *provider =
		schema_of("{'if': {'required': ['category'], 'properties': {'category':"
			  " {'type': 'string', 'pattern': '^rye/agent/providers(/|$)'}}}}");

	json_set(graph, "then", graph_schema(definitions));
	json_set(provider, "then", provider_schema());
	json_array_append_new(all, graph);
	json_array_append_new(all, provider);
	return json_pack("{s:s, s:o}", "type", "object", "allOf", all);
}
