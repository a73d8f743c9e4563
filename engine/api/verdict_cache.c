/* SPDX-License-Identifier: MIT */
/*
 * The one function that turns a file into a remembered verdict. Files are read, verified, parsed
 * and rendered without any lock; what comes out is thrown away by index_publish when the item
 * has changed meanwhile.
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "item/item.h"
#include "memory.h"
#include "scope.h"
#include "str.h"
#include "trust/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

void loaded_done(struct loaded *loaded)
{
	rye_item_unref(loaded->item);
	rye_blob_unref(loaded->text);
	*loaded = (struct loaded){ 0 };
}

/* ---- loading ---- */

static int verdict_cache_render(const struct cache *cache, struct loaded *loaded,
				struct rye_err *err)
{
	const struct interp in = { NULL, cache->env, cache->env_arg };

	return render_item(loaded->item, &in, &loaded->text, err);
}

static uint64_t verdict_cache_fold(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0xff51afd7ed558ccdull;
	return hash ^ hash >> 31;
}

/* What a reader could see differ: bytes, place, verdict, what it shadows. Never 0. */
static uint64_t version_of(const struct index_item *item, const char *sha256, const char *reason)
{
	uint64_t hash = verdict_cache_fold(item->shadows, (uint64_t)item->space << 8 | item->kind);

	for (const char *p = item->ext; *p; p++)
		hash = verdict_cache_fold(hash, (unsigned char)*p);
	for (const char *p = sha256; *p; p++)
		hash = verdict_cache_fold(hash, (unsigned char)*p);
	for (const char *p = reason; *p; p++)
		hash = verdict_cache_fold(hash, (unsigned char)*p);
	return hash ? hash : 1;
}

static int64_t mtime_of(const struct stat *st)
{
	return st->st_mtim.tv_sec * 1000000000ll + st->st_mtim.tv_nsec;
}

static bool verdict_cache_path_of(const struct index_item *item, char *ret, size_t size)
{
	int n = snprintf(ret, size, "%s/%s%s", rye_kind_dir(item->kind), item->id, item->ext);

	return n > 0 && (size_t)n < size;
}

static int load_config(const struct cache *cache, const struct index_item *item, struct loaded *ret,
		       struct rye_err *err)
{
	struct index_source sources[CONFIG_SOURCES_MAX];
	const struct config_ask ask = { .id = item->id,
					.sources = sources,
					.n = index_sources(cache->index, RYE_CONFIG, item->id,
							   sources, CONFIG_SOURCES_MAX) };
	struct config_entry entry;
	int r = config_load(cache->items, &ask, &entry, err);

	if (r)
		return r;
	*ret = (struct loaded){ .item = steal(&entry.item),
				.text = steal(&entry.text),
				.layers = entry.digest,
				.mtime_ns = entry.mtime_ns,
				.linked = entry.linked,
				.unsigned_part = entry.unsigned_part };
	config_entry_done(&entry);
	return 0;
}

static int load_at(const struct cache *cache, const struct index_item *item, struct loaded *ret,
		   struct rye_err *err)
{
	const struct item_env *env = cache->items;
	char path[1100];
	const struct index_state *state = &item->state;
	const struct path_ask ask = { .space = &env->spaces->v[item->space],
				      .kind = item->kind,
				      .path = path,
				      .known = state->known ? state->sha : NULL };
	int r = 0;

	if (!verdict_cache_path_of(item, path, sizeof(path)))
		return rye_fail(err, RYE_INVALID, "Invalid item_id: %.200s", item->id);
	for (int i = 0; i < item->space && !r; i++)
		r = space_barred(&env->spaces->v[i], item->kind, item->id, err);
	if (r)
		return r;
	if (item->kind == RYE_CONFIG)
		return load_config(cache, item, ret, err);
	r = rye_load_path(env, &ask, &ret->item, err);
	if (!r)
		r = item_check_attached(env, ret->item, &ret->linked, err);
	if (r)
		return r;
	ret->linked |= ret->item->st.st_nlink > 1;
	return verdict_cache_render(cache, ret, err);
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

	/* the caller that shows it names the file */
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
		.sha = loaded->layers ? NULL : it->verdict.sha,
		.linked = loaded->linked,
	};
	if (it->parse.code)
		learn_unread(it, ret);
	else if (loaded->unsigned_part)
		ret->outcome.reason =
			"unsigned: only tools that ask for it read it, a bundle's refuse it";
	if (loaded->layers)
		ret->outcome.version = verdict_cache_fold(ret->outcome.version, loaded->layers) | 1;
}

static void learn_bad(const struct cache *cache, const struct index_item *item,
		      const struct rye_err *why, struct learnt *ret)
{
	const struct space *space = &cache->items->spaces->v[item->space];
	const struct reason about = { item->kind, item->id, space->root, space->type };
	int root = space_fd(space);
	char path[1100], stamp[64] = "";
	struct stat st;

	ret->outcome = (struct index_outcome){ .code = why->code, .reason = ret->line };
	if (root >= 0 && verdict_cache_path_of(item, path, sizeof(path)) &&
	    !fstatat(root, path, &st, 0)) {
		ret->outcome.mtime_ns = mtime_of(&st);
		ret->outcome.linked = st.st_nlink > 1;
		snprintf(stamp, sizeof(stamp), "%llx.%llx.%llx", (unsigned long long)st.st_ino,
			 (unsigned long long)st.st_size, (unsigned long long)ret->outcome.mtime_ns);
	}
	reason_line(&about, why, ret->line);
	ret->outcome.version = version_of(item, stamp, ret->line);
}

