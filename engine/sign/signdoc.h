/* SPDX-License-Identifier: MIT */
/*
 * signdoc.h: signatures of things that are not items (items 2.7): JSON documents with a
 * `_signature` member, and digests signed by themselves (transcript checkpoints). A ref like
 * "state:threads/a/thread.json" says what a scoped key must be trusted for.
 */
#ifndef RYE_SIGN_SIGNDOC_H
#define RYE_SIGN_SIGNDOC_H

#include "base/json.h"
#include "trust/trust.h"

/* Adds or replaces `_signature`; stamp NULL: now. */
int signdoc_sign(const struct key_secret *key, json_t *doc, const char *stamp, struct rye_err *err);
/* RYE_UNSIGNED, RYE_MODIFIED, RYE_UNTRUSTED or RYE_BAD_SIGNATURE, naming the ref. */
int signdoc_verify(struct trust_box *box, const char *ref, const json_t *doc, struct rye_err *err);

/* A signature over a lower-case hexadecimal digest by the key with fingerprint fp. */
struct signdoc_mark {
	struct rye_span fp, sig, hash;
};
int signdoc_check(struct trust_box *box, const char *ref, const struct signdoc_mark *mark,
		  struct rye_err *err);

#endif
