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

static const json_t *last_of(const json_t *list)
{
	return json_array_get(list, json_array_size(list) - 1);
}

/* On the last block that is sent, the system's text, or the last tool where there is none. */
static bool fill_mark(struct wire_write *w, const json_t *one)
{
	bool system = w->request->system && *w->request->system;
	bool due = !one || (w->last && one == last_of(w->blocks)) ||
		   (!system && one == last_of(w->request->tools));

	if (!due || !cache_is(w->provider, "marks"))
		return false;
	buf_addf(w->out, "{\"type\":\"ephemeral\",\"ttl\":\"%s\"}",
		 !strcmp(field_text(w->provider, "cache.ttl", "5m"), "1h") ? "1h" : "5m");
	return true;
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
	.body = "{model:@model,?stream:@stream,"
		"?system:[{type:text,text:@system,?cache_control:@mark}],"
		"?tools:[@tools],messages:[@messages],@rest}",
	.tool = "{name:@name,description:@about,input_schema:@schema,?strict:@is_strict,"
		"?cache_control:@mark}",
	.user = "{role:@role,content:[@parts]}",
	.answer = "{role:@role,content:[@parts]}",
	.text = "{type:text,text:@text,?cache_control:@mark}",
	.said = "{type:text,text:@text,?cache_control:@mark}",
	.image = "{type:image,source:{type:base64,media_type:@media,data:@data},"
		 "?cache_control:@mark}",
	.call = "{type:tool_use,id:@id,name:@name,input:@arguments,?cache_control:@mark}",
	.result = "{type:tool_result,tool_use_id:@id,content:@content,?is_error:@failed,"
		  "?cache_control:@mark}",
	.names = { { "mark", fill_mark } },
	.cache_mode = "marks",
	.max_field = "max_tokens",
	/* text before a result invites empty answers */
	.results = RESULTS_FIRST,
	.flags_errors = true,
	.pauses = true,
	.write = form_write,
	.event = anthropic_event,
	.whole = anthropic_whole,
};
