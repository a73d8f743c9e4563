/* SPDX-License-Identifier: MIT */
/*
 * Which items are shown as skills. Directives always are; knowledge and tools say so in their metadata,
 * which is looked into once for each version of one. A name that two items of a kind would have belongs
 * to neither, so that no file that is added takes another's place unseen. May wait; no lock.
 */
#include "offer/offer_inner.h"

#include "memory.h"
#include "str.h"

#include <stdatomic.h>

/* As they count where two have one name. */
static const enum rye_kind offered[] = { RYE_DIRECTIVE, RYE_KNOWLEDGE, RYE_TOOL };

struct offer_filling {
	struct rye *rye;
	bool bundles;
	const struct offer_table *was;
	struct offer_table *table;
	enum rye_kind kind;
	const char *dir; /* "" is the root */
	struct rye_err *err;
	int r;
};

static int rank_of(enum rye_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(offered); i++)
		if (offered[i] == kind)
			return (int)i;
	return (int)ARRAY_SIZE(offered);
}

static int by_name_then_kind(const void *a, const void *b)
{
	const struct offer *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	c = c ? c : rank_of(x->kind) - rank_of(y->kind);
	return c || !x->path || !y->path ? c : strcmp(x->path, y->path);
}

/* Where an item of this name and kind may stand; table->n: behind all. */
static size_t offer_first(const struct offer_table *table, const char *name)
{
	size_t low = 0, high = table->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(table->v[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct offer *offer_before(const struct offer_table *was, const struct offer *now)
{
	for (size_t i = was ? offer_first(was, now->name) : 0; was && i < was->n; i++) {
		const struct offer *old = &was->v[i];

		if (strcmp(old->name, now->name) != 0)
			break;
		if (old->kind == now->kind && !strcmp(old->path, now->path))
			return old->version == now->version ? old : NULL;
	}
	return NULL;
}

/* "skill: true", in the spelling of each language. */
static bool says_so(struct rye *rye, enum rye_kind kind, const char *id)
{
	static const char *const names[] = { "skill", "__skill__", "SKILL" };
	const struct rye_ask ask = { kind, id, RYE_VIEW_INFO, NULL };
	auto_blob struct rye_blob *text = NULL;
	auto_json json_t *info = NULL;
	const json_t *meta;
	struct rye_err ignored = { 0 };

	if (rye_view(rye, &ask, &text, &ignored) == 0)
		info = json_parse((struct rye_span){ text->data, text->len }, 0, "info", &ignored);
	meta = json_object_get(info, "meta");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_is_true(json_object_get(meta, names[i])) ||
		    json_is_true(json_object_get(json_object_get(meta, "data"), names[i])))
			return true;
	return false;
}

static bool is_own(const struct offer_filling *filling, const char *id)
{
	struct rye_space_info info;
	struct rye_place place;
	struct rye_err ignored;

	if (filling->bundles)
		return true;
	if (rye_source(filling->rye, filling->kind, id, &place, &ignored))
		return false;
	rye_space_get(filling->rye, place.space, &info);
	return info.type != RYE_SYSTEM;
}

static int offer_add(struct offer_table *table, struct offer *one, struct rye_err *err)
{
	if (table->n == table->size) {
		size_t size = table->size ? 2 * table->size : 32;
		struct offer *v = realloc(table->v, size * sizeof(*v));

		if (!v)
			return memory_fail(err);
		table->v = v;
		table->size = size;
	}
	table->v[table->n++] = *one;
	one->path = NULL;
	return 0;
}

/* path: of an item's file. */
static int offer_see(struct offer_filling *filling, const char *path, const struct rye_entry *entry)
{
	auto_free char *id = strdup(path), *own = strdup(path);
	struct offer one = { .kind = filling->kind, .path = own, .version = entry->version };
	const struct offer *old;
	char *dot = id ? strrchr(id, '.') : NULL;
	int r;

	if (!id || !own)
		return memory_fail(filling->err);
	if (dot && !strchr(dot, '/'))
		*dot = 0;
	if (!is_own(filling, id))
		return 0;
	if (!offer_name(id, one.name))
		*one.name = 0;
	old = offer_before(filling->was, &one);
	if (filling->kind == RYE_DIRECTIVE)
		one.wanted = true;
	else if (entry->has_verdict && entry->verdict == RYE_OK)
		one.wanted = old ? old->wanted : says_so(filling->rye, filling->kind, id);
	r = offer_add(filling->table, &one, filling->err);
	if (!r)
		own = NULL; /* the table's now */
	return r;
}

static int offer_walk(struct offer_filling *filling);

static int offer_on_entry(void *arg, const struct rye_entry *entry)
{
	struct offer_filling *filling = arg, below = *filling;
	auto_free char *path = NULL;

	if (asprintf(&path, "%s%s%s", filling->dir, *filling->dir ? "/" : "", entry->name) < 0) {
		filling->r = memory_fail(filling->err);
	} else if (entry->is_dir) {
		below.dir = path;
		filling->r = offer_walk(&below);
	} else {
		filling->r = offer_see(filling, path, entry);
	}
	return filling->r != 0;
}

static int offer_walk(struct offer_filling *filling)
{
	const struct rye_walk walk = { .kind = filling->kind,
				       .dir = filling->dir,
				       .plus = filling->kind != RYE_DIRECTIVE,
				       .fn = offer_on_entry,
				       .arg = filling };
	int r;

	filling->r = 0;
	r = rye_list(filling->rye, &walk, filling->err);
	/* gone between its parent's listing and this one */
	return r && r != -(int)RYE_NOT_FOUND ? r : filling->r;
}

int offer_table_fill(struct rye *rye, bool bundles, const struct offer_table *was,
		     struct offer_table **ret, struct rye_err *err)
{
	auto_offers struct offer_table *table = calloc(1, sizeof(*table));
	struct offer_filling filling = { rye, bundles, was, table, 0, "", err, 0 };
	int r = 0;

	if (!table)
		return memory_fail(err);
	atomic_init(&table->refs, 1);
	for (size_t i = 0; i < ARRAY_SIZE(offered) && !r; i++) {
		filling.kind = offered[i];
		r = offer_walk(&filling);
	}
	if (r)
		return r;
	if (table->n > 1)
		qsort(table->v, table->n, sizeof(*table->v), by_name_then_kind);
	*ret = steal(&table);
	return 0;
}

struct offer_table *offer_table_ref(struct offer_table *table)
{
	if (table)
		atomic_fetch_add(&table->refs, 1);
	return table;
}

void offer_table_unref(struct offer_table *table)
{
	if (!table || atomic_fetch_sub(&table->refs, 1) > 1)
		return;
	for (size_t i = 0; i < table->n; i++)
		free(table->v[i].path);
	free(table->v);
	free(table);
}

const struct offer *offer_table_find(const struct offer_table *table, const char *name)
{
	const struct offer *found = NULL;

	for (size_t i = offer_first(table, name); i < table->n; i++) {
		const struct offer *one = &table->v[i];

		if (strcmp(one->name, name) != 0)
			break;
		if (!one->wanted)
			continue;
		if (found)
			return found->kind == one->kind ? NULL : found;
		found = one;
	}
	return found;
}
