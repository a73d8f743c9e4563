/* SPDX-License-Identifier: MIT */
/*
 * Headers of requests to a server at an address: of the transport, of the era, of the server's own
 * item, and the arguments that its tool wants to see there. Nothing of a caller makes a new
 * line: text that a header cannot hold is encoded. Pure.
 */
#include "mcp/client/client_inner.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <string.h>

/* More than any tool mirrors. */
#define HEADERS_MAX 128

struct header_rows {
	char **v;
	size_t n;
	bool failed;
};

static void row_put(struct header_rows *rows, const char *name, struct rye_span value)
{
	auto_buf struct rye_buf row = RYE_BUF_INIT;

	buf_addf(&row, "%s: ", name);
	buf_addspan(&row, value);
	if (rows->n + 1 >= HEADERS_MAX || row.failed || strpbrk(row.data, "\r\n") ||
	    strlen(row.data) != row.len) {
		rows->failed = true;
		return;
	}
	rows->v[rows->n] = memory_note(buf_steal(&row));
	rows->failed |= !rows->v[rows->n];
	rows->n += rows->v[rows->n] != NULL;
}

/* With an encoding where that is wanted. */
static void row_put_value(struct header_rows *rows, const char *name, struct rye_span text)
{
	auto_buf struct rye_buf value = RYE_BUF_INIT;

	buf_adds(&value, "");
	mcp_header_value(&value, text);
	row_put(rows, name, buf_span(&value));
}

/* mcp_mirror_fn */
static void put_mirrored(void *arg, const char *name, const json_t *value)
{
	auto_buf struct rye_buf header = RYE_BUF_INIT, text = RYE_BUF_INIT;

	buf_addf(&header, "Mcp-Param-%s", name);
	if (json_is_string(value))
		buf_add(&text, json_string_value(value), json_string_length(value));
	else
		json_put(&text, value, false);
	row_put_value(arg, buf_span(&header).ptr, buf_span(&text));
}

static void put_modern(struct header_rows *rows, const struct mcp_header_ask *ask,
		       const char *version)
{
	const json_t *params = json_object_get(ask->message, "params");
	const char *method = json_str(ask->message, "method");
	const json_t *name = json_object_get(params, mcp_subject(method));

	row_put(rows, "MCP-Protocol-Version", span_of(version));
	if (!json_object_get(ask->message, "id"))
		return;
	row_put(rows, "Mcp-Method", span_of(method));
	if (json_is_string(name))
		row_put_value(rows, "Mcp-Name",
			      (struct rye_span){ json_string_value(name),
						 json_string_length(name) });
	if (!strcmp(method, "tools/call"))
		mcp_mirror(ask->mirror, json_object_get(params, "arguments"), put_mirrored, rows);
}

static void put_legacy(struct header_rows *rows, const struct mcp_header_ask *ask)
{
	if (!strcmp(json_str(ask->message, "method"), "initialize"))
		return;
	if (*ask->version)
		row_put(rows, "MCP-Protocol-Version", span_of(ask->version));
	if (*ask->session)
		row_put(rows, "Mcp-Session-Id", span_of(ask->session));
}

char **mcp_headers_make(const struct mcp_header_ask *ask)
{
	struct header_rows rows = { calloc(HEADERS_MAX, sizeof(char *)), 0, false };
	const json_t *meta = json_object_get(json_object_get(ask->message, "params"), "_meta");
	const char *claim = json_str(meta, MCP_META "protocolVersion");

	if (!rows.v)
		return NULL;
	for (char *const *row = ask->own; row && *row; row++) {
		const char *colon = strchr(*row, ':');
		auto_free char *name = colon ? strndup(*row, (size_t)(colon - *row)) : NULL;

		if (name)
			row_put(&rows, name, span_trim(span_of(colon + 1)));
	}
	if (ask->message)
		row_put(&rows, "Content-Type", SPAN("application/json"));
	row_put(&rows, "Accept",
		ask->message ? SPAN("application/json, text/event-stream") :
			       SPAN("text/event-stream"));
	if (*claim)
		put_modern(&rows, ask, claim);
	else
		put_legacy(&rows, ask);
	if (ask->last_event)
		row_put(&rows, "Last-Event-ID", span_of(ask->last_event));
	if (!rows.failed)
		return rows.v;
	mcp_headers_free(rows.v);
	return NULL;
}

void mcp_headers_free(char **headers)
{
	for (char **row = headers; row && *row; row++)
		free(*row);
	free(headers);
}
