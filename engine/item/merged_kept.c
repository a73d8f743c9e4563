/* SPDX-License-Identifier: MIT */
/*
 * merged_kept.c: the map of one entry of configuration, of all spaces, as long as each file that it was made of is what
 * it was: one stat for each, in the place of opening and merging them. It is kept where those stats were the same
 * before and behind the reading. A look at remotes/ asks for the same entry with each name.
 *
 * `lock` guards the pointer to the newest alone; what it points to is frozen and counted. Any thread may call.
 */
#include "item/item.h"

#include "base/io.h"
#include "bounds.h"
#include "memory.h"
#include "scope.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct config_kept {
	_Atomic unsigned refs;
	char *path;
	json_t *map; /* frozen, as the values in it */
	struct marks marks;
	uint64_t trust;
};

struct config_keep {
	pthread_mutex_t lock;
	struct config_kept *newest; /* or NULL */
};

struct config_keep *config_keep_open(void)
{
	struct config_keep *keep = memory_note(calloc(1, sizeof(*keep)));

	if (keep)
		pthread_mutex_init(&keep->lock, NULL);
	return keep;
}

static void kept_unref(struct config_kept *kept)
{
	if (!kept || atomic_fetch_sub_explicit(&kept->refs, 1, memory_order_acq_rel) != 1)
		return;
	free(kept->path);
	json_decref(kept->map);
	marks_done(&kept->marks);
	free(kept);
}

static void kept_drop(struct config_kept **kept)
{
	kept_unref(*kept);
}
#define auto_kept __attribute__((cleanup(kept_drop)))

void config_keep_close(struct config_keep *keep)
{
	if (!keep)
		return;
	kept_unref(keep->newest);
	pthread_mutex_destroy(&keep->lock);
	free(keep);
}

static uint64_t kept_trust(const struct item_env *env)
{
	auto_trust struct trust *trust = trust_get(env->trust);

	return trust->generation;
}

static struct config_kept *newest_kept(struct config_keep *keep)
{
	GUARD(&keep->lock);
	struct config_kept *kept = keep->newest;

	if (kept)
		atomic_fetch_add_explicit(&kept->refs, 1, memory_order_relaxed);
	return kept;
}

/* Takes it over. */
static void put_newest(struct config_keep *keep, struct config_kept *kept)
{
	struct config_kept *old;

	{
		GUARD(&keep->lock);
		old = keep->newest;
		keep->newest = kept;
	}
	kept_unref(old);
}

static void mark_all(const struct item_env *env, const char *path, struct marks *ret)
{
	char file[RYE_ID_MAX + 32];

	if (snprintf(file, sizeof(file), "config/%s", path) >= (int)sizeof(file))
		marks_unfit(ret);
	for (size_t i = 0; i < env->spaces->n; i++)
		space_mark(&env->spaces->v[i], file, false, ret);
}

static struct config_kept *kept_new(const struct item_env *env, const char *path)
{
	struct config_kept *kept = memory_note(calloc(1, sizeof(*kept)));

	if (!kept)
		return NULL;
	atomic_init(&kept->refs, 1);
	kept->path = memory_note(strdup(path));
	kept->trust = kept_trust(env);
	mark_all(env, path, &kept->marks);
	return kept;
}

/* What was read lies between the marks in it and those that are made now. */
static bool kept_sure(const struct item_env *env, const struct config_kept *kept)
{
	struct marks behind = { 0 };
	bool same;

	if (!kept->path || kept->marks.unfit)
		return false;
	mark_all(env, kept->path, &behind);
	same = kept->trust == kept_trust(env) && marks_same(&kept->marks, &behind);
	marks_done(&behind);
	return same;
}

static json_t *kept_map(const struct item_env *env, const char *path)
{
	auto_kept struct config_kept *kept = newest_kept(env->keep);

	if (!kept || strcmp(kept->path, path) != 0 || kept->trust != kept_trust(env) ||
	    !marks_hold(&kept->marks))
		return NULL;
	return json_incref(kept->map);
}

static int map_read(const struct item_env *env, const char *path, json_t **ret, struct rye_err *err)
{
	const struct config_want want = { .path = path, .whose = RYE_SYSTEM };
	struct config_entry entry = { 0 };
	int r = config_everywhere(env, &want, &entry, err);

	if (!r)
		*ret = json_incref(entry.map);
	config_entry_done(&entry);
	return r;
}

int config_map(const struct item_env *env, const char *path, json_t **ret, struct rye_err *err)
{
	json_t *known = env->keep ? kept_map(env, path) : NULL;
	auto_kept struct config_kept *kept = NULL;
	int r;

	if (known) {
		*ret = known;
		return 0;
	}
	kept = env->keep ? kept_new(env, path) : NULL;
	r = map_read(env, path, ret, err);
	if (r || !kept || !kept_sure(env, kept))
		return r;
	kept->map = json_incref(*ret);
	put_newest(env->keep, steal(&kept));
	return 0;
}
