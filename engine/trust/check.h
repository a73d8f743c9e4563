/* SPDX-License-Identifier: MIT */
/* check.h: the state of one verification, shared by verify.c and coverage.c only. */
#ifndef RYE_TRUST_CHECK_H
#define RYE_TRUST_CHECK_H

#include "parse/sigline.h"
#include "trust/trust.h"
#include "trust/verify.h"

struct check {
	const struct item_env *env;
	const struct verify_ask *ask;
	struct verdict *v;
	struct sig_rule rule;
	struct rye_blob *lf; /* raw with LF only; NULL: raw has no CR */
	struct rye_span text; /* what the format's signature speaks of: raw or lf */
	struct sig_head head; /* of text */
	struct sig_head raw; /* of the raw bytes; without CR the same */
	struct trust *trust;
	const struct trust_key *key; /* the signer, once found */
};

/*
 * After the format's own signature was found good: does it, with the binding line, cover these
 * bytes and this place? Sets verdict.bound, .coverage and .notice.
 */
int coverage_check(struct check *c, struct rye_err *err);

/* The shebang that the format's hash leaves out, wherever it stands; or empty. */
struct rye_span coverage_open_shebang(const struct check *c);

#endif
