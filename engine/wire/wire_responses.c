/* SPDX-License-Identifier: MIT */
/*
 * OpenAI Responses, without state on the server. Items are told by output_index, by the item's id
 * where a server sends no index. The item of the done event is the truth; deltas are for display.
 */
#include "wire/wire_inner.h"

#include "scope.h"
#include "str.h"

#include <stdlib.h>

/* ---- reading ---- */

static const struct usage_paths responses_usage = {
	.input = "input_tokens",
	.cached = "input_tokens_details.cached_tokens",
	.cache_write = "input_tokens_details.cache_write_tokens",
	.output = "output_tokens",
	.reasoning = "output_tokens_details.reasoning_tokens",
};

static const json_t *part_of(const json_t *item, const char *type)
{
	return json_find(json_object_get(item, "content"), "type", type);
}

static enum block_kind responses_kind(const json_t *item)
{
	const char *type = json_str(item, "type");

	if (!strcmp(type, "function_call"))
		return BLOCK_CALL;
	if (!strcmp(type, "reasoning"))
		return BLOCK_REASONING;
	if (strcmp(type, "message") != 0)
		return BLOCK_OPAQUE;
	return part_of(item, "refusal") && !part_of(item, "output_text") ? BLOCK_REFUSAL :
									   BLOCK_TEXT;
}

static struct answer_block *responses_begin(struct answer *answer, const json_t *item,
					    json_int_t index)
{
	struct answer_block *block = answer_add(answer, responses_kind(item));

	if (!block)
		return NULL;
	block->index = index;
	block->key = strdup(json_str(item, "id"));
	block->start = json_copy((json_t *)item);
	answer_call(answer, block, json_str(item, "call_id"), json_str(item, "name"));
	return block;
}

/* Texts of a list of parts, a blank line between two. */
static void join_texts(const json_t *parts, const char *key, struct rye_buf *out)
{
	const json_t *part;
	size_t i;

	json_array_foreach(parts, i, part) {
		struct rye_span text = text_member(part, key);

		if (out->len && text.len)
			buf_adds(out, "\n\n");
		buf_addspan(out, text);
	}
}

static void item_text(const json_t *item, enum block_kind kind, struct rye_buf *out)
{
	const json_t *part;
	size_t i;

	if (kind == BLOCK_REASONING) {
		join_texts(json_object_get(item, "summary"), "text", out);
		if (!out->len)
			join_texts(json_object_get(item, "content"), "text", out);
		return;
	}
	json_array_foreach(json_object_get(item, "content"), i, part)
		buf_addspan(out, text_member(part, kind == BLOCK_REFUSAL ? "refusal" : "text"));
}

/* What deltas did not bring is told now; where they said something else, the item counts. */
static void settle_text(struct answer *answer, struct answer_block *block, struct rye_buf *truth)
{
	struct rye_buf *own = block->kind == BLOCK_CALL ? &block->args : &block->text;
	bool prefix = own->len <= truth->len &&
		      (!own->len || !memcmp(own->data, truth->data, own->len));
	struct rye_span rest = { truth->data ? truth->data + (prefix ? own->len : 0) : "",
				 prefix ? truth->len - own->len : truth->len };

	if (prefix && block->kind == BLOCK_CALL) {
		answer_args(answer, block, rest);
	} else if (prefix) {
		answer_text(answer, block, rest);
	} else {
		buf_clear(own);
		buf_addspan(own, rest);
	}
}

static void responses_note(struct answer_block *block, const json_t *item)
{
	const char *phase = json_str(item, "phase");
	const char *encrypted = json_str(item, "encrypted_content");

	if (*phase)
		json_sets(block->extra, "phase", phase);
	if (*encrypted)
		json_sets(block->extra, "encrypted", encrypted);
}

static void responses_done(struct answer *answer, struct answer_block *block, const json_t *item,
			   struct rye_span text)
{
	auto_buf struct rye_buf truth = RYE_BUF_INIT;

	if (!block || !block->open || !json_is_object(item))
		return;
	/* the item has both halves of what deltas have cut */
	block->high = 0;
	answer->halves = (struct text_halves){ 0 };
	block->kind = responses_kind(item);
	json_decref(block->start);
	block->start = json_copy((json_t *)item);
	answer_call(answer, block, json_str(item, "call_id"), json_str(item, "name"));
	if (block->kind == BLOCK_CALL)
		buf_addspan(&truth, text_member(item, "arguments"));
	else if (block->kind != BLOCK_OPAQUE)
		item_text(item, block->kind, &truth);
	settle_text(answer, block, &truth);
	responses_note(block, item);
	answer_done(answer, block);
	if (block->kind == BLOCK_CALL && !strcmp(json_str(item, "status"), "incomplete")) {
		block->incomplete = true;
		if (!block->fault)
			block->fault = strdup("the answer ended inside the call");
	}
	buf_clear(&block->raw);
	if (json_object_get(block->extra, "own_id")) {
		json_object_set(block->start, "call_id", json_object_get(block->extra, "id"));
		json_put(&block->raw, block->start, false);
	} else {
		buf_addspan(&block->raw, text);
	}
}

