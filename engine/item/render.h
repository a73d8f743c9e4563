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

/* Appends; out->failed when the result is over out's cap. */
void interp_text(const struct interp *in, struct rye_span text, struct rye_buf *out);
/*
 * A directive's map with body, content and the strings of its actions filled in (actions
 * without the environment); everything else is shared. A new reference; NULL: too big.
 */
json_t *interp_map(const struct interp *in, const json_t *map, struct rye_err *err);

/*
 * Declared inputs against given ones: unknown, defaults, required (items 5.2). given may be
 * NULL and is not changed; *ret is a new object. The error is RYE_INVALID with the format's
 * text; *ret_extra, when not NULL, then gets the reply's other members (item_id,
 * declared_inputs), a new reference.
 */
int inputs_resolve(const struct rye_item *directive, const json_t *given, json_t **ret,
		   json_t **ret_extra, struct rye_err *err);
/* The same without the last step: what is required may be missing. */
int inputs_fill(const struct rye_item *directive, const json_t *given, json_t **ret,
		struct rye_err *err);
/* "a=b&c=d" → object of strings; percent-decoded; NULL or "": an empty one. */
json_t *inputs_query(const char *query, struct rye_err *err);

/*
 * What `cat NAME` delivers. Of a directive: the text without header lines, its body (never
 * preamble or XML) filled in with in->inputs as given and the defaults; a placeholder whose
 * input is missing stays, an undeclared input is RYE_INVALID. Knowledge: the text without
 * header lines. Tools and config: the verified bytes. in may be NULL.
 */
int render_item(const struct rye_item *item, const struct interp *in, struct rye_blob **ret,
		struct rye_err *err);
/* The verified text without its signature and binding lines (shebang stays). Borrowed. */
struct rye_span render_body(const struct rye_item *item, struct rye_span *ret_shebang);
/*
 * prompt.md: items 8, with the decided <returns> part; inputs as in
 * render_item. instruction NULL: prompt_instruction().
 */
int render_prompt(const struct rye_item *directive, const struct interp *in,
		  const char *instruction, struct rye_blob **ret, struct rye_err *err);
/* The same of a parsed map, with in->inputs as they are. */
void prompt_put(const json_t *meta, const struct interp *in, const char *instruction,
		struct rye_buf *out);
/* The compiled-in text: a bundle's rye/agent/core/DirectiveInstruction goes before it. */
const char *prompt_instruction(void);

#endif
