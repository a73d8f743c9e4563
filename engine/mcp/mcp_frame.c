/* SPDX-License-Identifier: MIT */
/*
 * Making JSON-RPC messages, of either side. A modern request says in its _meta which version it is of, which
 * client asks and what it can do: hand on a question to a person, where the server's item says so, and
 * nothing else.
 */
#include "mcp/mcp.h"

#include "scope.h"

#include <string.h>

json_t *mcp_claim(void)
{
	return json_pack("{s:s, s:s}", "name", "ryefs", "version", RYE_VERSION);
}

static json_t *frame_meta(const struct mcp_frame *frame, const json_t *id)
{
	json_t *meta = json_object();

	if (frame->era == MCP_MODERN) {
		json_sets(meta, MCP_META "protocolVersion", frame->version);
		json_set(meta, MCP_META "clientInfo", mcp_claim());
		json_set(meta, MCP_META "clientCapabilities",
			 frame->elicits ? json_pack("{s:{s:{}}}", "elicitation", "form") :
					  json_object());
	}
	if (frame->progress)
		json_object_set(meta, "progressToken", (json_t *)id);
	return meta;
}

json_t *mcp_request(const struct mcp_frame *frame, json_t *id, const char *method, json_t *params)
{
	json_t *doc = json_object();
	auto_json json_t *meta = frame_meta(frame, id);

	json_sets(doc, "jsonrpc", "2.0");
	json_set(doc, "id", id);
	json_sets(doc, "method", method);
	if (json_object_size(meta)) {
		params = params ? params : json_object();
		json_object_set(params, "_meta", meta);
	}
	if (params)
		json_set(doc, "params", params);
	return doc;
}

json_t *mcp_notice(const char *method, json_t *params)
{
	json_t *doc = json_pack("{s:s, s:s}", "jsonrpc", "2.0", "method", method);

	if (params)
		json_set(doc, "params", params);
	return doc;
}

/* A message that answers; id NULL: it is not known. */
static json_t *new_answer(const json_t *id, const char *member, json_t *value)
{
	json_t *doc = json_pack("{s:s}", "jsonrpc", "2.0");

	if (id)
		json_object_set(doc, "id", (json_t *)id);
	json_set(doc, member, value);
	return doc;
}

json_t *mcp_response(const json_t *id, json_t *result)
{
	return new_answer(id, "result", result);
}

json_t *mcp_error(const json_t *id, enum mcp_code code, const char *text, json_t *data)
{
	return new_answer(id, "error",
			  json_pack("{s:i, s:s, s:o*}", "code", (int)code, "message", text, "data",
				    data));
}

json_t *mcp_refusal(const json_t *id, const char *method)
{
	return strcmp(method, "ping") ? mcp_error(id, MCP_NO_METHOD, "Method not found", NULL) :
					mcp_response(id, json_object());
}

const char *mcp_subject(const char *method)
{
	if (!strcmp(method, "tools/call") || !strcmp(method, "prompts/get"))
		return "name";
	if (!strcmp(method, "resources/read"))
		return "uri";
	return strncmp(method, "tasks/", 6) ? "" : "taskId";
}
