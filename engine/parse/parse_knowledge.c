/* SPDX-License-Identifier: MIT */
/*
 * Knowledge (docs/items.md): a ```yaml block of metadata, then the body. Two older forms are read
 * too: `---` front matter (with a warning, it is never written) and text that is YAML as a
 * whole. Metadata that is not a mapping is ignored. The result is the mapping and `body`,
 * which is "" when there is no block.
 */
#include "format/format.h"
#include "parse/parse.h"

#include "str.h"

static json_t *with_body(json_t *meta, struct rye_span body)
{
	body = span_strip_unicode(body);
	if (!json_is_object(meta)) {
		json_decref(meta);
		meta = json_object();
	}
	json_object_del(meta, "__warnings__");
	json_set(meta, "body", json_stringn(body.ptr ? body.ptr : "", body.len));
	return meta;
}

static json_t *read_block(struct rye_span yaml, struct rye_span body, struct rye_err *err)
{
	json_t *meta = parse_yaml(yaml, err);

	if (!meta)
		rye_wrap(err, "markdown/frontmatter");
	return with_body(meta, body);
}

/* Where the second `---` stands; the rest behind it is what the signature covers. */
static bool split_dashes(struct rye_span text, struct rye_span *ret_yaml, struct rye_span *ret_body)
{
	struct rye_span s = text_skip_comment(text);
	ssize_t end;

	if (!span_starts(s, "---"))
		return false;
	end = span_find(s, 3, "---");
	if (end < 0)
		return false;
	*ret_yaml = (struct rye_span){ s.ptr + 3, (size_t)end - 3 };
	*ret_body = span_skip(s, (size_t)end + 3);
	return true;
}

static json_t *read_dashes(struct rye_span yaml, struct rye_span body, struct rye_err *err)
{
	json_t *meta = read_block(yaml, body, err);

	json_set(meta, "__warnings__",
		 json_pack("[s]", "metadata between --- lines is read, but wants to be a "
				  "```yaml block: its signature does not cover it"));
	return meta;
}

json_t *parse_knowledge(struct rye_span text, struct rye_err *err)
{
	struct rye_err silent = { 0 };
	struct rye_span yaml, body;
	struct fence fence;

	if (text_guard(text, err))
		return NULL;
	if (fence_find(text, "yaml", &fence))
		return read_block(fence.content, fence.after, err);
	if (split_dashes(text, &yaml, &body))
		return read_dashes(yaml, body, err);
	return with_body(parse_yaml(text_skip_comment(text), &silent), SPAN(""));
}
