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

/* A text of rye_bare for another id of its kind: fields that say where it lies say the new place. NULL:
 * out of memory. */
RYE_API struct rye_blob *rye_renamed(const char *from, const char *to, struct rye_span text);
/* Takes the item's file away, if it holds exactly put->was; directories that are empty then go along. */
RYE_API int rye_drop(struct rye *rye, const struct rye_put *put, struct rye_err *err);

/*
 * What an item begins with, by the path of a file that could be its own: "tool/my/hello.py". *ret NULL: it may
 * go on to such a path; RYE_NOT_FOUND: it may not. Nothing is read from a disk.
 */
RYE_API int rye_skeleton(const char *path, struct rye_blob **ret, struct rye_err *err);
RYE_API const char *rye_skeleton_kind(size_t n); /* the first words; NULL: there are no more */

/* Items of all spaces whose file names another one: where its id is wanted, or as KIND:ID anywhere. */
struct rye_mention {
	enum rye_kind kind;
	const char *id, *space, *path; /* path: absolute */
	size_t line;
};
typedef int (*rye_mention_fn)(void *arg, const struct rye_mention *mention); /* nonzero stops */
RYE_API int rye_mentions(struct rye *rye, enum rye_kind kind, const char *id, rye_mention_fn fn,
			 void *arg, struct rye_err *err);

/* What a text is as the item of put's place: which key has signed it, and does that count here? */
struct rye_signed {
	enum rye_code code;
	char key[17], owner[128],
		at[24]; /* as its line says; "": it has none. owner: of a known key */
	char message[512]; /* of a refusal */
};
RYE_API void rye_signed_by(struct rye *rye, const struct rye_put *put, struct rye_signed *ret);

#include <rye/skills.h>

#endif
