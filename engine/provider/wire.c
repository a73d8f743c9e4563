/* SPDX-License-Identifier: MIT */
/*
 * The wires: one row each; and what their writers share: which blocks go back as they came, ids of
 * calls and their results, schemas of tools, and the members of the body that the item decides. Pure:
 * the same request is the same bytes, since providers keep what they have seen by its bytes.
 */
#include "provider/provider_inner.h"

#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <stdlib.h>

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

const char *block_raw(const struct wire_write *w, const json_t *block)
{
	const char *raw = json_str(block, "raw");

	return w->raw && *raw ? raw : NULL;
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

bool block_is_said(const json_t *block)
{
	return (block_is(block, "text") || block_is(block, "refusal")) &&
	       text_member(block, "text").len;
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

/* Ids of another wire are spelt so that any provider takes them. */
void call_id_put(struct wire_write *w, const char *key, const json_t *block)
{
	const json_t *call = result_call(w, block);
	const char *id = json_str(block, "id");
	char other[65];
	size_t n = 0;

	if (call && block_raw(w, call) && strlen(id) < sizeof(other)) {
		raw_text(w->out, key, id);
		return;
	}
	for (; n < sizeof(other) - 1 && id[n]; n++)
		other[n] = isalnum((unsigned char)id[n]) || id[n] == '-' ? id[n] : '_';
	other[n] = 0;
	raw_text(w->out, key, other);
}

const json_t *result_images(const struct wire_write *w, const json_t *result)
{
	const json_t *images = json_object_get(result, "images");

	return w->provider->images_in_results && json_array_size(images) ? images : NULL;
}

/* Valid UTF-8 by its origin; a NUL would end the text for some servers. */
void result_text_put(const struct wire_write *w, const json_t *result, bool say_error,
		     struct rye_buf *out)
{
	struct rye_span text = text_member(result, "text");

	buf_adds(out, say_error && json_flag(result, "is_error", false) ? "Error: " : "");
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

void arguments_put(const json_t *call, struct rye_buf *out)
{
	const json_t *arguments = json_object_get(call, "arguments");

	if (json_is_object(arguments))
		json_put(out, arguments, false);
	else
		buf_adds(out, "{}");
}

void arguments_text_put(struct wire_write *w, const json_t *call)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	arguments_put(call, &text);
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

const char *schema_style(const struct wire_write *w)
{
	return field_text(w->provider, "tools.schema", "json_schema");
}

bool has_tools(const struct wire_write *w)
{
	return json_array_size(w->request->tools) && !w->provider->text_calls;
}

static bool subset_knows(const char *key)
{
	static const char *const known[] = { "type",	    "format",	     "title",
					     "description", "nullable",	     "enum",
					     "items",	    "minItems",	     "maxItems",
					     "properties",  "minProperties", "maxProperties",
					     "required",    "minimum",	     "maximum",
					     "minLength",   "maxLength",     "pattern",
					     "anyOf",	    "example",	     "propertyOrdering" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(key, known[i]))
			return true;
	return false;
}

/* What the older Gemini endpoints do not know is left out, at every level: they refuse the request. */
static void make_subset(json_t *schema)
{
	json_t *value;
	const char *key;
	void *next;
	size_t i;

	if (!json_is_object(schema))
		return;
	json_object_foreach_safe(schema, next, key, value) {
		if (!subset_knows(key))
			json_object_del(schema, key);
	}
	json_object_foreach(json_object_get(schema, "properties"), key, value) {
		make_subset(value);
	}
	make_subset(json_object_get(schema, "items"));
	json_array_foreach(json_object_get(schema, "anyOf"), i, value) {
		make_subset(value);
	}
}

/* Strict tools need every property required and nothing else allowed. */
static void make_strict(json_t *schema)
{
	json_t *properties = json_object_get(schema, "properties"), *value;
	json_t *required;
	const char *key;

	if (!json_is_object(schema))
		return;
	required = json_array();
	json_object_foreach(properties, key, value) {
		json_array_append_new(required, json_string(key));
		make_strict(value);
	}
	make_strict(json_object_get(schema, "items"));
	if (properties) {
		json_set(schema, "required", json_incref(required));
		json_set(schema, "additionalProperties", json_false());
	}
	json_decref(required);
}

static json_t *tool_schema(const struct wire_write *w, const json_t *tool)
{
	const json_t *schema = json_object_get(tool, "schema");
	json_t *copy = schema ? json_deep_copy(schema) : json_object();

	if (!json_object_get(copy, "type"))
		json_sets(copy, "type", "object");
	if (!json_object_get(copy, "properties"))
		json_set(copy, "properties", json_object());
	if (!strcmp(schema_style(w), "openapi_subset"))
		make_subset(copy);
	if (!strcmp(schema_style(w), "strict"))
		make_strict(copy);
	return copy;
}

void tool_put(struct wire_write *w, const char *schema_key, const json_t *tool)
{
	auto_json json_t *schema = tool_schema(w, tool);

	raw_text(w->out, "name", json_str(tool, "name"));
	raw_text(w->out, "description", json_str(tool, "description"));
	raw_value(w->out, schema_key, schema);
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

void cache_key_put(struct wire_write *w, const char *mode)
{
	if (w->request->conversation && !strcmp(field_text(w->provider, "cache.mode", mode), "key"))
		raw_text(w->out, "prompt_cache_key", w->request->conversation);
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
