/* SPDX-License-Identifier: MIT */
/*
 * Reading JSON-RPC messages. Members that are not known are ignored; what is no message at all is
 * junk: servers print logs and banners where only messages belong. Pure; outside bytes, fuzzed.
 */
#include "mcp/mcp.h"

#include "bounds.h"
#include "scope.h"

#include <string.h>

static bool is_nested(const json_t *value, int left)
{
	json_t *object = (json_t *)value, *element;
	const char *key;
	size_t i;

	if (!json_is_object(value) && !json_is_array(value))
		return true;
	if (!left)
		return false;
	json_object_foreach(object, key, element)
		if (!is_nested(element, left - 1))
			return false;
	json_array_foreach(value, i, element)
		if (!is_nested(element, left - 1))
			return false;
	return true;
}

static bool is_id(const json_t *id)
{
	return json_is_string(id) || json_is_integer(id);
}

static bool is_error(const json_t *error)
{
	return json_is_object(error) && json_is_integer(json_object_get(error, "code"));
}

static enum mcp_kind message_kind(const json_t *doc)
{
	const json_t *id = json_object_get(doc, "id"), *params = json_object_get(doc, "params");
	const json_t *result = json_object_get(doc, "result");
	const json_t *error = json_object_get(doc, "error");
	const json_t *method = json_object_get(doc, "method");

	if (strcmp(json_str(doc, "jsonrpc"), "2.0"))
		return MCP_JUNK;
	if (json_is_string(method)) {
		if (result || error ||
		    (params && !json_is_object(params) && !json_is_array(params)))
			return MCP_JUNK;
		if (!id)
			return MCP_NOTICE;
		return is_id(id) ? MCP_REQUEST : MCP_JUNK;
	}
	/* An error about a message that could not be read has no id, or null. */
	if (is_error(error) && !result && (!id || json_is_null(id) || is_id(id)))
		return MCP_RESPONSE;
	return result && !error && is_id(id) ? MCP_RESPONSE : MCP_JUNK;
}

enum mcp_kind mcp_read(struct rye_span text, struct mcp_message *ret)
{
	auto_json json_t *doc = NULL;

	*ret = (struct mcp_message){ .kind = MCP_JUNK };
	if (text.len > RYE_MCP_MESSAGE_MAX)
		return MCP_JUNK;
	doc = json_parse(text, JSON_LOAD_LAST_WINS | JSON_LOAD_NUL | JSON_LOAD_ANY, "message",
			 NULL);
	ret->is_json = doc != NULL;
	if (!json_is_object(doc) || !is_nested(doc, RYE_MCP_DEPTH))
		return MCP_JUNK;
	ret->kind = message_kind(doc);
	if (ret->kind == MCP_JUNK)
		return MCP_JUNK;
	ret->doc = steal(&doc);
	ret->id = json_object_get(ret->doc, "id");
	ret->id = is_id(ret->id) ? ret->id : NULL;
	ret->method = json_string_value(json_object_get(ret->doc, "method"));
	ret->params = json_object_get(ret->doc, "params");
	ret->result = json_object_get(ret->doc, "result");
	ret->error = json_object_get(ret->doc, "error");
	return ret->kind;
}

void mcp_message_done(struct mcp_message *message)
{
	json_decref(message->doc);
	*message = (struct mcp_message){ .kind = MCP_JUNK };
}

bool mcp_answers(const struct mcp_message *message, const json_t *id)
{
	return message->kind == MCP_RESPONSE && message->id && json_equal(message->id, id);
}
