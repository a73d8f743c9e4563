/* SPDX-License-Identifier: MIT */
/*
 * listing.c - directories told in the order of hashed offsets.
 *
 * Owns the offsets. Two names with one hash get neighbouring offsets, in the order of the
 * names. No lock: a listing belongs to one request. Once an entry with a node is in the buffer
 * the answer may not become an error any more, or the kernel's reference would be lost.
 */
#include "core/listing.h"

#include "core/reply.h"
#include "hash.h"
#include "scope.h"

#include <errno.h>
#include <string.h>

/* Offsets 1 and 2 are . and ..; offset 0 is the beginning. */
#define OFF_FIRST 3

struct item {
	uint64_t off; /* of this entry: where the next one begins */
	uint64_t ino; /* 0: has a node to be entered */
	uint32_t at; /* in names */
	uint32_t type;
};

struct listing {
	struct item *items;
	size_t n, room;
	char *names;
	size_t len, size;
	bool failed;
};

struct listing *listing_new(void)
{
	return calloc(1, sizeof(struct listing));
}

void listing_free(struct listing *listing)
{
	if (!listing)
		return;
	free(listing->items);
	free(listing->names);
	free(listing);
}

static bool listing_reserve(struct listing *l, size_t name)
{
	if (l->n == l->room) {
		size_t room = l->room ? l->room * 2 : 64;
		struct item *items = realloc(l->items, room * sizeof(*items));

		if (!items)
			return false;
		l->items = items;
		l->room = room;
	}
	if (l->len + name > l->size) {
		size_t size = (l->size ? l->size * 2 : 1024) + name;
		char *names = realloc(l->names, size);

		if (!names)
			return false;
		l->names = names;
		l->size = size;
	}
	return l->len + name < UINT32_MAX;
}

/* 62 bits: off_t is signed, and collisions move up. */
static uint64_t offset_of(const char *name)
{
	uint64_t h = hash_text(HASH_BASIS, name);

	h ^= h >> 31;
	h *= 0x94d049bb133111ebull;
	h ^= h >> 29;
	h >>= 2;
	return h < OFF_FIRST ? OFF_FIRST : h;
}

void listing_add(struct listing *l, const char *name, mode_t type, uint64_t ino)
{
	size_t len = strlen(name) + 1;

	if (l->failed || !listing_reserve(l, len)) {
		l->failed = true;
		return;
	}
	memcpy(l->names + l->len, name, len);
	l->items[l->n++] = (struct item){
		.off = offset_of(name),
		.ino = ino,
		.at = (uint32_t)l->len,
		.type = type,
	};
	l->len += len;
}

static int order_entries(const void *a, const void *b, void *names)
{
	const struct item *x = a, *y = b;
	int c;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	c = strcmp((char *)names + x->at, (char *)names + y->at);
	/* of two with the same name the first added stays */
	return c ? c : x->at < y->at ? -1 : 1;
}

bool listing_finish(struct listing *l)
{
	size_t n = 0;

	if (l->failed)
		return false;
	if (l->n == 0)
		return true;
	qsort_r(l->items, l->n, sizeof(*l->items), order_entries, l->names);
	for (size_t i = 0; i < l->n; i++) {
		if (n && strcmp(l->names + l->items[i].at, l->names + l->items[n - 1].at) == 0)
			continue;
		l->items[n] = l->items[i];
		if (n && l->items[n].off <= l->items[n - 1].off)
			l->items[n].off = l->items[n - 1].off + 1;
		n++;
	}
	l->n = n;
	return true;
}

/* The first entry that lies behind off. */
static size_t listing_seek(const struct listing *l, off_t off)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->items[mid].off <= (uint64_t)off)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct listing_out {
	const struct listing_ask *ask;
	char *bytes;
	size_t len;
};

/* False: it does not fit. */
static bool listing_put(struct listing_out *out, const char *name,
			const struct fuse_entry_param *entry, off_t off)
{
	fuse_req_t req = out->ask->req;
	size_t left = out->ask->size - out->len, used;
	char *at = out->bytes + out->len;

	if (out->ask->plus)
		used = fuse_add_direntry_plus(req, at, left, name, entry, off);
	else
		used = fuse_add_direntry(req, at, left, name, &entry->attr, off);
	if (used > left)
		return false;
	out->len += used;
	return true;
}

