/* SPDX-License-Identifier: MIT */
/*
 * The text of a signed item. The binding line is part of what the format's signature covers
 * (except in a directive), so it is made first. Pure: no file, no clock unless asked for.
 */
#include "buf.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "sign/sign.h"
#include "str.h"

#include <stdio.h>

/* The content without old header lines, in the order in which the new ones go around it. */
struct content {
	struct rye_span shebang; /* only where the format puts it before the signature */
	struct rye_span rest;
	struct rye_span front; /* a shebang that stays behind the header lines */
};

static void drop_headers(struct sig_rule rule, struct rye_span *text)
{
	struct sig_head head;
	struct sig_cut cut;

	*text = span_skip(*text, sig_unclosed_at(rule, *text).len);
	sig_head_of(rule, *text, &head);
	if (head.line.len && !head.shebang.len) {
		*text = head.rest;
		return;
	}
	sig_cut_of(rule, *text, &cut);
	if (!cut.shebang.len)
		*text = cut.rest;
	*text = span_skip(*text, sig_binding_at(rule, *text).len);
}

/*
 * Headers may stand before or behind a shebang: both places are cleared, and what is left is a
 * shebang or none, and the rest.
 */
static void content_of(struct sig_rule rule, struct rye_span text, struct content *ret)
{
	const char *start = text.ptr;
	struct rye_span shebang;
	bool dropped;

	drop_headers(rule, &text);
	dropped = text.ptr != start;
	shebang = sig_shebang(text);
	*ret = (struct content){ .rest = text };
	if (rule.style == SIG_HTML || !shebang.len)
		return;
	ret->rest = span_skip(text, shebang.len);
	/* once: what looks like a header behind one that was dropped is ordinary text */
	if (!dropped)
		drop_headers(rule, &ret->rest);
	else if (rule.after_shebang)
		ret->rest = span_skip(ret->rest, sig_binding_at(rule, ret->rest).len);
	if (rule.after_shebang)
		ret->shebang = shebang;
	else
		ret->front = shebang;
}

bool sign_bare(struct sig_rule rule, struct rye_span text, struct rye_buf *ret)
{
	struct content content;

	content_of(rule, text, &content);
	buf_addspan(ret, content.shebang);
	buf_addspan(ret, content.front);
	buf_addspan(ret, content.rest);
	return !ret->failed;
}

static void signtext_put_line(struct rye_buf *buf, struct sig_rule rule, const char *fields)
{
	char line[SIG_LINE_MAX];

	buf_add(buf, line, sig_line_put(rule, line, fields));
}

/* Shebang, binding line and the rest: what the signature line is then made of. */
static bool put_bound(const struct sign_text *what, struct sig_rule rule, struct content *content,
		      struct rye_buf *buf)
{
	auto_buf struct rye_buf bare = RYE_BUF_INIT;
	char message[DIGEST_BINDING_MAX], sig[KEY_SIG_TEXT], fields[SIG_LINE_MAX];
	struct sig_head head = { .shebang = content->shebang };
	size_t n;

	buf_addspan(&bare, content->front);
	buf_addspan(&bare, content->rest);
	if (bare.failed)
		return false;
	head.rest = (struct rye_span){ bare.len ? bare.data : "", bare.len };
	n = digest_binding(&what->place, &head, message);
	key_sign(what->key, (struct rye_span){ message, n }, sig);
	snprintf(fields, sizeof(fields), "rye:full:1:%s:%s", sig, what->key->pub.fp);
	buf_addspan(buf, head.shebang);
	signtext_put_line(buf, rule, fields);
	buf_addspan(buf, head.rest);
	return n && !buf->failed;
}

static int sign_content(const struct sign_text *what, struct sig_rule rule, struct rye_span bound,
			struct signature *ret, struct rye_err *err)
{
	struct rye_span region;

	if (!digest_region(what->place.kind, rule, bound, &region))
		return rye_fail(err, RYE_UNPARSABLE, "No XML directive found in content");
	if (what->stamp)
		snprintf(ret->stamp, sizeof(ret->stamp), "%s", what->stamp);
	else
		clock_stamp_signed(ret->stamp);
	sha256_hex(region, ret->hash);
	key_sign(what->key, span_of(ret->hash), ret->sig);
	memcpy(ret->fp, what->key->pub.fp, KEY_FP);
	return 0;
}

static int sign_lf(const struct sign_text *what, struct rye_span text, struct rye_buf *out,
		   struct signature *ret_sig, struct rye_err *err)
{
	auto_buf struct rye_buf bound = RYE_BUF_INIT;
	struct content content;
	struct sig_rule rule;
	char fields[SIG_LINE_MAX];
	int r;

	if (!sig_rule_of(what->place.kind, what->place.ext, &rule))
		return rye_fail(err, RYE_INVALID, "no signature format for extension %s",
				what->place.ext);
	content_of(rule, text, &content);
	if (!put_bound(what, rule, &content, &bound))
		return memory_fail(err);
	r = sign_content(what, rule, (struct rye_span){ bound.data, bound.len }, ret_sig, err);
	if (r < 0)
		return r;
	snprintf(fields, sizeof(fields), "rye:signed:%s:%s:%s:%s", ret_sig->stamp, ret_sig->hash,
		 ret_sig->sig, ret_sig->fp);
	buf_addspan(out, content.shebang);
	signtext_put_line(out, rule, fields);
	buf_add(out, bound.data + content.shebang.len, bound.len - content.shebang.len);
	return out->failed ? memory_fail(err) : 0;
}

int sign_text(const struct sign_text *what, struct rye_blob **ret, struct signature *ret_sig,
	      struct rye_err *err)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct rye_blob *text = digest_newlines(what->raw), *blob;
	int r;

	if (!text)
		return memory_fail(err);
	r = sign_lf(what, (struct rye_span){ text->data, text->len }, &out, ret_sig, err);
	rye_blob_unref(text);
	if (r < 0)
		return r;
	blob = buf_blob(&out);
	if (!blob)
		return memory_fail(err);
	*ret = blob;
	return 0;
}
