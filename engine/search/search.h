/* SPDX-License-Identifier: MIT */
/*
 * search.h: searching the texts of verified items.
 */
#ifndef RYE_SEARCH_SEARCH_H
#define RYE_SEARCH_SEARCH_H

#include "err.h"
#include "item/item.h"
#include "space/space.h"

/*
 * document.c: what a search looks at in one file: its fields and its text, lower-cased, in one
 * blob; or, where memory is short, its fields and a sieve of the text (search/sieve.c). Of a
 * refused file only the names are there: nothing unverified is ever searched.
 */

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

/* With the body. NULL: out of memory. */
struct rye_blob *doc_make(const struct rye_item *item);
/* The same of a manifest, which says nothing: of what is attached to it. */
struct rye_blob *doc_make_attached(const struct rye_item *item, const struct attached *attached);
/* The same with a sieve for the body, or a reference to it where that would not be smaller. */
struct rye_blob *doc_without_body(struct rye_blob *whole);
struct rye_blob *doc_refused(const char *id, enum rye_code code);

/* A declared text, or "". `names`: alternatives, the first one wins, NULL at the end. */
const char *doc_text(const struct rye_item *item, const char *const names[]);
/* The first 200 characters of what a reader sees of the item. */
struct rye_span doc_preview(const struct rye_item *item);

/*
 * query.c: the search language: words, "phrases", globs, AND, OR, NOT, brackets. Every text is
 * some query: what is missing matches everything, what cannot follow ends it. Only size and
 * nesting are refused.
 */

struct query;

/* Beyond the language, of a request: both 0 by default. */
struct query_opt {
	int fuzzy; /* a word also matches words that are this many edits away */
	int proximity; /* all terms within so many words of each other */
};

/* Lower-cased on the way. opt may be NULL. */
int query_parse(const char *text, const struct query_opt *opt, struct query **ret,
		struct rye_err *err);
void query_free(struct query *query); /* NULL is fine */
/* No term at all: matches everything with the best score. */
bool query_empty(const struct query *query);
/* text is lower-cased (query_lower). */
bool query_match(const struct query *query, struct rye_span text);
/* False: no text with this sieve (search/sieve.c) matches. */
bool query_may(const struct query *query, struct rye_span sieve);
/* Does a text that holds a matching one match as well? Not when there is a NOT. */
bool query_grows(const struct query *query);
/* Do all its terms stand together somewhere (opt.proximity)? True when opt.proximity is 0. */
bool query_near(const struct query *query, struct rye_span text);

struct rye_buf;
/* Appends text in lower case: ASCII, Latin, Greek, Cyrillic; other scripts have none or stay. */
void query_lower(struct rye_span text, struct rye_buf *out);

DEFINE_AUTO(auto_query_, struct query *, query_free)
#define auto_query __attribute__((cleanup(auto_query_)))

/*
 * search.c: ranked search over the texts of all verified items. The first search makes the
 * documents as it looks at them, later ones only look; where not all texts have room in memory,
 * later ones read and verify again what may match. Not for threads that must not wait.
 */

struct search_env {
	const struct item_env *items;
	struct index *index;
	int threads; /* that make missing documents */
	size_t texts_max; /* bytes of documents from which on they are made without the body */
	const _Atomic int *stop; /* not 0: give up (RYE_CANCELLED); NULL: it never is */
	void (*progress)(void *arg, size_t done, size_t total); /* on the asking thread; or NULL */
	void *progress_arg;
};

struct search_ask {
	const char *query;
	unsigned kinds; /* bit per enum rye_kind */
	unsigned spaces; /* bit per enum rye_space */
	const char *prefix; /* ids start with it; "": all */
	unsigned fields; /* bit per enum doc_field that counts; 0: all, and the whole body */
	struct query_opt opt;
	bool losers; /* sources that another space hides, too */
};

struct search_hit {
	const struct index_doc *of; /* in the result's memory */
	const struct doc *doc;
	double score;
};

struct search_result {
	struct index_docs docs;
	struct search_hit *v; /* best first */
	size_t n;
};

int search_run(const struct search_env *env, const struct search_ask *ask,
	       struct search_result *ret, struct rye_err *err);
void search_done(struct search_result *result);

/*
 * filter.c: narrowing search results by declared metadata. {"tool_type": "python",
 * "version": ">=1.2", "author": "!me", "tags": ["a", "b"], "date_from": "2026-01-01"}. Pure.
 */

/* RYE_INVALID: not an object of texts, numbers, booleans and lists of these. */
int filter_check(const json_t *filters, struct rye_err *err);
/* Every member has to hold; dates are compared with the day the file was changed. */
bool filter_match(const json_t *filters, const struct rye_item *item);

#endif
