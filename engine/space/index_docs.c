/* SPDX-License-Identifier: MIT */
/*
 * The searchable side of the index: which sources there are and the documents kept with them.
 * A document lives as long as its item stays unchanged; a search takes references and looks at
 * them without any lock.
 */
#include "space/space.h"

#include "base/id.h"
#include "bounds.h"
#include "space/space_inner.h"
#include "str.h"

#include <stdio.h>

static bool documents_grow(struct index_docs *docs)
{
	size_t size = docs->size ? docs->size * 2 : 256;
	struct index_doc *v;

	if (docs->n < docs->size)
		return true;
	v = realloc(docs->v, size * sizeof(*v));
	if (!v)
		return false;
	docs->v = v;
	docs->size = size;
	return true;
}

static bool documents_add(struct index_docs *docs, const struct index_node *node,
			  const struct file *file, bool ids)
{
	const struct dir *dir = node->dir;
	struct index_doc *doc;

	if (!documents_grow(docs))
		return false;
	doc = &docs->v[docs->n];
	*doc = (struct index_doc){ .gen = node->gen,
				   .ext = kind_extensions((enum rye_kind)dir->kind)[file->ext],
				   .space = file->space,
				   .winner = node->files->space,
				   .kind = dir->kind,
				   .best = file == node->files };
	for (const struct file *other = node->files; other; other = other->next)
		if (other != file && other->space < 64)
			doc->others |= 1ull << other->space;
	doc->doc = file->doc ? rye_blob_ref(file->doc) : NULL;
	if ((!doc->doc || ids) &&
	    asprintf(&doc->id, "%s%s%s", dir->path, *dir->path ? "/" : "", node->stem) < 0) {
		rye_blob_unref(doc->doc);
		return false;
	}
	docs->n++;
	return true;
}

static bool has_prefix(const struct index_node *node, const char *prefix)
{
	const struct dir *dir = node->dir;
	size_t want = strlen(prefix), have = strlen(dir->path);

	if (want <= have)
		return !strncmp(dir->path, prefix, want);
	if (strncmp(prefix, dir->path, have) != 0)
		return false;
	if (have && prefix[have++] != '/')
		return false;
	return !strncmp(node->stem, prefix + have, want - have);
}

static bool add_slot(struct index_docs *docs, const struct index_node *node,
		     const struct index_want *want)
{
	bool ok = true;

	for (; node && ok; node = node->chain) {
		if (!(want->kinds & 1u << node->dir->kind) || !has_prefix(node, want->prefix))
			continue;
		for (const struct file *file = node->files; file && ok; file = file->next)
			ok = documents_add(docs, node, file, want->ids);
	}
	return ok;
}

bool index_docs(struct index *index, const struct index_want *want, struct index_docs *ret)
{
	bool ok = true;

	*ret = (struct index_docs){ 0 };
	{
		GUARD(&index->lock);
		for (size_t i = 0; i < index->node_slots && ok; i++)
			ok = add_slot(ret, index->nodes[i], want);
	}
	if (!ok)
		index_docs_done(ret);
	return ok;
}

void index_docs_done(struct index_docs *docs)
{
	for (size_t i = 0; i < docs->n; i++) {
		rye_blob_unref(docs->v[i].doc);
		free(docs->v[i].id);
	}
	free(docs->v);
	*docs = (struct index_docs){ 0 };
}

/* NULL: the item has changed. Lock held. */
static struct index_node *documents_node(struct index *index, const struct index_doc *of,
					 const char *id)
{
	const char *slash = strrchr(id, '/');
	struct rye_span parent = { id, slash ? (size_t)(slash - id) : 0 };
	struct dir *dir = tree_dir(index, (enum rye_kind)of->kind, parent);
	struct index_node *node = dir ? tree_node(index, dir, span_of(slash ? slash + 1 : id)) :
					NULL;

	return node && node->gen == of->gen ? node : NULL;
}

static void documents_keep(struct index *index, const struct index_doc *of, struct rye_blob *doc)
{
	struct index_node *node = documents_node(index, of, of->id);

	if (!node)
		return;
	for (struct file *file = node->files; file; file = file->next) {
		const char *ext = kind_extensions((enum rye_kind)of->kind)[file->ext];

		if (file->space != of->space || file->doc || strcmp(ext, of->ext) != 0)
			continue;
		file->doc = rye_blob_ref(doc);
		index->doc_bytes += doc->len;
		return;
	}
}

void index_keep_doc(struct index *index, const struct index_doc *of, struct rye_blob *doc)
{
	GUARD(&index->lock);
	documents_keep(index, of, doc);
}

bool index_doc_known(struct index *index, const struct index_doc *of, const char *id,
		     unsigned char ret[SHA_LEN])
{
	const struct index_node *node;
	bool known = false;

	if (!of->best)
		return false;
	GUARD(&index->lock);
	node = documents_node(index, of, id);
	known = node && node->known;
	if (known)
		memcpy(ret, node->sha, SHA_LEN);
	return known;
}

size_t index_doc_bytes(struct index *index)
{
	size_t bytes = 0;

	GUARD(&index->lock);
	bytes = index->doc_bytes;
	return bytes;
}

void index_drop_docs(struct index *index)
{
	GUARD(&index->lock);
	for (size_t i = 0; i < index->node_slots; i++)
		for (struct index_node *node = index->nodes[i]; node; node = node->chain)
			tree_drop_docs(index, node);
}
