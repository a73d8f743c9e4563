/* SPDX-License-Identifier: MIT */
/*
 * fuzz_sigline.c - header lines, hashed regions and line ends under every rule; the first byte
 * picks it. The parts must lie in the text and account for all of it.
 */
#include "str.h"
#include "parse/parse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(struct rye_span text, struct rye_span part)
{
	if (part.len && (part.ptr < text.ptr || part.ptr + part.len > text.ptr + text.len))
		abort();
}

static void check_head(struct sig_rule rule, struct rye_span text)
{
	struct sig_head head;
	struct sig_cut cut;

	sig_head_of(rule, text, &head);
	inside(text, head.rest);
	inside(text, head.sig);
	inside(text, head.bind_sig);
	if (head.shebang.len + head.line.len + head.bind_line.len + head.rest.len != text.len)
		abort();
	if ((head.binding == BINDING_PRESENT) != (head.bind_line.len > 0))
		abort();
	sig_cut_of(rule, text, &cut);
	if (cut.shebang.len + cut.line.len + cut.rest.len != text.len)
		abort();
	/* what is read as the signature line is what hashing leaves out, or it leaves nothing out */
	if (head.line.len && cut.line.len && cut.line.len != head.line.len)
		abort();
}

/* Nothing between header lines and hashed text but one shebang. */
static void check_region(struct sig_rule rule, struct rye_span text, struct rye_span region)
{
	struct sig_head head;
	struct sig_cut cut;
	const char *body;

	sig_head_of(rule, text, &head);
	sig_cut_of(rule, text, &cut);
	if (!head.line.len || !cut.line.len || digest_is_dashed(rule, text))
		return;
	body = head.rest.ptr - head.bind_line.len;
	if (region.ptr != body && region.ptr != body + sig_shebang(head.rest).len)
		abort();
}

static void check_newlines(struct rye_span text)
{
	struct rye_blob *lf = digest_newlines(text);

	if (!lf || lf->len > text.len || memchr(lf->data, '\r', lf->len))
		abort();
	rye_blob_unref(lf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct {
		enum rye_kind kind;
		const char *ext;
	} rules[] = { { RYE_DIRECTIVE, ".md" },
		      { RYE_TOOL, ".py" },
		      { RYE_TOOL, ".js" },
		      { RYE_CONFIG, ".yaml" },
		      { RYE_KNOWLEDGE, ".md" } };
	size_t pick = size ? data[0] % 5 : 0;
	struct rye_span text = { (const char *)data + (size > 0), size - (size > 0) }, region;
	struct sig_rule rule;

	if (!sig_rule_of(rules[pick].kind, rules[pick].ext, &rule))
		abort();
	check_head(rule, text);
	check_newlines(text);
	if (digest_region(rules[pick].kind, rule, text, &region))
		inside(text, region);
	if (rules[pick].kind != RYE_DIRECTIVE)
		check_region(rule, text, region);
	return 0;
}
