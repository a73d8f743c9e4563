/* SPDX-License-Identifier: MIT */
/*
 * verdict_cache.h: items by what the index says of them, and what it remembers of their verification.
 *
 * Verified items are kept with their rendering in the item store; of all the index keeps
 * verdict, size and version, so contents need not stay in memory. No lock is held here: two
 * threads that want the same item at once both load it, neither waits for the other.
 */
#ifndef RYE_API_VERDICT_CACHE_H
#define RYE_API_VERDICT_CACHE_H

#include "space/index.h"
#include "item/item.h"
#include "item/render.h"

/* Frozen once made. */
struct cache {
	const struct item_env *items;
	struct index *index;
	interp_env_fn env; /* {env:NAME} */
	void *env_arg;
};

/* A verified item with its rendering (defaults, no inputs given). */
struct loaded {
	struct rye_item *item;
	struct rye_blob *text;
	uint64_t layers; /* digest of all sources of a merged entry; 0: item is the only one */
	int64_t mtime_ns; /* then: of the latest of them */
	bool unsigned_part; /* it is configuration, or merged from some, that has no signature */
};

void loaded_done(struct loaded *loaded);
#define auto_loaded __attribute__((cleanup(loaded_done)))

/* By canonical id or alias. Refused items fail with the full text of their refusal. */
int cache_load(const struct cache *cache, enum rye_kind kind, const char *id, struct loaded *ret,
	       struct rye_err *err);
/* The same from the disk, without an index; nothing is remembered in one. */
int cache_direct(const struct cache *cache, const struct item_ask *ask, struct loaded *ret,
		 struct rye_err *err);
/*
 * Makes item->state known, loading if need be; false: it is gone. ret_text, unless NULL, wants
 * the rendering of a served item too: of exactly that state, the caller's reference.
 */
bool cache_know(const struct cache *cache, struct index_item *item, struct rye_blob **ret_text);

#endif
