/* SPDX-License-Identifier: MIT */
/*
 * The tree behind the index: merged directories, items, their sources, and two hash tables
 * over them. Pure memory operations, all under index->lock (the caller's); no system call is
 * made here. Out of memory while the tree grows: the entry stays unknown, and the index says that
 * it lacks something.
 * Places are in index_place.c, notes of what changed in index_note.c.
 */
#include "space/space_inner.h"

#include "base/id.h"
#include "hash.h"
#include "str.h"

static uint64_t index_tree_mix(uint64_t hash, struct rye_span bytes)
{
	hash = hash_bytes(hash, bytes.ptr, bytes.len);
	hash ^= hash >> 29;
	hash *= 0xbf58476d1ce4e5b9ull;
	return hash ^ hash >> 32;
}

static uint64_t dir_hash(enum rye_kind kind, struct rye_span path)
{
	return index_tree_mix(HASH_BASIS + kind, path);
}

static uint64_t node_hash(const struct dir *dir, struct rye_span stem)
{
	return index_tree_mix((uintptr_t)dir >> 4, stem);
}

/* ---- hash tables ---- */

static void rehash_dirs(struct index *index, struct dir **slots, size_t n)
{
	for (size_t i = 0; i < index->dir_slots; i++) {
		for (struct dir *dir = index->dirs[i], *next; dir; dir = next) {
			uint64_t hash = dir_hash((enum rye_kind)dir->kind, span_of(dir->path));

			next = dir->chain;
			dir->chain = slots[hash & (n - 1)];
			slots[hash & (n - 1)] = dir;
		}
	}
	free(index->dirs);
	index->dirs = slots;
	index->dir_slots = n;
}

static void rehash_nodes(struct index *index, struct index_node **slots, size_t n)
{
	for (size_t i = 0; i < index->node_slots; i++) {
		for (struct index_node *node = index->nodes[i], *next; node; node = next) {
			uint64_t hash = node_hash(node->dir, span_of(node->stem));

			next = node->chain;
			node->chain = slots[hash & (n - 1)];
			slots[hash & (n - 1)] = node;
		}
	}
	free(index->nodes);
	index->nodes = slots;
	index->node_slots = n;
}

/* Keeps the chains short; when memory is short they grow instead. False: no table at all. */
bool tree_resize(struct index *index)
{
	if (index->n_dirs >= index->dir_slots) {
		size_t n = index->dir_slots ? index->dir_slots * 2 : 64;
		struct dir **slots = calloc(n, sizeof(struct dir *));

		if (slots)
			rehash_dirs(index, slots, n);
	}
	if (index->n_nodes >= index->node_slots) {
		size_t n = index->node_slots ? index->node_slots * 2 : 256;
		struct index_node **slots = calloc(n, sizeof(struct index_node *));

		if (slots)
			rehash_nodes(index, slots, n);
	}
	return index->dirs && index->nodes;
}

struct dir *tree_dir(struct index *index, enum rye_kind kind, struct rye_span path)
{
	uint64_t hash = dir_hash(kind, path);
	struct dir *dir = index->dirs[hash & (index->dir_slots - 1)];

	while (dir && (dir->kind != kind || !span_eq(path, dir->path)))
		dir = dir->chain;
	return dir;
}

struct index_node *tree_node(struct index *index, const struct dir *dir, struct rye_span stem)
{
	uint64_t hash = node_hash(dir, stem);
	struct index_node *node = index->nodes[hash & (index->node_slots - 1)];

	while (node && (node->dir != dir || !span_eq(stem, node->stem)))
		node = node->chain;
	return node;
}

static void unchain_dir(struct index *index, const struct dir *dir)
{
	uint64_t hash = dir_hash((enum rye_kind)dir->kind, span_of(dir->path));
	struct dir **at = &index->dirs[hash & (index->dir_slots - 1)];

	while (*at != dir)
		at = &(*at)->chain;
	*at = dir->chain;
	index->n_dirs--;
}

