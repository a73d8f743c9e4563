/* SPDX-License-Identifier: MIT */
/*
 * Gemini's Interactions, without state on the server. An answer is steps, told by index; a step goes
 * back as its first object with the deltas put in.
 */
#include "provider/provider_inner.h"

#include "scope.h"
#include "str.h"

#include <stdlib.h>

/* ---- writing ---- */

static void step_put_tools(struct wire_write *w)
{
	const json_t *tool;
	size_t i;

	raw_key(w->out, "tools");
	buf_addc(w->out, '[');
	json_array_foreach(w->request->tools, i, tool) {
		auto_json json_t *schema = tool_schema(w, tool);

		raw_comma(w->out);
		buf_adds(w->out, "{\"type\":\"function\"");
		raw_text(w->out, "name", json_str(tool, "name"));
		raw_text(w->out, "description", json_str(tool, "description"));
		raw_value(w->out, "parameters", schema);
		buf_addc(w->out, '}');
	}
	buf_addc(w->out, ']');
}

/* A text or an image within a step. */
static void step_put_part(struct wire_write *w, const json_t *block)
{
	bool image = block_is(block, "image");

	if (!image && !text_member(block, "text").len)
		return;
	raw_comma(w->out);
	buf_addc(w->out, '{');
	raw_text(w->out, "type", image ? "image" : "text");
	if (image) {
		raw_text(w->out, "mime_type", json_str(block, "media_type"));
		raw_text(w->out, "data", json_str(block, "data"));
	} else {
		raw_key(w->out, "text");
		raw_string(w->out, text_member(block, "text"));
	}
	buf_addc(w->out, '}');
}

static void step_put_images(struct wire_write *w, const char *text, const json_t *images)
{
	auto_json json_t *said = json_pack("{s:s, s:s}", "kind", "text", "text", text);
	const json_t *image;
	size_t i;

	buf_addc(w->out, '[');
	step_put_part(w, said);
	json_array_foreach(images, i, image) {
		auto_json json_t *block = json_copy((json_t *)image);

		json_sets(block, "kind", "image");
		step_put_part(w, block);
	}
	buf_addc(w->out, ']');
}

static void step_put_result(struct wire_write *w, const json_t *block)
{
	const json_t *images = result_images(w, block);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char id[65];

	result_id(w, json_str(block, "id"), id);
	result_text_put(w, block, false, &text);
	raw_comma(w->out);
	buf_adds(w->out, "{\"type\":\"function_result\"");
	raw_text(w->out, "call_id", id);
	raw_text(w->out, "name", json_str(block, "name"));
	raw_key(w->out, "result");
	if (images)
		step_put_images(w, text.data, images);
	else
		raw_string(w->out, (struct rye_span){ text.data, text.len });
	if (json_flag(block, "is_error", false))
		raw_value(w->out, "is_error", json_true());
	buf_addc(w->out, '}');
}

static void step_put_content(struct wire_write *w, const char *type, struct rye_span parts)
{
	if (!parts.len)
		return;
	raw_comma(w->out);
	buf_addc(w->out, '{');
	raw_text(w->out, "type", type);
	raw_key(w->out, "content");
	buf_addc(w->out, '[');
	buf_addspan(w->out, parts);
	buf_adds(w->out, "]}");
}

static void step_put_call(struct wire_write *w, const json_t *block)
{
	char id[65];

	result_id(w, json_str(block, "id"), id);
	raw_comma(w->out);
	buf_adds(w->out, "{\"type\":\"function_call\"");
	raw_text(w->out, "id", id);
	raw_text(w->out, "name", json_str(block, "name"));
	raw_key(w->out, "arguments");
	arguments_put(block, w->out);
	buf_addc(w->out, '}');
}

static bool is_part(const json_t *block)
{
	return block_is(block, "text") || block_is(block, "refusal") || block_is(block, "image");
}

static void step_put_own(struct wire_write *w, const json_t *block)
{
	auto_buf struct rye_buf part = RYE_BUF_INIT;
	struct rye_buf *out = w->out;
	const char *raw = block_raw(w, block);

	if (raw) {
		raw_comma(out);
		buf_adds(out, raw);
	} else if (block_is(block, "tool_call")) {
		step_put_call(w, block);
	} else if (is_part(block)) {
		w->out = &part;
		step_put_part(w, block);
		w->out = out;
		step_put_content(w, "model_output", (struct rye_span){ part.data, part.len });
	}
}

