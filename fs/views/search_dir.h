/* SPDX-License-Identifier: MIT */
/*
 * search_dir.h: search/QUERY/: ranked results as symbolic links. What a directory answers with
 * is found by a worker (search_work.c): until then requests wait, FUSE threads do not.
 */
#ifndef RYE_FS_VIEWS_SEARCH_DIR_H
#define RYE_FS_VIEWS_SEARCH_DIR_H

#include "core/front.h"

/* "01-tool:rye%2Fbash": place, kind, id with its slashes encoded. False: too long for a name. */
bool search_name(size_t rank, enum rye_kind kind, const char *id, char ret[256]);

struct searches;
struct results;

/* The worker of a mount. 0 or -errno. */
int searches_open(struct front *front, struct searches **ret);
/* After parking_close, before the session ends: gives up what runs, joins. NULL is fine. */
void searches_stop(struct searches *searches);
void searches_free(struct searches *searches); /* after the nodes are gone; NULL is fine */

/* ---- between search_dir.c and search_work.c ---- */

/* A request about a directory of results. */
struct search_query_ask {
	fuse_req_t req;
	struct node *dir;
	const char *name; /* LOOKUP of it; NULL: READDIR */
	size_t size;
	off_t off;
	bool plus;
};

/* The node's data: results that nobody has asked for yet. NULL: out of memory. */
struct results *results_new(struct searches *searches, const char *query);
void results_drop(void *results);
/* Answers now or when the worker has found them: search_answer, or an errno. */
void results_ask(struct results *results, const struct search_query_ask *ask);

/* Hits, once they are found. */
size_t results_count(const struct results *results);
const char *results_name(const struct results *results, size_t i);
const char *results_target(const struct results *results, size_t i);

/* search_dir.c: the results are there; exactly one answer. No lock is held. */
void search_answer(const struct search_query_ask *ask);

#endif
