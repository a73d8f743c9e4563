/* SPDX-License-Identifier: MIT */
/*
 * item_inner.h: what the files of item/ share: the store of verified items, asked by file.
 */
#ifndef RYE_ITEM_ITEM_INNER_H
#define RYE_ITEM_ITEM_INNER_H

#include "item/item.h"

/* ---- by file: load.c; store may be NULL ---- */

/* A new reference to the item of this very file; NULL: it is not here. */
struct rye_item *item_store_recall(struct item_store *store, const struct path_ask *ask,
				   const struct stat *st, uint64_t trust);
/* trust: the generation before it was verified. */
void item_store_keep(struct item_store *store, const struct rye_item *item, uint64_t trust);
/* hash: of a kind and id of which the best space has one file alone. Believed for a second: only
 * the warning of a second file hangs on it. */
void item_store_alone(struct item_store *store, uint64_t hash);
bool item_store_is_alone(struct item_store *store, uint64_t hash);
/* Counts a file that was read: verified, or known by its bytes. */
void item_store_count(struct item_store *store, bool known);

/* ---- item_recent.c: recents may be NULL ---- */

struct recent_ask {
	enum rye_kind kind;
	bool is_path; /* the name is a path below .ai of the space `only`, else an id */
	const char *name;
	const struct space *from, *only; /* struct item_ask's */
};

struct recent_found {
	uint64_t stamp; /* watch_stamp before it was looked for; 0: it cannot be kept */
	const struct space *space; /* NULL: there is no such file */
	char path[1100];
	struct stat st;
	bool ambiguous;
};

/* False: only ret->stamp is set, for recents_keep. */
bool recents_find(struct recents *recents, const struct recent_ask *ask, struct recent_found *ret);
void recents_keep(struct recents *recents, const struct spaces *spaces,
		  const struct recent_ask *ask, const struct recent_found *found);

#endif
