/* SPDX-License-Identifier: MIT */
/*
 * A table by space and path, and the order of last use. `lock` guards all of it and is held for table
 * work only: nothing is opened, verified or freed under it.
 */
#include "item/item_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "scope.h"
#include "space/space.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SLOTS 4096
/* Enough for what is looked up and then read, and for the chains of the moment. */
#define ITEMS_BYTES (4u << 20)
/* What an item costs beside its bytes: the parsed map, strings, allocator. */
#define ITEM_OVERHEAD 4096
struct store_entry {
	struct store_entry *chain;
	struct store_entry *newer, *older;
	struct rye_item *item;
	uint64_t trust;
	size_t cost;
	int space;
	char path[];
};

struct item_store {
	_Atomic uint64_t verifications, hits;
	pthread_mutex_t lock; /* of what follows */
	struct store_entry *slots[SLOTS];
	struct store_entry *newest, *oldest;
	size_t bytes;
};

struct item_store *item_store_open(void)
{
	struct item_store *store = calloc(1, sizeof(*store));

	if (store)
		pthread_mutex_init(&store->lock, NULL);
	return store;
}

void item_store_close(struct item_store *store)
{
	if (!store)
		return;
	item_store_forget(store);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

/* ---- the table; lock held ---- */

static struct store_entry **item_store_slot_of(struct item_store *store, int space,
					       const char *path)
{
	struct store_entry **at = &store->slots[(id_hash(space, path) >> 24) % SLOTS];

	while (*at && ((*at)->space != space || strcmp((*at)->path, path) != 0))
		at = &(*at)->chain;
	return at;
}

static void order_take(struct item_store *store, struct store_entry *entry)
{
	*(entry->newer ? &entry->newer->older : &store->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &store->oldest) = entry->newer;
	store->bytes -= entry->cost;
}

static void order_put(struct item_store *store, struct store_entry *entry)
{
	entry->newer = NULL;
	entry->older = store->newest;
	*(store->newest ? &store->newest->newer : &store->oldest) = entry;
	store->newest = entry;
	store->bytes += entry->cost;
}

/* To be released by the caller, without the lock. */
static void entry_take(struct item_store *store, struct store_entry *entry,
		       struct store_entry **gone)
{
	order_take(store, entry);
	*item_store_slot_of(store, entry->space, entry->path) = entry->chain;
	entry->chain = *gone;
	*gone = entry;
}

/* The newest stays even when it is bigger than all that is allowed: it is in use. */
static void item_store_shrink(struct item_store *store, struct store_entry **gone)
{
	while (store->bytes > ITEMS_BYTES && store->oldest != store->newest)
		entry_take(store, store->oldest, gone);
}

static void item_store_release(struct store_entry *gone)
{
	while (gone) {
		struct store_entry *next = gone->chain;

		rye_item_unref(gone->item);
		free(gone);
		gone = next;
	}
}

static struct store_entry *entry_new(const struct rye_item *item)
{
	size_t len = strlen(item->path);
	struct store_entry *entry = calloc(1, sizeof(*entry) + len + 1);

	if (!entry)
		return NULL;
	entry->space = item->space->index;
	entry->item = rye_item_ref(item);
	entry->cost = ITEM_OVERHEAD + 3 * item->raw->len;
	memcpy(entry->path, item->path, len + 1);
	return entry;
}

/* In the place of what was there. */
static void store_entry(struct item_store *store, struct store_entry *entry)
{
	struct store_entry *gone = NULL;

	{
		GUARD(&store->lock);
		struct store_entry *old = *item_store_slot_of(store, entry->space, entry->path);
		struct store_entry **at;

		if (old)
			entry_take(store, old, &gone);
		at = item_store_slot_of(store, entry->space, entry->path);
		*at = entry;
		order_put(store, entry);
		item_store_shrink(store, &gone);
	}
	item_store_release(gone);
}

void item_store_forget(struct item_store *store)
{
	struct store_entry *gone = NULL;

	{
		GUARD(&store->lock);
		while (store->oldest)
			entry_take(store, store->oldest, &gone);
	}
	item_store_release(gone);
}

/* ---- by file ---- */

/* What was let pass unsigned passes only where that is allowed. */
static bool may_serve(const struct rye_item *item, const struct path_ask *ask)
{
	return item->kind == ask->kind &&
	       (ask->unsigned_ok || *item->verdict.fingerprint || item->verdict.dev);
}

struct rye_item *item_store_recall(struct item_store *store, const struct path_ask *ask,
				   const struct stat *st, uint64_t trust)
{
	struct rye_item *item = NULL;

	if (!store)
		return NULL;
	{
		GUARD(&store->lock);
		struct store_entry *entry =
			*item_store_slot_of(store, ask->space->index, ask->path);

		if (entry && entry->trust == trust && may_serve(entry->item, ask) &&
		    stat_same(&entry->item->st, st)) {
			item = rye_item_ref(entry->item);
			order_take(store, entry);
			order_put(store, entry);
		}
	}
	store->hits += item != NULL;
	return item;
}

void item_store_keep(struct item_store *store, const struct rye_item *item,
		     const struct store_moment *read)
{
	struct store_entry *entry;

	if (!store || !stat_settled(&item->st, &read->time))
		return;
	entry = entry_new(item);
	if (!entry)
		return;
	entry->trust = read->trust;
	store_entry(store, entry);
}

void item_store_count(struct item_store *store, bool known)
{
	if (store)
		(*(known ? &store->hits : &store->verifications))++;
}

void item_store_counts(struct item_store *store, struct item_store_counts *ret)
{
	*ret = (struct item_store_counts){ store->verifications, store->hits };
}
