/* SPDX-License-Identifier: MIT */
/*
 * The wires, by name and by the address they are spoken at; and what the names in their forms stand
 * for, in alphabetical order: a wire's row has those of its own. Pure: the same request is the same
 * bytes, since providers keep what they have seen by its bytes.
 */
#include "wire/wire_inner.h"

#include "base/sha.h"
#include "scope.h"
#include "str.h"

#include <stdlib.h>

/* Of the 64 digits of a digest: enough that no two threads of an account share a key. */
#define CACHE_KEY_LEN 32

static const struct wire *const wire_rows[] = {
	&wire_anthropic, &wire_responses, &wire_chat, &wire_gemini, &wire_interactions,
};

/* What an item without `wire` speaks. */
static const struct {
	const char *end; /* of an address */
	const struct wire *wire;
} wire_ends[] = {
	{ "/messages", &wire_anthropic },    { "/responses", &wire_responses },
	{ "/chat/completions", &wire_chat }, { "GenerateContent", &wire_gemini },
	{ "generateContent", &wire_gemini }, { "/interactions", &wire_interactions },
};

const char *wire_name(const struct wire *wire)
{
	return wire->name;
}

const char *wire_path(const struct wire *wire, bool stream)
{
	return stream ? wire->stream_path : wire->path;
}

const char *wire_known(size_t n)
{
	return n < ARRAY_SIZE(wire_rows) ? wire_rows[n]->name : NULL;
}

const struct wire *wire_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(wire_rows); i++)
		if (!strcmp(wire_rows[i]->name, name))
			return wire_rows[i];
	return NULL;
}

const struct wire *wire_of_url(const char *url)
{
	auto_free char *path = strndup(url, strcspn(url, "?#"));

	for (size_t i = 0; path && i < ARRAY_SIZE(wire_ends); i++)
		if (str_ends(path, wire_ends[i].end))
			return wire_ends[i].wire;
	return NULL;
}

static const char *const stop_names[] = {
	[STOP_ERROR] = "error",	    [STOP_END] = "end",		  [STOP_TOOL] = "tool",
	[STOP_LENGTH] = "length",   [STOP_CONTEXT] = "context",	  [STOP_PAUSE] = "pause",
	[STOP_REFUSAL] = "refusal", [STOP_BAD_CALL] = "bad_call", [STOP_UNKNOWN] = "unknown",
};

const char *provider_stop_name(enum provider_stop stop)
{
	return stop_names[stop];
}

enum provider_stop stop_of(const struct stop_row *rows, size_t n, const char *raw,
			   enum provider_stop other)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(rows[i].raw, raw))
			return rows[i].stop;
	return other;
}

/* ---- blocks and fields ---- */

bool message_is(const json_t *message, const char *role)
{
	return !strcmp(json_str(message, "role"), role);
}

bool block_is(const json_t *block, const char *kind)
{
	return !strcmp(json_str(block, "kind"), kind);
}

const json_t *field_at(const struct provider *provider, const char *path)
{
	const json_t *at = provider->fields;

	while (at && *path) {
		char name[64];
		size_t n = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		at = json_object_get(at, name);
		path += n + (path[n] == '.');
	}
	return at;
}

const char *field_text(const struct provider *provider, const char *path, const char *fallback)
{
	const json_t *value = field_at(provider, path);

	return json_is_string(value) ? json_string_value(value) : fallback;
}

struct tool_telling telling_of(const struct provider *provider)
{
	const struct wire_rules *rules = rules_of(provider->wire->name);
	const char *style = field_text(provider, "tools.schema", "");
	const json_t *strict = field_at(provider, "tools.strict");

	return (struct tool_telling){
		.rules = rules,
		.words = !strcmp(style, "openapi_subset") ? WORDS_SUBSET : rules->words,
		.strict = json_is_boolean(strict) ? json_is_true(strict) : rules->strict,
		.all_strict = !strcmp(style, "strict"),
	};
}

