/* SPDX-License-Identifier: MIT */
/*
 * template.h: placeholders of signed configuration (tools 2.5, as decided there). The texts
 * that are scanned come from signed items only. A value is inserted once and never scanned
 * again, so nothing a caller sends is ever interpreted.
 */
#ifndef RYE_PLAN_TEMPLATE_H
#define RYE_PLAN_TEMPLATE_H

#include "str.h"
#include "process/environment.h"

struct template
{
	const struct env *env; /* ${NAME}, ${NAME:-default}; an unknown name is empty */
	const json_t *context; /* {tool_path} …: object of strings, first */
	const json_t *config; /* then the merged signed config; NULL: none */
	const json_t *params; /* then the caller's parameters; NULL: none */
};

/* {name} of an unknown name stays as it is written. */
void template_text(const struct template *in, struct rye_span text, struct rye_buf *out);

/* True: the text is exactly "{name}". */
bool template_whole(struct rye_span text, const char *name);

/* Strings as they are, numbers decimal, true/false, null empty, the rest JSON. */
void template_value(struct rye_buf *out, const json_t *value);

/* Names asked for by ${NAME} in any string of value are added to the array `names`. */
void template_names(const json_t *value, json_t *names);

#endif
