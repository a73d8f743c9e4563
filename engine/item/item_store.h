/* SPDX-License-Identifier: MIT */
/*
 * item_store.h: the one store of verified items. rye_load asks it whether it has seen this very
 * file before, so that reading, verifying and parsing are done once: for a reader, for the
 * views of an item, for the chains of all runs. Where an item lies is looked up each time.
 *
 * A file is the same one while device, inode, size and both times are, once it is old enough
 * for these to tell every change, and while the trust store is the one it was verified with.
 * With an item goes its rendering, by its state in the index: that one is kept longer, until
 * its first reader has it, since from then on that reader holds it.
 */
#ifndef RYE_ITEM_ITEM_STORE_H
#define RYE_ITEM_ITEM_STORE_H

#include "space/index.h"
#include "item/item.h"

struct item_store;

/* Renderings of ten thousand items are about 25 MB; of more, those verified last stay. */
#define STORE_TEXTS_BYTES (32u << 20)

struct item_store *item_store_open(void); /* NULL: out of memory */
void item_store_close(struct item_store *store); /* NULL is fine */
/* Everything is dropped (trust has changed). */
void item_store_forget(struct item_store *store);

/* ---- by file: load.c; store may be NULL ---- */

/* A new reference to the item of this open file; NULL: it is not here. */
struct rye_item *item_store_recall(struct item_store *store, const struct path_ask *ask, int fd,
				   uint64_t trust);
/* trust: the generation before it was verified. */
void item_store_keep(struct item_store *store, const struct rye_item *item, uint64_t trust);
/* Nothing hides behind what `hash` names: believed for a second, it is worth a warning only. */
void item_store_alone(struct item_store *store, uint64_t hash);
bool item_store_is_alone(struct item_store *store, uint64_t hash);
/* Some bytes are being verified. */
void item_store_count(struct item_store *store);

/* ---- by state in the index: verdict_cache.c ---- */

/* Both parts, each a new reference of the caller's, or none. */
bool item_store_get(struct item_store *store, const struct index_item *item, struct rye_item **ret,
		    struct rye_blob **ret_text);
/* The rendering of exactly this state, for a reader; NULL: it is not here (any more). */
struct rye_blob *item_store_text(struct item_store *store, const struct index_item *item);
struct item_text {
	const struct rye_item *item;
	struct rye_blob *text;
	uint64_t version; /* of struct index_state */
};
void item_store_put(struct item_store *store, const struct index_item *item,
		    const struct item_text *what);

struct item_store_counts {
	uint64_t verifications, hits;
};
void item_store_counts(struct item_store *store, struct item_store_counts *ret);

#endif
