/* SPDX-License-Identifier: MIT */
/*
 * The engine: opens the parts in order, closes them backwards, and connects them (changed key files
 * → new trust → every verdict forgotten → listeners told). What users call lies in api_*.c. Locks:
 * see api/api_inner.h.
 */
#include "api/api.h"

#include "api/api_inner.h"

#include "base/engine_options.h"
#include "base/id.h"
#include "bounds.h"
#include "clock.h"
#include "forms/forms.h"
#include "memory.h"
#include "space/space.h"
#include "str.h"

#include <malloc.h>
#include <sys/stat.h>

#define THREADS_MAX 8

static bool copy_options(struct rye *rye, const struct rye_options *opt)
{
	const char *dev = getenv("RYE_DEV_MODE");
	struct rye_options *own = &rye->opt;
	bool whole = options_copy(opt, own);

	own->umask = umask(077);
	umask(own->umask);
	own->dev_mode |= dev && !strcmp(dev, "1");
	return whole;
}

int engine_threads(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (int)n;
}

/* ---- changes ---- */

static void tell_one(struct rye *rye, const struct rye_change *change)
{
	rye_change_fn fn = NULL;
	void *arg = NULL;

	{
		GUARD(&rye->lock);
		fn = rye->change;
		arg = rye->change_arg;
	}
	if (fn)
		fn(arg, change);
}

void engine_wait_told(struct rye *rye)
{
	tell_one(rye, &(struct rye_change){ .type = RYE_CHANGE_WAIT });
}

void engine_thread_changed(void *arg, const struct rye_change *change)
{
	tell_one(arg, change);
}

static void tell_each(struct rye *rye, const struct index_changes *changes)
{
	const struct rye_change all = { .type = RYE_CHANGE_ALL, .kind = RYE_KIND__MAX };

	if (changes->all)
		tell_one(rye, &all);
	for (size_t i = 0; i < changes->n && !changes->all; i++) {
		const struct index_change *from = &changes->v[i];
		const struct rye_change one = { .type = RYE_CHANGE_PATH,
						.space = from->space,
						.path = from->path,
						.kind = from->kind,
						.id = from->id };

		tell_one(rye, &one);
	}
}

/* Key files decide over every verdict. */
static void read_trust(struct rye *rye, struct index_changes *changes)
{
	struct rye_err err = { 0 };

	if (!changes->keys)
		return;
	changes->keys = false;
	changes->all = true;
	if (trust_reload(rye->items.trust, &err) < 0)
		log_line(&rye->log, RYE_LOG_ERR, "trust", "%s", err.msg);
	index_forget(rye->index);
	item_store_forget(rye->items.store);
}

void engine_tell(struct rye *rye, const struct index_changes *changes)
{
	struct index_changes now = *changes;

	read_trust(rye, &now);
	tell_each(rye, &now);
	if (rye->prefetch)
		prefetch_kick(rye->prefetch);
}

static void on_changes(void *arg, const struct index_changes *changes)
{
	engine_tell(arg, changes);
}

void engine_changed(struct rye *rye, struct index_changes *changes)
{
	read_trust(rye, changes);
	if (rye->watch)
		watch_tell(rye->watch, changes);
	index_changes_done(changes);
}

/* Texts kept for searching are given back when no search has come for this long. */
#define SEARCH_IDLE_MS 600000

static void drop_idle_docs(struct rye *rye)
{
	int64_t last = rye->searched_ms;

	if (!last || clock_ms() - last < SEARCH_IDLE_MS)
		return;
	rye->searched_ms = 0;
	index_drop_docs(rye->index);
	malloc_trim(0); /* they lay between what stays */
}

/* Now and then: reads key files on layers without inotify, gives back texts of old searches. */
static void poll_keys(void *arg)
{
	static const char *const dirs[] = { "keys/trusted", "keys/automatic" };
	struct rye *rye = arg;
	struct index_changes changes = { 0 };

	drop_idle_docs(rye);
	/* on a slow disk the next look begins, on another thread, before this one has ended */
	if (!rye->opt.no_sign && !atomic_exchange(&rye->cleaned, true))
		rye_left(rye, true, NULL, NULL);
	index_poll(rye->index, &changes);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		struct index_list list;

		if (!index_unwatched(rye->index, RYE_CONFIG, dirs[i]))
			continue;
		index_check(rye->index, RYE_CONFIG, dirs[i], &changes);
		index_list(rye->index, RYE_CONFIG, dirs[i], &list);
		for (size_t j = 0; j < list.n; j++) {
			char path[RYE_NAME_MAX + 32];

			snprintf(path, sizeof(path), "%s/%s", dirs[i], list.v[j].name);
			index_check(rye->index, RYE_CONFIG, path, &changes);
		}
		index_list_done(&list);
	}
	engine_changed(rye, &changes);
}

bool engine_check(struct rye *rye, enum rye_kind kind, const char *path)
{
	struct index_changes changes = { 0 };

	if (!index_unwatched(rye->index, kind, path))
		return true;
	index_check(rye->index, kind, path, &changes);
	engine_changed(rye, &changes);
	return false;
}

