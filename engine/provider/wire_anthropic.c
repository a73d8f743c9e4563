/* SPDX-License-Identifier: MIT */
/*
 * Anthropic Messages. Blocks are told by index; a block that no delta has touched goes back in the
 * bytes it came in, another as its first object with the deltas put in.
 */
#include "provider/provider_inner.h"

#include "scope.h"
#include "str.h"

#include <stdlib.h>

/* ---- writing ---- */

static void anthropic_put_mark(const struct wire_write *w, bool last)
{
	if (!last || strcmp(field_text(w->provider, "cache.mode", "marks"), "marks") != 0)
		return;
	raw_key(w->out, "cache_control");
	buf_addf(w->out, "{\"type\":\"ephemeral\",\"ttl\":\"%s\"}",
		 !strcmp(field_text(w->provider, "cache.ttl", "5m"), "1h") ? "1h" : "5m");
}

static void anthropic_put_tool(struct wire_write *w, const json_t *tool)
{
	const json_t *tools = w->request->tools;

	raw_open(w->out, NULL, '{');
	tool_put(w, "input_schema", tool);
	if (json_flag(tool, "strict", false))
		raw_value(w->out, "strict", json_true());
	anthropic_put_mark(w, !has_system(w) &&
				      tool == json_array_get(tools, json_array_size(tools) - 1));
	buf_addc(w->out, '}');
}

/* The objects of these are left open: a mark may follow. */
static void anthropic_open_image(struct wire_write *w, const json_t *image)
{
	raw_typed(w->out, "image");
	raw_open(w->out, "source", '{');
	raw_text(w->out, "type", "base64");
	raw_text(w->out, "media_type", json_str(image, "media_type"));
	raw_text(w->out, "data", json_str(image, "data"));
	buf_addc(w->out, '}');
}

static void anthropic_open_result(struct wire_write *w, const json_t *block)
{
	raw_typed(w->out, "tool_result");
	call_id_put(w, "tool_use_id", block);
	result_put(w, "content", block);
}

static void anthropic_open_call(struct wire_write *w, const json_t *block)
{
	raw_typed(w->out, "tool_use");
	call_id_put(w, "id", block);
	call_name_put(w, block);
	raw_key(w->out, "input");
	arguments_put(w, block, w->out);
}

static void anthropic_put_image(struct wire_write *w, const json_t *image)
{
	anthropic_open_image(w, image);
	buf_addc(w->out, '}');
}

static void anthropic_put_block(struct wire_write *w, const json_t *block, bool last)
{
	if (block_put_raw(w, block))
		return;
	if (block_is(block, "tool_result")) {
		anthropic_open_result(w, block);
	} else if (block_is(block, "tool_call")) {
		anthropic_open_call(w, block);
	} else if (block_is(block, "image") && image_fits(w, block)) {
		anthropic_open_image(w, block);
	} else if (block_is_said(w, block)) {
		raw_typed(w->out, "text");
		raw_span(w->out, "text", text_member(block, "text"));
	} else {
		return;
	}
	anthropic_put_mark(w, last);
	buf_addc(w->out, '}');
}

/* A text of blanks that it has said itself is refused as well, but reasoning is bound to all beside it. */
static bool anthropic_keeps(const struct wire_write *w, const json_t *blocks, const json_t *block)
{
	return !block_is(block, "text") || block_is_said(w, block) ||
	       json_find(blocks, "kind", "reasoning");
}

static void anthropic_put_blocks(struct wire_write *w, const json_t *blocks, bool last)
{
	size_t i, n = last ? json_array_size(blocks) : blocks_end(w, blocks);
	const json_t *block;

	/* Text before a result invites empty answers: results go first. */
	json_array_foreach(blocks, i, block)
		if (block_is(block, "tool_result"))
			anthropic_put_block(w, block, last && i + 1 == n);
	for (i = 0; i < n; i++) {
		block = json_array_get(blocks, i);
		if (!block_is(block, "tool_result") && anthropic_keeps(w, blocks, block))
			anthropic_put_block(w, block, last && i + 1 == n);
	}
}

static void anthropic_put_messages(struct wire_write *w)
{
	size_t i, n = json_array_size(w->request->messages);
	const json_t *message;

	raw_open(w->out, "messages", '[');
	json_array_foreach(w->request->messages, i, message) {
		auto_buf struct rye_buf blocks = RYE_BUF_INIT;
		struct wire_write part = *w;

		part.out = &blocks;
		anthropic_put_blocks(&part, json_object_get(message, "blocks"), i + 1 == n);
		if (!blocks.len)
			continue;
		raw_open(w->out, NULL, '{');
		raw_text(w->out, "role", json_str(message, "role"));
		raw_open(w->out, "content", '[');
		buf_addspan(w->out, buf_span(&blocks));
		buf_adds(w->out, "]}");
	}
	buf_addc(w->out, ']');
}

