/* SPDX-License-Identifier: MIT */
/*
 * OpenAI Chat Completions, as its many servers speak it: calls with and without index or id,
 * arguments as text or object, reasoning in either spelling, usage in any chunk or in none.
 */
#include "wire/wire_inner.h"

#include "scope.h"
#include "str.h"

#include <stdlib.h>

/* ---- writing ---- */

/* Some templates know a system's message at the beginning alone. one: NULL: that one. */
static bool fill_chat_role(struct wire_write *w, const json_t *one)
{
	const char *system = field_text(w->provider, "system_role", "system"), *role = "user";

	if (!one)
		role = system;
	else if (message_is(one, "system"))
		role = field_text(w->provider, "later_role", system);
	raw_string(w->out, span_of(role));
	return true;
}

/* All texts of the message; they are one on this wire. */
static void put_texts(const struct wire_write *w, struct rye_buf *out)
{
	const json_t *block;
	size_t i;

	json_array_foreach(w->blocks, i, block)
		if (block_is_said(w, block))
			buf_addspan(out, text_member(block, "text"));
}

/* A user's images, and those of results, which a tool's message cannot hold. */
static bool fill_chat_images(struct wire_write *w, const json_t *none)
{
	size_t before = w->out->len, i;
	const json_t *block;

	(void)none;
	json_array_foreach(w->blocks, i, block)
		if (block_is(block, "image"))
			block_put(w, block);
		else
			form_put(w, "@images", block);
	return w->out->len > before;
}

/* A text, or a list of it and images. */
static bool fill_chat_user(struct wire_write *w, const json_t *message)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *whole = NULL;
	const json_t *block;
	size_t i;

	json_array_foreach(w->blocks, i, block)
		if (result_images(w, block))
			buf_addf(&text, "Images of %s.\n", json_str(block, "name"));
	put_texts(w, &text);
	whole = json_pack("{s:s%}", "text", buf_span(&text).ptr, text.len);
	return form_put(w, "[?{type:text,text:@text},@chat_images]", whole) ||
	       form_put(w, "@text", whole);
}

static bool fill_calls(struct wire_write *w, const json_t *none)
{
	const json_t *block;
	bool any = false;
	size_t i;

	(void)none;
	json_array_foreach(w->blocks, i, block)
		any |= block_is(block, "tool_call") && block_put(w, block);
	return any;
}

/* In the field it came in, for servers that want it back; its raw form is that member alone. */
static bool fill_reasoning(struct wire_write *w, const json_t *none)
{
	const json_t *block;
	size_t i;

	(void)none;
	if (!strcmp(field_text(w->provider, "reasoning.replay", "none"), "none"))
		return true;
	json_array_foreach(w->blocks, i, block) {
		const char *raw = block_is(block, "reasoning") ? block_raw(w, block) : NULL;
		size_t n = raw ? strlen(raw) : 0;

		if (n < 3)
			continue;
		raw_comma(w->out);
		buf_add(w->out, raw + 1, n - 2);
	}
	return true;
}

/* A text, or null beside calls. */
static bool fill_chat_text(struct wire_write *w, const json_t *none)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	(void)none;
	put_texts(w, &text);
	if (text.len)
		raw_string(w->out, buf_span(&text));
	else
		buf_adds(w->out, "null");
	return text.len || json_find(w->blocks, "kind", "tool_call");
}

/* ---- reading ---- */

static const struct usage_paths chat_usage = {
	.input = "prompt_tokens",
	.cached = "prompt_cache_hit_tokens",
	.cached_too = "prompt_tokens_details.cached_tokens",
	.cache_write = "prompt_tokens_details.cache_write_tokens",
	.output = "completion_tokens",
	.reasoning = "completion_tokens_details.reasoning_tokens",
};

/* The first spelling that says something: some servers send the same text in two. */
static void chat_take_reasoning(struct answer *answer, const json_t *delta)
{
	static const char *const usual[] = { "reasoning_content", "reasoning" };
	const json_t *fields = field_at(answer->provider, "reasoning.fields");
	size_t n = json_is_array(fields) ? json_array_size(fields) : ARRAY_SIZE(usual);

	for (size_t i = 0; i < n; i++) {
		const char *name = json_is_array(fields) ?
					   json_string_value(json_array_get(fields, i)) :
					   usual[i];
		struct rye_span text = name ? text_member(delta, name) : SPAN("");
		struct answer_block *block;

		if (!text.len)
			continue;
		block = answer_run(answer, BLOCK_REASONING);
		if (block && !block->key)
			block->key = strdup(name);
		answer_text(answer, block, text);
		return;
	}
}