static void unchain_node(struct index *index, const struct index_node *node)
{
	uint64_t hash = node_hash(node->dir, span_of(node->stem));
	struct index_node **at = &index->nodes[hash & (index->node_slots - 1)];

	while (*at != node)
		at = &(*at)->chain;
	*at = node->chain;
	index->n_nodes--;
}

/* ---- arrays of a directory ---- */

static bool index_tree_grow(void *array, uint32_t n, uint32_t *size)
{
	uint32_t more = *size ? *size * 2 : 4;
	void **v = *(void ***)array;

	if (n < *size)
		return true;
	v = realloc(v, more * sizeof(void *));
	if (!v)
		return false;
	*(void ***)array = v;
	*size = more;
	return true;
}

/* The last one takes the place of the one that goes: removing costs the same in any directory, and
 * the next listing sorts. */
static void dir_drop_node(struct dir *dir, const struct index_node *node)
{
	struct index_node *last = dir->nodes[--dir->n_nodes];

	dir->nodes[node->place] = last;
	last->place = node->place;
	dir->sorted &= last == node;
}

static void dir_drop_dir(struct dir *dir, const struct dir *sub)
{
	struct dir *last = dir->dirs[--dir->n_dirs];

	dir->dirs[sub->place] = last;
	last->place = sub->place;
	dir->sorted &= last == sub;
}

const char *tree_ext(const struct index_node *node)
{
	return kind_extensions((enum rye_kind)node->dir->kind)[node->files->ext];
}

/* Compares stem + extension without joining them. */
static int tree_compare(const struct index_node *a, const struct index_node *b)
{
	const char *p = a->stem, *q = b->stem, *p_ext = tree_ext(a), *q_ext = tree_ext(b);

	for (;;) {
		if (!*p && p_ext) {
			p = p_ext;
			p_ext = NULL;
		}
		if (!*q && q_ext) {
			q = q_ext;
			q_ext = NULL;
		}
		if (*p != *q || !*p)
			return (unsigned char)*p - (unsigned char)*q;
		p++;
		q++;
	}
}

static int index_tree_by_name(const void *a, const void *b)
{
	const struct index_node *x = *(const struct index_node *const *)a,
				*y = *(const struct index_node *const *)b;

	return tree_compare(x, y);
}

static int index_tree_by_path(const void *a, const void *b)
{
	const struct dir *x = *(const struct dir *const *)a, *y = *(const struct dir *const *)b;

	return strcmp(x->path + x->leaf, y->path + y->leaf);
}

void tree_sort(struct dir *dir)
{
	if (dir->sorted)
		return;
	if (dir->n_nodes > 1)
		qsort(dir->nodes, dir->n_nodes, sizeof(struct index_node *), index_tree_by_name);
	if (dir->n_dirs > 1)
		qsort(dir->dirs, dir->n_dirs, sizeof(struct dir *), index_tree_by_path);
	for (uint32_t i = 0; i < dir->n_nodes; i++)
		dir->nodes[i]->place = i;
	for (uint32_t i = 0; i < dir->n_dirs; i++)
		dir->dirs[i]->place = i;
	dir->sorted = true;
}

/* ---- directories ---- */

static struct dir *dir_new(enum rye_kind kind, struct rye_span path)
{
	struct dir *dir = calloc(1, sizeof(*dir) + path.len + 1);
	const char *slash = memrchr(path.ptr, '/', path.len);

	if (!dir)
		return NULL;
	memcpy(dir->path, path.ptr, path.len);
	dir->kind = (uint8_t)kind;
	dir->leaf = (uint16_t)(slash ? slash + 1 - path.ptr : 0);
	return dir;
}

static struct dir *dir_add(struct index *index, enum rye_kind kind, struct dir *parent,
			   struct rye_span path)
{
	struct dir *dir = tree_resize(index) ? dir_new(kind, path) : NULL;
	uint64_t hash = dir_hash(kind, path);

