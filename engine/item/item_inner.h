/* SPDX-License-Identifier: MIT */
/*
 * item_inner.h: what the files of item/ share: the store of verified items, asked by file.
 */
#ifndef RYE_ITEM_ITEM_INNER_H
#define RYE_ITEM_ITEM_INNER_H

#include "item/item.h"

/* ---- by file: load.c; store may be NULL ---- */

/* A new reference to the item of this open file; NULL: it is not here. */
struct rye_item *item_store_recall(struct item_store *store, const struct path_ask *ask, int fd,
				   uint64_t trust);
/* trust: the generation before it was verified. */
void item_store_keep(struct item_store *store, const struct rye_item *item, uint64_t trust);
/* hash: of a kind and id of which the best space has one file alone. Believed for a second: only
 * the warning of a second file hangs on it. */
void item_store_alone(struct item_store *store, uint64_t hash);
bool item_store_is_alone(struct item_store *store, uint64_t hash);
/* Counts a file that was read: verified, or known by its bytes. */
void item_store_count(struct item_store *store, bool known);

#endif
