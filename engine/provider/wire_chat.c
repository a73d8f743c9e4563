/* SPDX-License-Identifier: MIT */
/*
 * OpenAI Chat Completions, as its many servers speak it: calls with and without index or id,
 * arguments as text or object, reasoning in either spelling, usage in any chunk or in none.
 */
#include "provider/provider_inner.h"

#include "scope.h"
#include "str.h"

#include <stdlib.h>

/* ---- writing ---- */

static void chat_put_tools(struct wire_write *w)
{
	const json_t *tool;
	size_t i;

	raw_key(w->out, "tools");
	buf_addc(w->out, '[');
	json_array_foreach(w->request->tools, i, tool) {
		auto_json json_t *schema = tool_schema(w, tool);

		raw_comma(w->out);
		buf_adds(w->out, "{\"type\":\"function\",\"function\":{");
		raw_text(w->out, "name", json_str(tool, "name"));
		raw_text(w->out, "description", json_str(tool, "description"));
		raw_value(w->out, "parameters", schema);
		if (!strcmp(schema_style(w), "strict"))
			raw_value(w->out, "strict", json_true());
		buf_adds(w->out, "}}");
	}
	buf_addc(w->out, ']');
}

static void chat_put_role(struct wire_write *w, const char *role)
{
	raw_comma(w->out);
	buf_addc(w->out, '{');
	raw_text(w->out, "role", role);
}

static void chat_put_image(struct wire_write *w, const json_t *image)
{
	auto_buf struct rye_buf url = RYE_BUF_INIT;

	image_url_put(image, &url);
	raw_comma(w->out);
	buf_adds(w->out, "{\"type\":\"image_url\",\"image_url\":{");
	raw_text(w->out, "url", url.data ? url.data : "");
	buf_adds(w->out, "}}");
}

static void chat_put_result(struct wire_write *w, const json_t *block)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char id[65];

	result_id(w, json_str(block, "id"), id);
	result_text_put(w, block, true, &text);
	chat_put_role(w, "tool");
	raw_text(w->out, "tool_call_id", id);
	raw_text(w->out, "content", text.data);
	buf_addc(w->out, '}');
}

/* All texts of the message; they are one on this wire. */
static void chat_put_texts(const json_t *blocks, struct rye_buf *out)
{
	const json_t *block;
	size_t i;

	json_array_foreach(blocks, i, block)
		if (block_is(block, "text") || block_is(block, "refusal"))
			buf_addspan(out, text_member(block, "text"));
}

/* A user's images, and those of results, which a tool's message cannot hold. */
static size_t chat_put_images(struct wire_write *w, const json_t *blocks)
{
	const json_t *block, *image;
	size_t i, k, n = 0;

	json_array_foreach(blocks, i, block) {
		if (block_is(block, "image"))
			chat_put_image(w, block);
		n += block_is(block, "image");
		json_array_foreach(result_images(w, block), k, image) {
			chat_put_image(w, image);
			n++;
		}
	}
	return n;
}

/* Some templates know a system's message at the beginning alone. */
static const char *chat_role(const struct wire_write *w, const json_t *message)
{
	const char *system = field_text(w->provider, "system_role", "system");

	if (!message_is(message, "system"))
		return "user";
	return field_text(w->provider, "later_role", system);
}

static void chat_put_user(struct wire_write *w, const json_t *message)
{
	const json_t *blocks = json_object_get(message, "blocks"), *block;
	auto_buf struct rye_buf text = RYE_BUF_INIT, images = RYE_BUF_INIT;
	struct rye_buf *out = w->out;
	size_t i, n;

	json_array_foreach(blocks, i, block) {
		if (!block_is(block, "tool_result"))
			continue;
		chat_put_result(w, block);
		if (result_images(w, block))
			buf_addf(&text, "Images of %s.\n", json_str(block, "name"));
	}
	chat_put_texts(blocks, &text);
	w->out = &images;
	n = chat_put_images(w, blocks);
	w->out = out;
	if (!text.len && !n)
		return;
	chat_put_role(w, chat_role(w, message));
	raw_key(out, "content");
	if (!n) {
		raw_string(out, (struct rye_span){ text.data, text.len });
		buf_addc(out, '}');
		return;
	}
	buf_addc(out, '[');
	if (text.len) {
		buf_adds(out, "{\"type\":\"text\"");
		raw_text(out, "text", text.data);
		buf_adds(out, "},");
	}
	buf_add(out, images.data, images.len);
	buf_adds(out, "]}");
}