	if (!dir ||
	    (parent && !index_tree_grow(&parent->dirs, parent->n_dirs, &parent->size_dirs))) {
		index->lacking = true;
		free(dir);
		return NULL;
	}
	if (parent) {
		dir->place = parent->n_dirs;
		parent->dirs[parent->n_dirs++] = dir;
		parent->sorted = false;
	}
	dir->parent = parent;
	dir->chain = index->dirs[hash & (index->dir_slots - 1)];
	index->dirs[hash & (index->dir_slots - 1)] = dir;
	index->n_dirs++;
	return dir;
}

struct dir *tree_dir_make(struct index *index, enum rye_kind kind, struct rye_span path)
{
	struct dir *dir = index->roots[kind];

	if (!dir)
		dir = index->roots[kind] = dir_add(index, kind, NULL, SPAN(""));
	for (size_t end = 0; dir && end < path.len;) {
		const char *slash = memchr(path.ptr + end + !!end, '/', path.len - end - !!end);
		struct rye_span sub = { path.ptr, slash ? (size_t)(slash - path.ptr) : path.len };
		struct dir *next = tree_dir(index, kind, sub);

		dir = next ? next : dir_add(index, kind, dir, sub);
		end = sub.len;
	}
	return dir;
}

static void dir_free(struct dir *dir)
{
	free(dir->nodes);
	free(dir->dirs);
	free(dir);
}

void tree_prune(struct index *index, struct dir *dir)
{
	while (dir && dir->parent && !dir->places && !dir->n_nodes && !dir->n_dirs) {
		struct dir *parent = dir->parent;

		dir_drop_dir(parent, dir);
		unchain_dir(index, dir);
		dir_free(dir);
		dir = parent;
	}
}

static void count_items(struct dir *dir, int by, int space, struct index_changes *out)
{
	for (; dir; dir = dir->parent) {
		dir->total += (uint32_t)by;
		/* It becomes visible, or vanishes: a name like any other. */
		if (dir->total == (by > 0 ? 1 : 0))
			tree_note_dir(out, dir, space);
	}
}

/* ---- items ---- */

bool tree_counts(const struct index_node *node)
{
	const struct dir *dir = node->dir;

	return dir->kind != RYE_CONFIG || strncmp(dir->path, "keys", 4) != 0 ||
	       (dir->path[4] && dir->path[4] != '/');
}

static void drop_doc(struct index *index, struct file *file)
{
	if (file->doc)
		index->doc_bytes -= file->doc->len;
	rye_blob_unref(file->doc);
	file->doc = NULL;
}

void tree_drop_docs(struct index *index, struct index_node *node)
{
	for (struct file *file = node->files; file; file = file->next)
		drop_doc(index, file);
}

void tree_forget(struct index *index, struct index_node *node)
{
	node->gen = ++index->gen;
	tree_drop_docs(index, node);
	rye_text_unref(steal(&node->text));
	if (!node->known)
		return;
	node->known = false;
	index->known--;
	if (tree_counts(node))
		index->by_code[node->code]--;
}

void tree_forget_below(struct index *index, struct dir *dir, struct index_changes *out)
{
	for (uint32_t i = 0; i < dir->n_nodes; i++) {
		struct index_node *node = dir->nodes[i];

		tree_forget(index, node);
		tree_note_file(out, node, node->files->space, node->files->ext);
	}
	for (uint32_t i = 0; i < dir->n_dirs; i++)
		tree_forget_below(index, dir->dirs[i], out);
}

static struct index_node *node_add(struct index *index, struct dir *dir, struct rye_span stem)
{
	struct index_node *node;
	uint64_t hash = node_hash(dir, stem);

	if (!tree_resize(index) || !index_tree_grow(&dir->nodes, dir->n_nodes, &dir->size_nodes))
		node = NULL;
	else
		node = calloc(1, sizeof(*node) + stem.len + 1);
	if (!node) {
		index->lacking = true;
		return NULL;
	}
	memcpy(node->stem, stem.ptr, stem.len);
	node->dir = dir;
	node->code = -1;
	node->chain = index->nodes[hash & (index->node_slots - 1)];
	index->nodes[hash & (index->node_slots - 1)] = node;
	index->n_nodes++;
	node->place = dir->n_nodes;
	dir->nodes[dir->n_nodes++] = node;
	dir->sorted = false;
	return node;
}

