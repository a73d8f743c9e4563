/* SPDX-License-Identifier: MIT */
/* refusal.h: the texts of refused items (items 3.4), each ending in the command that mends it. */
#ifndef RYE_TRUST_REFUSAL_H
#define RYE_TRUST_REFUSAL_H

#include "trust/verify.h"

struct trust;
struct trust_key;

/*
 * "<first><path>\\n  Kind: <kind>\\n<details>  Fix: <fix>"; details: whole lines or "". The path
 * is cut at its front before the fix would be lost. fix NULL: "ryefs sign <kind>:<id>".
 */
struct refusal {
	enum rye_code code;
	const char *first; /* "Unsigned item: " */
	const char *details;
	const char *fix;
};
int refuse(const struct verify_ask *ask, const struct refusal *what, struct rye_err *err);

int refuse_unsigned(const struct verify_ask *ask, struct rye_err *err);
int refuse_line(const struct verify_ask *ask, const struct verdict *v, struct rye_err *err);
int refuse_modified(const struct verify_ask *ask, const struct verdict *v, struct rye_span wanted,
		    struct rye_err *err);
int refuse_untrusted(const struct verify_ask *ask, const struct verdict *v,
		     const struct trust *trust, struct rye_err *err);
/* The key is trusted, but not for this item. */
int refuse_scope(const struct verify_ask *ask, const struct verdict *v, const struct trust_key *key,
		 struct rye_err *err);
int refuse_signature(const struct verify_ask *ask, const struct verdict *v, struct rye_err *err);
/* what: the uncovered bytes or the reason; both ways out are told. */
int refuse_uncovered(const struct verify_ask *ask, const struct verdict *v, bool changed,
		     const char *what, struct rye_err *err);
int refuse_moved(const struct verify_ask *ask, const struct verdict *v, const char *where,
		 struct rye_err *err);

#endif
