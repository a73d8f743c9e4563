/* SPDX-License-Identifier: MIT */
/*
 * From a conversation to the bytes of a request: what the model may be sent is decided here, how it is
 * spelt in the wire's own file. Pure.
 */
#include "wire/wire_inner.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <stdlib.h>

/* Fewer tokens than this are no answer: then the provider had better refuse. */
#define ANSWER_LEAST 1024

/* ---- what goes back as it came ---- */

/* One answer of another model, and every answer goes as plain text and calls from then on. */
static bool is_of_model(const struct provider *provider, const json_t *message)
{
	return !strcmp(json_str(message, "wire"), provider->wire->name) &&
	       !strcmp(json_str(message, "provider"), provider->name) &&
	       !strcmp(json_str(message, "model"), provider->model);
}

static bool may_replay(const struct provider *provider, const struct provider_request *request)
{
	const json_t *message;
	size_t i;

	if (request->relief & RELIEF_NO_REASONING || provider->text_calls)
		return false;
	json_array_foreach(request->messages, i, message)
		if (message_is(message, "assistant") && !is_of_model(provider, message))
			return false;
	return true;
}

static json_t *calls_of_answer(const json_t *messages)
{
	json_t *calls = json_object();
	const json_t *message;
	json_t *block;
	size_t i, k;

	json_array_foreach(messages, i, message)
		json_array_foreach(json_object_get(message, "blocks"), k, block)
			if (block_is(block, "tool_call"))
				json_object_set(calls, json_str(block, "id"), block);
	return calls;
}

/* ---- what the model takes ---- */

static void note_rejected(json_t *warnings, const char *path)
{
	char word[128];

	snprintf(word, sizeof(word), "not_sent:%.100s", path);
	if (warnings && !json_lists(warnings, word))
		json_array_append_new(warnings, json_string(word));
}

/* "temperature", "a.b"; "tool_choice.any": where tool_choice is that, or of that type. */
static bool take_field_out(json_t *object, const char *path)
{
	char name[64];
	size_t n = strcspn(path, ".");
	json_t *value;

	snprintf(name, sizeof(name), "%.*s", (int)n, path);
	value = json_object_get(object, name);
	if (!value || !path[n])
		return value && !json_object_del(object, name);
	path += n + 1;
	if (!strcmp(json_str(value, "type"), path) ||
	    (json_is_string(value) && !strcmp(json_string_value(value), path)))
		return !json_object_del(object, name);
	return take_field_out(value, path);
}

/* What the item sets, the caller's options over it, less what the model refuses. */
static json_t *extra_of(const struct provider *provider, const struct provider_request *request,
			json_t *warnings)
{
	const json_t *set = json_object_get(provider->fields, "set"), *path;
	json_t *extra = set ? json_deep_copy(set) : json_object();
	size_t i;

	if (request->options)
		provider_lay(extra, request->options);
	json_array_foreach(json_object_get(provider->fields, "reject"), i, path)
		if (json_is_string(path) && take_field_out(extra, json_string_value(path)))
			note_rejected(warnings, json_string_value(path));
	return extra;
}

static json_int_t max_tokens_of(const struct provider *provider,
				const struct provider_request *request)
{
	json_int_t most = provider->max_output, room;

	if (request->max_tokens > 0 && request->max_tokens < most)
		most = request->max_tokens;
	room = provider->window - provider_estimate(request);
	if (provider->window > 0 && room < most && !(request->relief & RELIEF_SMALLER))
		most = MIN_OF(most, MAX_OF(room, ANSWER_LEAST));
	return most;
}

/* ---- how long it is ---- */

static size_t put_bytes(const json_t *value)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (value)
		json_put(&text, value, false);
	return text.len;
}

static size_t block_bytes(const json_t *block)
{
	const char *raw = json_str(block, "raw");

	if (block_is(block, "image"))
		return 6000; /* an image is about 1 500 tokens, however many bytes it has */
	return *raw ? strlen(raw) :
		      16 + text_member(block, "text").len +
			       put_bytes(json_object_get(block, "arguments"));
}

