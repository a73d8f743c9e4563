/* SPDX-License-Identifier: MIT */
/*
 * node.c - the node table.
 *
 * Owns the kernel's reference counts and the map from keys to current nodes. One lock for all:
 * the loop threads hold it for tens of nanoseconds, longer only while the array of buckets grows
 * or nodes_collect goes through all nodes: it grows its array and calls the caller's match,
 * which may take no lock, under it. A node's class and data are released outside, on the thread
 * that drops the last reference.
 */
#include "core/node.h"

#include "core/front.h"
#include "hash.h"
#include "scope.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define BUCKETS_FIRST 1024

struct nodes {
	pthread_mutex_t lock;
	struct node **buckets;
	struct node **stems; /* as many */
	size_t mask; /* buckets - 1 */
	size_t current; /* in the table */
	struct node *newest; /* of all, current or not */
	struct node_counts counts;
	uint16_t epoch;
};

struct node *node_ref(struct node *node)
{
	atomic_fetch_add_explicit(&node->refs, 1, memory_order_relaxed);
	return node;
}

void node_unref(struct node *node)
{
	if (!node || atomic_fetch_sub_explicit(&node->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (node->class->drop && node->data)
		node->class->drop(node->data);
	free(node);
}

static uint32_t hash_of(const struct tree_key *key)
{
	uint64_t h = HASH_BASIS ^ ((uint64_t)key->sort << 8) ^ key->kind;

	h = hash_bytes(hash_add(h, (uintptr_t)key->ctl), key->text, key->text_len);
	h ^= h >> 32;
	return (uint32_t)h;
}

static uint32_t node_stem(uint8_t kind, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = (size_t)((slash ? slash : path) - path);
	uint64_t h = hash_bytes(HASH_BASIS ^ kind, path, len + strcspn(path + len, "."));

	return (uint32_t)(h ^ h >> 32);
}

static bool same_key(const struct node *node, uint32_t hash, const struct tree_key *key)
{
	return node->hash == hash && node->sort == key->sort && node->kind == key->kind &&
	       node->ctl == key->ctl && node->path_len == key->path_len &&
	       node->text_len == key->text_len && memcmp(node->text, key->text, key->text_len) == 0;
}

/* Lock held. */
static struct node **node_slot_of(struct nodes *nodes, uint32_t hash, const struct tree_key *key)
{
	struct node **at = &nodes->buckets[hash & nodes->mask];

	while (*at && !same_key(*at, hash, key))
		at = &(*at)->next;
	return at;
}

/* Lock held. */
static void node_add_kin(struct nodes *nodes, struct node *node)
{
	struct node **at = &nodes->stems[node->stem & nodes->mask];

	node->kin = *at;
	*at = node;
}

/* Lock held. */
static void node_drop_kin(struct nodes *nodes, struct node *node)
{
	struct node **at = &nodes->stems[node->stem & nodes->mask];

	while (*at != node)
		at = &(*at)->kin;
	*at = node->kin;
}

/* Lock held. */
static void node_rehash(struct nodes *nodes, struct node *chain)
{
	for (struct node *node = chain, *next; node; node = next) {
		struct node **at = &nodes->buckets[node->hash & nodes->mask];

		next = node->next;
		node->next = *at;
		*at = node;
		node_add_kin(nodes, node);
	}
}

/* Lock held. Keeps chains short; a table that cannot grow only gets slower. */
static void node_grow(struct nodes *nodes)
{
	size_t n = nodes->mask + 1;
	struct node **old = nodes->buckets, **buckets, **stems;

	if (nodes->current < n)
		return;
	buckets = calloc(2 * n, sizeof(struct node *));
	stems = calloc(2 * n, sizeof(struct node *));
	if (!buckets || !stems) {
		free(buckets);
		free(stems);
		return;
	}
	free(nodes->stems);
	nodes->buckets = buckets;
	nodes->stems = stems;
	nodes->mask = 2 * n - 1;
	for (size_t i = 0; i < n; i++)
		node_rehash(nodes, old[i]);
	free(old);
}

int nodes_open(uint16_t epoch, struct nodes **ret)
{
	struct nodes *nodes = calloc(1, sizeof(*nodes));

	if (!nodes)
		return -ENOMEM;
	nodes->buckets = calloc(BUCKETS_FIRST, sizeof(struct node *));
	nodes->stems = calloc(BUCKETS_FIRST, sizeof(struct node *));
	if (!nodes->buckets || !nodes->stems) {
		free(nodes->buckets);
		free(nodes->stems);
		free(nodes);
		return -ENOMEM;
	}
	nodes->epoch = epoch;
	nodes->mask = BUCKETS_FIRST - 1;
	pthread_mutex_init(&nodes->lock, NULL);
	*ret = nodes;
	return 0;
}

void nodes_close(struct nodes *nodes)
{
	if (!nodes)
		return;
	while (nodes->newest) {
		struct node *node = nodes->newest;

		nodes->newest = node->older;
		node_unref(node);
	}
	pthread_mutex_destroy(&nodes->lock);
	free(nodes->buckets);
	free(nodes->stems);
	free(nodes);
}

void nodes_count(struct nodes *nodes, struct node_counts *ret)
{
	GUARD(&nodes->lock);
	*ret = nodes->counts;
}

fuse_ino_t *nodes_ids(struct nodes *nodes, size_t *ret_n)
{
	fuse_ino_t *ids;
	size_t n = 0;

	GUARD(&nodes->lock);
	ids = calloc(nodes->counts.alive + 1, sizeof(*ids));
	for (struct node *node = nodes->newest; ids && node; node = node->older)
		ids[n++] = node_id(node);
	*ret_n = n;
	return ids;
}

struct node *node_find(struct nodes *nodes, const struct tree_key *key,
		       const struct node_class *class, uint64_t version)
{
	uint32_t hash = hash_of(key);

	GUARD(&nodes->lock);
	struct node *node = *node_slot_of(nodes, hash, key);

	if (node && node->class == class && node->version == version) {
		node->nlookup++;
		return node;
	}
	return NULL;
}

struct node *node_peek(struct nodes *nodes, const struct tree_key *key)
{
	uint32_t hash = hash_of(key);

	GUARD(&nodes->lock);
	struct node *node = *node_slot_of(nodes, hash, key);

	return node ? node_ref(node) : NULL;
}

static struct node *node_allocate(const struct node_want *want, uint16_t epoch)
{
	const struct tree_key *key = want->key;
	struct node *node = malloc(sizeof(*node) + key->text_len + 1);

	if (!node)
		return NULL;
	*node = (struct node){
		.nlookup = 1,
		.refs = 1,
		.hash = hash_of(key),
		.stem = node_stem(key->kind, key->text),
		.class = want->class,
		.data = want->data,
		.ino = want->ino ? want->ino : tree_ino(key),
		.version = want->version,
		.size = want->size,
		.mtime = want->mtime,
		.mode = want->mode,
		.sort = (uint8_t)key->sort,
		.kind = key->kind,
		.item = want->item,
		.ctl = key->ctl,
		.path_len = key->path_len,
		.text_len = key->text_len,
		.epoch = epoch,
	};
	memcpy(node->text, key->text, key->text_len);
	node->text[key->text_len] = 0;
	return node;
}

/* Lock held. Puts the node where its key's current one was, or finds that one to be equal. */
static struct node *node_publish(struct nodes *nodes, struct node *node, const struct tree_key *key)
{
	struct node **at = node_slot_of(nodes, node->hash, key);
	struct node *old = *at;

	if (old && old->class == node->class && old->version == node->version) {
		old->nlookup++;
		return old;
	}
	node->current = true;
	node->next = old ? old->next : NULL;
	*at = node;
	node_add_kin(nodes, node);
	if (old) {
		old->current = false;
		old->next = NULL;
		node_drop_kin(nodes, old);
	} else {
		nodes->current++;
		node_grow(nodes);
	}
	return node;
}

/* Lock held. */
static void node_enlist(struct nodes *nodes, struct node *node)
{
	node->older = nodes->newest;
	if (node->older)
		node->older->newer = node;
	nodes->newest = node;
	nodes->counts.alive++;
	nodes->counts.made++;
}

/* Lock held. */
static void node_delist(struct nodes *nodes, struct node *node)
{
	if (node->newer)
		node->newer->older = node->older;
	else
		nodes->newest = node->older;
	if (node->older)
		node->older->newer = node->newer;
	nodes->counts.alive--;
	nodes->counts.forgotten++;
}

struct node *node_make(struct nodes *nodes, const struct node_want *want)
{
	struct node *node = node_allocate(want, nodes->epoch), *used = node;

	if (!node) {
		if (want->class->drop && want->data)
			want->class->drop(want->data);
		return NULL;
	}
	{
		GUARD(&nodes->lock);
		if (!want->fresh)
			used = node_publish(nodes, node, want->key);
		if (used == node)
			node_enlist(nodes, node);
	}
	if (used != node)
		node_unref(node);
	return used;
}

/* Lock held. */
static void node_unpublish(struct nodes *nodes, struct node *node)
{
	struct node **at = &nodes->buckets[node->hash & nodes->mask];

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	node->next = NULL;
	node_drop_kin(nodes, node);
	node->current = false;
	nodes->current--;
}

void node_retire(struct nodes *nodes, struct node *node)
{
	GUARD(&nodes->lock);
	if (node->current)
		node_unpublish(nodes, node);
}

void node_forget(struct nodes *nodes, struct node *node, uint64_t n)
{
	bool gone = false;

	{
		GUARD(&nodes->lock);
		node->nlookup -= n < node->nlookup ? n : node->nlookup;
		if (node->nlookup == 0) {
			if (node->current)
				node_unpublish(nodes, node);
			node_delist(nodes, node);
			gone = true;
		}
	}
	if (gone)
		node_unref(node);
}

struct node_found {
	struct node **v;
	size_t n, size;
};

/* Lock held. False: out of memory; what was found up to here is told at least. */
static bool node_try(struct nodes *nodes, const struct node_search *what, struct node *node,
		     struct node_found *found)
{
	nodes->counts.looked++;
	if (!what->match(what->arg, node))
		return true;
	if (found->n == found->size) {
		size_t size = found->size * 2;
		struct node **v = realloc(found->v, size * sizeof(struct node *));

		if (!v)
			return false;
		found->v = v;
		found->size = size;
	}
	found->v[found->n++] = node_ref(node);
	return true;
}

/* Lock held. */
static void node_collect(struct nodes *nodes, const struct node_search *what,
			 struct node_found *found)
{
	uint32_t stem = what->stem ? node_stem(what->kind, what->stem) : 0;
	bool ok = true;

	if (what->stem) {
		struct node *node = nodes->stems[stem & nodes->mask];

		for (; node && ok; node = node->kin)
			ok = node_try(nodes, what, node, found);
		return;
	}
	for (size_t i = 0; i <= nodes->mask && ok; i++)
		for (struct node *node = nodes->buckets[i]; node && ok; node = node->next)
			ok = node_try(nodes, what, node, found);
}

struct node **nodes_collect(struct nodes *nodes, const struct node_search *what, size_t *ret_n)
{
	struct node_found found = { calloc(4, sizeof(struct node *)), 0, 4 };

	if (found.v) {
		GUARD(&nodes->lock);
		node_collect(nodes, what, &found);
	}
	*ret_n = found.n;
	return found.v;
}

void node_stat(const struct front *front, const struct node *node, struct stat *ret)
{
	uint64_t size = node->class->size ? node->class->size(node) : node->size;

	*ret = (struct stat){
		.st_ino = node->ino,
		.st_mode = node->mode,
		.st_nlink = 1,
		.st_uid = front->uid,
		.st_gid = front->gid,
		.st_size = (off_t)size,
		.st_blksize = 4096,
		.st_blocks = (blkcnt_t)((size + 511) / 512),
		.st_atim = node->mtime,
		.st_mtim = node->mtime,
		.st_ctim = node->mtime,
	};
}

void node_entry(const struct front *front, struct node *node, double timeout_s,
		struct fuse_entry_param *ret)
{
	*ret = (struct fuse_entry_param){
		.ino = node_id(node),
		.attr_timeout = TIMEOUT_LONG_S,
		.entry_timeout = timeout_s,
	};
	node_stat(front, node, &ret->attr);
}
