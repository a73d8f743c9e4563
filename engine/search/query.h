/* SPDX-License-Identifier: MIT */
/*
 * query.h: the search language (items 6.2): words, "phrases", globs, AND, OR, NOT, brackets.
 * Every text is some query: what is missing matches everything, what cannot follow ends it.
 * Only size and nesting are refused.
 */
#ifndef RYE_SEARCH_QUERY_H
#define RYE_SEARCH_QUERY_H

#include "err.h"

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
/* False: no text with this sieve (search/sieve.h) matches. */
bool query_may(const struct query *query, struct rye_span sieve);
/* Does a text that holds a matching one match as well? Not when there is a NOT. */
bool query_grows(const struct query *query);
/* Do all its terms stand together somewhere (opt.proximity)? True when nobody asked. */
bool query_near(const struct query *query, struct rye_span text);

struct rye_buf;
/* Appends text in lower case: ASCII, Latin, Greek, Cyrillic; other scripts have none or stay. */
void query_lower(struct rye_span text, struct rye_buf *out);

static inline void auto_query_(struct query **held)
{
	query_free(*held);
}
#define auto_query __attribute__((cleanup(auto_query_)))

#endif
