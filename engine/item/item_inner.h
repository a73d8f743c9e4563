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

/* When reading a file began: what changes it later has another time than one that was old then. */
struct store_moment {
	struct timespec time; /* CLOCK_REALTIME */
	uint64_t trust; /* the generation */
};

/* It was read, and verified, behind that moment. */
void item_store_keep(struct item_store *store, const struct rye_item *item,
		     const struct store_moment *read);
/* Counts a file that was read: verified, or known by its bytes. */
void item_store_count(struct item_store *store, bool known);

#endif
