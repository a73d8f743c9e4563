/* SPDX-License-Identifier: MIT */
/*
 * digest.h: which bytes a signature speaks of (items 2.4) and the binding line's message.
 * Pure; regions are spans of the given text.
 */
#ifndef RYE_PARSE_DIGEST_H
#define RYE_PARSE_DIGEST_H

#include "base/sha.h"
#include "parse/sigline.h"

/*
 * The hashed region of a text whose newlines are LF. False: a directive without its element.
 * rule: sig_rule_of, or sig_rule_key with RYE_CONFIG for trust-store files.
 */
bool digest_region(enum rye_kind kind, struct sig_rule rule, struct rye_span text,
		   struct rye_span *ret);
/* A knowledge text whose hash leaves its "---" block out. */
bool digest_is_dashed(struct sig_rule rule, struct rye_span text);

/* The first <directive…> and the last </directive>: what a directive's signature covers. */
bool digest_element(struct rye_span text, struct rye_span *ret);

/* Room for "rye-full-1", a reference and a digest. */
#define DIGEST_BINDING_MAX 1200
/*
 * The binding message over the raw bytes shebang + rest (header lines already out) for the
 * place kind:id+ext. Its length; 0: the place is too long to be one.
 */
struct digest_place {
	enum rye_kind kind;
	const char *id, *ext;
};
size_t digest_binding(const struct digest_place *place, const struct sig_head *head,
		      char ret[DIGEST_BINDING_MAX]);

/* CR LF and CR become LF. NULL: out of memory. */
struct rye_blob *digest_newlines(struct rye_span raw);

#endif
