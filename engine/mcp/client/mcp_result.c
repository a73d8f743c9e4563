/* SPDX-License-Identifier: MIT */
/*
 * Answer → `data` of a reply. What a server says is data: its content is kept as it came, links are
 * not followed, and a name of it never takes the place of one of ours. Pure.
 */
#include "mcp/client/client_inner.h"

#include "scope.h"
#include "str.h"

#include <string.h>

/* Names of `data` that the content of a result does not get. */
static bool is_own_name(const char *name)
{
	static const char *const ours[] = { "success", "tool",	   "content",	 "isError",
					    "raw",     "error",	   "error_type", "parsed",
					    "server",  "protocol", "structured", "status" };

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (!strcmp(ours[i], name))
			return true;
	return false;
}

static void promote(json_t *data, const json_t *from)
{
	json_t *object = (json_t *)from, *value;
	const char *name;

	json_object_foreach(object, name, value)
		if (!is_own_name(name))
			json_object_set(data, name, value);
}

static bool is_text(const json_t *item)
{
	return !strcmp(json_str(item, "type"), "text") &&
	       json_is_string(json_object_get(item, "text"));
}

/* The value of the only text, if that is JSON; a new reference or NULL. */
static json_t *only_text_value(const json_t *content)
{
	const json_t *only = NULL;
	json_t *item;
	size_t i;

	json_array_foreach(content, i, item) {
		if (!is_text(item))
			continue;
		if (only)
			return NULL;
		only = json_object_get(item, "text");
	}
	if (!only)
		return NULL;
	return json_parse((struct rye_span){ json_string_value(only), json_string_length(only) },
			  JSON_LOAD_ANY | JSON_LOAD_LAST_WINS | JSON_LOAD_NUL, "text", NULL);
}

static char *texts_of(const json_t *content)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	json_t *item;
	size_t i;

	json_array_foreach(content, i, item) {
		const json_t *part = json_object_get(item, "text");

		if (!is_text(item))
			continue;
		if (text.len)
			buf_addc(&text, '\n');
		buf_add(&text, json_string_value(part), json_string_length(part));
	}
	if (!text.len)
		buf_adds(&text, "the tool failed and says nothing");
	return buf_steal(&text);
}

static void put_content(const json_t *result, json_t *data)
{
	json_t *content = json_object_get(result, "content");
	json_t *structured = json_object_get(result, "structuredContent");
	auto_json json_t *parsed = only_text_value(content);

	json_set(data, "content", content ? json_incref(content) : json_array());
	json_set(data, "isError", json_boolean(json_flag(result, "isError", false)));
	if (structured)
		json_object_set(data, "structured", structured);
	if (parsed)
		json_object_set(data, "parsed", parsed);
	promote(data, json_is_object(structured) ? structured : parsed);
}

/* ---- faults ---- */

static const struct {
	const char *type;
	enum rye_code code;
} faults[] = {
	[MCP_FINE] = { "tool_error", RYE_TOOL_FAILED },
	[MCP_FAULT_RPC] = { "mcp_error", RYE_TOOL_FAILED },
	[MCP_FAULT_INPUT] = { "needs_input", RYE_TOOL_FAILED },
	[MCP_FAULT_ASKS] = { "input_required", RYE_TOOL_FAILED },
	[MCP_FAULT_CHANGED] = { "definition_changed", RYE_TOOL_FAILED },
	[MCP_FAULT_PROTOCOL] = { "protocol", RYE_TOOL_FAILED },
	[MCP_FAULT_RESULT] = { "invalid_result", RYE_TOOL_FAILED },
	[MCP_FAULT_TIMEOUT] = { "timeout", RYE_TIMEOUT },
	[MCP_FAULT_CANCELLED] = { "cancelled", RYE_CANCELLED },
	[MCP_FAULT_SPAWN] = { "spawn", RYE_TOOL_FAILED },
	[MCP_FAULT_EXIT] = { "exit", RYE_TOOL_FAILED },
	[MCP_FAULT_HTTP] = { "http", RYE_TOOL_FAILED },
	[MCP_FAULT_AUTH] = { "auth", RYE_TOOL_FAILED },
};

static void keep_member(json_t *data, const char *name, json_t *value)
{
	if (value)
		json_object_set(data, name, value);
}

static void put_fault(const struct mcp_answer *answer, json_t *data)
{
	keep_member(data, "code", json_object_get(answer->error, "code"));
	keep_member(data, "data", json_object_get(answer->error, "data"));
	keep_member(data, "changed", answer->changed);
	keep_member(data, "challenge", answer->challenge);
	if (answer->status)
		json_set(data, "status", json_integer(answer->status));
	if (answer->body)
		json_set(data, "body", result_text(span_of(answer->body)));
	if (answer->fault != MCP_FAULT_ASKS)
		return;
	keep_member(data, "input_requests", json_object_get(answer->result, "inputRequests"));
	keep_member(data, "request_state", json_object_get(answer->result, "requestState"));
}

static void put_server(const struct mcp_answer *answer, json_t *data)
{
	if (answer->era != MCP_AUTO)
		json_set(data, "protocol",
			 json_pack("{s:s, s:s}", "era", mcp_era_name(answer->era), "version",
				   answer->version));
	if (answer->server)
		json_object_set(data, "server", answer->server);
}

void mcp_outcome_of(const struct mcp_answer *answer, const char *tool, struct mcp_outcome *ret)
{
	bool failed = answer->fault != MCP_FINE || json_flag(answer->result, "isError", false);

	*ret = (struct mcp_outcome){ .data = json_object() };
	json_set(ret->data, "success", json_boolean(!failed));
	json_sets(ret->data, "tool", tool);
	if (answer->result && answer->fault == MCP_FINE)
		put_content(answer->result, ret->data);
	if (failed) {
		ret->code = faults[answer->fault].code;
		ret->error = answer->fault == MCP_FINE ?
				     texts_of(json_object_get(answer->result, "content")) :
				     strdup(answer->text ? answer->text : "no answer");
		json_set(ret->data, "error", result_text(span_of(ret->error ? ret->error : "")));
		json_sets(ret->data, "error_type", faults[answer->fault].type);
		put_fault(answer, ret->data);
	}
	put_server(answer, ret->data);
}
