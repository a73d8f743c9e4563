/* SPDX-License-Identifier: MIT */
/*
 * Questions to the index: what is this name, what is in this directory, what is known of this
 * item. Each takes index->lock for microseconds, copies what it found and returns; no system
 * call is made here, so that a lookup never waits for a disk.
 */
#include "space/space.h"

#include "base/id.h"
#include "bounds.h"
#include "memory.h"
#include "space/space_inner.h"
#include "str.h"

#include <stdio.h>

int index_open(const struct index_env *env, struct index **ret, struct rye_err *err)
{
	size_t n = env->spaces->n;
	struct index *index = calloc(1, sizeof(*index) + n * sizeof(struct top));
	bool ok = index != NULL;

	if (!ok)
		return memory_fail(err);
	index->env = *env;
	pthread_mutex_init(&index->lock, NULL);
	for (size_t i = 0; i < n; i++) {
		pthread_mutex_init(&index->tops[i].update, NULL);
		index->tops[i].wd_ai = index->tops[i].wd_root = -1;
	}
	index->wds = calloc(INDEX_WD_SLOTS, sizeof(struct place *));
	ok = index->wds && tree_resize(index);
	for (int kind = 0; ok && kind < RYE_KIND__MAX; kind++)
		ok = tree_dir_make(index, (enum rye_kind)kind, SPAN("")) != NULL;
	if (!ok) {
		index_close(index);
		return memory_fail(err);
	}
	*ret = index;
	return 0;
}

void index_close(struct index *index)
{
	if (!index)
		return;
	tree_free(index);
	for (size_t i = 0; i < index->env.spaces->n; i++)
		pthread_mutex_destroy(&index->tops[i].update);
	pthread_mutex_destroy(&index->lock);
	free(index);
}

void index_state_done(struct index_state *state)
{
	rye_blob_unref(state->reason);
	rye_text_unref(state->text);
	state->reason = NULL;
	state->text = NULL;
}

static void copy_state(const struct index_node *node, struct index_state *ret)
{
	*ret = (struct index_state){ .known = node->known };
	if (!node->known)
		return;
	ret->code = (enum rye_code)node->code;
	ret->size = node->size;
	ret->version = node->version;
	ret->mtime_ns = node->mtime_ns;
	memcpy(ret->sha, node->sha, SHA_LEN);
	ret->reason = node->reason ? rye_blob_ref(node->reason) : NULL;
}

static void copy_item(const struct index_node *node, struct index_item *ret)
{
	const struct dir *dir = node->dir;
	const struct file *best = node->files;

	ret->kind = (enum rye_kind)dir->kind;
	ret->space = best->space;
	ret->ext = tree_ext(node);
	ret->gen = node->gen;
	ret->shadows = 0;
	ret->ambiguous = false;
	for (const struct file *file = best->next; file; file = file->next) {
		if (file->space == best->space)
			ret->ambiguous = true;
		else if (file->space < 64)
			ret->shadows |= 1ull << file->space;
	}
	snprintf(ret->id, sizeof(ret->id), "%s%s%s", dir->path, *dir->path ? "/" : "", node->stem);
	copy_state(node, &ret->state);
	ret->state.text = rye_text_ref(node->text);
}

static void index_split(const char *path, struct rye_span *ret_dir, struct rye_span *ret_leaf)
{
	const char *slash = strrchr(path, '/');

	*ret_dir = (struct rye_span){ path, slash ? (size_t)(slash - path) : 0 };
	*ret_leaf = span_of(slash ? slash + 1 : path);
}

static struct index_node *node_by_id(struct index *index, enum rye_kind kind, const char *id)
{
	struct rye_span parent, leaf;
	struct dir *dir;

	index_split(id, &parent, &leaf);
	dir = tree_dir(index, kind, parent);
	return dir ? tree_node(index, dir, leaf) : NULL;
}

/* The id, else the directory tool: a/b stands for a/b/b. */
static struct index_node *node_or_alias(struct index *index, enum rye_kind kind, const char *id)
{
	struct index_node *node = node_by_id(index, kind, id);
	struct rye_span parent, leaf;
	struct dir *dir;

	if (node || !rye_kind_has(kind, RYE_KIND_FOLDER))
		return node;
	index_split(id, &parent, &leaf);
	dir = tree_dir(index, kind, span_of(id));
	return dir && leaf.len ? tree_node(index, dir, leaf) : NULL;
}

/* The item whose winning file has this name. */
static struct index_node *node_by_file(struct index *index, enum rye_kind kind, const char *path)
{
	const char *ext = kind_extension_of(kind, path);
	struct rye_span parent, leaf;
	struct dir *dir;
	struct index_node *node;

