/* SPDX-License-Identifier: MIT */
/* fence.h: what the parsers of item text share: the look at the bytes, and fenced blocks. */
#ifndef RYE_FORMAT_FENCE_H
#define RYE_FORMAT_FENCE_H

#include "err.h"

/*
 * Every parser's first step: UTF-8 without a byte order mark and without NUL, else
 * RYE_UNPARSABLE ("Not valid UTF-8: byte 17").
 */
int text_guard(struct rye_span text, struct rye_err *err);

/* A block between a line of three backticks with an info string and one of three backticks. */
struct fence {
	struct rye_span before; /* up to the opening line */
	struct rye_span content; /* between the two lines, with its last LF */
	struct rye_span after; /* behind the closing line */
};

/*
 * The first such block that is not inside a fence of four or more backticks. False: there is
 * none, or the first one is not closed.
 */
bool fence_find(struct rye_span text, const char *info, struct fence *ret);

/* Behind a leading HTML comment and blanks, when there is one; else text as it is. */
struct rye_span text_skip_comment(struct rye_span text);

#endif
