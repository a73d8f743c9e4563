/* SPDX-License-Identifier: MIT */
/*
 * Gemini's Interactions, without state on the server. An answer is steps, told by index; a step goes
 * back as its first object with the deltas put in.
 */
#include "provider/provider_inner.h"

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

static enum block_kind step_kind(const char *type)
{
	if (!strcmp(type, "function_call"))
		return BLOCK_CALL;
	if (!strcmp(type, "thought"))
		return BLOCK_REASONING;
	return !strcmp(type, "model_output") ? BLOCK_TEXT : BLOCK_OPAQUE;
}

/* A text that is either there or in a content object. */
static struct rye_span step_text(const json_t *delta)
{
	struct rye_span text = text_member(delta, "text");

	return text.len ? text : text_member(json_object_get(delta, "content"), "text");
}

static struct answer_block *step_begin(struct answer *answer, const json_t *step,
				       struct rye_span raw)
{
	struct answer_block *block = answer_add(answer, step_kind(json_str(step, "type")));
	const json_t *part;
	size_t i;

	if (!block)
		return NULL;
	block->start = json_copy((json_t *)step);
	answer_call(answer, block, json_str(step, "id"), json_str(step, "name"));
	answer_sign(block, json_str(step, "signature"));
	json_array_foreach(json_object_get(step, "content"), i, part)
		answer_text(answer, block, text_member(part, "text"));
	json_array_foreach(json_object_get(step, "summary"), i, part)
		answer_text(answer, block, text_member(part, "text"));
	buf_addspan(&block->raw, raw);
	block->changed = false;
	return block;
}

static void step_delta(struct answer *answer, struct answer_block *block, const json_t *delta)
{
	const char *type = json_str(delta, "type");

	if (!block || !block->open)
		return;
	if (!strcmp(type, "arguments_delta")) {
		answer_args(answer, block, text_member(delta, "arguments"));
	} else if (!strcmp(type, "thought_signature")) {
		json_sets(block->extra, "signature", json_str(delta, "signature"));
		json_sets(block->start, "signature", json_str(delta, "signature"));
		block->changed = true;
	} else if (!strcmp(type, "text") || !strcmp(type, "thought_summary")) {
		answer_text(answer, block, step_text(delta));
	} else {
		answer_warn(answer, "unknown_delta");
	}
}

/* [{type: text, text}] of all that was said. */
static json_t *step_parts(const struct answer_block *block)
{
	struct rye_span text = buf_span(&block->text);

	return json_pack("[{s:s, s:o}]", "type", "text", "text",
			 json_stringn_nocheck(text.ptr, text.len));
}

static void step_raw(struct answer_block *block)
{
	struct rye_span args = buf_span(&block->args);

	if (!block->changed)
		return;
	buf_clear(&block->raw);
	if (block->kind == BLOCK_CALL) {
		json_object_set(block->start, "id", json_object_get(block->extra, "id"));
		raw_splice(&block->raw, block->start, "arguments",
			   block->incomplete || !args.len ? SPAN("{}") : args);
		return;
	}
	if (block->kind == BLOCK_TEXT)
		json_object_set_new(block->start, "content", step_parts(block));
	else if (block->kind == BLOCK_REASONING && block->text.len)
		json_object_set_new(block->start, "summary", step_parts(block));
	json_put(&block->raw, block->start, false);
}

static void step_end(struct answer *answer, struct answer_block *block)
{
	if (block)
		block->changed |= json_object_get(block->extra, "own_id") != NULL;
	if (block && answer_done(answer, block))
		step_raw(block);
}

static void interactions_stop(struct answer *answer, const json_t *interaction)
{
	static const struct stop_row rows[] = {
		{ "completed", STOP_END },
		{ "requires_action", STOP_TOOL },
		{ "incomplete", STOP_LENGTH },
		{ "budget_exceeded", STOP_LENGTH },
		{ "requires_continuation", STOP_PAUSE },
	};
	const char *status = json_str(interaction, "status");
	enum provider_stop stop = stop_of(rows, ARRAY_SIZE(rows), status, STOP_UNKNOWN);

	usage_take(json_object_get(interaction, "usage"), &step_usage, &answer->usage);
	if (!strcmp(status, "failed") || !strcmp(status, "cancelled")) {
		answer_fail(answer, interaction);
		return;
	}
	if (!*status)
		return;
	if (stop == STOP_END && answer_has(answer, BLOCK_CALL))
		stop = STOP_TOOL;
	answer_stop(answer, stop, status);
	answer->terminal = true;
}

static void interactions_event(struct answer *answer, const char *type, const json_t *doc,
			       struct rye_span text)
{
	json_int_t index = json_int(doc, "index", -1);
	struct answer_block *block = answer_at(answer, index);

	if (!strcmp(type, "step.start") && !block) {
		block = step_begin(answer, json_object_get(doc, "step"), raw_member(text, "step"));
		if (block)
			block->index = index;
	} else if (!strcmp(type, "step.delta")) {
		step_delta(answer, block, json_object_get(doc, "delta"));
	} else if (!strcmp(type, "step.stop")) {
		step_end(answer, block);
	} else if (!strcmp(type, "interaction.completed")) {
		interactions_stop(answer, json_object_get(doc, "interaction"));
	}
}

static void interactions_whole(struct answer *answer, const json_t *doc, struct rye_span text)
{
	struct raw_list list = raw_list_of(raw_member(text, "steps"));
	const json_t *step;
	size_t i;

	json_array_foreach(json_object_get(doc, "steps"), i, step) {
		struct rye_span raw = raw_next(&list);
		struct answer_block *block = step_begin(answer, step, raw);

		if (block && block->kind == BLOCK_CALL)
			answer_args(answer, block, raw_member(raw, "arguments"));
		if (block)
			block->changed = false;
		step_end(answer, block);
	}
	interactions_stop(answer, doc);
}

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
	.event = interactions_event,
	.whole = interactions_whole,
};
