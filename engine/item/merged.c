/* SPDX-License-Identifier: MIT */
/*
 * Finding and merging configuration, for the config/ view and for plans: maps recursively,
 * everything else by the stronger space, the key `extends` left out. In the view a single file is
 * served as it is, and key files are never merged: the store's own rules say which of them count.
 * Here alone is decided which file may lie there unsigned, and which items it may feed. No lock.
 */
#include "item/item.h"

#include "base/id.h"
#include "buf.h"
#include "format/format.h"
#include "hash.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"
#include "trust/trust.h"

#include <stdio.h>

/* First components of ids that decide what may be done, or where data goes (docs/items.md). */
static const char *const authority[] = { "agent",     "capabilities", "hooks",	 "keys", "limits",
					 "providers", "remotes",      "sandbox", "trust" };

/* May a file of this id be read without a signature? Authority and addresses may not. */
static bool merged_may_be_unsigned(const char *id)
{
	size_t n = strcspn(id, "/");

	for (size_t i = 0; i < ARRAY_SIZE(authority); i++)
		if (strlen(authority[i]) == n && !memcmp(id, authority[i], n))
			return false;
	return true;
}

static bool merged_is_key(const char *id)
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

int config_load_file(const struct item_env *env, const struct config_file *file,
		     struct rye_item **ret, struct rye_err *err)
{
	char path[1100];
	struct path_ask ask = { file->space, RYE_CONFIG, path, false };
	int n = snprintf(path, sizeof(path), "config/%s%s", file->id, file->ext);

	if (n < 0 || (size_t)n >= sizeof(path))
		return rye_fail(err, RYE_INVALID, "Invalid item_id: %.200s", file->id);
	ask.unsigned_ok = merged_is_key(file->id) ? key_counts(env, file->space, path) :
						    merged_may_be_unsigned(file->id);
	return rye_load_path(env, &ask, ret, err);
}

static const json_t *data_of(const struct rye_item *item)
{
	const json_t *data = json_object_get(item->meta, "data");

	return json_is_object(data) ? data : item->meta;
}

/*
 * Maps are merged, everything else is replaced by what `from` says; its key `extends` stays out.
 * Values are shared with `from`, maps are not. As deep as the parsers let a file be.
 */
static void lay_over(json_t *into, const json_t *from)
{
	json_t *object = (json_t *)from, *value;
	const char *key;

	json_object_foreach(object, key, value) {
		json_t *old = json_object_get(into, key);

		if (!strcmp(key, "extends"))
			continue;
		if (json_is_object(old) && json_is_object(value)) {
			lay_over(old, value);
		} else if (json_is_object(value)) {
			json_t *fresh = json_object();

			lay_over(fresh, value);
			json_set(into, key, fresh);
		} else {
			json_object_set(into, key, value);
		}
	}
}

static void merged_note(struct config_entry *entry, const struct rye_item *item)
{
	const struct timespec *mtime = &item->st.st_mtim;
	int64_t ns = mtime->tv_sec * 1000000000ll + mtime->tv_nsec;

	entry->digest = hash_text(entry->digest, item->verdict.sha256);
	entry->linked |= item->st.st_nlink > 1;
	entry->unsigned_part |= !merged_is_key(item->id) && !*item->verdict.fingerprint;
	if (ns > entry->mtime_ns)
		entry->mtime_ns = ns;
}

/*
 * A signed file feeds every item. One without a signature those of its own space and of the
 * spaces that shadow it: a program that may write to the project writes no command or address
 * for the person's items.
 */
static bool merged_feeds(const struct rye_item *item, enum rye_space whose)
{
	return *item->verdict.fingerprint || item->space->type >= whose;
}

static int refuse_to_feed(const struct rye_item *item, enum rye_space whose, struct rye_err *err)
{
	auto_buf struct rye_buf ref = RYE_BUF_INIT;
	auto_free char *named = NULL;

	if (asprintf(&named, "config:%s", item->id) < 0)
		return memory_fail(err);
	buf_shell(&ref, named);
	return rye_fail(
		err, RYE_UNSIGNED,
		"%s has no signature: configuration of the %s space is given to items of the "
		"%s space only when it is signed; " MEND_WITH "ryefs sign %s%s",
		item->abspath, item->space->full, whose == RYE_SYSTEM ? "system" : "user",
		item->space->type == RYE_USER ? "--space user " : "", ref.data);
}

/* Numbers of a mapping, however deep; NULL: no memory. */
static json_t *merged_numbers(const json_t *from)
{
	json_t *object = (json_t *)from, *value, *ret = json_object();
	const char *key;

	json_object_foreach(object, key, value) {
		if (json_is_number(value))
			json_object_set(ret, key, value);
		else if (json_is_object(value))
			json_object_set_new(ret, key, merged_numbers(value));
	}
	return ret;
}

void config_entry_done(struct config_entry *entry)
{
	rye_item_unref(entry->item);
	rye_blob_unref(entry->text);
	json_decref(entry->map);
	json_decref(entry->files);
	*entry = (struct config_entry){ 0 };
}

