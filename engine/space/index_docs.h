/* SPDX-License-Identifier: MIT */
/*
 * index_docs.h: going over all sources of all items, and the documents that searching keeps
 * with them until an item changes (search/document.h).
 */
#ifndef RYE_SPACE_INDEX_DOCS_H
#define RYE_SPACE_INDEX_DOCS_H

#include "space/index.h"

/* One source of an item, for searching. */
struct index_doc {
	struct rye_blob *doc; /* a reference, or NULL: not made yet */
	char *id; /* when doc is NULL, or ids are wanted; owned */
	uint64_t gen, others; /* others: bit per space (the first 64) of the item's other sources */
	const char *ext;
	uint16_t space, winner; /* winner: the space that has the item */
	uint8_t kind;
	bool best; /* this one is the winner */
};

struct index_docs {
	struct index_doc *v;
	size_t n, size;
};

struct index_want {
	unsigned kinds; /* bit per enum rye_kind */
	const char *prefix; /* of ids */
	bool ids; /* always */
};

/* In no order; false: out of memory. */
bool index_docs(struct index *index, const struct index_want *want, struct index_docs *ret);
void index_docs_done(struct index_docs *docs);
/* Keeps a document made for `of` (a new reference is taken) unless the item has changed. */
void index_keep_doc(struct index *index, const struct index_doc *of, struct rye_blob *doc);
size_t index_doc_bytes(struct index *index); /* of all that are kept */
void index_drop_docs(struct index *index);

#endif
