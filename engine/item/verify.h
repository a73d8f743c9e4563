/* SPDX-License-Identifier: MIT */
/*
 * verify.h: are these bytes what their signer signed, for this place? (items 2, 3.4; binding
 * line and coverage as docs/items.md). Works on bytes in memory; opens nothing.
 */
#ifndef RYE_ITEM_VERIFY_H
#define RYE_ITEM_VERIFY_H

#include "item/item.h"

struct verify_ask {
	enum rye_kind kind;
	const char *id, *ext; /* the place */
	const char *path; /* absolute, for messages */
	struct rye_span raw;
	bool compat;
};

/*
 * Always fills *ret; on refusal *err has the format's message and ret->code == err->code.
 * *ret_text: the text to serve and parse: raw itself (one more reference is not taken: NULL
 * means "raw as it is"), or a new blob where compat changed line ends or the shebang.
 */
int verify_bytes(const struct item_env *env, const struct verify_ask *ask, struct verdict *ret,
		 struct rye_blob **ret_text, struct rye_err *err);

#endif
