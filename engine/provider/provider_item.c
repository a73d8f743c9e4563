/* SPDX-License-Identifier: MIT */
/*
 * The signed items that say what providers there are. Directories are walked, since a runner has no
 * index; each file is loaded as every item is. One that does not verify is an error: where
 * conversations are sent is not decided by leaving out a file.
 */
#include "provider/provider_inner.h"

#include "bounds.h"
#include "item/item.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define PROVIDER_ROOT "rye/agent/providers"
/* Directories below it. */
#define PROVIDER_DEPTH 8

void provider_lay(json_t *into, const json_t *from)
{
	json_t *object = (json_t *)from, *value;
	const char *key;

	json_object_foreach(object, key, value) {
		json_t *old = json_object_get(into, key);

		if (json_is_object(old) && json_is_object(value))
			provider_lay(old, value);
		else
			json_set(into, key, json_deep_copy(value));
	}
}

/* ---- the files ---- */

static int visible_entry(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void walk_ids(int root, const char *dir, int depth, json_t *ids);

/* "NAME.yaml" is an item; a name without that ending may be a directory. */
static void walk_provider_file(int root, const char *dir, const char *name, int depth, json_t *ids)
{
	bool file = str_ends(name, ".yaml") || str_ends(name, ".yml");
	auto_buf struct rye_buf path = RYE_BUF_INIT;

	buf_addf(&path, "%s/%s", dir, name);
	if (path.failed)
		return;
	if (file)
		path.data[strrchr(path.data, '.') - path.data] = 0;
	if (file)
		json_array_append_new(ids, json_string(path.data));
	else if (depth < PROVIDER_DEPTH)
		walk_ids(root, path.data, depth + 1, ids);
}

static void walk_ids(int root, const char *dir, int depth, json_t *ids)
{
	struct dirent **entries = NULL;
	char path[RYE_ID_MAX + 16];
	int n;

	snprintf(path, sizeof(path), "tools/%.*s", RYE_ID_MAX, dir);
	n = scandirat(root, path, &entries, visible_entry, alphasort);
	for (int i = 0; i < n; i++) {
		walk_provider_file(root, dir, entries[i]->d_name, depth, ids);
		free(entries[i]);
	}
	free(entries);
}

static const json_t *document_of(const struct rye_item *item)
{
	const json_t *data = json_object_get(item->meta, "data");

	return json_is_object(data) ? data : item->meta;
}

/* The first of a name counts: spaces come by precedence, files of one by their path. */
static bool has_provider(const json_t *list, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach(list, i, row)
		if (!strcmp(json_str(json_object_get(row, "doc"), "tool_id"), name))
			return true;
	return false;
}

/* A tier may stand for what the environment names: ${NAME} of the names that the item asks for. */
static int fill_tiers(const struct provider_env *env, const json_t *doc, struct rye_err *err)
{
	__attribute__((cleanup(key_ring_done))) struct key_ring ring = { .env = env, .item = doc };
	json_t *tiers = json_object_get(doc, "tier_mapping"), *value;
	const char *tier;
	int r = 0;

	json_object_foreach(tiers, tier, value) {
		auto_buf struct rye_buf model = RYE_BUF_INIT;

		if (r || !json_is_string(value) || !strstr(json_string_value(value), "${"))
			continue;
		r = key_fill(&ring, json_string_value(value), &model, err);
		if (!r)
			json_object_set_new(tiers, tier, json_string(model.data));
	}
	return r;
}

static int add_provider_item(const struct provider_env *env, const struct space *space,
			     const char *id, json_t *list, struct rye_err *err)
{
	const struct item_ask ask = { .kind = RYE_TOOL, .id = id, .only = space };
	auto_item struct rye_item *item = NULL;
	json_t *doc;
	int r = rye_load(env->items, &ask, &item, err);

	if (r == -(int)RYE_NOT_FOUND)
		return 0;
	if (r)
		return rye_wrap(err, "provider %s", id);
	if (item->parse.code != RYE_OK)
		return rye_fail(err, item->parse.code, "provider %s: %s", id, item->parse.msg);
	doc = json_deep_copy(document_of(item));
	if (!doc)
		return memory_fail(err);
	if (!*json_str(doc, "tool_id"))
		json_sets(doc, "tool_id", space_stem(id));
	r = fill_tiers(env, doc, err);
	if (r) {
		json_decref(doc);
		return r;
	}
	if (has_provider(list, json_str(doc, "tool_id")))
		json_decref(doc);
	else
		json_array_append_new(list, json_pack("{s:s, s:o, s:b}", "id", id, "doc", doc,
						      "bundled", space->type == RYE_SYSTEM));
	return 0;
}

int provider_items(const struct provider_env *env, json_t **ret, struct rye_err *err)
{
	const struct spaces *spaces = env->items->spaces;
	auto_json json_t *list = json_array();
	int r = 0;

	for (size_t i = 0; i < spaces->n && !r; i++) {
		auto_json json_t *ids = json_array();
		int root = space_fd(&spaces->v[i]);
		json_t *id;
		size_t k;

		if (root >= 0)
			walk_ids(root, PROVIDER_ROOT, 0, ids);
		json_array_foreach(ids, k, id)
			if (!r)
				r = add_provider_item(env, &spaces->v[i], json_string_value(id),
						      list, err);
	}
	if (!r)
		*ret = steal(&list);
	return r;
}

int provider_config(const struct provider_env *env, const char *name, json_t **ret,
		    struct rye_err *err)
{
	__attribute__((cleanup(config_entry_done))) struct config_entry entry = { 0 };
	char path[100];
	struct config_want want = { .path = path, .whose = RYE_SYSTEM };
	int r;

	snprintf(path, sizeof(path), "agent/%s.yaml", name);
	r = config_everywhere(env->items, &want, &entry, err);
	if (r)
		return r;
	*ret = json_deep_copy(entry.map);
	return *ret ? 0 : memory_fail(err);
}
