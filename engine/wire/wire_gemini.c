/* SPDX-License-Identifier: MIT */
/*
 * Gemini's generateContent. An answer is parts, and its chunks append: texts without a signature
 * are joined, a part with one stays a part of its own and goes back in the bytes it came in.
 */
#include "wire/wire_inner.h"

#include "scope.h"
#include "str.h"

#include <stdlib.h>

/* The documented value for calls whose signature is not there. */
#define NO_SIGNATURE "skip_thought_signature_validator"

/* Members inside members of arguments that come as paths. */
#define PATH_DEPTH 64

/* ---- writing ---- */

/* An older endpoint knows a subset of schemas, and wants none where there are no parameters. */
static bool is_subset(const struct wire_write *w)
{
	return telling_of(w->provider).words == WORDS_SUBSET;
}

static bool fill_own_schema(struct wire_write *w, const json_t *tool)
{
	if (is_subset(w))
		return false;
	json_put(w->out, json_object_get(tool, "schema"), false);
	return true;
}

static bool fill_subset(struct wire_write *w, const json_t *tool)
{
	const json_t *schema = json_object_get(tool, "schema");

	json_put(w->out, schema, false);
	return is_subset(w) && json_object_size(json_object_get(schema, "properties"));
}

static const json_t *call_of(const struct wire_write *w, const json_t *block)
{
	return block_is(block, "tool_call") ? block : result_call(w, block);
}

/* An id of ours is not told: the provider gave none. */
static bool fill_given_id(struct wire_write *w, const json_t *block)
{
	const json_t *call = call_of(w, block);

	if (json_flag(call, "own_id", false) && block_raw(w, call))
		return false;
	return form_put(w, "@id", block);
}

static bool fill_called(struct wire_write *w, const json_t *block)
{
	const json_t *call = call_of(w, block);

	return form_put(w, "@name", call ? call : block);
}

static bool fill_response(struct wire_write *w, const json_t *result)
{
	bool failed = json_flag(result, "is_error", false);

	return form_put(w, failed ? "{error:@result_text}" : "{output:@result_text}", result);
}

/* The provider's own, or on the first call of a message what stands for it. */
static bool fill_signature(struct wire_write *w, const json_t *call)
{
	const char *signature = json_str(call, "signature");
	const json_t *block = NULL;
	size_t i = 0;

	if (w->raw && *signature) {
		raw_string(w->out, span_of(signature));
		return true;
	}
	json_array_foreach(w->blocks, i, block)
		if (block_is(block, "tool_call") && !block_raw(w, block))
			break;
	raw_string(w->out, SPAN(NO_SIGNATURE));
	return block == call;
}

/* What goes on with a token is the request as it was, without the part that has come. */
static bool fill_own_parts(struct wire_write *w, const json_t *message)
{
	if (w->request->continuation && w->last)
		return false;
	return form_put(w, "@parts", message);
}

/* ---- reading ---- */

static const struct usage_paths gemini_usage = {
	.input = "promptTokenCount",
	.more_input = "toolUsePromptTokenCount",
	.cached = "cachedContentTokenCount",
	.output = "candidatesTokenCount",
	.reasoning = "thoughtsTokenCount",
	.reasoning_apart = true,
};

static void gemini_take_text(struct answer *answer, const json_t *part, struct rye_span raw)
{
	bool thought = json_flag(part, "thought", false);
	enum block_kind kind = thought ? BLOCK_REASONING : BLOCK_TEXT;
	const char *signature = json_str(part, "thoughtSignature");
	struct rye_span text = text_member(part, "text");
	struct answer_block *block;

	if (!text.len && !*signature)
		return;
	block = *signature ? answer_add(answer, kind) : answer_run(answer, kind);
	answer_text(answer, block, text);
	if (!block || !*signature)
		return;
	answer_sign(block, signature);
	buf_addspan(&block->raw, raw);
}

/* ---- calls whose arguments come as paths ---- */

/* The place that "$.a.b[0]" names, made on the way; NULL: no such place. */
static json_t *path_parent(json_t *at, const char **path)
{
	for (int depth = 0; at && depth < PATH_DEPTH; depth++) {
		const char *p = *path + (**path == '.' || **path == '[');
		size_t n = strcspn(p, ".[]");
		const char *rest = p + n + (p[n] == ']');
		char name[200];
		json_t *next;

		snprintf(name, sizeof(name), "%.*s", (int)MIN_OF(n, sizeof(name) - 1), p);
		if (!*rest) {
			*path = p;
			return at;
		}
		next = json_is_array(at) ? json_array_get(at, (size_t)atol(name)) :
					   json_object_get(at, name);
		if (!next) {
			next = *rest == '[' ? json_array() : json_object();
			if (json_is_array(at))
				json_array_append_new(at, next);
			else
				json_object_set_new(at, name, next);
		}
		at = next;
		*path = rest;
	}
	return NULL;
}

