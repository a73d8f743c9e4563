/* SPDX-License-Identifier: MIT */
/*
 * document.h: what a search looks at in one file: its fields and its text, lower-cased, in one
 * blob; or, where memory is short, its fields and a sieve of the text (search/sieve.h). Of a
 * refused file only the names are there: nothing unverified is ever searched.
 */
#ifndef RYE_SEARCH_DOCUMENT_H
#define RYE_SEARCH_DOCUMENT_H

#include "item/item.h"

enum doc_field { DOC_TITLE, DOC_NAME, DOC_DESCRIPTION, DOC_CATEGORY, DOC_PREVIEW, DOC_FIELD__MAX };

struct doc {
	uint32_t start[DOC_FIELD__MAX], len[DOC_FIELD__MAX]; /* in text */
	uint32_t all; /* length of text: the fields, then the whole body, unless there is a sieve */
	uint32_t sieve, sieve_len; /* offset; 0: the body is here */
	uint32_t title; /* offset of the title as written, NUL-terminated */
	uint32_t id; /* offset of the id, NUL-terminated */
	uint8_t code; /* RYE_OK, or why the file is refused */
	char text[];
};

static inline const struct doc *doc_of(const struct rye_blob *blob)
{
	return (const struct doc *)blob->data;
}

static inline struct rye_span doc_field(const struct doc *doc, enum doc_field field)
{
	return (struct rye_span){ doc->text + doc->start[field], doc->len[field] };
}

static inline struct rye_span doc_sieve(const struct doc *doc)
{
	return (struct rye_span){ doc->text + doc->sieve, doc->sieve_len };
}

/* whole: with the body, else its sieve. NULL: out of memory. */
struct rye_blob *doc_make(const struct rye_item *item, bool whole);
struct rye_blob *doc_refused(const char *id, enum rye_code code);

/* A declared text, or "". `names`: alternatives, the first one wins, NULL at the end. */
const char *doc_text(const struct rye_item *item, const char *const names[]);
/* The first 200 characters of what a reader sees of the item. */
struct rye_span doc_preview(const struct rye_item *item);

#endif