json_int_t provider_estimate(const struct provider_request *request)
{
	size_t bytes = request->system ? strlen(request->system) : 0, i, k;
	const json_t *message, *block;

	bytes += put_bytes(request->tools);
	json_array_foreach(request->messages, i, message)
		json_array_foreach(json_object_get(message, "blocks"), k, block)
			bytes += block_bytes(block);
	return (json_int_t)(bytes + 3) / 4;
}

/* ---- tools in the prompt ---- */

/* Calls stand in the text already; what came of them is told as a person would. */
static json_t *plain_block(const struct wire_write *w, const json_t *block)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (block_is(block, "tool_call"))
		return NULL;
	if (!block_is(block, "tool_result"))
		return json_incref((json_t *)block);
	buf_addf(&text, "Result of %s (%s):\n", json_str(block, "name"), json_str(block, "id"));
	result_text_put(w, block, true, &text);
	return json_pack("{s:s, s:s}", "kind", "text", "text", text.data);
}

static json_t *plain_messages(const struct provider *provider, const json_t *messages)
{
	const struct wire_write w = { .provider = provider };
	json_t *plain = json_array();
	const json_t *message, *block;
	size_t i, k;

	json_array_foreach(messages, i, message) {
		json_t *copy = json_copy((json_t *)message), *blocks = json_array();

		json_array_foreach(json_object_get(message, "blocks"), k, block) {
			json_t *one = plain_block(&w, block);

			if (one)
				json_array_append_new(blocks, one);
		}
		json_set(copy, "blocks", blocks);
		json_array_append_new(plain, copy);
	}
	return plain;
}

static void put_system(const struct provider_request *request, struct rye_buf *out)
{
	buf_adds(out, request->system ? request->system : "");
	if (!json_array_size(request->tools))
		return;
	if (out->len)
		buf_adds(out, "\n\n");
	text_calls_describe(request->tools, out);
}

/* ---- all of it ---- */

static int write_request(const struct provider *provider, const struct provider_request *request,
			 json_t *warnings, struct rye_buf *ret)
{
	auto_json json_t *calls = calls_of_answer(request->messages);
	auto_json json_t *extra = extra_of(provider, request, warnings);
	struct tool_telling how = telling_of(provider);
	auto_json json_t *tools = provider->text_calls ? NULL :
							 tools_told(&how, request->tools, warnings);
	struct provider_request own = *request;
	struct wire_write w = {
		.provider = provider,
		.request = &own,
		.extra = extra,
		.warnings = warnings,
		.calls = calls,
		.offered = request->tools,
		.raw = may_replay(provider, request),
		.max_tokens = max_tokens_of(provider, request),
		.out = ret,
	};

	own.tools = tools;
	provider->wire->write(&w);
	return ret->failed ? -1 : 0;
}

int provider_request_make(const struct provider *provider, const struct provider_request *request,
			  json_t *warnings, struct rye_buf *ret, struct rye_err *err)
{
	auto_buf struct rye_buf system = RYE_BUF_INIT;
	auto_json json_t *messages = NULL;
	struct provider_request plain = *request;

	if (provider->text_calls) {
		put_system(request, &system);
		messages = plain_messages(provider, request->messages);
		plain.system = system.data;
		plain.messages = messages;
	}
	if (write_request(provider, &plain, warnings, ret))
		return rye_fail(err, RYE_TOO_BIG, "the conversation is over %u MB",
				RYE_BUF_CAP >> 20);
	return 0;
}

void provider_lay(json_t *into, const json_t *from)
{
	json_t *object = (json_t *)from, *value;
	const char *key;

	json_object_foreach(object, key, value) {
		json_t *old = json_object_get(into, key);

		if (json_is_object(old) && json_is_object(value))
			provider_lay(old, value);
		else
			json_set(into, key, json_deep_copy(value));
	}
}