static json_t *partial_value(const json_t *piece, const json_t *before)
{
	const json_t *number = json_object_get(piece, "numberValue");
	const json_t *truth = json_object_get(piece, "boolValue");
	struct rye_span text = text_member(piece, "stringValue");
	auto_buf struct rye_buf all = RYE_BUF_INIT;

	if (number)
		return json_incref((json_t *)number);
	if (truth)
		return json_incref((json_t *)truth);
	if (json_object_get(piece, "nullValue"))
		return json_null();
	if (json_is_string(before))
		buf_add(&all, json_string_value(before), json_string_length(before));
	buf_addspan(&all, text);
	return json_stringn_nocheck(all.data ? all.data : "", all.len);
}

static void take_partial(json_t *args, const json_t *piece)
{
	const char *path = json_str(piece, "jsonPath");
	json_t *parent;
	char name[200];
	size_t at;

	if (*path++ != '$' || !*path)
		return;
	parent = path_parent(args, &path);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(path, "]"), path);
	at = (size_t)atol(name);
	if (json_is_object(parent))
		json_object_set_new(parent, name,
				    partial_value(piece, json_object_get(parent, name)));
	else if (json_is_array(parent) && at < json_array_size(parent))
		json_array_set_new(parent, at, partial_value(piece, json_array_get(parent, at)));
	else if (json_is_array(parent))
		json_array_append_new(parent, partial_value(piece, NULL));
}

/* Our JSON of a call that came in pieces. */
static void gemini_raw_call(struct answer_block *block)
{
	auto_json json_t *call = json_object();
	const json_t *signature = json_object_get(block->extra, "signature");

	if (!json_object_get(block->extra, "own_id"))
		json_object_set(call, "id", json_object_get(block->extra, "id"));
	json_object_set(call, "name", json_object_get(block->extra, "name"));
	buf_clear(&block->raw);
	buf_adds(&block->raw, "{\"functionCall\":");
	raw_splice(&block->raw, call, "args",
		   block->args.len ? buf_span(&block->args) : SPAN("{}"));
	if (signature)
		raw_value(&block->raw, "thoughtSignature", signature);
	buf_addc(&block->raw, '}');
}

static void gemini_more(struct answer *answer, struct answer_block *block, const json_t *call)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const json_t *piece;
	size_t i;

	json_array_foreach(json_object_get(call, "partialArgs"), i, piece)
		take_partial(block->start, piece);
	if (json_flag(call, "willContinue", false))
		return;
	json_put(&text, block->start, false);
	answer_args(answer, block, buf_span(&text));
	answer_done(answer, block);
	gemini_raw_call(block);
}

static struct answer_block *open_call(struct answer *answer)
{
	struct answer_block *last = answer->n ? &answer->v[answer->n - 1] : NULL;

	return last && last->kind == BLOCK_CALL && last->open ? last : NULL;
}

static void gemini_take_call(struct answer *answer, const json_t *part, struct rye_span raw)
{
	const json_t *call = json_object_get(part, "functionCall");
	struct answer_block *block = open_call(answer);

	if (block && !*json_str(call, "name")) {
		gemini_more(answer, block, call);
		return;
	}
	block = answer_add(answer, BLOCK_CALL);
	if (!block)
		return;
	block->start = json_object();
	answer_call(answer, block, json_str(call, "id"), json_str(call, "name"));
	answer_sign(block, json_str(part, "thoughtSignature"));
	if (json_flag(call, "willContinue", false) || json_object_get(call, "partialArgs")) {
		gemini_more(answer, block, call);
		return;
	}
	answer_args(answer, block, raw_member(raw_member(raw, "functionCall"), "args"));
	answer_done(answer, block);
	/* an id that another call has already is not told */
	if (json_object_get(block->extra, "own_id") && *json_str(call, "id"))
		gemini_raw_call(block);
	else
		buf_addspan(&block->raw, raw);
}

static void gemini_take_part(struct reading *r)
{
	json_t *part = (json_t *)r->value, *value;
	struct answer_block *block;
	const char *key;

	if (json_is_string(json_object_get(part, "text"))) {
		gemini_take_text(r->answer, part, r->raw);
	} else if (json_is_object(json_object_get(part, "functionCall"))) {
		gemini_take_call(r->answer, part, r->raw);
	} else if (json_object_size(part)) {
		block = answer_add(r->answer, BLOCK_OPAQUE);
		if (!block)
			return;
		block->start = json_object();
		json_object_foreach(part, key, value)
			if (!*json_str(block->start, "type"))
				json_sets(block->start, "type", key);
		buf_addspan(&block->raw, r->raw);
	}
}

