/* SPDX-License-Identifier: MIT */
/*
 * What a client sends to the server: the first lines are headers (Host, Origin, Authorization,
 * version, method, name), the rest is the body. It goes through the gate, the reader of messages,
 * the decision of its era and the comparison with its headers; a fault has a status and a code.
 */
#include "mcp/server/server_inner.h"

#include "str.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEADERS 6

static void use_era(const struct mcp_message *message, const struct serve_heard *heard)
{
	struct serve_fault fault;
	struct serve_frame frame;
	bool good = serve_era(message, heard, &frame, &fault);

	if (!good && (!fault.code || fault.status != 400))
		abort();
	if (good && message->kind == MCP_REQUEST && frame.era == MCP_MODERN && heard->http)
		good = serve_headers_agree(message, heard, "name", &fault);
	if (!good)
		json_decref(serve_error(message->id, &fault));
}

static void use_body(struct rye_span body, struct serve_heard *heard)
{
	struct serve_fault fault;
	struct mcp_message message;

	if (mcp_read(body, &message) == MCP_JUNK) {
		serve_junk(&message, &fault);
		if (fault.status != 400)
			abort();
	} else if (message.kind != MCP_RESPONSE) {
		for (int way = 0; way < 3; way++) {
			heard->http = way == 0;
			heard->opened = way == 1;
			use_era(&message, heard);
		}
	}
	mcp_message_done(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct serve_gate gate = { 80, "0123456789abcdef" };
	struct rye_span rest = { (const char *)data, size }, line;
	char *v[HEADERS] = { NULL };
	struct serve_head head = { .verb = "POST", .path = "/mcp", .type = "application/json" };
	struct serve_heard heard = { 0 };
	struct serve_fault fault;
	auto_buf struct rye_buf name = RYE_BUF_INIT;

	for (int i = 0; i < HEADERS && span_line(&rest, &line); i++)
		v[i] = line.len ? span_dup(line) : NULL;
	head.host = v[0];
	head.origin = v[1];
	head.authorization = v[2];
	heard.version = v[3];
	heard.method = v[4];
	heard.name = v[5];
	serve_gate_check(&gate, &head, &fault);
	serve_takes_events(v[0]);
	if (v[5] && serve_unpercent(v[5], &name) &&
	    !utf8_valid((struct rye_span){ name.data, name.len }))
		abort();
	use_body(rest, &heard);
	for (int i = 0; i < HEADERS; i++)
		free(v[i]);
	return 0;
}