bool cache_is(const struct provider *provider, const char *mode)
{
	return !strcmp(field_text(provider, "cache.mode", provider->wire->cache_mode), mode);
}

static const struct wire_rules *rules(const struct wire_write *w)
{
	return rules_of(w->provider->wire->name);
}

/* ---- blocks ---- */

/* Some servers send calls that they do not take back; ids that they have spelt otherwise they do. */
static bool call_fits(const struct wire_write *w, const json_t *call)
{
	return strlen(json_str(call, "id")) <= rules(w)->id.max &&
	       rule_fits(&rules(w)->name, json_str(call, "name"));
}

const char *block_raw(const struct wire_write *w, const json_t *block)
{
	const char *raw = json_str(block, "raw");

	if (!w->raw || !*raw || (block_is(block, "tool_call") && !call_fits(w, block)))
		return NULL;
	return raw;
}

bool block_is_said(const struct wire_write *w, const json_t *block)
{
	struct rye_span text = text_member(block, "text");

	if (!rules(w)->blank_texts)
		text = span_trim(text);
	return (block_is(block, "text") || block_is(block, "refusal")) && text.len;
}

const json_t *result_call(const struct wire_write *w, const json_t *result)
{
	return json_object_get(w->calls, json_str(result, "id"));
}

bool image_fits(const struct wire_write *w, const json_t *image)
{
	char type[100];

	snprintf(type, sizeof(type), " %.80s ", json_str(image, "media_type"));
	return strstr(rules(w)->images, type);
}

/* All of them, or none: what is left out is told in the text. */
const json_t *result_images(const struct wire_write *w, const json_t *result)
{
	const json_t *images = json_object_get(result, "images"), *image;
	bool fit = w->provider->images_in_results && json_array_size(images);
	size_t i;

	json_array_foreach(images, i, image)
		fit = fit && image_fits(w, image);
	return fit ? images : NULL;
}

/* Valid UTF-8 by its origin; a NUL would end the text for some servers. */
void result_text_put(const struct wire_write *w, const json_t *result, bool say_error,
		     struct rye_buf *out)
{
	struct rye_span text = text_member(result, "text");

	buf_adds(out, say_error && json_flag(result, "is_error", false) ? "Error: " : "");
	/* Anthropic refuses an error without a word */
	if (!text.len && json_flag(result, "is_error", false))
		buf_adds(out, "no reason was given");
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i])
			buf_addc(out, text.ptr[i]);
		else
			buf_adds(out, "\xef\xbf\xbd");
	}
	if (json_array_size(json_object_get(result, "images")) && !result_images(w, result))
		buf_adds(out, "\n[images of this result are not shown]");
}

bool block_put(struct wire_write *w, const json_t *block)
{
	const struct wire *wire = w->provider->wire;
	const char *raw = block_raw(w, block);

	if (raw) {
		raw_comma(w->out);
		buf_adds(w->out, raw);
		return true;
	}
	if (block_is(block, "tool_result"))
		return form_put(w, wire->result, block);
	if (block_is(block, "tool_call"))
		return form_put(w, wire->call, block);
	if (block_is(block, "image"))
		return image_fits(w, block) && form_put(w, wire->image, block);
	return block_is_said(w, block) && form_put(w, w->own ? wire->said : wire->text, block);
}

/* A text of blanks that it has said itself is refused as well, but reasoning is bound to all beside it. */
static bool block_stays(const struct wire_write *w, const json_t *block)
{
	return rules(w)->blank_texts || !block_is(block, "text") || block_is_said(w, block) ||
	       json_find(w->blocks, "kind", "reasoning");
}

/* Blocks that go back: where the wire wants it, reasoning at an answer's end is left out. */
static size_t blocks_end(const struct wire_write *w)
{
	size_t n = json_array_size(w->blocks);

	if (w->provider->wire->pauses && w->last)
		return n;
	while (n && !rules(w)->reasoning_last &&
	       block_is(json_array_get(w->blocks, n - 1), "reasoning"))
		n--;
	return n;
}