/* OpenRouter's list of typed parts: kept as a whole, since it may be signed. */
static void chat_take_details(struct answer *answer, const json_t *delta)
{
	json_t *details = json_object_get(delta, "reasoning_details"), *list;
	struct answer_block *block;

	if (!json_array_size(details))
		return;
	block = answer_run(answer, BLOCK_REASONING);
	if (!block)
		return;
	if (!block->start)
		block->start = json_pack("{s:[]}", "reasoning_details");
	list = json_object_get(block->start, "reasoning_details");
	json_array_extend(list, details);
}

/* Content is a text, or a list of parts with texts. */
static void chat_take_content(struct answer *answer, const json_t *delta)
{
	const json_t *part;
	size_t i;

	think_feed(answer, text_member(delta, "content"));
	json_array_foreach(json_object_get(delta, "content"), i, part)
		if (!strcmp(json_str(part, "type"), "text"))
			think_feed(answer, text_member(part, "text"));
}

static struct answer_block *chat_last_call(struct answer *answer)
{
	for (size_t i = answer->n; i-- > 0;)
		if (answer->v[i].kind == BLOCK_CALL)
			return &answer->v[i];
	return NULL;
}

/* Which call a piece belongs to; NULL: a new one. */
static struct answer_block *chat_call_of(struct answer *answer, const json_t *piece)
{
	const char *id = json_str(piece, "id");
	const char *name = json_str(json_object_get(piece, "function"), "name");
	json_int_t index = json_int(piece, "index", -1);
	struct answer_block *block = answer_at(answer, index), *last = chat_last_call(answer);

	if (index >= 0)
		return block && *id && block->key && strcmp(block->key, id) != 0 ? NULL : block;
	if (last && last->key && *id && !strcmp(last->key, id))
		return last;
	return *id || *name ? NULL : last;
}

static void chat_keep_other(struct answer_block *block, const json_t *piece)
{
	json_t *own = (json_t *)piece, *value;
	const char *key;

	json_object_foreach(own, key, value)
		if (strcmp(key, "function") != 0 && strcmp(key, "index") != 0 &&
		    strcmp(key, "id") != 0)
			json_object_set(block->start, key, value);
}

static void chat_take_call(struct answer *answer, const json_t *piece)
{
	const json_t *function = json_object_get(piece, "function");
	const json_t *arguments = json_object_get(function, "arguments");
	const char *id = json_str(piece, "id");
	struct answer_block *block = chat_call_of(answer, piece);
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (!json_is_object(piece))
		return;
	if (!block) {
		block = answer_add(answer, BLOCK_CALL);
		if (!block)
			return;
		block->index = json_int(piece, "index", -1);
		block->start = json_pack("{s:s}", "type", "function");
	}
	if (*id && !block->key)
		block->key = strdup(id);
	chat_keep_other(block, piece);
	answer_call(answer, block, id, json_str(function, "name"));
	if (json_object_size(arguments))
		json_put(&text, arguments, false);
	answer_args(answer, block, text.len ? buf_span(&text) : text_member(function, "arguments"));
}

static void chat_make_raw(struct answer_block *block)
{
	auto_buf struct rye_buf function = RYE_BUF_INIT;
	bool whole = !block->incomplete && block->args.len;

	if (block->kind == BLOCK_REASONING && block->start) {
		json_put(&block->raw, block->start, false);
	} else if (block->kind == BLOCK_REASONING && block->key) {
		buf_addc(&block->raw, '{');
		raw_span(&block->raw, block->key, buf_span(&block->text));
		buf_addc(&block->raw, '}');
	} else if (block->kind == BLOCK_CALL) {
		buf_addc(&function, '{');
		raw_span(&function, "name", text_member(block->extra, "name"));
		raw_span(&function, "arguments", whole ? buf_span(&block->args) : SPAN("{}"));
		buf_addc(&function, '}');
		json_object_set(block->start, "id", json_object_get(block->extra, "id"));
		raw_splice(&block->raw, block->start, "function", buf_span(&function));
	}
}

static void chat_close(struct answer *answer)
{
	think_end(answer);
	for (size_t i = 0; i < answer->n; i++)
		if (answer_done(answer, &answer->v[i]))
			chat_make_raw(&answer->v[i]);
}

