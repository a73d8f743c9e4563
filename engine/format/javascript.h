/* SPDX-License-Identifier: MIT */
/* javascript.h: values of JavaScript literal expressions, for parse_javascript.c. */
#ifndef RYE_FORMAT_JAVASCRIPT_H
#define RYE_FORMAT_JAVASCRIPT_H

#include "base/json.h"

struct js {
	struct rye_span text;
	size_t at;
	size_t nodes; /* values made so far, at most RYE_LITERAL_NODES */
	size_t work; /* bytes looked at by literals, failed ones included */
};

/* '\0' at the end of the text. */
static inline char js_peek(const struct js *j, size_t ahead)
{
	return j->at + ahead < j->text.len ? j->text.ptr[j->at + ahead] : 0;
}

/* Blanks, line ends and comments; false: a comment does not end. */
bool js_blanks(struct js *j);
/* Letters, digits, _ and $, not beginning with a digit; empty: none. */
struct rye_span js_name(struct js *j);

/*
 * A literal: string, template without ${}, number, true, false, null, undefined (null), array,
 * object; trailing commas and comments are fine. A new reference, with j->at behind it. NULL:
 * something else; j->at is then anywhere.
 */
json_t *js_literal(struct js *j, int depth);

#endif
