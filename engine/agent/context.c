/* SPDX-License-Identifier: MIT */
/*
 * Knowledge that a directive's context names, as text: without header lines and metadata. One that
 * cannot be had is left out with a warning; one that was changed ends the thread before it begins.
 */
#include "agent/agent_inner.h"

#include "scope.h"
#include "str.h"

static struct rye_span context_text(const struct rye_item *entry)
{
	const json_t *body = json_object_get(entry->meta, "body");

	if (!json_string_length(body))
		body = json_object_get(entry->meta, "content");
	if (json_is_string(body))
		return span_trim(
			(struct rye_span){ json_string_value(body), json_string_length(body) });
	return span_trim(entry->body);
}

static int context_one(struct agent *agent, const char *id, json_t *blocks, struct rye_buf *out,
		       struct rye_err *err)
{
	const struct item_ask ask = { .kind = RYE_KNOWLEDGE, .id = id };
	auto_item struct rye_item *entry = NULL;
	struct rye_err why = { 0 };
	struct rye_span text;

	if (rye_load(&agent->items, &ask, &entry, &why)) {
		if (rye_code_integrity(why.code))
			return rye_fail(err, why.code, "context %s: %s", id, why.msg);
		agent_warn(agent, "context %s was left out: %s", id, why.msg);
		return 0;
	}
	text = context_text(entry);
	if (out->len)
		buf_adds(out, "\n\n");
	buf_addspan(out, text);
	json_array_append_new(blocks, json_pack("{s:s, s:s%, s:s}", "id", id, "content", text.ptr,
						text.len, "role", "user"));
	return 0;
}

int context_put(struct agent *agent, const json_t *ids, json_t *blocks, struct rye_buf *out,
		struct rye_err *err)
{
	json_t *id;
	size_t i;
	int r = 0;

	json_array_foreach(ids, i, id) {
		r = context_one(agent, json_string_value(id), blocks, out, err);
		if (r)
			return r;
	}
	return 0;
}
