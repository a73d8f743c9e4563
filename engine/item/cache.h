/* SPDX-License-Identifier: MIT */
/*
 * cache.h: loaded items, and what the index remembers of their verification.
 *
 * A bounded number of verified items is kept with their rendering; of all others the index
 * keeps verdict, size and version, so contents need not stay in memory. Loading holds no lock:
 * two threads that want the same item at once both load it, nobody waits for the other.
 */
#ifndef RYE_ITEM_CACHE_H
#define RYE_ITEM_CACHE_H

#include "item/index.h"
#include "item/item.h"
#include "item/render.h"

struct cache;

struct cache_env {
	const struct item_env *items;
	struct index *index; /* NULL: items are located on disk, nothing is remembered */
	interp_env_fn env; /* {env:NAME} */
	void *env_arg;
};

int cache_open(const struct cache_env *env, struct cache **ret, struct rye_err *err);
void cache_close(struct cache *cache);

/* A verified item with its rendering (defaults, no inputs given). */
struct loaded {
	struct rye_item *item;
	struct rye_blob *text;
	uint64_t layers; /* digest of all sources of a merged entry; 0: item is the only one */
	int64_t mtime_ns; /* then: of the latest of them */
};

void loaded_done(struct loaded *loaded);
#define auto_loaded __attribute__((cleanup(loaded_done)))

/* By canonical id or alias. Refused items fail with the full text of their refusal. */
int cache_load(struct cache *cache, enum rye_kind kind, const char *id, struct loaded *ret,
	       struct rye_err *err);
/* The rendering that the last verification brought, for the first who asks; NULL: load it. */
struct rye_blob *cache_text(struct cache *cache, enum rye_kind kind, const char *id);
/* Makes item->state known, loading if need be; false: it is gone. */
bool cache_know(struct cache *cache, struct index_item *item);
/* Everything kept is dropped (trust has changed). */
void cache_forget(struct cache *cache);

struct cache_counts {
	uint64_t loads, hits;
};
void cache_counts(struct cache *cache, struct cache_counts *ret);

#endif
