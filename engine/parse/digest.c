/* SPDX-License-Identifier: MIT */
/*
 * Hashed regions. They are all contiguous spans of the text, so nothing is copied: the caller
 * hashes what it is given. The binding message is ours and is the only thing here that speaks
 * of kind and place. No state, no locks; any bytes may come in.
 */
#include "parse/parse.h"

#include "str.h"

#include <stdio.h>

bool digest_element(struct rye_span text, struct rye_span *ret)
{
	static const char closer[] = "</directive>";
	const size_t n = sizeof(closer) - 1;
	ssize_t start = span_find(text, 0, "<directive"), end;
	const char *gt;

	if (start < 0)
		return false;
	gt = memchr(text.ptr + start, '>', text.len - (size_t)start);
	if (!gt)
		return false;
	for (end = (ssize_t)text.len - (ssize_t)n; end > gt - text.ptr; end--)
		if (text.ptr[end] == '<' && !memcmp(text.ptr + end, closer, n)) {
			*ret = (struct rye_span){ text.ptr + start, (size_t)(end - start) + n };
			return true;
		}
	return false;
}

/* Behind the second "---", stripped; a block that never ends is no block. */
static struct rye_span behind_dashes(struct rye_span text)
{
	ssize_t second = span_find(text, 3, "---");

	return second < 0 ? text : span_strip_unicode(span_skip(text, (size_t)second + 3));
}

bool digest_is_dashed(struct sig_rule rule, struct rye_span text)
{
	struct sig_cut cut;

	sig_cut_of(rule, text, &cut);
	return span_starts(cut.rest, "---") && span_find(cut.rest, 3, "---") >= 0;
}

bool digest_region(enum rye_kind kind, struct sig_rule rule, struct rye_span text,
		   struct rye_span *ret)
{
	struct sig_cut cut;

	if (rye_kind_has(kind, RYE_KIND_ELEMENT))
		return digest_element(text, ret);
	sig_cut_of(rule, text, &cut);
	*ret = cut.rest;
	if (rye_kind_has(kind, RYE_KIND_FRONT) && span_starts(cut.rest, "---"))
		*ret = behind_dashes(cut.rest);
	else if (!rye_kind_has(kind, RYE_KIND_FRONT) && !cut.shebang.len)
		*ret = span_skip(cut.rest, sig_shebang(cut.rest).len);
	return true;
}

size_t digest_binding(const struct digest_place *place, const struct sig_head *head,
		      char ret[DIGEST_BINDING_MAX])
{
	const struct rye_span parts[] = { head->shebang, head->rest };
	char hex[SHA_HEX];
	int n;

	sha256_parts(parts, 2, hex);
	n = snprintf(ret, DIGEST_BINDING_MAX, "rye-full-1\n%s:%s%s\n%s", rye_kind_name(place->kind),
		     place->id, place->ext, hex);
	return n < 0 || n >= DIGEST_BINDING_MAX ? 0 : (size_t)n;
}

struct rye_blob *digest_newlines(struct rye_span raw)
{
	struct rye_blob *blob = rye_blob_new(NULL, raw.len);
	size_t out = 0;

	if (!blob)
		return NULL;
	for (size_t i = 0; i < raw.len; i++) {
		if (raw.ptr[i] != '\r')
			blob->data[out++] = raw.ptr[i];
		else if (i + 1 == raw.len || raw.ptr[i + 1] != '\n')
			blob->data[out++] = '\n';
	}
	blob->data[out] = 0;
	blob->len = out;
	return blob;
}
