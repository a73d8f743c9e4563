/* SPDX-License-Identifier: MIT */
/*
 * One rule for `output`, `ryefs execute`, MCP's results and what models are given: the text of a
 * reply, else its data. Programs that want the envelope read the whole reply. Pure.
 */
#include "format/format.h"

#include "scope.h"
#include "str.h"

#include <string.h>

bool plain_failed(const json_t *reply)
{
	return !strcmp(json_str(reply, "status"), "error");
}

/* ---- texts ---- */

/* An answer of an MCP server: its texts, and of all else what it is. NULL: it is none. */
static json_t *text_of_content(const json_t *data)
{
	const json_t *content = json_object_get(data, "content"), *item;
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	size_t i;

	if (!json_is_array(content) || !json_object_get(data, "isError"))
		return NULL;
	buf_adds(&out, "");
	json_array_foreach(content, i, item) {
		const json_t *text = json_object_get(item, "text");

		if (json_is_string(text))
			buf_add(&out, json_string_value(text), json_string_length(text));
		else
			buf_addf(&out, "[%s %s]", json_str(item, "type"),
				 *json_str(item, "uri") ? json_str(item, "uri") :
							  json_str(item, "mimeType"));
		buf_addc(&out, '\n');
	}
	return out.failed ? NULL : json_stringn(out.data, out.len);
}

/* The body of an answer of HTTP; the tools of others have data with a `body`, too. */
static json_t *http_body(const json_t *data)
{
	return json_object_get(data, "status_code") && json_object_get(data, "headers") ?
		       json_object_get(data, "body") :
		       NULL;
}

/* A thread that was waited for says what it has returned, rather than its last words. */
static json_t *outputs_of(const json_t *reply)
{
	json_t *outputs = json_object_get(reply, "outputs");

	return json_object_get(reply, "thread_id") && json_is_object(outputs) ? outputs : NULL;
}

static bool counts(const json_t *reply, const json_t *text)
{
	return json_is_string(text) && (json_string_length(text) || !plain_failed(reply));
}

json_t *plain_text(const json_t *reply)
{
	static const char *const of_data[] = { "output", "stdout" };
	static const char *const of_reply[] = { "body", "content", "your_directions", "result" };
	const json_t *data = json_object_get(reply, "data");

	for (size_t i = 0; i < ARRAY_SIZE(of_data); i++)
		if (counts(reply, json_object_get(data, of_data[i])))
			return json_incref(json_object_get(data, of_data[i]));
	if (counts(reply, http_body(data)))
		return json_incref(http_body(data));
	if (outputs_of(reply) && !plain_failed(reply))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(of_reply); i++)
		if (json_is_string(json_object_get(reply, of_reply[i])))
			return json_incref(json_object_get(reply, of_reply[i]));
	return plain_failed(reply) ? NULL : text_of_content(data);
}

/* ---- data ---- */

/* What a graph returned that has ended well (where it went on after errors they belong to it); what a
 * program answered that is no object. NULL: data is the answer itself.
 */
static json_t *answer_in(const json_t *data)
{
	if (json_object_get(data, "graph_run_id") && !json_object_get(data, "errors"))
		return json_object_get(data, "output");
	return json_object_size(data) == 1 ? json_object_get(data, "result") : NULL;
}

/* A reply without data is short and says everything itself: a search, a start, a signature. */
static json_t *without_envelope(const json_t *reply)
{
	json_t *copy = json_copy((json_t *)reply);

	json_object_del(copy, "metadata");
	json_object_del(copy, "chain_detail");
	return copy;
}

json_t *plain_data(const json_t *reply)
{
	json_t *text = plain_text(reply), *data = json_object_get(reply, "data");

	if (text)
		return text;
	if (outputs_of(reply))
		return json_incref(outputs_of(reply));
	if (http_body(data))
		return json_incref(http_body(data));
	if (answer_in(data))
		return json_incref(answer_in(data));
	return data ? json_incref(data) : without_envelope(reply);
}

/* ---- failures ---- */

/* Nothing, or what the sentence says already. */
static bool is_told(const json_t *value, const char *sentence)
{
	auto_free char *text = NULL;

	if (json_is_null(value) || json_is_false(value))
		return true;
	if (!json_is_string(value))
		return false;
	text = span_dup(span_trim(
		(struct rye_span){ json_string_value(value), json_string_length(value) }));
	return text && strstr(sentence, text);
}

/* What the data of a failure has beside its sentence; NULL: nothing. */
static json_t *untold(const json_t *reply, const char *sentence)
{
	json_t *rest = json_copy(json_object_get(reply, "data")), *value;
	const json_t *declared = json_object_get(reply, "declared_parameters");
	const char *key;
	void *next;

	if (!json_is_object(rest)) {
		json_decref(rest);
		rest = json_object();
	}
	json_object_foreach_safe(rest, next, key, value)
		if (is_told(value, sentence) || !strcmp(key, "status"))
			json_object_del(rest, key);
	if (declared)
		json_object_set(rest, "declared_parameters", (json_t *)declared);
	if (json_object_size(rest))
		return rest;
	json_decref(rest);
	return NULL;
}

/* Its output, then the sentence unless that stands there; without an output what else it has. */
static json_t *said_badly(const json_t *reply)
{
	const char *error = json_str(reply, "error");
	const char *sentence = *error ? error : "the tool failed";
	auto_json json_t *text = plain_text(reply);
	auto_json json_t *rest = text ? NULL : untold(reply, sentence);
	auto_buf struct rye_buf out = RYE_BUF_INIT;

	if (text)
		buf_add(&out, json_string_value(text), json_string_length(text));
	if (!text || !is_told(json_object_get(reply, "error"), json_string_value(text))) {
		if (out.len && out.data[out.len - 1] != '\n')
			buf_addc(&out, '\n');
		buf_adds(&out, sentence);
	}
	if (rest) {
		buf_addc(&out, '\n');
		json_put(&out, rest, false);
	}
	return out.failed ? NULL : json_stringn(out.data, out.len);
}

json_t *plain_said(const json_t *reply)
{
	return plain_failed(reply) ? said_badly(reply) : plain_data(reply);
}

void plain_put(struct rye_buf *out, const json_t *said)
{
	if (json_is_string(said))
		buf_add(out, json_string_value(said), json_string_length(said));
	else
		json_put(out, said, false);
}