static void gemini_close(struct answer *answer)
{
	for (size_t i = 0; i < answer->n; i++) {
		struct answer_block *block = &answer->v[i];

		if (block->kind == BLOCK_TEXT && !block->raw.len) {
			buf_addc(&block->raw, '{');
			raw_span(&block->raw, "text", buf_span(&block->text));
			buf_addc(&block->raw, '}');
		}
		if (block->kind != BLOCK_CALL)
			answer_done(answer, block);
	}
}

/* other: what a reason means that is not in the table. */
static void gemini_take_stop(struct answer *answer, const char *raw, enum provider_stop other)
{
	static const struct stop_row rows[] = {
		{ "STOP", STOP_END },
		{ "MAX_TOKENS", STOP_LENGTH },
		{ "MALFORMED_FUNCTION_CALL", STOP_BAD_CALL },
		{ "UNEXPECTED_TOOL_CALL", STOP_BAD_CALL },
		{ "TOO_MANY_TOOL_CALLS", STOP_BAD_CALL },
		{ "MALFORMED_RESPONSE", STOP_BAD_CALL },
		{ "CONTINUATION", STOP_PAUSE },
		{ "SAFETY", STOP_REFUSAL },
		{ "RECITATION", STOP_REFUSAL },
		{ "LANGUAGE", STOP_REFUSAL },
		{ "OTHER", STOP_REFUSAL },
		{ "BLOCKLIST", STOP_REFUSAL },
		{ "PROHIBITED_CONTENT", STOP_REFUSAL },
		{ "SPII", STOP_REFUSAL },
		{ "IMAGE_SAFETY", STOP_REFUSAL },
		{ "IMAGE_PROHIBITED_CONTENT", STOP_REFUSAL },
		{ "IMAGE_RECITATION", STOP_REFUSAL },
	};
	enum provider_stop stop = stop_of(rows, ARRAY_SIZE(rows), raw, other);

	if (!*raw)
		return;
	if (stop == STOP_END && answer_has(answer, BLOCK_CALL))
		stop = STOP_TOOL;
	if (stop == STOP_REFUSAL)
		answer_refuse(answer, raw, "");
	gemini_close(answer);
	answer_stop(answer, stop, raw);
	answer->terminal = true;
}

static void gemini_finish(struct reading *r)
{
	gemini_take_stop(r->answer, read_span(r).ptr, STOP_UNKNOWN);
}

/* Of a prompt that is refused there is no candidate. */
static void gemini_blocked(struct reading *r)
{
	if (!json_array_size(json_object_get(r->doc, "candidates")))
		gemini_take_stop(r->answer, read_span(r).ptr, STOP_REFUSAL);
}

static void gemini_token(struct reading *r)
{
	const char *token = read_span(r).ptr;

	if (*token && !r->answer->continuation)
		r->answer->continuation = strdup(token);
}

static const struct read_row gemini_rows[] = {
	{ "", "candidates[0].content.parts[]", gemini_take_part },
	{ "", "candidates[0].continuationToken", gemini_token },
	{ "", "candidates[0].finishReason", gemini_finish },
	{ "", "promptFeedback.blockReason", gemini_blocked },
	{ "", "usageMetadata", read_usage },
	{ 0 },
};

const struct wire wire_gemini = {
	.name = "gemini_generate",
	.path = "/v1beta/models/{model}:generateContent",
	.stream_path = "/v1beta/models/{model}:streamGenerateContent?alt=sse",

	.body = "{?systemInstruction:{parts:[{text:@system}]},contents:[@messages],"
		"?tools:[{functionDeclarations:[@tools]}],?continuationToken:@continuation,@rest}",
	.tool = "{name:@name,description:@about,?parametersJsonSchema:@schema,"
		"?parameters:@subset}",
	.user = "{role:user,parts:[@parts]}",
	.answer = "{role:model,parts:[@own_parts]}",
	.text = "{text:@text}",
	.said = "{text:@text}",
	.image = "{inlineData:{mimeType:@media,data:@data}}",
	.call = "{functionCall:{?id:@given_id,name:@name,args:@arguments},"
		"?thoughtSignature:@signature}",
	.result = "{functionResponse:{?id:@given_id,name:@called,response:@response,"
		  "?parts:[@images]}}",
	.names = { { "called", fill_called },
		   { "given_id", fill_given_id },
		   { "own_parts", fill_own_parts },
		   { "response", fill_response },
		   { "schema", fill_own_schema },
		   { "signature", fill_signature },
		   { "subset", fill_subset } },
	.cache_mode = "none",
	.max_field = "maxOutputTokens",
	.config = "generationConfig",
	.results = RESULTS_IN_ORDER,
	.flags_errors = true,
	.write = form_write,
	.rows = gemini_rows,
	.usage = &gemini_usage,
};
