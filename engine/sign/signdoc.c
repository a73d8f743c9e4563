/* SPDX-License-Identifier: MIT */
/*
 * Signing and verifying JSON documents over their canonical form, so that indentation and the
 * order of members do not matter, and plain digests. The documents are state, not authority:
 * a scoped key is enough when its scope names the ref. No state, no locks of its own.
 */
#include "sign/sign.h"

#include "base/sha.h"
#include "clock.h"
#include "memory.h"
#include "parse/parse.h"
#include "scope.h"
#include "str.h"

#define MEMBER "_signature"

/* The digest of all members but the signature. */
static int digest_of(const json_t *doc, char ret[SHA_HEX], struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *bare = json_copy((json_t *)doc);

	if (!json_is_object(doc))
		return rye_fail(err, RYE_INVALID, "a document to sign is a JSON object");
	if (!bare)
		return memory_fail(err);
	json_object_del(bare, MEMBER);
	json_canonical(&text, bare);
	if (text.failed)
		return memory_fail(err);
	sha256_hex((struct rye_span){ text.data, text.len }, ret);
	return 0;
}

int signdoc_sign(const struct key_secret *key, json_t *doc, const char *stamp, struct rye_err *err)
{
	char hash[SHA_HEX], sig[KEY_SIG_TEXT], now[24], line[SIG_LINE_MAX];
	int r = digest_of(doc, hash, err);

	if (r < 0)
		return r;
	clock_stamp_signed(now);
	key_sign(key, span_of(hash), sig);
	snprintf(line, sizeof(line), "rye:signed:%s:%s:%s:%s", stamp ? stamp : now, hash, sig,
		 key->pub.fp);
	return json_sets(doc, MEMBER, line) ? 0 : memory_fail(err);
}

int signdoc_check(struct trust_box *box, const char *ref, const struct signdoc_mark *mark,
		  struct rye_err *err)
{
	auto_trust struct trust *trust = trust_get(box);
	const struct trust_key *key = trust_find(trust, mark->fp);

	if (!key || !trust_covers(key, ref))
		return rye_fail(err, RYE_UNTRUSTED, "Untrusted key %.*s for %s",
				(int)(mark->fp.len < KEY_FP ? mark->fp.len : KEY_FP - 1),
				mark->fp.ptr, ref);
	if (mark->hash.len != SHA_HEX - 1 || !is_hex_lower(mark->hash) ||
	    !trust_check(box, key, mark->sig, mark->hash))
		return rye_fail(err, RYE_BAD_SIGNATURE, "Ed25519 signature verification failed: %s",
				ref);
	return 0;
}

int signdoc_verify(struct trust_box *box, const char *ref, const json_t *doc, struct rye_err *err)
{
	struct sig_head head;
	char hash[SHA_HEX];
	int r;

	if (!sig_fields_of(span_of(json_str(doc, MEMBER)), &head))
		return rye_fail(err, RYE_UNSIGNED, "Unsigned item: %s", ref);
	r = digest_of(doc, hash, err);
	if (r < 0)
		return r;
	if (!span_eq(head.hash, hash))
		return rye_fail(err, RYE_MODIFIED, "Content modified since signing: %s", ref);
	return signdoc_check(box, ref, &(struct signdoc_mark){ head.fp, head.sig, head.hash }, err);
}
