/* SPDX-License-Identifier: MIT */
/*
 * A table by space and path, and two orders by last use: entries that have their item, and
 * those of which only an unread rendering is left. `lock` guards all of it and is held for table
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
#define TEXT_OVERHEAD 200
struct store_entry {
	struct store_entry *chain;
	struct store_entry *newer, *older;
	struct rye_item *item; /* NULL: only the text is left */
	struct rye_blob *text; /* NULL: not rendered */
	uint64_t trust; /* 0: not to be found by its file */
	uint64_t gen, version; /* the state in the index that text is of */
	bool read; /* text has been given out */
	size_t cost;
	int space;
	char path[];
};

struct store_order {
	struct store_entry *newest, *oldest;
	size_t bytes;
};

struct item_store {
	_Atomic uint64_t verifications, hits;
	pthread_mutex_t lock; /* of what follows */
	struct store_entry *slots[SLOTS];
	struct store_order items, texts;
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

static struct store_order *order_of(struct item_store *store, const struct store_entry *entry)
{
	return entry->item ? &store->items : &store->texts;
}

static void order_take(struct item_store *store, struct store_entry *entry)
{
	struct store_order *order = order_of(store, entry);

	*(entry->newer ? &entry->newer->older : &order->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &order->oldest) = entry->newer;
	order->bytes -= entry->cost;
}

static void order_put(struct item_store *store, struct store_entry *entry)
{
	struct store_order *order = order_of(store, entry);
	size_t text = entry->text ? entry->text->len : 0;

	entry->cost = entry->item ? ITEM_OVERHEAD + 3 * entry->item->raw->len + text :
				    TEXT_OVERHEAD + text;
	entry->newer = NULL;
	entry->older = order->newest;
	*(order->newest ? &order->newest->newer : &order->oldest) = entry;
	order->newest = entry;
	order->bytes += entry->cost;
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

/* Its item goes; a rendering that has not been read yet stays. */
static void entry_shed(struct item_store *store, struct store_entry *entry,
		       struct store_entry **gone)
{
	struct store_entry *shed = entry->text && !entry->read ? calloc(1, sizeof(*shed)) : NULL;

	if (!shed) {
		entry_take(store, entry, gone);
		return;
	}
	order_take(store, entry);
	shed->item = steal(&entry->item);
	shed->chain = *gone;
	*gone = shed;
	order_put(store, entry);
}

/* The newest stays even when it is bigger than all that is allowed: it is in use. */
static void item_store_shrink(struct item_store *store, struct store_entry **gone)
{
	struct store_order *items = &store->items, *texts = &store->texts;

	while (items->bytes > ITEMS_BYTES && items->oldest != items->newest)
		entry_shed(store, items->oldest, gone);
	while (texts->bytes > STORE_TEXTS_BYTES && texts->oldest != texts->newest)
		entry_take(store, texts->oldest, gone);
}

static void item_store_release(struct store_entry *gone)
{
	while (gone) {
		struct store_entry *next = gone->chain;

		rye_item_unref(gone->item);
		rye_blob_unref(gone->text);
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
		while (store->items.oldest)
			entry_take(store, store->items.oldest, &gone);
		while (store->texts.oldest)
			entry_take(store, store->texts.oldest, &gone);
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

		if (entry && entry->item && entry->trust == trust && may_serve(entry->item, ask) &&
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

/* ---- by state in the index ---- */

static bool item_store_path_of(const struct index_item *item, char *ret, size_t size)
{
	int n = snprintf(ret, size, "%s/%s%s", rye_kind_dir(item->kind), item->id, item->ext);

	return n > 0 && (size_t)n < size;
}

bool item_store_get(struct item_store *store, const struct index_item *item, struct rye_item **ret,
		    struct rye_blob **ret_text)
{
	char path[1100];
	bool hit = false;

	if (!item_store_path_of(item, path, sizeof(path)))
		return false;
	{
		GUARD(&store->lock);
		struct store_entry *entry = *item_store_slot_of(store, item->space, path);

		hit = entry && entry->item && entry->text && entry->gen == item->gen;
		if (hit) {
			*ret = rye_item_ref(entry->item);
			*ret_text = rye_blob_ref(entry->text);
			order_take(store, entry);
			order_put(store, entry);
		}
	}
	store->hits += hit;
	return hit;
}

struct rye_blob *item_store_text(struct item_store *store, const struct index_item *item)
{
	struct store_entry *gone = NULL;
	struct rye_blob *text = NULL;
	char path[1100];

	if (!item_store_path_of(item, path, sizeof(path)))
		return NULL;
	{
		GUARD(&store->lock);
		struct store_entry *entry = *item_store_slot_of(store, item->space, path);
		bool same = entry && entry->gen == item->gen &&
			    entry->version == item->state.version;

		if (same && entry->text)
			text = rye_blob_ref(entry->text);
		if (entry)
			entry->read |= same;
		/* now the reader holds it; that of another state is of no use any more */
		if (entry && !entry->item)
			entry_take(store, entry, &gone);
	}
	item_store_release(gone);
	store->hits += text != NULL;
	return text;
}

/* The entry of this very item, with its text now. */
static bool add_text(struct item_store *store, const struct index_item *item,
		     const struct item_text *what, struct store_entry **gone)
{
	struct store_entry *entry = *item_store_slot_of(store, item->space, what->item->path);

	if (!entry || entry->item != what->item)
		return false;
	order_take(store, entry);
	rye_blob_unref(entry->text);
	entry->text = rye_blob_ref(what->text);
	entry->gen = item->gen;
	entry->version = what->version;
	entry->read = false;
	order_put(store, entry);
	item_store_shrink(store, gone);
	return true;
}

void item_store_put(struct item_store *store, const struct index_item *item,
		    const struct item_text *what)
{
	struct store_entry *entry, *gone = NULL;
	bool added = false;

	{
		GUARD(&store->lock);
		added = add_text(store, item, what, &gone);
	}
	item_store_release(gone);
	entry = added ? NULL : entry_new(what->item);
	if (!entry)
		return;
	entry->text = rye_blob_ref(what->text);
	entry->gen = item->gen;
	entry->version = what->version;
	store_entry(store, entry);
}

void item_store_counts(struct item_store *store, struct item_store_counts *ret)
{
	*ret = (struct item_store_counts){ store->verifications, store->hits };
}