static enum provider_stop chat_stop(const struct answer *answer, const char *raw)
{
	/* OpenAI's, then those of servers that pass on another wire's */
	static const struct stop_row rows[] = {
		{ "stop", STOP_END },	       { "tool_calls", STOP_END },
		{ "function_call", STOP_END }, { "length", STOP_LENGTH },
		{ "end_turn", STOP_END },      { "tool_use", STOP_END },
		{ "stop_sequence", STOP_END }, { "max_tokens", STOP_LENGTH },
		{ "STOP", STOP_END },	       { "MAX_TOKENS", STOP_LENGTH },
		{ "eos", STOP_END },	       { "model_length", STOP_LENGTH },
		{ "eos_token", STOP_END },     { "COMPLETE", STOP_END },
		{ "completed", STOP_END },     { "content_filter", STOP_REFUSAL },
	};
	enum provider_stop stop = stop_of(rows, ARRAY_SIZE(rows), raw, STOP_UNKNOWN);

	if (answer->refused)
		return STOP_REFUSAL;
	return stop == STOP_END && answer_has(answer, BLOCK_CALL) ? STOP_TOOL : stop;
}

/* An answer without a word whose prompt filled the window. */
static void chat_check_window(struct reading *r)
{
	struct answer *answer = r->answer;
	const struct provider_usage *use = &answer->usage;
	json_int_t input = use->uncached + use->cache_read + use->cache_write;

	if (answer->stopped && answer->stop == STOP_LENGTH && !answer->n && !use->output &&
	    answer->provider->window > 0 && input * 100 >= answer->provider->window * 99)
		answer->stop = STOP_CONTEXT;
}

static void chat_take_stop(struct reading *r)
{
	struct answer *answer = r->answer;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const char *raw = read_span(r).ptr;

	if (answer->stopped || !*raw)
		return;
	chat_close(answer);
	for (size_t i = 0; i < answer->n; i++)
		if (answer->v[i].kind == BLOCK_REFUSAL)
			buf_add(&text, answer->v[i].text.data, answer->v[i].text.len);
	if (text.len)
		answer_refuse(answer, "", text.data);
	else if (!strcmp(raw, "content_filter"))
		answer_refuse(answer, raw, "");
	answer_stop(answer, chat_stop(answer, raw), raw);
	answer->terminal |= r->whole;
}

static void chat_take_delta(struct reading *r)
{
	struct rye_span refusal = text_member(r->value, "refusal");
	struct answer *answer = r->answer;
	const json_t *piece;
	size_t i;

	if (answer->stopped)
		return;
	chat_take_reasoning(answer, r->value);
	chat_take_details(answer, r->value);
	chat_take_content(answer, r->value);
	if (refusal.len)
		answer_text(answer, answer_run(answer, BLOCK_REFUSAL), refusal);
	json_array_foreach(json_object_get(r->value, "tool_calls"), i, piece)
		chat_take_call(answer, piece);
}

static const struct read_row chat_rows[] = {
	{ "", "choices[0].delta", chat_take_delta },
	{ WHOLE, "choices[0].message", chat_take_delta },
	{ "", "usage", read_usage },
	{ "", "choices[0].finish_reason", chat_take_stop },
	{ "", "", chat_check_window },
	{ 0 },
};

const struct wire wire_chat = {
	.name = "openai_chat",
	.path = "/v1/chat/completions",
	.stream_path = "/v1/chat/completions",
	.body = "{model:@model,messages:[?{role:@chat_role,content:@system},@messages],"
		"?tools:[@tools],?stream:@stream,?stream_options:@stream_options,"
		"?prompt_cache_key:@cache_key,@rest}",
	.tool = "{type:function,function:{name:@name,description:@about,parameters:@schema,"
		"?strict:@is_strict}}",
	.user = "{role:@chat_role,content:@chat_user}",
	.answer = "{role:assistant,content:@chat_text,@reasoning,?tool_calls:[@calls]}",
	.image = "{type:image_url,image_url:{url:@data_url}}",
	.call = "{id:@id,type:function,function:{name:@name,arguments:@arguments_text}}",
	.result = "{role:tool,tool_call_id:@id,content:@result_text}",
	.stream_options = "{include_usage:true}",
	.names = { { "calls", fill_calls },
		   { "chat_images", fill_chat_images },
		   { "chat_role", fill_chat_role },
		   { "chat_text", fill_chat_text },
		   { "chat_user", fill_chat_user },
		   { "reasoning", fill_reasoning } },
	.cache_mode = "none",
	.max_field = "max_tokens",
	.results = RESULTS_BESIDE,
	.write = form_write,
	.rows = chat_rows,
	.usage = &chat_usage,
};