static void anthropic_write(struct wire_write *w)
{
	buf_addc(w->out, '{');
	raw_text(w->out, "model", w->provider->model);
	if (request_streams(w))
		raw_value(w->out, "stream", json_true());
	if (has_system(w)) {
		raw_open(w->out, "system", '[');
		raw_typed(w->out, "text");
		raw_text(w->out, "text", w->request->system);
		anthropic_put_mark(w, true);
		buf_adds(w->out, "}]");
	}
	if (has_tools(w))
		list_put(w, "tools", w->request->tools, anthropic_put_tool);
	anthropic_put_messages(w);
	write_rest(w);
}

/* ---- reading ---- */

static const struct usage_paths anthropic_usage = {
	.input = "input_tokens",
	.cached = "cache_read_input_tokens",
	.output = "output_tokens",
	.reasoning = "output_tokens_details.thinking_tokens",
	.cached_apart = true,
};

/* Its input leaves out what came from the cache, and what went there comes in two sorts. */
static void anthropic_take_usage(struct answer *answer, const json_t *usage)
{
	struct provider_usage *use = &answer->usage;
	json_int_t written = use->cache_write + use->cache_write_1h;

	usage_take(usage, &anthropic_usage, use);
	usage_count(usage, "cache_creation_input_tokens", &written);
	usage_count(usage, "cache_creation.ephemeral_1h_input_tokens", &use->cache_write_1h);
	use->cache_write = MAX_OF(written - use->cache_write_1h, 0);
}

static enum block_kind anthropic_kind_of(const char *type)
{
	static const struct {
		const char *type;
		enum block_kind kind;
	} rows[] = { { "text", BLOCK_TEXT },
		     { "thinking", BLOCK_REASONING },
		     { "tool_use", BLOCK_CALL } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].type, type))
			return rows[i].kind;
	return BLOCK_OPAQUE;
}

/* What the block's first object says already; of a stream it is mostly empty. */
static void anthropic_begin_block(struct answer *answer, const json_t *own, struct rye_span text)
{
	struct answer_block *block = answer_add(answer, anthropic_kind_of(json_str(own, "type")));
	const json_t *input = json_object_get(own, "input");

	if (!block)
		return;
	block->start = json_copy((json_t *)own);
	buf_addspan(&block->raw, text);
	answer_call(answer, block, json_str(own, "id"), json_str(own, "name"));
	if (block->kind == BLOCK_REASONING)
		answer_text(answer, block, text_member(own, "thinking"));
	else if (block->kind == BLOCK_TEXT)
		answer_text(answer, block, text_member(own, "text"));
	answer_sign(block, json_str(own, "signature"));
	if (block->kind == BLOCK_CALL && json_object_size(input))
		answer_args(answer, block, raw_member(text, "input"));
	block->changed = json_object_get(block->extra, "own_id") != NULL;
}

/* The provider's object as it has become. */
static void anthropic_make_raw(struct answer_block *block)
{
	struct rye_span input = buf_span(&block->args), text = buf_span(&block->text);
	auto_json json_t *parsed = NULL;

	if (!block->changed)
		return;
	buf_clear(&block->raw);
	if (block->kind == BLOCK_TEXT || block->kind == BLOCK_REASONING)
		json_object_set_new(block->start, block->kind == BLOCK_TEXT ? "text" : "thinking",
				    json_stringn_nocheck(text.ptr, text.len));
	if (json_object_get(block->extra, "signature"))
		json_object_set(block->start, "signature",
				json_object_get(block->extra, "signature"));
	if (block->kind == BLOCK_CALL)
		json_object_set(block->start, "id", json_object_get(block->extra, "id"));
	parsed = json_loadb(input.ptr, input.len, 0, NULL);
	if (block->kind == BLOCK_CALL || parsed)
		raw_splice(&block->raw, block->start, "input",
			   json_is_object(parsed) ? span_trim(input) : SPAN("{}"));
	else
		json_put(&block->raw, block->start, false);
}

static void anthropic_end_block(struct answer *answer, struct answer_block *block)
{
	if (block && answer_done(answer, block))
		anthropic_make_raw(block);
}