static void put_results(struct wire_write *w)
{
	const json_t *block;
	size_t i;

	json_array_foreach(w->blocks, i, block)
		if (block_is(block, "tool_result"))
			block_put(w, block);
}

static void put_blocks(struct wire_write *w)
{
	bool apart = w->provider->wire->results != RESULTS_IN_ORDER;
	size_t n = blocks_end(w);

	for (size_t i = 0; i < n; i++) {
		const json_t *block = json_array_get(w->blocks, i);

		if (!(apart && block_is(block, "tool_result")) && block_stays(w, block))
			block_put(w, block);
	}
}

/* ---- what the names stand for ---- */

static bool put_text(struct wire_write *w, struct rye_span text)
{
	if (text.len)
		raw_string(w->out, text);
	return text.len;
}

static bool fill_about(struct wire_write *w, const json_t *tool)
{
	raw_string(w->out, text_member(tool, "description"));
	return true;
}

/* A call's arguments as JSON; of one that was cut there are none. */
static void put_arguments(const struct wire_write *w, const json_t *call, struct rye_buf *out)
{
	auto_json json_t *arguments = json_deep_copy(json_object_get(call, "arguments"));
	struct tool_telling how = telling_of(w->provider);

	arguments_to_wire(&how, w->offered, json_str(call, "name"), arguments);
	if (json_is_object(arguments))
		json_put(out, arguments, false);
	else
		buf_adds(out, "{}");
}

static bool fill_arguments(struct wire_write *w, const json_t *call)
{
	put_arguments(w, call, w->out);
	return true;
}

static bool fill_arguments_text(struct wire_write *w, const json_t *call)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	put_arguments(w, call, &text);
	return put_text(w, buf_span(&text));
}

/* A thread's id has any length; vendors take keys of 64 characters. */
static bool fill_cache_key(struct wire_write *w, const json_t *none)
{
	const char *conversation = w->request->conversation;
	char hex[SHA_HEX];

	(void)none;
	if (!conversation || !cache_is(w->provider, "key"))
		return false;
	sha256_hex(span_of(conversation), hex);
	return put_text(w, (struct rye_span){ hex, CACHE_KEY_LEN });
}

static bool fill_images(struct wire_write *w, const json_t *result)
{
	const json_t *images = result_images(w, result), *image;
	size_t i;

	json_array_foreach(images, i, image)
		form_put(w, w->provider->wire->image, image);
	return images;
}

/* Of wires without a flag for errors the text says so itself. */
static bool fill_result_text(struct wire_write *w, const json_t *result)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	result_text_put(w, result, !w->provider->wire->flags_errors, &text);
	raw_string(w->out, buf_span(&text));
	return true;
}

/* That text, or a list of it and the images that the model gets. */
static bool fill_content(struct wire_write *w, const json_t *result)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *block = NULL;

	if (!result_images(w, result))
		return fill_result_text(w, result);
	result_text_put(w, result, !w->provider->wire->flags_errors, &text);
	block = json_pack("{s:s%}", "text", buf_span(&text).ptr, text.len);
	buf_addc(w->out, '[');
	form_put(w, w->provider->wire->text, block);
	fill_images(w, result);
	buf_addc(w->out, ']');
	return true;
}

static bool fill_continuation(struct wire_write *w, const json_t *none)
{
	(void)none;
	return w->request->continuation && put_text(w, span_of(w->request->continuation));
}

static bool fill_data(struct wire_write *w, const json_t *image)
{
	raw_string(w->out, text_member(image, "data"));
	return true;
}

static bool fill_data_url(struct wire_write *w, const json_t *image)
{
	auto_buf struct rye_buf url = RYE_BUF_INIT;

	buf_addf(&url, "data:%s;base64,", json_str(image, "media_type"));
	buf_adds(&url, json_str(image, "data"));
	return put_text(w, buf_span(&url));
}

