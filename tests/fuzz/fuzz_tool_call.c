/* SPDX-License-Identifier: MIT */
/*
 * fuzz_tool_call.c - a call as a model writes it: read, and asked whether it may be. Whatever it is,
 * a thread that may run one tool may do nothing else, and its name on the wire keeps to the wires.
 */
#include "agent/agent_inner.h"
#include "str.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *id)
{
	auto_json json_t *taken = json_object();
	char name[65];

	for (int i = 0; i < 2; i++) {
		palette_name(id, taken, name);
		if (strlen(name) > 64 || strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"
						      "RSTUVWXYZ0123456789_-") != strlen(name))
			abort();
		json_object_set_new(taken, name, json_true());
	}
}

/* What is allowed must be that one tool, or the return. */
static void check_allowed(const struct tool_call *call)
{
	if (!call->returns && (call->kind != RYE_TOOL || strcmp(call->item_id, "t/one") != 0 ||
			       strcmp(call->primary, "execute") != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_json json_t *block = json_parse((struct rye_span){ (const char *)data, size },
					     JSON_LOAD_LAST_WINS, "call", NULL);
	auto_json json_t *capabilities = json_pack("[s]", "rye.execute.tool.t.one");
	auto_json json_t *items =
		json_pack("{s:{s:s, s:s}}", "t_one", "item_id", "t/one", "primary", "execute");
	struct agent agent = { .capabilities = capabilities, .palette = { .items = items } };
	struct tool_call call = { .arguments = NULL };
	struct rye_err err = { 0 };

	if (!block)
		return 0;
	if (!tool_call_read(&agent, block, &call, &err)) {
		check_name(call.item_id);
		if (call.returns || !tool_call_allowed(&agent, &call, &err))
			check_allowed(&call);
	}
	tool_call_done(&call);
	return 0;
}
