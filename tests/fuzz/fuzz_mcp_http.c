/* SPDX-License-Identifier: MIT */
/*
 * What a server at an address answers: a header of its challenge, then a list of tools. What is read
 * of them becomes headers, pins and items without a fault, and no header has a line end.
 */
#include "mcp/client/client_inner.h"

#include "scope.h"
#include "str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As the client sends a call of this tool, with its schema's own examples for arguments. */
static void make_headers(json_t *tool)
{
	const json_t *schema = json_object_get(tool, "inputSchema");
	json_t *arguments = json_object_get(tool, "arguments");
	auto_json json_t *message =
		json_pack("{s:i, s:s, s:{s:O?, s:O?, s:{s:s}}}", "id", 1, "method", "tools/call",
			  "params", "name", json_object_get(tool, "name"), "arguments", arguments,
			  "_meta", MCP_META "protocolVersion", MCP_MODERN_VERSION);
	const struct mcp_header_ask ask = { .message = message,
					    .version = "",
					    .session = "",
					    .mirror = schema };
	char **headers = mcp_headers_make(&ask);

	for (char **row = headers; row && *row; row++)
		if (strpbrk(*row, "\r\n"))
			abort();
	mcp_headers_free(headers);
}

static void use_tool(json_t *tool)
{
	auto_json json_t *definition = mcp_definition(tool), *members = mcp_members(definition);
	auto_json json_t *same = mcp_changes(members, members);
	char pin[MCP_PIN_SIZE];
	const char *why;

	if (json_array_size(same))
		abort();
	mcp_pin(definition, pin);
	(void)mcp_mirror_check(json_object_get(tool, "inputSchema"), &why);
	make_headers(tool);
}

static void use_list(struct rye_span text)
{
	struct mcp_message message;
	json_t *tool;
	size_t i;

	if (mcp_read(text, &message) == MCP_RESPONSE)
		json_array_foreach(json_object_get(message.result, "tools"), i, tool)
			use_tool(tool);
	mcp_message_done(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *end = size ? memchr(text, '\n', size) : NULL;
	auto_free char *header = end ? calloc(1, (size_t)(end - text) + 1) : NULL;
	auto_json json_t *challenge = NULL;

	if (!header)
		return 0;
	memcpy(header, text, (size_t)(end - text));
	utf8_mend(header);
	challenge = mcp_challenge(header);
	use_list((struct rye_span){ end + 1, size - (size_t)(end + 1 - text) });
	return 0;
}