static bool fill_failed(struct wire_write *w, const json_t *result)
{
	buf_adds(w->out, "true");
	return json_flag(result, "is_error", false);
}

/* Ids of another wire are spelt so that this one takes them. */
static bool fill_id(struct wire_write *w, const json_t *block)
{
	const json_t *call = result_call(w, block);
	char id[RULE_TEXT_SIZE];

	rule_spell(&rules(w)->id, json_str(block, "id"), id);
	raw_string(w->out, span_of(call && block_raw(w, call) ? json_str(block, "id") : id));
	return true;
}

static bool fill_is_strict(struct wire_write *w, const json_t *tool)
{
	buf_adds(w->out, "true");
	return json_flag(tool, "strict", false);
}

static bool fill_media(struct wire_write *w, const json_t *image)
{
	raw_string(w->out, text_member(image, "media_type"));
	return true;
}

/* Of a user's words alone; NULL: it has other blocks, or is no user's. */
static const json_t *words_of(const json_t *message)
{
	const json_t *blocks = json_object_get(message, "blocks");
	const json_t *block = json_array_get(blocks, 0);

	return message_is(message, "user") && json_array_size(blocks) == 1 &&
			       block_is(block, "text") ?
		       block :
		       NULL;
}

/*
 * The messages with what a user said behind what a user said as one: a resumed thread has not answered its
 * prompt, and templates of local models want user and assistant by turns. A new reference.
 */
static json_t *messages_by_turns(const json_t *messages)
{
	json_t *list = json_array(), *message;
	size_t i;

	json_array_foreach((json_t *)messages, i, message) {
		const json_t *words = words_of(message);
		const json_t *before = json_array_get(list, json_array_size(list) - 1);

		before = words ? words_of(before) : NULL;
		if (!before) {
			json_array_append(list, message);
			continue;
		}
		json_array_set_new(list, json_array_size(list) - 1,
				   json_pack("{s:s, s:[{s:s, s:o}]}", "role", "user", "blocks",
					     "kind", "text", "text",
					     json_sprintf("%s\n\n%s", json_str(before, "text"),
							  json_str(words, "text"))));
	}
	return list;
}

static bool fill_messages(struct wire_write *w, const json_t *none)
{
	const struct wire *wire = w->provider->wire;
	auto_json json_t *messages = messages_by_turns(w->request->messages);
	size_t i, n = json_array_size(messages);
	const json_t *message;

	(void)none;
	json_array_foreach(messages, i, message) {
		w->blocks = json_object_get(message, "blocks");
		w->own = message_is(message, "assistant");
		w->last = i + 1 == n;
		if (!w->own && wire->results == RESULTS_BESIDE)
			put_results(w);
		if (w->own && !wire->answer)
			put_blocks(w);
		else
			form_put(w, w->own ? wire->answer : wire->user, message);
	}
	return true;
}

static bool fill_model(struct wire_write *w, const json_t *none)
{
	(void)none;
	raw_string(w->out, span_of(w->provider->model));
	return true;
}

/* A model may have called what there is not. */
static bool fill_name(struct wire_write *w, const json_t *one)
{
	char name[RULE_TEXT_SIZE];

	rule_spell(&rules(w)->name, json_str(one, "name"), name);
	raw_string(w->out, span_of(name));
	return true;
}

static bool fill_parts(struct wire_write *w, const json_t *message)
{
	size_t before = w->out->len;

	(void)message;
	if (w->provider->wire->results == RESULTS_FIRST)
		put_results(w);
	put_blocks(w);
	return w->out->len > before;
}

