/* SPDX-License-Identifier: MIT */
/*
 * render.h: verified items → what is read. Interpolation is items 5.1, input validation 5.2,
 * the prompt is items 8. Pure: environment values come from the caller's function.
 */
#ifndef RYE_ITEM_RENDER_H
#define RYE_ITEM_RENDER_H

#include "item/item.h"

/* NULL: not on the allow-list or not set (the placeholder stays). */
typedef const char *(*interp_env_fn)(void *arg, const char *name);

struct interp {
	const json_t *inputs; /* object */
	interp_env_fn env; /* NULL: no environment */
	void *env_arg;
};

void interp_text(const struct interp *in, struct rye_span text, struct rye_buf *out);

/*
 * Declared inputs against given ones: unknown, defaults, required (items 5.2). given is not
 * changed; *ret is a new object. The error is RYE_INVALID with the format's text; *ret_extra,
 * when not NULL, gets the reply's other members (declared_inputs …), a new reference.
 */
int inputs_resolve(const struct rye_item *directive, const json_t *given, json_t **ret,
		   json_t **ret_extra, struct rye_err *err);
/* "a=b&c=d" → object of strings; percent-decoded. */
json_t *inputs_query(const char *query, struct rye_err *err);

/* What `cat NAME` delivers: header lines cut, a directive's text interpolated (defaults, given). */
int render_item(const struct rye_item *item, const struct interp *in, struct rye_blob **ret,
		struct rye_err *err);
/* The verified text without its signature and binding lines (shebang stays). Borrowed. */
struct rye_span render_body(const struct rye_item *item, struct rye_span *ret_shebang);
/* prompt.md: items 8, S004 form with the decided <returns> part. */
int render_prompt(const struct rye_item *directive, const struct interp *in,
		  const char *instruction, struct rye_blob **ret, struct rye_err *err);

#endif