static void node_free(struct index_node *node)
{
	for (struct file *file = node->files, *next; file; file = next) {
		next = file->next;
		rye_blob_unref(file->doc);
		free(file);
	}
	rye_blob_unref(node->reason);
	rye_text_unref(node->text);
	free(node);
}

static void node_remove(struct index *index, struct index_node *node)
{
	tree_forget(index, node);
	unchain_node(index, node);
	dir_drop_node(node->dir, node);
	node_free(node);
}

/* Where the source (space, ext) is, or would be inserted. */
static struct file **file_slot(struct index_node *node, int space, int ext)
{
	struct file **at = &node->files;

	while (*at && ((*at)->space < space || ((*at)->space == space && (*at)->ext < ext)))
		at = &(*at)->next;
	return at;
}

static bool file_is(const struct file *file, int space, int ext)
{
	return file && file->space == space && file->ext == ext;
}

static struct file *file_add(struct file **at, const struct tree_file *what)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->space = (uint16_t)what->space;
	file->ext = (uint8_t)what->ext;
	file->next = *at;
	*at = file;
	return file;
}

void tree_put(struct index *index, struct dir *dir, const struct tree_file *what, bool force,
	      struct index_changes *out)
{
	struct index_node *node = tree_node(index, dir, what->stem);
	bool fresh = !node;
	struct file **at;

	if (!node)
		node = node_add(index, dir, what->stem);
	if (!node)
		return;
	at = file_slot(node, what->space, what->ext);
	if (file_is(*at, what->space, what->ext)) {
		(*at)->linked = what->linked;
		if (!force)
			return;
		(*at)->stamp = 0;
	} else if (file_add(at, what)) {
		(*at)->linked = what->linked;
		dir->sorted = false;
	} else {
		index->lacking = true;
		if (fresh)
			node_remove(index, node);
		return;
	}
	tree_forget(index, node);
	if (fresh)
		count_items(dir, 1, what->space, out);
	tree_note_file(out, node, what->space, what->ext);
}

void tree_stamp(struct index *index, const struct dir *dir, const struct tree_file *what,
		uint64_t stamp)
{
	struct index_node *node = tree_node(index, dir, what->stem);
	struct file **at = node ? file_slot(node, what->space, what->ext) : NULL;

	if (at && file_is(*at, what->space, what->ext))
		(*at)->stamp = stamp;
}

void tree_drop(struct index *index, struct dir *dir, const struct tree_file *what,
	       struct index_changes *out)
{
	struct index_node *node = tree_node(index, dir, what->stem);
	struct file **at = node ? file_slot(node, what->space, what->ext) : NULL;
	struct file *gone;

	if (!at || !file_is(*at, what->space, what->ext))
		return;
	tree_note_file(out, node, what->space, what->ext);
	gone = *at;
	*at = gone->next;
	drop_doc(index, gone);
	free(gone);
	dir->sorted = false;
	if (node->files) {
		tree_forget(index, node);
		return;
	}
	node_remove(index, node);
	count_items(dir, -1, what->space, out);
	tree_prune(index, dir);
}

/* ---- the end ---- */

void tree_free(struct index *index)
{
	for (size_t i = 0; i < index->node_slots; i++)
		for (struct index_node *node = index->nodes[i], *next; node; node = next) {
			next = node->chain;
			node_free(node);
		}
	for (size_t i = 0; i < index->dir_slots; i++)
		for (struct dir *dir = index->dirs[i], *next; dir; dir = next) {
			next = dir->chain;
			for (struct place *place = dir->places, *more; place; place = more) {
				more = place->next;
				free(place);
			}
			dir_free(dir);
		}
	free(index->nodes);
	free(index->dirs);
	free(index->wds);
}