/* ---- items ---- */

struct index *engine_index(struct rye *rye)
{
	struct index_changes all = { .all = true };

	if (rye->built && !index_lacks(rye->index))
		return rye->index;
	{
		GUARD(&rye->build);
		if (!rye->built || index_lacks(rye->index))
			index_scan(rye->index, engine_threads(), false);
		if (!rye->built)
			all.all = false;
		rye->built = true;
	}
	/* What was left out before may be known by now as not being there. */
	if (all.all)
		engine_changed(rye, &all);
	return rye->index;
}

int engine_load(struct rye *rye, enum rye_kind kind, const char *id, struct loaded *ret,
		struct rye_err *err)
{
	/* One item asked for by a command: no reason to look at all the others. */
	if (!rye->built && kind != RYE_CONFIG)
		return cache_direct(&rye->cache, &(struct item_ask){ .kind = kind, .id = id }, ret,
				    err);
	if (id_check(span_of(id), err))
		return -(int)RYE_INVALID;
	engine_index(rye);
	engine_check(rye, kind, id);
	return cache_load(&rye->cache, kind, id, ret, err);
}

const char *engine_env(void *arg, const char *name)
{
	const struct rye *rye = arg;

	return interp_environ((void *)rye->opt.env_names, name);
}

const struct item_env *engine_items(const struct rye *rye)
{
	return &rye->items;
}

struct threads *engine_family(const struct rye *rye)
{
	return rye->threads;
}

/* ---- opening and closing ---- */

static int open_index(struct rye *rye, struct rye_err *err)
{
	struct index_env env = { .spaces = rye->spaces,
				 .log = &rye->log,
				 .avoid = rye->opt.mountpoint };
	int r = rye->opt.scan ? watch_open(&rye->log, &rye->watch, err) : 0;

	if (r)
		return r;
	if (rye->watch) {
		env.watch = watch_add;
		env.unwatch = watch_del;
		env.arg = rye->watch;
	}
	r = index_open(&env, &rye->index, err);
	rye->spool = spool_open(SPOOL_MEMORY);
	if (!r && !rye->spool)
		r = rye_fail(err, RYE_IO, "out of memory for the engine");
	rye->cache =
		(struct cache){ &rye->items, rye->index, rye->spool, engine_env, rye, &rye->loads };
	return r;
}

static int start_background(struct rye *rye, struct rye_err *err)
{
	const struct prefetch_env env = { .cache = &rye->cache,
					  .index = rye->index,
					  .threads = engine_threads(),
					  .asked = &rye->asked,
					  .poll = poll_keys,
					  .arg = rye };
	int r;

	if (!rye->opt.scan)
		return 0;
	engine_index(rye);
	/* Keys changed between reading them and watching them are read again. */
	r = trust_reload(rye->items.trust, err);
	if (!r)
		r = prefetch_open(&env, &rye->prefetch, err);
	return r ? r : watch_start(rye->watch, rye->index, on_changes, rye, err);
}

static int engine_open(const struct rye_options *opt, bool runs, struct rye **ret,
		       struct rye_err *err)
{
	unsigned long since = memory_failures();
	struct rye *rye = calloc(1, sizeof(*rye));
	int r;

	if (!rye)
		return memory_fail(err);
	pthread_mutex_init(&rye->build, NULL);
	pthread_mutex_init(&rye->lock, NULL);
	rye->log = (struct log){ opt->log, opt->log_arg };
	rye->search_texts = RYE_SEARCH_TEXTS;
	r = copy_options(rye, opt) ? 0 : memory_fail(err);
	if (!r)
		r = item_env_open(&rye->opt, &rye->log, &rye->items, err);
	rye->spaces = rye->items.spaces;
	rye->items.forms = &config_forms;
	if (!r)
		r = open_index(rye, err);
	if (!r)
		r = engine_runs_open(rye, runs, err);
	if (!r)
		r = start_background(rye, err);
	r = memory_result(since, r, err);
	if (r)
		rye_close(rye);
	else
		*ret = rye;
	return r;
}

int rye_open(const struct rye_options *opt, struct rye **ret, struct rye_err *err)
{
	return engine_open(opt, true, ret, err);
}

int engine_open_looking(const struct rye_options *opt, struct rye **ret, struct rye_err *err)
{
	return engine_open(opt, false, ret, err);
}

void rye_close(struct rye *rye)
{
	if (!rye)
		return;
	/* Its threads look after what killed processes left, among threads too. */
	prefetch_stop(rye->prefetch);
	engine_runs_close(rye);
	/* The watcher's thread uses all the others, they its descriptor: join, then close. */
	watch_stop(rye->watch);
	prefetch_close(rye->prefetch);
	index_close(rye->index);
	spool_close(rye->spool);
	watch_close(rye->watch);
	item_env_close(&rye->items);
	options_free(&rye->opt);
	pthread_mutex_destroy(&rye->lock);
	pthread_mutex_destroy(&rye->build);
	free(rye);
}
