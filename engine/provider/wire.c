/* SPDX-License-Identifier: MIT */
/*
 * The wires: one row each; and what their writers share: which blocks go back as they came, ids of
 * calls and their results, schemas of tools, and the members of the body that the item decides. Pure:
 * the same request is the same bytes, since providers keep what they have seen by its bytes.
 */
#include "provider/provider_inner.h"

#include "base/sha.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
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

/* Some servers send calls that they do not take back; ids that they have spelt otherwise they do. */
static bool call_fits(const struct wire_write *w, const json_t *call)
{
	const struct wire_rules *rules = rules_of(w->provider->wire->name);

	return strlen(json_str(call, "id")) <= rules->id.max &&
	       rule_fits(&rules->name, json_str(call, "name"));
}

const char *block_raw(const struct wire_write *w, const json_t *block)
{
	const char *raw = json_str(block, "raw");

	if (!w->raw || !*raw || (block_is(block, "tool_call") && !call_fits(w, block)))
		return NULL;
	return raw;
}

bool block_put_raw(struct wire_write *w, const json_t *block)
{
	const char *raw = block_raw(w, block);

	if (!raw)
		return false;
	raw_comma(w->out);
	buf_adds(w->out, raw);
	return true;
}

bool block_is_said(const struct wire_write *w, const json_t *block)
{
	struct rye_span text = text_member(block, "text");

	if (!rules_of(w->provider->wire->name)->blank_texts)
		text = span_trim(text);
	return (block_is(block, "text") || block_is(block, "refusal")) && text.len;
}

size_t blocks_end(const struct wire_write *w, const json_t *blocks)
{
	size_t n = json_array_size(blocks);

	while (n && !rules_of(w->provider->wire->name)->reasoning_last &&
	       block_is(json_array_get(blocks, n - 1), "reasoning"))
		n--;
	return n;
}

void text_put(struct wire_write *w, const char *type, struct rye_span text)
{
	if (!text.len)
		return;
	raw_typed(w->out, type);
	raw_span(w->out, "text", text);
	buf_addc(w->out, '}');
}

void list_put(struct wire_write *w, const char *key, const json_t *list, wire_put_fn put)
{
	const json_t *one;
	size_t i;

	raw_open(w->out, key, '[');
	json_array_foreach(list, i, one)
		put(w, one);
	buf_addc(w->out, ']');
}

/* ---- calls and their results ---- */

const json_t *result_call(const struct wire_write *w, const json_t *result)
{
	return json_object_get(w->calls, json_str(result, "id"));
}

/* Ids of another wire are spelt so that this one takes them. */
void call_id_put(struct wire_write *w, const char *key, const json_t *block)
{
	const json_t *call = result_call(w, block);
	char id[RULE_TEXT_SIZE];

	rule_spell(&rules_of(w->provider->wire->name)->id, json_str(block, "id"), id);
	raw_text(w->out, key, call && block_raw(w, call) ? json_str(block, "id") : id);
}

/* A model may have called what there is not. */
void call_name_put(struct wire_write *w, const json_t *block)
{
	char name[RULE_TEXT_SIZE];

	rule_spell(&rules_of(w->provider->wire->name)->name, json_str(block, "name"), name);
	raw_text(w->out, "name", name);
}

bool image_fits(const struct wire_write *w, const json_t *image)
{
	char type[100];

	snprintf(type, sizeof(type), " %.80s ", json_str(image, "media_type"));
	return strstr(rules_of(w->provider->wire->name)->images, type);
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

void result_put(struct wire_write *w, const char *key, const json_t *result)
{
	const struct wire *wire = w->provider->wire;
	const json_t *images = wire->text_type ? result_images(w, result) : NULL, *image;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	size_t i;

	result_text_put(w, result, !wire->flags_errors, &text);
	if (images) {
		raw_open(w->out, key, '[');
		text_put(w, wire->text_type, buf_span(&text));
		json_array_foreach(images, i, image)
			wire->put_image(w, image);
		buf_addc(w->out, ']');
	} else {
		raw_span(w->out, key, buf_span(&text));
	}
	if (wire->flags_errors && json_flag(result, "is_error", false))
		raw_value(w->out, "is_error", json_true());
}

void arguments_put(const struct wire_write *w, const json_t *call, struct rye_buf *out)
{
	auto_json json_t *arguments = json_deep_copy(json_object_get(call, "arguments"));

	struct tool_telling how = telling_of(w->provider);

	arguments_to_wire(&how, w->offered, json_str(call, "name"), arguments);
	if (json_is_object(arguments))
		json_put(out, arguments, false);
	else
		buf_adds(out, "{}");
}

void arguments_text_put(struct wire_write *w, const json_t *call)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	arguments_put(w, call, &text);
	raw_span(w->out, "arguments", buf_span(&text));
}

void image_url_put(struct wire_write *w, const char *key, const json_t *image)
{
	auto_buf struct rye_buf url = RYE_BUF_INIT;

	buf_addf(&url, "data:%s;base64,", json_str(image, "media_type"));
	buf_adds(&url, json_str(image, "data"));
	raw_span(w->out, key, buf_span(&url));
}

/* ---- tools ---- */

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

bool has_tools(const struct wire_write *w)
{
	return json_array_size(w->request->tools) && !w->provider->text_calls;
}

void tool_put(struct wire_write *w, const char *schema_key, const json_t *tool)
{
	raw_text(w->out, "name", json_str(tool, "name"));
	raw_text(w->out, "description", json_str(tool, "description"));
	if (schema_key)
		raw_value(w->out, schema_key, json_object_get(tool, "schema"));
}

/* ---- the rest of the body ---- */

bool has_system(const struct wire_write *w)
{
	return w->request->system && *w->request->system;
}

bool request_streams(const struct wire_write *w)
{
	return !w->request->whole;
}

void stream_put(struct wire_write *w, const json_t *usual_options)
{
	const json_t *options = json_object_get(w->provider->item, "stream_options");

	if (!request_streams(w))
		return;
	raw_value(w->out, "stream", json_true());
	if (!json_is_object(options))
		options = json_is_false(options) ? NULL : usual_options;
	if (options && !(w->request->relief & RELIEF_NO_STREAM_OPTIONS))
		raw_value(w->out, "stream_options", options);
}

/* A thread's id has any length; vendors take keys of 64 characters. */
void cache_key_put(struct wire_write *w, const char *mode)
{
	const char *conversation = w->request->conversation;
	char hex[SHA_HEX];

	if (!conversation || strcmp(field_text(w->provider, "cache.mode", mode), "key") != 0)
		return;
	sha256_hex(span_of(conversation), hex);
	raw_span(w->out, "prompt_cache_key", (struct rye_span){ hex, CACHE_KEY_LEN });
}

void config_set(struct wire_write *w, const char *object, const char *max_field)
{
	json_t *config = json_object_get(w->extra, object);

	if (!json_is_object(config)) {
		config = json_object();
		json_object_set_new(w->extra, object, config);
	}
	if (w->max_tokens > 0)
		json_set(config, field_text(w->provider, "max_tokens_field", max_field),
			 json_integer(w->max_tokens));
}

void write_rest(struct wire_write *w)
{
	json_t *value;
	const char *key;

	if (w->provider->wire->max_field && w->max_tokens > 0) {
		key = field_text(w->provider, "max_tokens_field", w->provider->wire->max_field);
		raw_key(w->out, key);
		buf_addf(w->out, "%lld", (long long)w->max_tokens);
	}
	json_object_foreach(w->extra, key, value)
		raw_value(w->out, key, value);
	buf_addc(w->out, '}');
}
