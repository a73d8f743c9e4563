/* SPDX-License-Identifier: MIT */
/*
 * The bounded cache of loaded items and the one function that turns a file into a remembered
 * verdict. `lock` guards the table only: files are read, verified, parsed and rendered without
 * it, and what comes out is thrown away by index_publish when the item has changed meanwhile.
 */
#include "item/cache.h"

#include "base/auto.h"
#include "base/id.h"
#include "base/str.h"
#include "item/config.h"
#include "item/reason.h"
#include "item/texts.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* Enough for what is looked up and then read; contents that the kernel has are not needed. */
#define CACHE_BYTES (4u << 20)
#define CACHE_SLOTS 256
/* What an item costs beside its bytes: the parsed map, strings, allocator. */
#define ITEM_OVERHEAD 4096

struct entry {
	struct entry *chain;
	struct entry *newer, *older; /* by last use */
	struct loaded loaded;
	uint64_t gen;
	size_t cost;
	enum rye_kind kind;
	char id[];
};

struct cache {
	struct cache_env env;
	struct texts *texts; /* verified, not asked for yet */
	pthread_mutex_t lock;
	struct entry *slots[CACHE_SLOTS];
	struct entry *newest, *oldest;
	size_t bytes;
	struct cache_counts counts;
};

int cache_open(const struct cache_env *env, struct cache **ret, struct rye_err *err)
{
	struct cache *cache = calloc(1, sizeof(*cache));

	if (cache)
		cache->texts = texts_new();
	if (!cache || !cache->texts) {
		free(cache);
		return rye_fail(err, RYE_IO, "out of memory for the item cache");
	}
	cache->env = *env;
	pthread_mutex_init(&cache->lock, NULL);
	*ret = cache;
	return 0;
}

