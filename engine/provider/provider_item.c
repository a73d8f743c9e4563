/* SPDX-License-Identifier: MIT */
/*
 * The signed items that say what providers there are. Directories are walked, since a runner has no
 * index; each file is loaded as every item is. One that does not verify is an error: where
 * conversations are sent is not decided by leaving out a file.
 *
 * And the keys that they name: what an item's ${NAME} becomes, for the names that it declares in
 * env_config alone. Looked for in the environment and the person's secrets; never in the project's .env,
 * which could send a key to an address of its own. A value is never part of a message.
 */
#include "provider/provider_inner.h"

#include "bounds.h"
#include "item/item.h"
#include "memory.h"
#include "process/process.h"
#include "scope.h"
#include "secret/secret.h"
#include "space/space.h"
#include "str.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#define PROVIDER_ROOT "rye/agent/providers"
/* Directories below it. */
#define PROVIDER_DEPTH 8
/* A shorter value, or an address, is no key: hiding it would spoil messages. */
#define KEY_LEAST 8
/* Where the bundle's provider `local` asks. */
#define LOCAL_URL "RYE_LOCAL_URL"
/* A project's path that fits into a sentence, three times. */
#define ROOT_TOLD 120

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

/* ---- keys ---- */

void key_ring_done(struct key_ring *ring)
{
	json_decref(ring->secrets);
	json_decref(ring->used);
}

static bool is_declared(const struct key_ring *ring, const char *name)
{
	const json_t *asked = json_object_get(ring->item, "env_config");
	const json_t *names = json_object_get(asked, "env");

	return json_is_array(names) ? json_lists(names, name) :
				      json_object_get(names, name) != NULL;
}

/* A store that cannot be opened is told where a key is missing. */
static const char *key_value(struct key_ring *ring, const char *name, struct rye_err *err)
{
	const char *value = ring->env->own ? env_get(ring->env->own, name) : NULL;

	if (value && *value)
		return value;
	if (!ring->secrets && secret_load(ring->env->items->spaces, &ring->secrets, err))
		ring->secrets = json_object();
	return secret_value(ring->secrets, name);
}

/* A server on this machine is named, and no file says so: the command that makes one. */
static bool mend_local(const struct key_ring *ring, struct rye_buf *ret)
{
	const struct space *project = &ring->env->items->spaces->v[0];
	auto_buf struct rye_buf dir = RYE_BUF_INIT, root = RYE_BUF_INIT;

	if (!ring->env->own || !env_get(ring->env->own, LOCAL_URL) || space_fd(project) < 0 ||
	    strlen(project->root) > ROOT_TOLD ||
	    !strcmp(json_str(ring->item, "tool_id"), "local") ||
	    faccessat(space_fd(project), "config/agent/agent.yaml", F_OK, 0) == 0)
		return false;
	buf_shell(&root, project->root);
	buf_addf(&dir, "%s/.ai/config/agent", root.failed ? "" : root.data);
	buf_addf(ret,
		 "mkdir -p %s && echo '{version: \"1.0.0\", category: agent, provider: {default: "
		 "local}}' > %s/agent.yaml && ryefs sign --project %s config:agent/agent",
		 dir.data, dir.data, root.data);
	return !dir.failed && !root.failed && !ret->failed;
}

static int fail_missing(const struct key_ring *ring, const char *name, const struct rye_err *store,
			struct rye_err *err)
{
	const char *id = json_str(ring->item, "tool_id");
	auto_buf struct rye_buf local = RYE_BUF_INIT;

	if (store->code != RYE_OK)
		return rye_fail(err, RYE_INVALID, "provider %s: no key: %s is not set, and %s", id,
				name, store->msg);
	if (mend_local(ring, &local))
		return rye_fail(err, RYE_INVALID,
				"provider %s: no key: %s is not set; " LOCAL_URL
				" is, so the provider local can be named; " MEND_WITH "%s",
				id, name, local.data);
	return rye_fail(
		err, RYE_INVALID,
		"provider %s: no key: %s is neither in the environment that ryefs was "
		"started with nor among your secrets (another provider, as provider: {default: "
		"local}, is named in config/agent/agent.yaml); " MEND_WITH "ryefs secret set %s",
		id, name, name);
}

/* ${NAME} or ${NAME:-default}. */
static int fill_one(struct key_ring *ring, struct rye_span inner, struct rye_buf *out,
		    struct rye_err *err)
{
	ssize_t dash = span_find(inner, 0, ":-");
	auto_free char *name =
		span_dup(dash < 0 ? inner : (struct rye_span){ inner.ptr, (size_t)dash });
	struct rye_err store = { 0 };
	const char *value;

	if (!name)
		return rye_fail(err, RYE_IO, "out of memory");
	if (!env_name_ok(name) || !is_declared(ring, name))
		return rye_fail(err, RYE_INVALID,
				"provider %s: ${%.*s}: its env_config does not ask for that name",
				json_str(ring->item, "tool_id"), (int)MIN_OF(inner.len, 60u),
				inner.ptr);
	value = key_value(ring, name, &store);
	if (!value && dash < 0)
		return fail_missing(ring, name, &store, err);
	if (!value) {
		buf_addspan(out, span_skip(inner, (size_t)dash + 2));
		return 0;
	}
	if (value[strcspn(value, "\r\n")])
		return rye_fail(err, RYE_INVALID, "provider %s: %s has a line end in it",
				json_str(ring->item, "tool_id"), name);
	if (!ring->used)
		ring->used = json_array();
	if (strlen(value) >= KEY_LEAST && strncmp(value, "http", 4) != 0)
		json_array_append_new(ring->used, json_string(value));
	buf_adds(out, value);
	return 0;
}

int key_fill(struct key_ring *ring, const char *text, struct rye_buf *out, struct rye_err *err)
{
	struct rye_span rest = span_of(text);
	ssize_t begin, end;
	int r = 0;

	buf_adds(out, "");
	while (!r && (begin = span_find(rest, 0, "${")) >= 0) {
		end = span_find(rest, (size_t)begin, "}");
		if (end < 0)
			break;
		buf_add(out, rest.ptr, (size_t)begin);
		r = fill_one(ring,
			     (struct rye_span){ rest.ptr + begin + 2, (size_t)(end - begin - 2) },
			     out, err);
		rest = span_skip(rest, (size_t)end + 1);
	}
	buf_addspan(out, rest);
	return r;
}
