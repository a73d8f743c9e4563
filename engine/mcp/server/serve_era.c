/* SPDX-License-Identifier: MIT */
/*
 * Which era a message is of. No connection is pinned to an era: each message says it by its claim,
 * the version in its _meta, and what has none is legacy where `initialize` opened the way or the
 * headers do not say otherwise. Pure; outside bytes, fuzzed.
 */
#include "mcp/server/server_inner.h"

#include "str.h"

#include <string.h>

#define CLAIM MCP_META "protocolVersion"
#define CAPABILITIES MCP_META "clientCapabilities"

void *serve_fail(struct serve_fault *fault, enum mcp_code code, const char *format, ...)
{
	*fault = (struct serve_fault){ .code = code, .status = 200 };
	STR_FORMAT(fault->text, format);
	return NULL;
}

/* The same for what no request of HTTP gets 200 for. */
static bool fail_request(struct serve_fault *fault, enum mcp_code code, const char *text)
{
	serve_fail(fault, code, "%s", text);
	fault->status = 400;
	return false;
}

bool serve_initialize_is(const struct mcp_message *message)
{
	return message->kind == MCP_REQUEST && !strcmp(message->method, "initialize");
}

static bool version_is_modern(const char *version)
{
	return strcmp(version, MCP_MODERN_VERSION) >= 0;
}

/* A modern request: the header, then the version, then what else has to be there. */
static bool check_claim(const struct mcp_message *message, const struct serve_heard *heard,
			struct serve_frame *ret, struct serve_fault *fault)
{
	const json_t *meta = json_object_get(message->params, "_meta");
	const char *claim = json_string_value(json_object_get(meta, CLAIM));
	const json_t *can = json_object_get(meta, CAPABILITIES);

	if (!claim)
		return fail_request(fault, MCP_BAD_PARAMS, "_meta: " CLAIM " is no text");
	if (heard->http && (!heard->version || strcmp(heard->version, claim) != 0))
		return fail_request(fault, MCP_HEADER_MISMATCH,
				    "the header MCP-Protocol-Version is not what _meta claims");
	if (strcmp(claim, MCP_MODERN_VERSION) != 0) {
		fail_request(fault, MCP_BAD_VERSION, "Unsupported protocol version");
		fault->data = json_pack("{s:[s], s:s}", "supported", MCP_MODERN_VERSION,
					"requested", claim);
		return false;
	}
	if (message->kind == MCP_REQUEST && !json_is_object(can))
		return fail_request(fault, MCP_BAD_PARAMS,
				    "_meta lacks " CAPABILITIES ", an object");
	ret->tasks =
		json_is_object(json_object_get(json_object_get(can, "extensions"), SERVE_TASKS));
	return true;
}

static bool lacks_claim(struct serve_fault *fault)
{
	return fail_request(fault, MCP_BAD_PARAMS, "_meta lacks " CLAIM " and " CAPABILITIES);
}

bool serve_era(const struct mcp_message *message, const struct serve_heard *heard,
	       struct serve_frame *ret, struct serve_fault *fault)
{
	const json_t *meta = json_object_get(message->params, "_meta");

	*ret = (struct serve_frame){ .era = MCP_LEGACY, .http = heard->http };
	*fault = (struct serve_fault){ 0 };
	if (json_object_get(meta, CLAIM)) {
		ret->era = MCP_MODERN;
		return check_claim(message, heard, ret, fault);
	}
	if (serve_initialize_is(message))
		return true;
	if (!heard->http)
		return heard->opened || message->kind != MCP_REQUEST || lacks_claim(fault);
	if (!heard->version || mcp_version_era(heard->version) == MCP_LEGACY)
		return true;
	if (!version_is_modern(heard->version))
		return fail_request(fault, MCP_NO_REQUEST,
				    "MCP-Protocol-Version: this version is not known");
	ret->era = MCP_MODERN;
	/* What a notice has to say is in its header then. */
	return message->kind != MCP_REQUEST || lacks_claim(fault);
}

bool serve_headers_agree(const struct mcp_message *message, const struct serve_heard *heard,
			 const char *member, struct serve_fault *fault)
{
	const json_t *value = json_object_get(message->params, member);
	struct rye_span text = { json_string_value(value), json_string_length(value) };

	if (!heard->method || strcmp(heard->method, message->method) != 0)
		return fail_request(fault, MCP_HEADER_MISMATCH,
				    "the header Mcp-Method is not the request's method");
	if (!json_is_string(value))
		return true;
	if (!heard->name || !serve_header_is(heard->name, text))
		return fail_request(fault, MCP_HEADER_MISMATCH,
				    "the header Mcp-Name is not what the request names");
	return true;
}
