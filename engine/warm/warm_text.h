/* SPDX-License-Identifier: MIT */
/*
 * warm_text.h: which tools' texts a warm parent has compiled. A child knows what its parent
 * knew when it was forked, so a call whose child knows the text sends its number only. The
 * lock of the pool it belongs to guards it.
 */
#ifndef RYE_WARM_WARM_TEXT_H
#define RYE_WARM_WARM_TEXT_H

#include "bounds.h"

#include <rye/rye.h>

struct warm_text {
	struct rye_blob *source; /* NULL: none */
	char *path; /* under which it is compiled */
	unsigned number; /* 1 …; 0: it cannot be compiled ahead */
};

struct warm_texts {
	struct warm_text known[RYE_WARM_TEXTS]; /* the oldest gives way */
	size_t next;
	struct warm_text wanted; /* by the last call that found its text missing */
};

/* The row of this very text under this name; NULL: then it is wanted from now on. */
const struct warm_text *warm_texts_find(struct warm_texts *texts, struct rye_blob *source,
					const char *path);
/* What is wanted, if anything; the caller's from then on. */
bool warm_texts_take_wanted(struct warm_texts *texts, struct warm_text *ret);
void warm_texts_put(struct warm_texts *texts,
		    struct warm_text *text); /* takes over; its number is set */
void warm_text_done(struct warm_text *text);
void warm_texts_done(struct warm_texts *texts);
/* Does somebody who has learnt `taught` texts still know the one of that number? */
bool warm_text_known(unsigned number, unsigned taught);

#endif
