/* SPDX-License-Identifier: MIT */
/*
 * Gemini's Interactions, without state on the server. An answer is steps, told by index; a step goes
 * back as its first object with the deltas put in.
 */
#include "wire/wire_inner.h"

#include "scope.h"
#include "str.h"

#include <stdlib.h>

/* ---- reading ---- */

static const struct usage_paths step_usage = {
	.input = "total_input_tokens",
	.cached = "total_cached_tokens",
	.output = "total_output_tokens",
	.reasoning = "total_thought_tokens",
	.reasoning_apart = true,
};

static const struct block_row step_blocks[] = {
	{ "model_output", BLOCK_TEXT, .parts = "content" },
	{ "thought", BLOCK_REASONING, .parts = "summary" },
	{ "function_call", BLOCK_CALL, .args = "arguments" },
	{ NULL, BLOCK_OPAQUE, .args = "arguments" },
};

/* It stands in the delta, or in a content object of it. */
static void step_text(struct reading *r)
{
	if (!read_span(r).len)
		r->value = json_object_get(json_object_get(r->around, "content"), "text");
	read_text(r);
}

static void step_stop(struct reading *r)
{
	static const struct stop_row rows[] = {
		{ "completed", STOP_END },
		{ "requires_action", STOP_TOOL },
		{ "incomplete", STOP_LENGTH },
		{ "budget_exceeded", STOP_LENGTH },
		{ "requires_continuation", STOP_PAUSE },
	};
	const char *status = read_span(r).ptr;
	enum provider_stop stop = stop_of(rows, ARRAY_SIZE(rows), status, STOP_UNKNOWN);

	if (!strcmp(status, "failed") || !strcmp(status, "cancelled")) {
		answer_fail(r->answer, r->around);
		return;
	}
	if (!*status)
		return;
	if (stop == STOP_END && answer_has(r->answer, BLOCK_CALL))
		stop = STOP_TOOL;
	answer_stop(r->answer, stop, status);
	r->answer->terminal = true;
}

static const struct read_row step_rows[] = {
	{ "step.start", "step", read_begin },
	{ "step.delta", "delta(text).text", step_text },
	{ "step.delta", "delta(thought_summary).text", step_text },
	{ "step.delta", "delta(arguments_delta).arguments", read_args },
	{ "step.delta", "delta(thought_signature).signature", read_signature },
	{ "step.delta", "delta", read_unknown },
	{ "step.stop", "", read_done },
	{ "interaction.completed", "interaction.usage", read_usage },
	{ "interaction.completed", "interaction.status", step_stop },
	{ WHOLE, "steps[]", read_block },
	{ WHOLE, "usage", read_usage },
	{ WHOLE, "status", step_stop },
	{ 0 },
};

const struct wire wire_interactions = {
	.name = "gemini_interactions",
	.path = "/v1beta/interactions",
	.stream_path = "/v1beta/interactions",
	.body = "{model:@model,store:false,?system_instruction:@system,input:[@messages],"
		"?tools:[@tools],?stream:@stream,@rest}",
	.tool = "{type:function,name:@name,description:@about,parameters:@schema}",
	.user = "{type:user_input,content:[@parts]}",
	.text = "{type:text,text:@text}",
	.said = "{type:model_output,content:[{type:text,text:@text}]}",
	.image = "{type:image,mime_type:@media,data:@data}",
	.call = "{type:function_call,id:@id,name:@name,arguments:@arguments}",
	.result = "{type:function_result,call_id:@id,name:@name,result:@content,?is_error:@failed}",
	.cache_mode = "none",
	.max_field = "max_output_tokens",
	.config = "generation_config",
	.results = RESULTS_BESIDE,
	.flags_errors = true,
	.write = form_write,
	.rows = step_rows,
	.blocks = step_blocks,
	.usage = &step_usage,
	.index = "index",
};