static void chat_put_call(struct wire_write *w, const json_t *block)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char id[65];

	result_id(w, json_str(block, "id"), id);
	arguments_put(block, &text);
	buf_addc(w->out, '{');
	raw_text(w->out, "id", id);
	raw_text(w->out, "type", "function");
	raw_key(w->out, "function");
	buf_addc(w->out, '{');
	raw_text(w->out, "name", json_str(block, "name"));
	raw_text(w->out, "arguments", text.data);
	buf_adds(w->out, "}}");
}

static void chat_put_calls(struct wire_write *w, const json_t *blocks)
{
	const json_t *block;
	bool any = false;
	size_t i;

	json_array_foreach(blocks, i, block) {
		const char *raw = block_raw(w, block);

		if (!block_is(block, "tool_call"))
			continue;
		if (!any)
			raw_key(w->out, "tool_calls");
		buf_addc(w->out, any ? ',' : '[');
		any = true;
		if (raw)
			buf_adds(w->out, raw);
		else
			chat_put_call(w, block);
	}
	if (any)
		buf_addc(w->out, ']');
}

/* In the field it came in, for servers that want it back; its raw form is that member alone. */
static void chat_put_reasoning(struct wire_write *w, const json_t *blocks)
{
	const json_t *block;
	size_t i;

	if (!strcmp(field_text(w->provider, "reasoning.replay", "none"), "none"))
		return;
	json_array_foreach(blocks, i, block) {
		const char *raw = block_is(block, "reasoning") ? block_raw(w, block) : NULL;
		size_t n = raw ? strlen(raw) : 0;

		if (n < 3)
			continue;
		raw_comma(w->out);
		buf_add(w->out, raw + 1, n - 2);
	}
}

static void chat_put_assistant(struct wire_write *w, const json_t *message)
{
	const json_t *blocks = json_object_get(message, "blocks"), *block;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	bool calls = false;
	size_t i;

	json_array_foreach(blocks, i, block)
		calls |= block_is(block, "tool_call");
	chat_put_texts(blocks, &text);
	if (!calls && !text.len)
		return;
	chat_put_role(w, "assistant");
	raw_key(w->out, "content");
	if (text.len)
		raw_string(w->out, (struct rye_span){ text.data, text.len });
	else
		buf_adds(w->out, "null");
	chat_put_reasoning(w, blocks);
	chat_put_calls(w, blocks);
	buf_addc(w->out, '}');
}

static void chat_put_messages(struct wire_write *w)
{
	const json_t *message;
	size_t i;

	raw_key(w->out, "messages");
	buf_addc(w->out, '[');
	if (w->request->system && *w->request->system) {
		chat_put_role(w, field_text(w->provider, "system_role", "system"));
		raw_text(w->out, "content", w->request->system);
		buf_addc(w->out, '}');
	}
	json_array_foreach(w->request->messages, i, message) {
		if (message_is(message, "assistant"))
			chat_put_assistant(w, message);
		else
			chat_put_user(w, message);
	}
	buf_addc(w->out, ']');
}

static void chat_write(struct wire_write *w)
{
	const json_t *options = json_object_get(w->provider->item, "stream_options");
	auto_json json_t *usage = json_pack("{s:b}", "include_usage", 1);

	buf_addc(w->out, '{');
	raw_text(w->out, "model", w->provider->model);
	chat_put_messages(w);
	if (has_tools(w))
		chat_put_tools(w);
	if (request_streams(w))
		raw_value(w->out, "stream", json_true());
	if (request_streams(w) && !json_is_false(options) &&
	    !(w->request->relief & RELIEF_NO_STREAM_OPTIONS))
		raw_value(w->out, "stream_options", json_is_object(options) ? options : usage);
	if (w->request->conversation &&
	    !strcmp(field_text(w->provider, "cache.mode", "none"), "key"))
		raw_text(w->out, "prompt_cache_key", w->request->conversation);
	write_rest(w);
}