void cache_close(struct cache *cache)
{
	if (!cache)
		return;
	cache_forget(cache);
	texts_free(cache->texts);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

void loaded_done(struct loaded *loaded)
{
	if (loaded->item)
		rye_item_unref(loaded->item);
	rye_blob_unref(loaded->text);
	*loaded = (struct loaded){ 0 };
}

static struct loaded loaded_ref(const struct loaded *loaded)
{
	return (struct loaded){ rye_item_ref(loaded->item), rye_blob_ref(loaded->text),
				loaded->layers, loaded->mtime_ns };
}

/* ---- the table; lock held ---- */

static struct entry **slot_of(struct cache *cache, enum rye_kind kind, const char *id)
{
	struct entry **at = &cache->slots[(id_hash(kind, id) >> 20) % CACHE_SLOTS];

	while (*at && ((*at)->kind != kind || strcmp((*at)->id, id) != 0))
		at = &(*at)->chain;
	return at;
}

static void list_take(struct cache *cache, struct entry *entry)
{
	*(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void list_put(struct cache *cache, struct entry *entry)
{
	entry->newer = NULL;
	entry->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
	cache->newest = entry;
}

static void remove_entry(struct cache *cache, struct entry **at)
{
	struct entry *entry = *at;

	*at = entry->chain;
	list_take(cache, entry);
	cache->bytes -= entry->cost;
	loaded_done(&entry->loaded);
	free(entry);
}

static bool get(struct cache *cache, const struct index_item *item, struct loaded *ret)
{
	bool hit = false;

	WITH_LOCK(&cache->lock) {
		struct entry **at = slot_of(cache, item->kind, item->id);

		if (*at && (*at)->gen != item->gen)
			remove_entry(cache, at);
		hit = *at != NULL;
		if (hit) {
			list_take(cache, *at);
			list_put(cache, *at);
			*ret = loaded_ref(&(*at)->loaded);
			cache->counts.hits++;
		}
	}
	return hit;
}

static struct entry *entry_new(const struct index_item *item, const struct loaded *loaded)
{
	size_t len = strlen(item->id);
	struct entry *entry = malloc(sizeof(*entry) + len + 1);

	if (!entry)
		return NULL;
	*entry = (struct entry){ .gen = item->gen, .kind = item->kind };
	entry->cost = ITEM_OVERHEAD + 3 * loaded->item->raw->len + loaded->text->len;
	entry->loaded = loaded_ref(loaded);
	memcpy(entry->id, item->id, len + 1);
	return entry;
}

static void put(struct cache *cache, const struct index_item *item, const struct loaded *loaded)
{
	struct entry *entry = entry_new(item, loaded);

	if (!entry)
		return;
	WITH_LOCK(&cache->lock) {
		struct entry **at = slot_of(cache, item->kind, item->id);

		if (*at)
			remove_entry(cache, at);
		at = slot_of(cache, item->kind, item->id);
		*at = entry;
		list_put(cache, entry);
		cache->bytes += entry->cost;
		/* The newest stays even when it is bigger than the whole cache: it is in use. */
		while (cache->bytes > CACHE_BYTES && cache->oldest != entry)
			remove_entry(cache, slot_of(cache, cache->oldest->kind, cache->oldest->id));
	}
}

void cache_forget(struct cache *cache)
{
	texts_clear(cache->texts);
	WITH_LOCK(&cache->lock) {
		while (cache->oldest)
			remove_entry(cache, slot_of(cache, cache->oldest->kind, cache->oldest->id));
	}
}

void cache_counts(struct cache *cache, struct cache_counts *ret)
{
	WITH_LOCK(&cache->lock)
		*ret = cache->counts;
}

/* ---- loading ---- */

static int render(struct cache *cache, struct loaded *loaded, struct rye_err *err)
{
	const struct interp in = { NULL, cache->env.env, cache->env.env_arg };

	return render_item(loaded->item, &in, &loaded->text, err);
}

static uint64_t fold(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0xff51afd7ed558ccdull;
	return hash ^ hash >> 31;
}

/* What a reader could see differ: bytes, place, verdict, what it shadows. Never 0. */
static uint64_t version_of(const struct index_item *item, const char *sha256, const char *reason)
{
	uint64_t hash = fold(item->shadows, (uint64_t)item->space << 8 | item->kind);

	for (const char *p = item->ext; *p; p++)
		hash = fold(hash, (unsigned char)*p);
	for (const char *p = sha256; *p; p++)
		hash = fold(hash, (unsigned char)*p);
	for (const char *p = reason; *p; p++)
		hash = fold(hash, (unsigned char)*p);
	return hash ? hash : 1;
}

static int64_t mtime_of(const struct stat *st)
{
	return st->st_mtim.tv_sec * 1000000000ll + st->st_mtim.tv_nsec;
}

static bool path_of(const struct index_item *item, char *ret, size_t size)
{
	int n = snprintf(ret, size, "%s/%s%s", rye_kind_dir(item->kind), item->id, item->ext);

	return n > 0 && (size_t)n < size;
}

static int load_config(struct cache *cache, const struct index_item *item, struct loaded *ret,
		       struct rye_err *err)
{
	struct index_source sources[CONFIG_SOURCES_MAX];
	const struct config_ask ask = { .id = item->id,
					.sources = sources,
					.n = index_sources(cache->env.index, RYE_CONFIG, item->id,
							   sources, CONFIG_SOURCES_MAX) };
	struct config_entry entry;
	int r = config_load(cache->env.items, &ask, &entry, err);

	if (r)
		return r;
	*ret = (struct loaded){ steal(&entry.item), steal(&entry.text), entry.digest,
				entry.mtime_ns };
	config_entry_done(&entry);
	return 0;
}

static int load_at(struct cache *cache, const struct index_item *item, struct loaded *ret,
		   struct rye_err *err)
{
	const struct item_env *env = cache->env.items;
	char path[1100];
	const struct path_ask ask = { &env->spaces->v[item->space], item->kind, path };
	int r = 0;

	if (!path_of(item, path, sizeof(path)))
		return rye_fail(err, RYE_INVALID, "Invalid item_id: %.200s", item->id);
	WITH_LOCK(&cache->lock)
		cache->counts.loads++;
	for (int i = 0; i < item->space && !r; i++)
		r = space_barred(&env->spaces->v[i], item->kind, item->id, err);
	if (r)
		return r;
	if (item->kind == RYE_CONFIG)
		return load_config(cache, item, ret, err);
	r = rye_load_path(env, &ask, &ret->item, err);
	if (!r)
		r = render(cache, ret, err);
	return r;
}

/* What a load taught; the reason's text lies in line. */
struct learnt {
	struct index_outcome outcome;
	char line[REASON_MAX];
};

/* Its text is served all the same; doctor says why it is of no use beyond that. */
static void learn_unread(const struct rye_item *item, struct learnt *ret)
{
	static const char said[] = "its metadata cannot be read: ";
	const char *why = item->parse.msg;
	size_t n = strlen(item->abspath);

	/* whoever shows it says of which file it speaks */
	if (!strncmp(why, item->abspath, n) && !strncmp(why + n, ": ", 2))
		why += n + 2;
	memcpy(ret->line, said, sizeof(said));
	utf8_cut(why, ret->line + sizeof(said) - 1, sizeof(ret->line) - sizeof(said) + 1);
	ret->outcome.reason = ret->line;
}

static void learn_good(const struct index_item *item, const struct loaded *loaded,
		       struct learnt *ret)
{
	const struct rye_item *it = loaded->item;

	ret->outcome = (struct index_outcome){
		.code = RYE_OK,
		.size = loaded->text->len,
		.version = version_of(item, it->verdict.sha256, it->verdict.notice),
		.mtime_ns = loaded->layers ? loaded->mtime_ns : mtime_of(&it->st),
	};
	if (it->parse.code)
		learn_unread(it, ret);
	if (loaded->layers)
		ret->outcome.version = fold(ret->outcome.version, loaded->layers) | 1;
}

static void learn_bad(struct cache *cache, const struct index_item *item, const struct rye_err *why,
		      struct learnt *ret)
{
	const struct space *space = &cache->env.items->spaces->v[item->space];
	const struct reason about = { item->kind, item->id, space->type };
	int root = space_fd(space);
	char path[1100], stamp[64] = "";
	struct stat st;

	ret->outcome = (struct index_outcome){ .code = why->code, .reason = ret->line };
	if (root >= 0 && path_of(item, path, sizeof(path)) && !fstatat(root, path, &st, 0)) {
		ret->outcome.mtime_ns = mtime_of(&st);
		snprintf(stamp, sizeof(stamp), "%llx.%llx.%llx", (unsigned long long)st.st_ino,
			 (unsigned long long)st.st_size, (unsigned long long)ret->outcome.mtime_ns);
	}
	reason_line(&about, why, ret->line);
	ret->outcome.version = version_of(item, stamp, ret->line);
}

/* Loads what the index says now and tells it what came of it. */
static int load_item(struct cache *cache, const struct index_item *item, struct learnt *learnt,
		     struct loaded *ret, struct rye_err *err)
{
	auto_loaded struct loaded loaded = { 0 };
	struct rye_err why = { 0 };
	int r = load_at(cache, item, &loaded, &why);

	if (r)
		learn_bad(cache, item, &why, learnt);
	else
		learn_good(item, &loaded, learnt);
	/* Gone between two looks: the watcher will say so, nothing is to be remembered. */
	if (why.code != RYE_NOT_FOUND && index_publish(cache->env.index, item, &learnt->outcome) &&
	    !r)
		put(cache, item, &loaded);
	if (r && err)
		*err = why;
	if (!r) {
		*ret = loaded;
		loaded = (struct loaded){ 0 };
	}
	return r;
}

static int load_direct(struct cache *cache, enum rye_kind kind, const char *id, struct loaded *ret,
		       struct rye_err *err)
{
	const struct item_ask ask = { .kind = kind, .id = id };
	auto_loaded struct loaded loaded = { 0 };
	int r = rye_load(cache->env.items, &ask, &loaded.item, err);

	if (!r)
		r = render(cache, &loaded, err);
	if (r)
		return r;
	*ret = loaded;
	loaded = (struct loaded){ 0 };
	return 0;
}

int cache_load(struct cache *cache, enum rye_kind kind, const char *id, struct loaded *ret,
	       struct rye_err *err)
{
	struct index_item item;
	struct learnt learnt;

	if (!cache->env.index)
		return load_direct(cache, kind, id, ret, err);
	if (!index_item(cache->env.index, kind, id, &item))
		return rye_fail(err, RYE_NOT_FOUND, "%s not found: %.900s", kind_title(kind), id);
	index_state_done(&item.state);
	if (get(cache, &item, ret))
		return 0;
	return load_item(cache, &item, &learnt, ret, err);
}

/* For this answer only: a busy writer's item is never the same for long. */
static void state_of(const struct learnt *learnt, struct index_state *ret)
{
	const struct index_outcome *from = &learnt->outcome;

	*ret = (struct index_state){ .known = true,
				     .code = from->code,
				     .size = from->size,
				     .version = from->version,
				     .mtime_ns = from->mtime_ns };
	if (from->reason)
		ret->reason = rye_blob_new(from->reason, strlen(from->reason));
}

bool cache_know(struct cache *cache, struct index_item *item)
{
	struct learnt learnt = { 0 };

	/* A change during the load makes another round. */
	for (int i = 0; i < 3 && !item->state.known; i++) {
		auto_loaded struct loaded loaded = { 0 };

		if (load_item(cache, item, &learnt, &loaded, NULL) == 0)
			texts_put(cache->texts, item, loaded.text);
		if (!index_item(cache->env.index, item->kind, item->id, item))
			return false;
	}
	if (!item->state.known)
		state_of(&learnt, &item->state);
	return item->state.code != RYE_NOT_FOUND;
}

struct rye_blob *cache_text(struct cache *cache, enum rye_kind kind, const char *id)
{
	struct index_item item;
	bool good;

	if (!cache->env.index || !index_item(cache->env.index, kind, id, &item))
		return NULL;
	good = item.state.known && item.state.code == RYE_OK;
	index_state_done(&item.state);
	return good ? texts_take(cache->texts, &item) : NULL;
}
