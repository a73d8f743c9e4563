/* SPDX-License-Identifier: MIT */
/*
 * Merging configuration, for the config/ view and for plans: maps recursively, everything else
 * by the stronger space, the key `extends` left out (tools 5.3). In the view a single file is
 * served as it is, and key files are never merged: the store's own rules say which of them
 * count. No lock, no state.
 */
#include "item/config.h"

#include "base/auto.h"
#include "base/id.h"
#include "base/str.h"
#include "hash.h"
#include "item/mapping.h"
#include "item/space.h"
#include "item/trust.h"

#include <stdio.h>

/* First components of ids that decide who may do what, or where data goes (spec, Trust). */
static const char *const authority[] = { "agent",     "capabilities", "hooks",	 "keys", "limits",
					 "providers", "remotes",      "sandbox", "trust" };

bool config_may_be_unsigned(const char *id)
{
	size_t n = strcspn(id, "/");

	for (size_t i = 0; i < ARRAY_SIZE(authority); i++)
		if (strlen(authority[i]) == n && !memcmp(id, authority[i], n))
			return false;
	return true;
}

static bool is_key(const char *id)
{
	return !strncmp(id, "keys/", strlen("keys/"));
}

/* A key file that the store accepted, signed or not. */
static bool key_counts(const struct item_env *env, const struct space *space, const char *path)
{
	auto_trust struct trust *trust = trust_get(env->trust);

	for (size_t i = 0; i < trust->n; i++)
		if (trust->keys[i].space == space && !strcmp(trust->keys[i].path, path))
			return true;
	return false;
}

static int load_one(const struct item_env *env, const char *id, const struct index_source *source,
		    struct rye_item **ret, struct rye_err *err)
{
	const struct space *space = &env->spaces->v[source->space];
	char path[1100];
	struct path_ask ask = { space, RYE_CONFIG, path, false };
	int n = snprintf(path, sizeof(path), "config/%s%s", id, source->ext);

	if (n < 0 || (size_t)n >= sizeof(path))
		return rye_fail(err, RYE_INVALID, "Invalid item_id: %.200s", id);
	ask.unsigned_ok = is_key(id) ? key_counts(env, space, path) : config_may_be_unsigned(id);
	return rye_load_path(env, &ask, ret, err);
}

static const json_t *data_of(const struct rye_item *item)
{
	const json_t *data = json_object_get(item->meta, "data");

	return json_is_object(data) ? data : item->meta;
}

void config_lay_over(json_t *into, const json_t *from)
{
	json_t *object = (json_t *)from, *value;
	const char *key;

	json_object_foreach(object, key, value)
	{
		json_t *old = json_object_get(into, key);

		if (!strcmp(key, "extends"))
			continue;
		if (json_is_object(old) && json_is_object(value)) {
			config_lay_over(old, value);
		} else if (json_is_object(value)) {
			json_t *fresh = json_object();

			config_lay_over(fresh, value);
			json_set(into, key, fresh);
		} else {
			json_object_set(into, key, value);
		}
	}
}

static void note(struct config_entry *entry, const struct rye_item *item)
{
	const struct timespec *mtime = &item->st.st_mtim;
	int64_t ns = mtime->tv_sec * 1000000000ll + mtime->tv_nsec;

	entry->digest = hash_text(entry->digest, item->verdict.sha256);
	if (ns > entry->mtime_ns)
		entry->mtime_ns = ns;
}

/* The strongest source of each space, the weakest space first, into merged. */
static int merge(const struct item_env *env, const struct config_ask *ask, json_t *merged,
		 struct config_entry *ret, struct rye_err *err)
{
	for (size_t i = ask->n; i-- > 0;) {
		auto_item struct rye_item *item = NULL;
		int r = 0;

		if (i && ask->sources[i - 1].space == ask->sources[i].space)
			continue;
		r = load_one(env, ask->id, &ask->sources[i], &item, err);
		if (r)
			return r;
		note(ret, item);
		config_lay_over(merged, data_of(item));
		if (!i)
			ret->item = steal(&item);
	}
	return 0;
}

static int write_merged(const struct index_source *best, const json_t *merged,
			struct rye_blob **ret, struct rye_err *err)
{
	auto_buf struct rye_buf buf = RYE_BUF_INIT;

	if (!strcmp(best->ext, ".toml"))
		mapping_toml(&buf, merged);
	else
		mapping_yaml(&buf, merged);
	*ret = buf_blob(&buf);
	return *ret ? 0 : rye_fail(err, RYE_IO, "out of memory");
}

static int load_single(const struct item_env *env, const struct config_ask *ask,
		       struct config_entry *ret, struct rye_err *err)
{
	int r = load_one(env, ask->id, ask->sources, &ret->item, err);

	if (r)
		return r;
	note(ret, ret->item);
	ret->text = rye_blob_ref(ret->item->text);
	return 0;
}

int config_load(const struct item_env *env, const struct config_ask *ask, struct config_entry *ret,
		struct rye_err *err)
{
	auto_json json_t *merged = json_object();
	int r;

	*ret = (struct config_entry){ .digest = HASH_BASIS };
	if (!ask->n)
		return rye_fail(err, RYE_NOT_FOUND, "Config not found: %.900s", ask->id);
	if (is_key(ask->id) || ask->sources[ask->n - 1].space == ask->sources[0].space)
		return load_single(env, ask, ret, err);
	r = merge(env, ask, merged, ret, err);
	if (!r)
		r = write_merged(ask->sources, merged, &ret->text, err);
	if (r && ret->item)
		rye_item_unref(steal(&ret->item));
	return r;
}
