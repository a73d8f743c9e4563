/* SPDX-License-Identifier: MIT */
/*
 * A TOML text with a signature line in front of it: key files, and what a node has signed about its
 * principals. It covers every byte behind the line and nothing else: what the text is for, it has to
 * say itself. Pure.
 */
#include "trust/trust.h"

#include "base/sha.h"
#include "parse/parse.h"
#include "str.h"

#include <string.h>

/* A line that looks like a signature but is none must not pass as unsigned. */
static bool stray_line(struct rye_span text)
{
	struct rye_span line;

	while (span_line(&text, &line))
		if (span_starts(line, "# rye:signed:"))
			return true;
	return false;
}

int stamped_read(struct rye_span text, struct stamped *ret, struct rye_err *err)
{
	struct sig_head head;
	struct rye_span region;
	char hex[SHA_HEX];

	*ret = (struct stamped){ 0 };
	sig_head_of(sig_rule_key(), text, &head);
	if (stray_line(head.rest) || head.junk || head.sig.len >= sizeof(ret->sig))
		return rye_fail(err, RYE_INVALID, "malformed signature line");
	if (!head.line.len)
		return 0;
	digest_region(RYE_CONFIG, sig_rule_key(), text, &region);
	sha256_hex(region, hex);
	if (!span_eq(head.hash, hex))
		return rye_fail(err, RYE_INVALID, "content changed since it was signed");
	memcpy(ret->hash, hex, sizeof(hex));
	memcpy(ret->sig, head.sig.ptr, head.sig.len);
	memcpy(ret->signer, head.fp.ptr, head.fp.len);
	ret->is_signed = true;
	return 0;
}

bool stamped_by(const struct stamped *stamped, const unsigned char key[KEY_LEN])
{
	return stamped->is_signed && key_verify(key, span_of(stamped->sig), span_of(stamped->hash));
}

struct rye_blob *stamped_write(struct rye_span text, const struct key_secret *signer,
			       const char *stamp)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	char hex[SHA_HEX], sig[KEY_SIG_TEXT];

	sha256_hex(text, hex);
	key_sign(signer, span_of(hex), sig);
	buf_addf(&out, "# rye:signed:%s:%s:%s:%s\n", stamp, hex, sig, signer->pub.fp);
	buf_addspan(&out, text);
	return buf_blob(&out);
}
