/* SPDX-License-Identifier: MIT */
/*
 * verify.h: are these bytes what their signer signed, for this place? (items 2, 3.4; binding
 * line and coverage as docs/items.md). Works on bytes in memory; opens nothing.
 */
#ifndef RYE_TRUST_VERIFY_H
#define RYE_TRUST_VERIFY_H

#include "parse/parse.h"
#include "trust/verdict.h"

struct verify_ask {
	enum rye_kind kind;
	const char *id, *ext; /* the place */
	const char *path; /* absolute, for messages */
	struct rye_span raw;
	bool compat;
	bool unsigned_ok; /* config: no signature line is a notice, a wrong one stays wrong */
	bool dev; /* integrity refusals become warnings (never for system items and config) */
};

struct verified {
	struct verdict verdict; /* filled whatever the outcome */
	/*
	 * What to serve and parse: the caller's reference, or NULL when it is raw itself. A new
	 * text where compat read CR as LF or put an empty line for an unsigned shebang. Without
	 * its header lines it is shebang followed by body.
	 */
	struct rye_blob *text;
	struct rye_span shebang, body; /* in text, or in raw */
	struct directive_shape shape; /* of a directive: within its body */
};

/*
 * 0 when the bytes may be served. On refusal *err has the format's message and
 * ret->verdict.code == err->code; nothing but the verdict is set then.
 */
int verify_bytes(const struct item_env *env, const struct verify_ask *ask, struct verified *ret,
		 struct rye_err *err);

#endif