/* Results are steps of their own, what a person says is one. */
static void step_put_user(struct wire_write *w, const json_t *blocks)
{
	auto_buf struct rye_buf parts = RYE_BUF_INIT;
	struct rye_buf *out = w->out;
	const json_t *block;
	size_t i;

	json_array_foreach(blocks, i, block) {
		if (block_is(block, "tool_result"))
			step_put_result(w, block);
		w->out = &parts;
		if (is_part(block))
			step_put_part(w, block);
		w->out = out;
	}
	step_put_content(w, "user_input", (struct rye_span){ parts.data, parts.len });
}

static void step_put_config(struct wire_write *w)
{
	json_t *config = json_object_get(w->extra, "generation_config");

	if (!json_is_object(config)) {
		config = json_object();
		json_object_set_new(w->extra, "generation_config", config);
	}
	if (w->max_tokens > 0)
		json_set(config, field_text(w->provider, "max_tokens_field", "max_output_tokens"),
			 json_integer(w->max_tokens));
}

static void interactions_write(struct wire_write *w)
{
	const json_t *message, *block;
	size_t i, k;

	buf_addc(w->out, '{');
	raw_text(w->out, "model", w->provider->model);
	raw_value(w->out, "store", json_false());
	if (w->request->system && *w->request->system)
		raw_text(w->out, "system_instruction", w->request->system);
	raw_key(w->out, "input");
	buf_addc(w->out, '[');
	json_array_foreach(w->request->messages, i, message) {
		const json_t *blocks = json_object_get(message, "blocks");

		if (!message_is(message, "assistant")) {
			step_put_user(w, blocks);
			continue;
		}
		json_array_foreach(blocks, k, block)
			step_put_own(w, block);
	}
	buf_addc(w->out, ']');
	if (has_tools(w))
		step_put_tools(w);
	if (request_streams(w))
		raw_value(w->out, "stream", json_true());
	step_put_config(w);
	write_rest(w);
}

/* ---- reading ---- */

static void step_take_usage(struct answer *answer, const json_t *usage)
{
	struct provider_usage *use = &answer->usage;
	json_int_t input = use->uncached + use->cache_read, said = use->output - use->reasoning;

	if (!json_object_size(usage))
		return;
	use->known = true;
	usage_take(usage, "total_input_tokens", &input);
	usage_take(usage, "total_cached_tokens", &use->cache_read);
	use->uncached = MAX_OF(input - use->cache_read, 0);
	usage_take(usage, "total_output_tokens", &said);
	usage_take(usage, "total_thought_tokens", &use->reasoning);
	use->output = said + use->reasoning;
}

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
	if (*json_str(step, "signature"))
		json_sets(block->extra, "signature", json_str(step, "signature"));
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
	json_t *text =
		json_stringn_nocheck(block->text.data ? block->text.data : "", block->text.len);

	return json_pack("[{s:s, s:o}]", "type", "text", "text", text);
}

static void step_raw(struct answer_block *block)
{
	struct rye_span args = { block->args.data, block->args.len };

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
	if (!block || !block->open)
		return;
	answer_done(answer, block);
	step_raw(block);
}

static void interactions_stop(struct answer *answer, const json_t *interaction)
{
	static const struct {
		const char *status;
		enum provider_stop stop;
	} rows[] = {
		{ "completed", STOP_END },
		{ "requires_action", STOP_TOOL },
		{ "incomplete", STOP_LENGTH },
		{ "budget_exceeded", STOP_LENGTH },
		{ "requires_continuation", STOP_PAUSE },
	};
	const char *status = json_str(interaction, "status");

	step_take_usage(answer, json_object_get(interaction, "usage"));
	if (!strcmp(status, "failed") || !strcmp(status, "cancelled")) {
		answer_fail(answer, interaction);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum provider_stop stop = rows[i].stop;

		if (strcmp(rows[i].status, status) != 0)
			continue;
		if (stop == STOP_END && answer_has(answer, BLOCK_CALL))
			stop = STOP_TOOL;
		answer_stop(answer, stop, status);
		answer->terminal = true;
	}
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
	.write = interactions_write,
	.event = interactions_event,
	.whole = interactions_whole,
};