	index_split(path, &parent, &leaf);
	if (!ext || leaf.len <= strlen(ext))
		return NULL;
	leaf.len -= strlen(ext);
	dir = tree_dir(index, kind, parent);
	node = dir ? tree_node(index, dir, leaf) : NULL;
	return node && !strcmp(tree_ext(node), ext) ? node : NULL;
}

static void find_locked(struct index *index, enum rye_kind kind, const char *path,
			struct index_found *ret)
{
	struct index_node *node = node_by_file(index, kind, path);
	struct dir *dir = tree_dir(index, kind, span_of(path));

	/* A file's name means the file, whatever directory another space has there. */
	ret->is_file = node != NULL;
	if (!node) {
		ret->is_dir = dir && (dir->total || !*path);
		node = *path ? node_or_alias(index, kind, path) : NULL;
		ret->is_item_dir = node != NULL;
	}
	if (node)
		copy_item(node, &ret->item);
}

bool index_find(struct index *index, enum rye_kind kind, const char *path, struct index_found *ret)
{
	ret->is_dir = ret->is_item_dir = ret->is_file = false;
	ret->item.state = (struct index_state){ 0 };
	if (kind >= RYE_KIND__MAX)
		return false;
	GUARD(&index->lock);
	find_locked(index, kind, path, ret);
	return ret->is_dir || ret->is_item_dir || ret->is_file;
}

bool index_item(struct index *index, enum rye_kind kind, const char *id, struct index_item *ret)
{
	bool found = false;

	if (kind >= RYE_KIND__MAX)
		return false;
	GUARD(&index->lock);
	struct index_node *node = node_or_alias(index, kind, id);

	found = node != NULL;
	if (node)
		copy_item(node, ret);
	return found;
}

size_t index_sources(struct index *index, enum rye_kind kind, const char *id,
		     struct index_source *ret, size_t max)
{
	size_t n = 0;

	GUARD(&index->lock);
	const struct index_node *node = node_or_alias(index, kind, id);

	for (const struct file *file = node ? node->files : NULL; file && n < max;
	     file = file->next)
		ret[n++] = (struct index_source){ file->space, kind_extensions(kind)[file->ext] };
	return n;
}

/* ---- verdicts ---- */

/* Later than what was told before, and never the same for other bytes or another verdict. */
static int64_t told_mtime(const struct index_node *node, const struct index_outcome *new)
{
	struct timespec now;
	int64_t now_ns;

	if (node->code < 0 || (node->version == new->version && node->code == (int)new->code))
		return node->code < 0 ? new->mtime_ns : node->mtime_ns;
	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = now.tv_sec * 1000000000ll + now.tv_nsec;
	if (node->code != (int)new->code &&new->mtime_ns < now_ns)
		return now_ns;
	return new->mtime_ns != node->mtime_ns ? new->mtime_ns : now_ns;
}

static void publish_locked(struct index *index, struct index_node *node,
			   const struct index_outcome *new)
{
	struct rye_blob *reason = NULL;

	if (new->reason &&*new->reason) {
		reason = rye_blob_new(new->reason, strlen(new->reason));
		if (!reason)
			return;
	}
	if (node->known && tree_counts(node))
		index->by_code[node->code]--;
	index->known += !node->known;
	if (tree_counts(node))
		index->by_code[new->code]++;
	if (node->version != new->version || new->code != RYE_OK)
		rye_text_unref(steal(&node->text));
	node->mtime_ns = told_mtime(node, new);
	node->code = (int8_t) new->code;
	node->size = new->size;
	node->version = new->version;
	node->known = true;
	if (new->sha)
		memcpy(node->sha, new->sha, SHA_LEN);
	else
		memset(node->sha, 0, SHA_LEN);
	rye_blob_unref(node->reason);
	node->reason = reason;
	for (struct file *file = node->files; file && new->linked; file = file->next)
		file->linked = true;
}

bool index_publish(struct index *index, const struct index_item *item,
		   const struct index_outcome *outcome)
{
	bool current = false;

	GUARD(&index->lock);
	struct index_node *node = node_by_id(index, item->kind, item->id);

	current = node && node->gen == item->gen;
	if (current)
		publish_locked(index, node, outcome);
	return current;
}

void index_keep_text(struct index *index, const struct index_item *item, uint64_t version,
		     struct rye_text *text)
{
	GUARD(&index->lock);
	struct index_node *node = node_by_id(index, item->kind, item->id);

	if (node && node->known && !node->text && node->gen == item->gen &&
	    node->version == version && node->code == RYE_OK)
		node->text = rye_text_ref(text);
}

bool index_lacks(const struct index *index)
{
	return index->lacking;
}

void index_totals(struct index *index, struct index_totals *ret)
{
	GUARD(&index->lock);
	ret->items = index->n_nodes;
	ret->known = index->known;
	memcpy(ret->by_code, index->by_code, sizeof(ret->by_code));
}