/*
 * ---- reasoning in tags ----
 * At the beginning of the content of servers that do not take it apart: only a leading pair counts,
 * later ones are text. A tag may come in pieces.
 */

#define THINK_BEGIN "<think>"
#define THINK_END "</think>"

static void think_tell(struct answer *answer, enum block_kind kind, struct rye_span text)
{
	if (text.len)
		answer_text(answer, answer_run(answer, kind), text);
}

static size_t count_blanks(struct rye_span text)
{
	size_t n = 0;

	while (n < text.len && strchr(" \t\r\n", text.ptr[n]))
		n++;
	return n;
}

/* Is the text the beginning of the tag, or the other way round? */
static bool may_be(struct rye_span text, const char *tag)
{
	size_t n = MIN_OF(text.len, strlen(tag));

	return !memcmp(text.ptr, tag, n);
}

/* How many of the last bytes may be the beginning of the closing tag. */
static size_t tail_of(struct rye_span text)
{
	size_t n = MIN_OF(text.len, strlen(THINK_END) - 1);

	while (n && memcmp(text.ptr + text.len - n, THINK_END, n) != 0)
		n--;
	return n;
}

/* One step; how many bytes it has dealt with, 0: more has to come. */
static size_t think_lead(struct answer *answer, struct rye_span text)
{
	size_t blanks = count_blanks(text);
	struct rye_span rest = span_skip(text, blanks);

	if (!rest.len || (rest.len < strlen(THINK_BEGIN) && may_be(rest, THINK_BEGIN)))
		return 0;
	if (!span_starts(rest, THINK_BEGIN)) {
		answer->think = THINK_OFF;
		think_tell(answer, BLOCK_TEXT, text);
		return text.len;
	}
	answer->think = THINK_INSIDE;
	return blanks + strlen(THINK_BEGIN);
}

static size_t think_inside(struct answer *answer, struct rye_span text)
{
	ssize_t end = span_find(text, 0, THINK_END);
	size_t n = end < 0 ? text.len - tail_of(text) : (size_t)end;

	think_tell(answer, BLOCK_REASONING, (struct rye_span){ text.ptr, n });
	if (end < 0)
		return n;
	answer->think = THINK_TAIL;
	return n + strlen(THINK_END);
}

static size_t think_step(struct answer *answer, struct rye_span text)
{
	size_t blanks;

	switch (answer->think) {
	case THINK_LEAD:
		return think_lead(answer, text);
	case THINK_INSIDE:
		return think_inside(answer, text);
	case THINK_TAIL:
		blanks = count_blanks(text);
		if (blanks < text.len)
			answer->think = THINK_OFF;
		return blanks;
	default:
		think_tell(answer, BLOCK_TEXT, text);
		return text.len;
	}
}

static void think_feed(struct answer *answer, struct rye_span text)
{
	auto_buf struct rye_buf all = answer->held;
	size_t at = 0, n = 1;

	answer->held = RYE_BUF_INIT;
	buf_addspan(&all, text);
	while (n && at < all.len) {
		n = think_step(answer, (struct rye_span){ all.data + at, all.len - at });
		at += n;
	}
	buf_add(&answer->held, all.data ? all.data + at : "", all.len - at);
}

void think_end(struct answer *answer)
{
	auto_buf struct rye_buf all = answer->held;
	enum block_kind kind = answer->think == THINK_INSIDE ? BLOCK_REASONING : BLOCK_TEXT;

	answer->held = RYE_BUF_INIT;
	if (all.len)
		think_tell(answer, kind, (struct rye_span){ all.data, all.len });
}

/* ---- reading ---- */

static void chat_take_usage(struct answer *answer, const json_t *usage)
{
	struct provider_usage *use = &answer->usage;
	const json_t *details = json_object_get(usage, "prompt_tokens_details");
	json_int_t all = use->uncached + use->cache_read + use->cache_write;

	if (!json_object_size(usage))
		return;
	use->known = true;
	usage_take(usage, "prompt_tokens", &all);
	usage_take(usage, "prompt_cache_hit_tokens", &use->cache_read);
	usage_take(details, "cached_tokens", &use->cache_read);
	usage_take(details, "cache_write_tokens", &use->cache_write);
	use->uncached = MAX_OF(all - use->cache_read - use->cache_write, 0);
	usage_take(usage, "completion_tokens", &use->output);
	usage_take(json_object_get(usage, "completion_tokens_details"), "reasoning_tokens",
		   &use->reasoning);
}

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
	answer_args(answer, block,
		    text.len ? (struct rye_span){ text.data, text.len } :
			       text_member(function, "arguments"));
}

