/* SPDX-License-Identifier: MIT */
/*
 * write.h: fourth part of rye.h (included by threads.h): an item's text as its author has written it.
 * Same conventions.
 */
#ifndef RYE_WRITE_H
#define RYE_WRITE_H

#include <rye/rye.h>

/*
 * Checked as signing checks a file, signed in memory with the person's key and put into its place in
 * one step, so that there is never a half of it, or one that is unsigned. What the place holds has to
 * be what the author has seen: else RYE_BUSY, and it stays.
 */
struct rye_put {
	enum rye_kind kind;
	const char *id, *ext; /* ".py" */
	enum rye_space space; /* RYE_PROJECT or RYE_USER */
	struct rye_span text; /* header lines in it go */
	struct rye_span was; /* the bytes that are there; ptr NULL: there are none */
	bool dry; /* only checked: nothing is written, `was` is not looked at */
	bool bare; /* written as it is: neither checked nor signed */
};
/* *ret: what is remarked, one a line, the lines counted as in the text if `dry`; or NULL. */
RYE_API int rye_put(struct rye *rye, const struct rye_put *put, struct rye_blob **ret,
		    struct rye_err *err);

#include <rye/skills.h>

#endif