static void copy_ref(const struct index_node *node, struct index_ref *ret)
{
	ret->kind = (enum rye_kind)node->dir->kind;
	snprintf(ret->id, sizeof(ret->id), "%s%s%s", node->dir->path, *node->dir->path ? "/" : "",
		 node->stem);
}

/* Chains of this many slots are looked at in one go: the lock is held for microseconds. */
#define UNKNOWN_SLOTS 4096

/* What is not known in one slot. */
static size_t unknown_in(const struct index *index, size_t slot, struct index_ref *ret, size_t max)
{
	size_t n = 0;

	for (const struct index_node *node = index->nodes[slot]; node && n < max;
	     node = node->chain)
		if (!node->known)
			copy_ref(node, &ret[n++]);
	return n;
}

size_t index_unknown(struct index *index, size_t *cursor, struct index_ref *ret, size_t max)
{
	size_t n = 0;

	GUARD(&index->lock);
	size_t end = *cursor + UNKNOWN_SLOTS;

	if (end > index->node_slots)
		end = index->node_slots;
	/* Whole chains, so that the cursor is a slot number; 16 is longer than any. */
	for (; *cursor < end && n + 16 <= max; (*cursor)++)
		n += unknown_in(index, *cursor, ret + n, max - n);
	if (*cursor >= index->node_slots || index->known == index->n_nodes)
		*cursor = 0;
	return n;
}

/* ---- listings ---- */

static bool hidden_by_file(struct index *index, const struct dir *parent, const struct dir *dir)
{
	const char *name = dir->path + dir->leaf;
	const char *ext = kind_extension_of((enum rye_kind)dir->kind, name);
	struct rye_span stem = { name, ext ? strlen(name) - strlen(ext) : 0 };
	const struct index_node *node = ext ? tree_node(index, parent, stem) : NULL;

	return node && !strcmp(tree_ext(node), ext);
}

static char *list_dir(struct index_list *ret, const struct dir *dir, char *at)
{
	size_t len = strlen(dir->path + dir->leaf);

	ret->v[ret->n] = (struct index_name){ .name = at, .is_dir = true };
	ret->n++;
	memcpy(at, dir->path + dir->leaf, len + 1);
	return at + len + 1;
}

static char *list_node(struct index_list *ret, const struct index_node *node, char *at)
{
	size_t stem = strlen(node->stem), ext = strlen(tree_ext(node));

	ret->v[ret->n] = (struct index_name){ .name = at };
	copy_state(node, &ret->v[ret->n].state);
	ret->n++;
	memcpy(at, node->stem, stem);
	memcpy(at + stem, tree_ext(node), ext + 1);
	return at + stem + ext + 1;
}

static bool dir_first(const struct dir *dir, const struct index_node *node)
{
	const char *name = dir->path + dir->leaf;
	size_t stem = strlen(node->stem);
	int order = strncmp(name, node->stem, stem);

	return order ? order < 0 : strcmp(name + stem, tree_ext(node)) < 0;
}

static size_t names_size(const struct dir *dir)
{
	size_t size = 1;

	for (uint32_t i = 0; i < dir->n_nodes; i++)
		size += strlen(dir->nodes[i]->stem) + strlen(tree_ext(dir->nodes[i])) + 1;
	for (uint32_t i = 0; i < dir->n_dirs; i++)
		size += strlen(dir->dirs[i]->path + dir->dirs[i]->leaf) + 1;
	return size;
}

static bool list_locked(struct index *index, struct dir *dir, struct index_list *ret)
{
	uint32_t d = 0, f = 0;
	char *at = ret->names = memory_note(malloc(names_size(dir)));

	ret->v = memory_note(calloc(dir->n_nodes + dir->n_dirs + 1, sizeof(*ret->v)));
	if (!at || !ret->v)
		return false;
	tree_sort(dir);
	while (d < dir->n_dirs || f < dir->n_nodes) {
		const struct dir *sub = d < dir->n_dirs ? dir->dirs[d] : NULL;

		if (!sub || (f < dir->n_nodes && !dir_first(sub, dir->nodes[f]))) {
			at = list_node(ret, dir->nodes[f++], at);
			continue;
		}
		d++;
		if (sub->total && !hidden_by_file(index, dir, sub))
			at = list_dir(ret, sub, at);
	}
	return true;
}

bool index_list(struct index *index, enum rye_kind kind, const char *path, struct index_list *ret)
{
	bool ok = false;

	*ret = (struct index_list){ 0 };
	if (kind >= RYE_KIND__MAX)
		return false;
	{
		GUARD(&index->lock);
		struct dir *dir = tree_dir(index, kind, span_of(path));

		ok = dir && (dir->total || !*path) && list_locked(index, dir, ret);
	}
	if (!ok)
		index_list_done(ret);
	return ok;
}

void index_list_done(struct index_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		index_state_done(&list->v[i].state);
	free(list->v);
	free(list->names);
	*list = (struct index_list){ 0 };
}