/* Of an event without an index the item's id tells it. */
static struct answer_block *responses_item(struct reading *r)
{
	struct answer_block *block =
		r->index >= 0 ? r->block : answer_named(r->answer, json_str(r->value, "id"));

	if (block || !json_is_object(r->value))
		return block;
	return responses_begin(r->answer, r->value, r->index);
}

static void responses_added(struct reading *r)
{
	responses_item(r);
}

static void responses_item_done(struct reading *r)
{
	responses_done(r->answer, responses_item(r), r->value, r->raw);
}

static void responses_refusal(struct reading *r)
{
	if (r->block && r->block->open)
		r->block->kind = BLOCK_REFUSAL;
	read_text(r);
}

/* ---- the end ---- */

static void responses_fill(struct answer *answer, const json_t *response, struct rye_span text)
{
	struct raw_list output = raw_list_of(raw_member(text, "output"));
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(response, "output"), i, item) {
		struct answer_block *block = answer_named(answer, json_str(item, "id"));

		if (!block)
			block = answer_at(answer, (json_int_t)i);
		if (!block)
			block = responses_begin(answer, item, (json_int_t)i);
		responses_done(answer, block, item, raw_next(&output));
	}
}

static void note_dropped(struct answer *answer, const json_t *response)
{
	const json_t *change;
	size_t i;

	json_array_foreach(json_object_get(response, "input_transformations"), i, change) {
		char word[100];

		snprintf(word, sizeof(word), "%.40s_dropped:%.40s", json_str(change, "type"),
			 json_str(change, "reason"));
		if (!strcmp(json_str(change, "action"), "removed"))
			answer_warn(answer, word);
	}
}

static void responses_refusals(struct answer *answer)
{
	for (size_t i = 0; i < answer->n; i++) {
		struct answer_block *block = &answer->v[i];
		const json_t *part = part_of(block->start, "refusal");

		if (part)
			answer_refuse(answer, "", json_str(part, "refusal"));
	}
}

static void responses_stop(struct answer *answer, const json_t *response)
{
	const char *reason = json_str(json_object_get(response, "incomplete_details"), "reason");
	bool incomplete = !strcmp(json_str(response, "status"), "incomplete");
	enum provider_stop stop = STOP_END;

	responses_refusals(answer);
	if (incomplete && !strcmp(reason, "content_filter"))
		answer_refuse(answer, reason, "");
	if (answer->refused)
		stop = STOP_REFUSAL;
	else if (incomplete)
		stop = !*reason || !strcmp(reason, "max_output_tokens") ? STOP_LENGTH :
									  STOP_UNKNOWN;
	else if (answer_has(answer, BLOCK_CALL))
		stop = STOP_TOOL;
	answer_stop(answer, stop, incomplete ? reason : "completed");
}

static void responses_end(struct reading *r)
{
	const char *status = json_str(r->value, "status");

	usage_take(json_object_get(r->value, "usage"), &responses_usage, &r->answer->usage);
	if (!strcmp(status, "failed") || !strcmp(status, "cancelled")) {
		answer_fail(r->answer, json_object_get(r->value, "error"));
		return;
	}
	responses_fill(r->answer, r->value, r->raw);
	note_dropped(r->answer, r->value);
	responses_stop(r->answer, r->value);
	read_end(r);
}

static const struct read_row responses_rows[] = {
	{ "response.output_item.added", "item", responses_added },
	{ "response.output_text.delta", "delta", read_text },
	{ "response.reasoning_summary_text.delta", "delta", read_text },
	{ "response.reasoning_text.delta", "delta", read_text },
	{ "response.refusal.delta", "delta", responses_refusal },
	{ "response.function_call_arguments.delta", "delta", read_args },
	{ "response.output_item.done", "item", responses_item_done },
	{ "response.completed", "response", responses_end },
	{ "response.incomplete", "response", responses_end },
	{ "response.failed", "response", responses_end },
	{ WHOLE, "", responses_end },
	{ 0 },
};

const struct wire wire_responses = {
	.name = "openai_responses",
	.path = "/v1/responses",
	.stream_path = "/v1/responses",
	.body = "{model:@model,?instructions:@system,input:[@messages],?tools:[@tools],"
		"store:false,include:[reasoning.encrypted_content],?stream:@stream,"
		"?stream_options:@stream_options,?prompt_cache_key:@cache_key,@rest}",
	/* left out, strict is tried and silently given up */
	.tool = "{type:function,name:@name,description:@about,parameters:@schema,strict:@strict}",
	.user = "{type:message,role:@role,content:[@parts]}",
	.text = "{type:input_text,text:@text}",
	.said = "{type:message,role:assistant,content:[{type:output_text,text:@text}]}",
	.image = "{type:input_image,image_url:@data_url}",
	.call = "{type:function_call,call_id:@id,name:@name,arguments:@arguments_text}",
	.result = "{type:function_call_output,call_id:@id,output:@content}",
	.later = "developer",
	.cache_mode = "key",
	.max_field = "max_output_tokens",
	.results = RESULTS_BESIDE,
	.write = form_write,
	.rows = responses_rows,
	.usage = &responses_usage,
	.index = "output_index",
	.key = "item_id", /* ids may change on the way, so the index goes first */
};
