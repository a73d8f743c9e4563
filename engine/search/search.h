/* SPDX-License-Identifier: MIT */
/*
 * search.h: ranked search over the texts of all verified items (items 6.2). The first search
 * makes the documents, later ones only look at them; where not all texts have room in memory,
 * those that may match are read and verified again. Not for threads that must not wait.
 */
#ifndef RYE_SEARCH_SEARCH_H
#define RYE_SEARCH_SEARCH_H

#include "search/document.h"
#include "space/index_docs.h"
#include "search/query.h"

struct search_env {
	const struct item_env *items;
	struct index *index;
	int threads; /* that make missing documents */
	size_t texts_max; /* bytes of documents from which on they are made without the body */
	const _Atomic int *stop; /* not 0: give up (RYE_CANCELLED); NULL: nobody will */
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

#endif
