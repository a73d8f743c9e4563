/* SPDX-License-Identifier: MIT */
/*
 * What is signed of a tool's definition: everything that decides what its arguments mean and what a
 * model is told of it. Pure.
 */
#include "mcp/mcp.h"

#include "scope.h"

#include <string.h>

static const char *const pinned[] = { "name",	      "title",	     "description", "inputSchema",
				      "outputSchema", "annotations", "execution" };

json_t *mcp_definition(const json_t *tool)
{
	json_t *definition = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(pinned); i++) {
		json_t *value = json_object_get(tool, pinned[i]);

		if (value && !json_is_null(value))
			json_object_set(definition, pinned[i], value);
	}
	return definition;
}

void mcp_pin(const json_t *definition, char ret[MCP_PIN_SIZE])
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_canonical(&text, definition);
	memcpy(ret, "sha256:", strlen("sha256:"));
	sha256_hex(buf_span(&text), ret + strlen("sha256:"));
}

/* Enough to tell what has changed; that it has, the whole pin tells. */
#define MEMBER_DIGITS 16

json_t *mcp_members(const json_t *definition)
{
	json_t *members = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(pinned); i++) {
		json_t *value = json_object_get(definition, pinned[i]);
		auto_json json_t *one = json_pack("[O?]", value);
		auto_buf struct rye_buf text = RYE_BUF_INIT;
		char hex[SHA_HEX];

		if (!value)
			continue;
		json_canonical(&text, one);
		sha256_hex(buf_span(&text), hex);
		json_set(members, pinned[i], json_stringn(hex, MEMBER_DIGITS));
	}
	return members;
}

json_t *mcp_changes(const json_t *before, const json_t *after)
{
	json_t *names = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(pinned); i++)
		if (strcmp(json_str(before, pinned[i]), json_str(after, pinned[i])) != 0)
			json_array_append_new(names, json_string(pinned[i]));
	return names;
}