/* Before a reader asks, where there is room; else the first one has it loaded again. */
static void offer_text(const struct cache *cache, const struct index_item *item,
		       const struct learnt *learnt, struct rye_blob *blob)
{
	struct rye_text *text = NULL;

	if (spool_has_room(cache->spool))
		text = spool_keep(cache->spool, rye_blob_ref(blob));
	if (text)
		index_keep_text(cache->index, item, learnt->outcome.version, text);
	rye_text_unref(text);
}

/* Loads what the index says now and tells it what came of it. */
static int load_item(const struct cache *cache, const struct index_item *item,
		     struct learnt *learnt, struct loaded *ret, struct rye_err *err)
{
	auto_loaded struct loaded loaded = { 0 };
	struct rye_err why = { 0 };
	unsigned long since = memory_failures();
	int r;

	atomic_fetch_add(cache->loads, 1);
	r = memory_result(since, load_at(cache, item, &loaded, &why), &why);
	if (r)
		learn_bad(cache, item, &why, learnt);
	else
		learn_good(item, &loaded, learnt);
	/* Gone between two looks: the watcher will say so; short of memory, or a fault of the disk: the
	 * next look may find more. None is to be remembered. */
	if (why.code != RYE_NOT_FOUND && why.sys != ENOMEM && why.sys != EIO &&
	    index_publish(cache->index, item, &learnt->outcome) && !r)
		offer_text(cache, item, learnt, loaded.text);
	if (r && err)
		*err = why;
	if (!r) {
		*ret = loaded;
		loaded = (struct loaded){ 0 };
	}
	return r;
}

int cache_direct(const struct cache *cache, const struct item_ask *ask, struct loaded *ret,
		 struct rye_err *err)
{
	auto_loaded struct loaded loaded = { 0 };
	int r = rye_load(cache->items, ask, &loaded.item, err);

	if (!r)
		r = item_check_attached(cache->items, loaded.item, &loaded.linked, err);
	if (!r)
		r = verdict_cache_render(cache, &loaded, err);
	if (r)
		return r;
	*ret = loaded;
	loaded = (struct loaded){ 0 };
	return 0;
}

/* Of what is known the very version that is known: its file is in the store, or read again. */
static bool load_known(const struct cache *cache, const struct index_item *item, struct loaded *ret)
{
	auto_loaded struct loaded loaded = { 0 };
	unsigned long since = memory_failures();
	struct learnt learnt;
	int r = item->state.known && item->state.code == RYE_OK ?
			load_at(cache, item, &loaded, NULL) :
			-1;

	if (memory_result(since, r, NULL))
		return false;
	learn_good(item, &loaded, &learnt);
	if (learnt.outcome.version != item->state.version)
		return false;
	*ret = loaded;
	loaded = (struct loaded){ 0 };
	return true;
}

int cache_load(const struct cache *cache, enum rye_kind kind, const char *id, struct loaded *ret,
	       struct rye_err *err)
{
	struct index_item item;
	struct learnt learnt;
	int r = 0;

	if (!index_item(cache->index, kind, id, &item))
		return rye_fail(err, RYE_NOT_FOUND, "%s not found: %.900s", kind_title(kind), id);
	if (!load_known(cache, &item, ret))
		r = load_item(cache, &item, &learnt, ret, err);
	index_state_done(&item.state);
	return r;
}

/* For this answer only: a busy writer's item is never the same for long. */
static void verdict_cache_state_of(const struct learnt *learnt, struct index_state *ret)
{
	const struct index_outcome *from = &learnt->outcome;

	index_state_done(ret);
	*ret = (struct index_state){ .known = true,
				     .code = from->code,
				     .size = from->size,
				     .version = from->version,
				     .mtime_ns = from->mtime_ns };
	if (from->reason)
		ret->reason = rye_blob_new(from->reason, strlen(from->reason));
}

/* Is all that is wanted here, and of one state? */
static bool is_known(const struct index_item *item, struct rye_text **ret_text)
{
	if (!item->state.known || !ret_text || item->state.code != RYE_OK)
		return item->state.known;
	*ret_text = rye_text_ref(item->state.text);
	return *ret_text;
}

/* What was read to know it is not read again for its reader. */
static bool take_text(const struct cache *cache, const struct index_item *item,
		      const struct learnt *learnt, struct loaded *loaded,
		      struct rye_text **ret_text)
{
	if (!loaded->text || item->state.version != learnt->outcome.version)
		return false;
	*ret_text = spool_keep(cache->spool, steal(&loaded->text));
	return *ret_text;
}

bool cache_know(const struct cache *cache, struct index_item *item, struct rye_text **ret_text)
{
	auto_loaded struct loaded loaded = { 0 };
	struct learnt learnt = { 0 };
	bool known = is_known(item, ret_text);

	/* A change during the load makes another round. */
	for (int i = 0; i < 3 && !known; i++) {
		loaded_done(&loaded);
		load_item(cache, item, &learnt, &loaded, NULL);
		index_state_done(&item->state);
		if (!index_item(cache->index, item->kind, item->id, item))
			return false;
		known = is_known(item, ret_text) ||
			(item->state.known && take_text(cache, item, &learnt, &loaded, ret_text));
	}
	if (!known) {
		verdict_cache_state_of(&learnt, &item->state);
		if (ret_text && loaded.text)
			*ret_text = spool_keep(cache->spool, steal(&loaded.text));
	}
	return item->state.code != RYE_NOT_FOUND;
}