static void chat_make_raw(struct answer_block *block)
{
	auto_buf struct rye_buf function = RYE_BUF_INIT;

	if (block->kind == BLOCK_REASONING && block->start) {
		json_put(&block->raw, block->start, false);
	} else if (block->kind == BLOCK_REASONING && block->key) {
		buf_addc(&block->raw, '{');
		raw_key(&block->raw, block->key);
		raw_string(&block->raw, (struct rye_span){ block->text.data, block->text.len });
		buf_addc(&block->raw, '}');
	} else if (block->kind == BLOCK_CALL) {
		buf_addc(&function, '{');
		raw_text(&function, "name", json_str(block->extra, "name"));
		raw_key(&function, "arguments");
		raw_string(&function,
			   block->incomplete || !block->args.len ?
				   SPAN("{}") :
				   (struct rye_span){ block->args.data, block->args.len });
		buf_addc(&function, '}');
		json_object_set(block->start, "id", json_object_get(block->extra, "id"));
		raw_splice(&block->raw, block->start, "function",
			   (struct rye_span){ function.data, function.len });
	}
}

static void chat_close(struct answer *answer)
{
	think_end(answer);
	for (size_t i = 0; i < answer->n; i++) {
		struct answer_block *block = &answer->v[i];

		if (!block->open)
			continue;
		answer_done(answer, block);
		chat_make_raw(block);
	}
}

static enum provider_stop chat_stop(const struct answer *answer, const char *raw)
{
	if (!strcmp(raw, "content_filter") || answer->refused)
		return STOP_REFUSAL;
	if (!strcmp(raw, "length"))
		return STOP_LENGTH;
	return answer_has(answer, BLOCK_CALL) ? STOP_TOOL : STOP_END;
}

/* An answer without a word whose prompt filled the window. */
static void chat_check_window(struct answer *answer)
{
	const struct provider_usage *use = &answer->usage;
	json_int_t input = use->uncached + use->cache_read + use->cache_write;

	if (answer->stop == STOP_LENGTH && !answer->n && !use->output &&
	    answer->provider->window > 0 && input * 100 >= answer->provider->window * 99)
		answer->stop = STOP_CONTEXT;
}

static void chat_take_stop(struct answer *answer, const char *raw)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (!*raw)
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
}

static void chat_take_delta(struct answer *answer, const json_t *delta)
{
	struct rye_span refusal = text_member(delta, "refusal");
	const json_t *piece;
	size_t i;

	chat_take_reasoning(answer, delta);
	chat_take_details(answer, delta);
	chat_take_content(answer, delta);
	if (refusal.len)
		answer_text(answer, answer_run(answer, BLOCK_REFUSAL), refusal);
	json_array_foreach(json_object_get(delta, "tool_calls"), i, piece)
		chat_take_call(answer, piece);
}

static void chat_take(struct answer *answer, const json_t *doc, const char *member)
{
	const json_t *choice = json_array_get(json_object_get(doc, "choices"), 0);

	if (!answer->stopped)
		chat_take_delta(answer, json_object_get(choice, member));
	chat_take_usage(answer, json_object_get(doc, "usage"));
	chat_take_stop(answer, answer->stopped ? "" : json_str(choice, "finish_reason"));
	if (answer->stopped)
		chat_check_window(answer);
}

static void chat_event(struct answer *answer, const char *type, const json_t *doc,
		       struct rye_span text)
{
	(void)type;
	(void)text;
	chat_take(answer, doc, "delta");
}

static void chat_whole(struct answer *answer, const json_t *doc, struct rye_span text)
{
	(void)text;
	chat_take(answer, doc, "message");
	answer->terminal = answer->stopped;
}

const struct wire wire_chat = {
	.name = "openai_chat",
	.path = "/v1/chat/completions",
	.stream_path = "/v1/chat/completions",
	.max_field = "max_tokens",
	.write = chat_write,
	.event = chat_event,
	.whole = chat_whole,
};