const char *config_verdict(const struct verdict *verdict)
{
	return *verdict->fingerprint || verdict->dev ? rye_code_name(verdict->code) :
						       rye_code_name(RYE_UNSIGNED);
}

/* Over what weaker files said. One that cannot be read is an error: its values are missed. */
static int lay_item(const struct config_ask *ask, struct rye_item *item, struct config_entry *entry,
		    struct rye_err *err)
{
	auto_json json_t *numbers = NULL;
	const json_t *data = data_of(item);

	if (item->parse.code != RYE_OK)
		return rye_fail(err, item->parse.code, "%s", item->parse.msg);
	if (!merged_feeds(item, ask->want.whose)) {
		if (!ask->want.limits)
			return refuse_to_feed(item, ask->want.whose, err);
		data = numbers = merged_numbers(data);
	}
	merged_note(entry, item);
	if (ask->want.first)
		json_object_update(entry->map, (json_t *)data);
	else
		lay_over(entry->map, data);
	json_array_append_new(entry->files, json_pack("{s:s, s:s, s:s}", "path", item->abspath,
						      "space", item->space->full, "verdict",
						      config_verdict(&item->verdict)));
	rye_item_unref(entry->item);
	entry->item = rye_item_ref(item);
	return 0;
}

static int lay_source(const struct item_env *env, const struct config_ask *ask,
		      const struct index_source *source, struct config_entry *entry,
		      struct rye_err *err)
{
	const struct config_file file = { &env->spaces->v[source->space], ask->id, source->ext };
	auto_item struct rye_item *item = NULL;
	int r = config_load_file(env, &file, &item, err);

	if (r)
		return r == -(int)RYE_NOT_FOUND && ask->optional ? 0 : r;
	return lay_item(ask, item, entry, err);
}

static int config_merge(const struct item_env *env, const struct config_ask *ask,
			struct config_entry *ret, struct rye_err *err)
{
	int r = 0;

	*ret = (struct config_entry){ .digest = HASH_BASIS,
				      .map = json_object(),
				      .files = json_array() };
	if (!ret->map || !ret->files)
		r = memory_fail(err);
	/* The strongest source of each space, the weakest space first. */
	for (size_t k = 0; !r && k < ask->n && !(ask->want.first && ret->item); k++) {
		size_t i = ask->want.first ? k : ask->n - 1 - k;

		if (!i || ask->sources[i - 1].space != ask->sources[i].space)
			r = lay_source(env, ask, &ask->sources[i], ret, err);
	}
	if (r)
		config_entry_done(ret);
	return r;
}

int config_everywhere(const struct item_env *env, const struct config_want *want,
		      struct config_entry *ret, struct rye_err *err)
{
	struct index_source sources[CONFIG_SOURCES_MAX];
	const char *path = want->path, *dot = strrchr(space_stem(path), '.');
	auto_free char *id = memory_note(strndup(path, dot ? (size_t)(dot - path) : SIZE_MAX));
	struct config_ask ask = { .id = id,
				  .sources = sources,
				  .n = env->spaces->n,
				  .optional = true,
				  .want = *want };

	if (!id)
		return memory_fail(err);
	for (size_t i = 0; i < ask.n && i < CONFIG_SOURCES_MAX; i++)
		sources[i] = (struct index_source){ (int)i, dot ? dot : "" };
	if (ask.n > CONFIG_SOURCES_MAX)
		ask.n = CONFIG_SOURCES_MAX;
	return config_merge(env, &ask, ret, err);
}

static int write_merged(const struct index_source *best, struct config_entry *entry,
			struct rye_err *err)
{
	auto_buf struct rye_buf buf = RYE_BUF_INIT;

	if (!strcmp(best->ext, ".toml"))
		mapping_toml(&buf, entry->map);
	else
		mapping_yaml(&buf, entry->map);
	entry->text = buf_blob(&buf);
	return entry->text ? 0 : memory_fail(err);
}

static int load_single(const struct item_env *env, const struct config_ask *ask,
		       struct config_entry *ret, struct rye_err *err)
{
	const struct config_file file = { &env->spaces->v[ask->sources->space], ask->id,
					  ask->sources->ext };
	int r = config_load_file(env, &file, &ret->item, err);

	if (r)
		return r;
	merged_note(ret, ret->item);
	ret->text = rye_blob_ref(ret->item->text);
	return 0;
}

int config_load(const struct item_env *env, const struct config_ask *ask, struct config_entry *ret,
		struct rye_err *err)
{
	int r;

	*ret = (struct config_entry){ .digest = HASH_BASIS };
	if (!ask->n)
		return rye_fail(err, RYE_NOT_FOUND, "Config not found: %.900s", ask->id);
	if (merged_is_key(ask->id) || ask->sources[ask->n - 1].space == ask->sources[0].space)
		return load_single(env, ask, ret, err);
	r = config_merge(env, ask, ret, err);
	if (r)
		return r;
	r = write_merged(ask->sources, ret, err);
	if (r)
		config_entry_done(ret);
	return r;
}