/* Members that are left: the longest answer, and what the item sets. */
static bool fill_rest(struct wire_write *w, const json_t *none)
{
	const struct wire *wire = w->provider->wire;
	const char *key = field_text(w->provider, "max_tokens_field", wire->max_field);
	json_t *config = json_object_get(w->extra, wire->config ? wire->config : ""), *value;

	(void)none;
	if (wire->config && !json_is_object(config)) {
		config = json_object();
		json_object_set_new(w->extra, wire->config, config);
	}
	if (wire->config && w->max_tokens > 0) {
		json_set(config, key, json_integer(w->max_tokens));
	} else if (w->max_tokens > 0) {
		raw_key(w->out, key);
		buf_addf(w->out, "%lld", (long long)w->max_tokens);
	}
	json_object_foreach(w->extra, key, value)
		raw_value(w->out, key, value);
	return true;
}

static bool fill_role(struct wire_write *w, const json_t *message)
{
	const char *later = w->provider->wire->later;
	bool own = !later || !message_is(message, "system");

	raw_string(w->out, own ? text_member(message, "role") :
				 span_of(field_text(w->provider, "later_role", later)));
	return true;
}

static bool fill_schema(struct wire_write *w, const json_t *tool)
{
	json_put(w->out, json_object_get(tool, "schema"), false);
	return true;
}

static bool fill_stream(struct wire_write *w, const json_t *none)
{
	(void)none;
	buf_adds(w->out, "true");
	return !w->request->whole;
}

static bool fill_stream_options(struct wire_write *w, const json_t *none)
{
	const json_t *options = json_object_get(w->provider->item, "stream_options");
	const char *usual = w->provider->wire->stream_options;

	if (w->request->whole || w->request->relief & RELIEF_NO_STREAM_OPTIONS)
		return false;
	if (!json_is_object(options))
		return usual && !json_is_false(options) && form_put(w, usual, none);
	json_put(w->out, options, false);
	return true;
}

static bool fill_strict(struct wire_write *w, const json_t *tool)
{
	json_put(w->out, json_object_get(tool, "strict"), false);
	return true;
}

static bool fill_system(struct wire_write *w, const json_t *none)
{
	(void)none;
	return w->request->system && put_text(w, span_of(w->request->system));
}

static bool fill_text(struct wire_write *w, const json_t *block)
{
	return put_text(w, text_member(block, "text"));
}

static bool fill_tools(struct wire_write *w, const json_t *none)
{
	const json_t *tool;
	size_t i;

	(void)none;
	json_array_foreach(w->request->tools, i, tool)
		form_put(w, w->provider->wire->tool, tool);
	return json_array_size(w->request->tools);
}

static const struct form_name form_names[] = {
	{ "about", fill_about },
	{ "arguments", fill_arguments },
	{ "arguments_text", fill_arguments_text },
	{ "cache_key", fill_cache_key },
	{ "content", fill_content },
	{ "continuation", fill_continuation },
	{ "data", fill_data },
	{ "data_url", fill_data_url },
	{ "failed", fill_failed },
	{ "id", fill_id },
	{ "images", fill_images },
	{ "is_strict", fill_is_strict },
	{ "media", fill_media },
	{ "messages", fill_messages },
	{ "model", fill_model },
	{ "name", fill_name },
	{ "parts", fill_parts },
	{ "rest", fill_rest },
	{ "result_text", fill_result_text },
	{ "role", fill_role },
	{ "schema", fill_schema },
	{ "stream", fill_stream },
	{ "stream_options", fill_stream_options },
	{ "strict", fill_strict },
	{ "system", fill_system },
	{ "text", fill_text },
	{ "tools", fill_tools },
};

static form_fill_fn find_name(const struct form_name *names, size_t n, struct rye_span name)
{
	for (size_t i = 0; i < n && names[i].name; i++)
		if (*names[i].name == *name.ptr && span_eq(name, names[i].name))
			return names[i].fill;
	return NULL;
}

/* The wire's own names count first. */
form_fill_fn form_fill_of(const struct wire *wire, struct rye_span name)
{
	form_fill_fn fill = find_name(wire->names, ARRAY_SIZE(wire->names), name);

	return fill ? fill : find_name(form_names, ARRAY_SIZE(form_names), name);
}

void form_write(struct wire_write *w)
{
	form_put(w, w->provider->wire->body, NULL);
}