static void anthropic_append_citation(struct answer_block *block, const json_t *citation)
{
	json_t *list = json_object_get(block->start, "citations");

	if (!json_is_array(list)) {
		list = json_array();
		json_object_set_new(block->start, "citations", list);
	}
	json_array_append(list, (json_t *)citation);
	block->changed = true;
}

static void anthropic_take_delta(struct answer *answer, struct answer_block *block,
				 const json_t *delta)
{
	const char *type = json_str(delta, "type");

	if (!block || !block->open)
		return;
	if (!strcmp(type, "text_delta") && block->kind == BLOCK_TEXT) {
		answer_text(answer, block, text_member(delta, "text"));
	} else if (!strcmp(type, "thinking_delta") && block->kind == BLOCK_REASONING) {
		answer_text(answer, block, text_member(delta, "thinking"));
	} else if (!strcmp(type, "input_json_delta")) {
		answer_args(answer, block, text_member(delta, "partial_json"));
	} else if (!strcmp(type, "signature_delta")) {
		json_sets(block->extra, "signature", json_str(delta, "signature"));
		block->changed = true;
	} else if (!strcmp(type, "citations_delta")) {
		anthropic_append_citation(block, json_object_get(delta, "citation"));
	} else {
		answer_warn(answer, "unknown_delta");
	}
}

static void anthropic_take_stop(struct answer *answer, const char *raw, const json_t *details)
{
	static const struct stop_row rows[] = {
		{ "end_turn", STOP_END },     { "stop_sequence", STOP_END },
		{ "tool_use", STOP_TOOL },    { "max_tokens", STOP_LENGTH },
		{ "pause_turn", STOP_PAUSE }, { "compaction", STOP_PAUSE },
		{ "refusal", STOP_REFUSAL },  { "model_context_window_exceeded", STOP_CONTEXT },
	};
	enum provider_stop stop = stop_of(rows, ARRAY_SIZE(rows), raw, STOP_UNKNOWN);

	if (!*raw)
		return;
	if (stop == STOP_REFUSAL)
		answer_refuse(answer, json_str(details, "category"),
			      json_str(details, "explanation"));
	answer_stop(answer, stop, raw);
}

static void anthropic_event(struct answer *answer, const char *type, const json_t *doc,
			    struct rye_span text)
{
	json_int_t index = json_int(doc, "index", -1);
	const json_t *delta = json_object_get(doc, "delta");
	struct answer_block *block = answer_at(answer, index);

	if (!strcmp(type, "message_start")) {
		anthropic_take_usage(answer,
				     json_object_get(json_object_get(doc, "message"), "usage"));
	} else if (!strcmp(type, "content_block_start") && !block) {
		anthropic_begin_block(answer, json_object_get(doc, "content_block"),
				      raw_member(text, "content_block"));
		if (answer->n && answer->v[answer->n - 1].index < 0)
			answer->v[answer->n - 1].index = index;
	} else if (!strcmp(type, "content_block_delta")) {
		anthropic_take_delta(answer, block, delta);
	} else if (!strcmp(type, "content_block_stop")) {
		anthropic_end_block(answer, block);
	} else if (!strcmp(type, "message_delta")) {
		anthropic_take_usage(answer, json_object_get(doc, "usage"));
		anthropic_take_stop(answer, json_str(delta, "stop_reason"),
				    json_object_get(delta, "stop_details"));
	} else if (!strcmp(type, "message_stop")) {
		answer->terminal = answer->ended = true;
	}
}

static void anthropic_whole(struct answer *answer, const json_t *doc, struct rye_span text)
{
	struct raw_list content = raw_list_of(raw_member(text, "content"));
	const json_t *own;
	size_t i;

	json_array_foreach(json_object_get(doc, "content"), i, own) {
		anthropic_begin_block(answer, own, raw_next(&content));
		anthropic_end_block(answer, answer->n ? &answer->v[answer->n - 1] : NULL);
	}
	anthropic_take_usage(answer, json_object_get(doc, "usage"));
	anthropic_take_stop(answer, json_str(doc, "stop_reason"),
			    json_object_get(doc, "stop_details"));
	answer->terminal = answer->stopped;
}

const struct wire wire_anthropic = {
	.name = "anthropic_messages",
	.path = "/v1/messages",
	.stream_path = "/v1/messages",
	.max_field = "max_tokens",
	.text_type = "text",
	.put_image = anthropic_put_image,
	.flags_errors = true,
	.write = anthropic_write,
	.event = anthropic_event,
	.whole = anthropic_whole,
};
