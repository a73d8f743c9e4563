/* SPDX-License-Identifier: MIT */
/*
 * What a server prints: the first byte says where the rest is cut. Whole or cut it has to be the
 * same lines; a message that is read decides an era and becomes a result without a fault.
 */
#include "mcp/client/client.h"

#include "str.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_message(struct rye_span line, struct rye_buf *told)
{
	struct mcp_message message;
	struct mcp_decision next;
	struct mcp_outcome outcome;

	buf_addf(told, "%d;", mcp_read(line, &message));
	if (message.kind == MCP_RESPONSE) {
		struct mcp_probe probe = { .result = message.result, .error = message.error };
		struct mcp_answer answer = { .result = (json_t *)message.result,
					     .error = (json_t *)message.error,
					     .fault = message.error ? MCP_FAULT_RPC : MCP_FINE };

		mcp_decide(&probe, &next);
		buf_addf(told, "%d;", next.step);
		if (!json_is_object(answer.result))
			answer.result = NULL;
		mcp_outcome_of(&answer, "t", &outcome);
		json_put(told, outcome.data, true);
		json_decref(outcome.data);
		free(outcome.error);
	}
	mcp_message_done(&message);
}

static void read_cut(struct rye_span text, size_t cut, struct rye_buf *told)
{
	struct mcp_lines lines = { 0 };
	struct rye_span line;

	cut = cut < text.len ? cut : text.len;
	mcp_lines_add(&lines, (struct rye_span){ text.ptr, cut });
	while (mcp_lines_next(&lines, &line))
		use_message(line, told);
	mcp_lines_add(&lines, span_skip(text, cut));
	while (mcp_lines_next(&lines, &line))
		use_message(line, told);
	mcp_lines_done(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf struct rye_buf whole = RYE_BUF_INIT, cut = RYE_BUF_INIT;
	struct rye_span text = { (const char *)data + 1, size ? size - 1 : 0 };

	if (!size)
		return 0;
	read_cut(text, text.len, &whole);
	read_cut(text, data[0], &cut);
	if (whole.len != cut.len || (whole.len && memcmp(whole.data, cut.data, whole.len)))
		abort();
	return 0;
}
