/* SPDX-License-Identifier: MIT */
/* What an item of a provider says beside a tool's fields. Pure. */
#include "provider/provider.h"

#include "schema/schema.h"
#include "wire/wire.h"

static const struct schema_field provider_fields[] = {
	{ "wire", FIELD_TEXT, .about = "The format of its requests and answers." },
	{ "base_url", FIELD_TEXT,
	  .about = "Where it is, without the path; ${NAME} of env_config." },
	{ "auth", FIELD_MAP, .about = "{type: bearer, token} or {type: api_key, key, header}." },
	{ "env_config", FIELD_MAP, .about = "env: the variables and secrets that it asks for." },
	{ "tier_mapping", FIELD_MAP, .about = "fast, general, high, max: the model of each." },
	{ "default_model_fields", FIELD_MAP, .about = "What holds for each of its models." },
	{ "models", FIELD_MAP, .about = "By patterns of names: what is other for those." },
	{ "profiles", FIELD_MAP, .about = "{match: [PATTERN], …}: laid over the item." },
	{ "pricing", FIELD_MAP, .about = "Prices by the model's name, of a million tokens." },
	{ "timeouts", FIELD_MAP, .about = "connect, first_byte, idle: seconds." },
	{ "limits", FIELD_MAP, .about = "requests_in_flight: of all threads together." },
	{ NULL },
};

json_t *provider_schema(void)
{
	json_t *schema = fields_schema(provider_fields, false), *names = json_pack("[s, n]", "");
	json_t *wire = json_object_get(json_object_get(schema, "properties"), "wire");

	for (size_t i = 0; wire_known(i); i++)
		json_array_append_new(names, json_string(wire_known(i)));
	json_object_del(wire, "type");
	json_set(wire, "enum", names);
	return schema;
}
