/* SPDX-License-Identifier: MIT */
/*
 * Anthropic Messages. Blocks are told by index; a block that no delta has touched goes back in the
 * bytes it came in, another as its first object with the deltas put in.
 */
#include "wire/wire_inner.h"

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
	.cache_write = "cache_creation_input_tokens",
	.cache_write_1h = "cache_creation.ephemeral_1h_input_tokens",
	.output = "output_tokens",
	.reasoning = "output_tokens_details.thinking_tokens",
	.cached_apart = true,
};

static const struct block_row anthropic_blocks[] = {
	{ "text", BLOCK_TEXT, .text = "text" },
	{ "thinking", BLOCK_REASONING, .text = "thinking" },
	{ "tool_use", BLOCK_CALL, .args = "input" },
	{ NULL, BLOCK_OPAQUE, .args = "input" },
};

static void anthropic_citation(struct reading *r)
{
	json_t *list = r->block ? json_object_get(r->block->start, "citations") : NULL;

	if (!r->block || !r->block->open)
		return;
	if (!json_is_array(list)) {
		list = json_array();
		json_object_set_new(r->block->start, "citations", list);
	}
	json_array_append(list, (json_t *)r->value);
	r->block->changed = true;
}

static void anthropic_stop(struct reading *r)
{
	static const struct stop_row rows[] = {
		{ "end_turn", STOP_END },     { "stop_sequence", STOP_END },
		{ "tool_use", STOP_TOOL },    { "max_tokens", STOP_LENGTH },
		{ "pause_turn", STOP_PAUSE }, { "compaction", STOP_PAUSE },
		{ "refusal", STOP_REFUSAL },  { "model_context_window_exceeded", STOP_CONTEXT },
	};
	const json_t *details = json_object_get(r->around, "stop_details");
	const char *raw = read_span(r).ptr;
	enum provider_stop stop = stop_of(rows, ARRAY_SIZE(rows), raw, STOP_UNKNOWN);

	if (stop == STOP_REFUSAL)
		answer_refuse(r->answer, json_str(details, "category"),
			      json_str(details, "explanation"));
	if (*raw)
		answer_stop(r->answer, stop, raw);
	r->answer->terminal |= r->whole && *raw;
}

static const struct read_row anthropic_rows[] = {
	{ "message_start", "message.usage", read_usage },
	{ "content_block_start", "content_block", read_begin },
	{ "content_block_delta", "delta(text_delta).text", read_text },
	{ "content_block_delta", "delta(thinking_delta).thinking", read_text },
	{ "content_block_delta", "delta(input_json_delta).partial_json", read_args },
	{ "content_block_delta", "delta(signature_delta).signature", read_signature },
	{ "content_block_delta", "delta(citations_delta).citation", anthropic_citation },
	{ "content_block_delta", "delta", read_unknown },
	{ "content_block_stop", "", read_done },
	{ "message_delta", "usage", read_usage },
	{ "message_delta", "delta.stop_reason", anthropic_stop },
	{ "message_stop", "", read_end },
	{ WHOLE, "content[]", read_block },
	{ WHOLE, "usage", read_usage },
	{ WHOLE, "stop_reason", anthropic_stop },
	{ 0 },
};

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
	.rows = anthropic_rows,
	.blocks = anthropic_blocks,
	.usage = &anthropic_usage,
	.index = "index",
};
