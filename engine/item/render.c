/* SPDX-License-Identifier: MIT */
/*
 * What reading an item's file delivers: directives and knowledge without their signature and
 * binding lines, a directive with its inputs filled in wherever it names them, tools and config byte
 * for byte.
 * Pure: works on a loaded item, opens nothing.
 */
#include "item/item.h"

#include "bounds.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

static int blob_of(struct rye_buf *out, struct rye_blob **ret, struct rye_err *err)
{
	struct rye_blob *blob = buf_blob(out);

	if (!blob)
		return rye_fail(err, RYE_TOO_BIG, "the text is too big with its inputs filled in");
	*ret = blob;
	return 0;
}

static int directive_text(const struct rye_item *item, const struct interp *in,
			  struct rye_blob **ret, struct rye_err *err)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	auto_json json_t *values = NULL;
	struct interp filled = *in;
	int r = inputs_fill(item, in->inputs, &values, err);

	if (r)
		return r;
	filled.inputs = values;
	interp_text(&filled, item->body, &out);
	return blob_of(&out, ret, err);
}

int render_item(const struct rye_item *item, const struct interp *in, struct rye_blob **ret,
		struct rye_err *err)
{
	static const struct interp none;
	struct rye_span text = item->body;
	struct rye_blob *blob;

	if (rye_kind_has(item->kind, RYE_KIND_ELEMENT))
		return directive_text(item, in ? in : &none, ret, err);
	blob = rye_kind_has(item->kind, RYE_KIND_FRONT) ? rye_blob_new(text.ptr, text.len) :
							  rye_blob_ref(item->text);
	if (!blob)
		return memory_fail(err);
	*ret = blob;
	return 0;
}