static bool put_plain(struct listing_out *out, const char *name, const struct item *item)
{
	struct fuse_entry_param entry = {
		.attr = { .st_mode = item->type, .st_ino = item->ino ? item->ino : item->off },
	};

	return listing_put(out, name, &entry, (off_t)item->off);
}

/* With its node when it has one now; a name that has just gone is told without. */
static bool put_entered(struct listing_out *out, const char *name, const struct item *item)
{
	struct node *dir = out->ask->dir;
	/* the table whose readdir this is: another may wait */
	const struct node_class *class = dir->class->readdir ? dir->class : dir->class->aside;
	int (*enter)(fuse_req_t, struct node *, const char *, struct fuse_entry_param *) =
		class->enter_listed ? class->enter_listed : class->enter;
	struct fuse_entry_param entry = { 0 };
	size_t need = fuse_add_direntry_plus(out->ask->req, NULL, 0, name, NULL, 0);

	if (need > out->ask->size - out->len)
		return false;
	if (enter(out->ask->req, dir, name, &entry) || !entry.ino)
		return put_plain(out, name, item);
	return listing_put(out, name, &entry, (off_t)item->off);
}

static bool listing_fill(struct listing_out *out, const struct listing *l)
{
	const struct item self = { .off = 1, .ino = out->ask->dir->ino, .type = S_IFDIR };
	const struct item up = { .off = 2, .ino = 1, .type = S_IFDIR };
	off_t off = out->ask->off;

	if (off < 1 && !put_plain(out, ".", &self))
		return false;
	if (off < 2 && !put_plain(out, "..", &up))
		return false;
	for (size_t i = listing_seek(l, off); i < l->n; i++) {
		const struct item *item = &l->items[i];
		const char *name = l->names + item->at;
		bool enter = out->ask->plus && !item->ino;

		if (enter ? !put_entered(out, name, item) : !put_plain(out, name, item))
			return false;
	}
	return true;
}

bool listing_reply(const struct listing_ask *ask, const struct listing *listing)
{
	auto_free char *bytes = malloc(ask->size);
	struct listing_out out = { .ask = ask, .bytes = bytes };
	bool all;

	if (!bytes || ask->off < 0) {
		reply_errno(ask->req, ask->off < 0 ? EINVAL : ENOMEM);
		return true;
	}
	all = listing_fill(&out, listing);
	reply_bytes(ask->req, out.bytes, out.len);
	return all;
}

/* ---- the shelf ---- */

/* As many readers of big directories as there may be at once without making listings anew. */
#define SHELF_MAX 8

struct shelf {
	pthread_mutex_t lock;
	struct {
		struct node *dir;
		struct listing *listing;
	} slots[SHELF_MAX];
	size_t next; /* the slot to be used next: the oldest */
};

int shelf_open(struct shelf **ret)
{
	struct shelf *shelf = calloc(1, sizeof(*shelf));

	if (!shelf)
		return -ENOMEM;
	pthread_mutex_init(&shelf->lock, NULL);
	*ret = shelf;
	return 0;
}

void shelf_close(struct shelf *shelf)
{
	if (!shelf)
		return;
	for (size_t i = 0; i < SHELF_MAX; i++) {
		node_unref(shelf->slots[i].dir);
		listing_free(shelf->slots[i].listing);
	}
	pthread_mutex_destroy(&shelf->lock);
	free(shelf);
}

struct listing *shelf_take(struct shelf *shelf, const struct node *dir)
{
	struct listing *found = NULL;
	auto_node struct node *held = NULL;

	GUARD(&shelf->lock);
	for (size_t i = 0; i < SHELF_MAX && !found; i++)
		if (shelf->slots[i].dir == dir) {
			held = steal(&shelf->slots[i].dir);
			found = steal(&shelf->slots[i].listing);
		}
	return found;
}

void shelf_put(struct shelf *shelf, struct node *dir, struct listing *listing)
{
	struct listing *old = NULL;
	auto_node struct node *old_dir = NULL;

	{
		GUARD(&shelf->lock);
		size_t i = shelf->next++ % SHELF_MAX;

		old = shelf->slots[i].listing;
		old_dir = shelf->slots[i].dir;
		shelf->slots[i].dir = node_ref(dir);
		shelf->slots[i].listing = listing;
	}
	listing_free(old);
}
