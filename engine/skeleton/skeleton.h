/* SPDX-License-Identifier: MIT */
/*
 * skeleton.h: what an item begins with, one row a file: `ryefs new` writes them, a mount shows them below
 * new/. The texts are the files of text/. Pure.
 */
#ifndef RYE_SKELETON_SKELETON_H
#define RYE_SKELETON_SKELETON_H

#include <rye/rye.h>

struct skeleton {
	const char *kind, *lang; /* as they are typed */
	const char *also; /* other words for lang, " a b " */
	enum rye_kind item;
	const char *ext;
	const char *id; /* like the texts, with @ID@ … for what depends on the item's name */
	const char *text;
	const char *next; /* the command that tries it; NULL: another file of the same has it */
};

/* The rows in the order in which kinds and languages are told. */
const struct skeleton *skeleton_rows(size_t *ret_n);
/* The first row of a kind and, unless NULL, a language or file name's end; NULL: there is none. */
const struct skeleton *skeleton_find(const char *kind, const char *lang);
/* "tool, directive or graph"; languages of a kind. To free; NULL: out of memory. */
char *skeleton_kinds(void);
char *skeleton_langs(const char *kind);
/* A text of a row for that id; to free, NULL: out of memory. */
char *skeleton_fill(const char *text, const char *id);
/* The id that was meant: what no skeleton of this kind can be called is put right. To free; NULL:
 * nothing is left of it, or out of memory. */
char *skeleton_id(const struct skeleton *row, const char *id);
const char *skeleton_wanted(const struct skeleton *row); /* what such an id is made of */

/* A row that a path names, "tool/my/hello.py", and its text; *ret NULL: it may go on to one. RYE_NOT_FOUND,
 * or RYE_INVALID where another name would be one. */
int skeleton_at(const char *path, struct rye_blob **ret, struct rye_err *err);
/* The nth kind; NULL: there are no more. */
const char *skeleton_kind(size_t n);

#endif
