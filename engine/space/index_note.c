/* SPDX-License-Identifier: MIT */
/*
 * What has changed in the index, noted for the thread that tells the listener: one note for each
 * name, or one "everything" when they are too many or memory is short. The list belongs to the
 * caller of the index; it is filled under index->lock. No system call.
 */
#include "space/space_inner.h"

#include "base/id.h"
#include "bounds.h"

#include <stdio.h>
#include <string.h>

/* More changes than this at once are told as one "everything". */
#define CHANGES_MAX 4096

void index_changes_done(struct index_changes *changes)
{
	for (size_t i = 0; i < changes->n; i++) {
		free(changes->v[i].path);
		free(changes->v[i].id);
	}
	free(changes->v);
	*changes = (struct index_changes){ 0 };
}

static bool changes_grow(struct index_changes *out)
{
	size_t size = out->size ? out->size * 2 : 8;
	struct index_change *v;

	if (out->n < out->size)
		return true;
	v = out->n < CHANGES_MAX ? realloc(out->v, size * sizeof(*v)) : NULL;
	if (!v)
		return false;
	out->v = v;
	out->size = size;
	return true;
}

void tree_note(struct index_changes *out, int space, enum rye_kind kind, const char *path,
	       const char *id)
{
	struct index_change *change;

	if (!out || out->all)
		return;
	out->keys |= !strncmp(path, "config/keys/", 12);
	if (!changes_grow(out)) {
		out->all = true;
		return;
	}
	change = &out->v[out->n];
	*change = (struct index_change){ .space = space, .kind = kind, .path = strdup(path) };
	change->id = id ? strdup(id) : NULL;
	out->n++;
	out->all |= !change->path || (id && !change->id);
}

bool tree_path(const struct dir *dir, const char *name, char *ret, size_t size)
{
	const char *top = rye_kind_dir((enum rye_kind)dir->kind);
	int n = snprintf(ret, size, "%s%s%s%s%s", top, *dir->path ? "/" : "", dir->path,
			 *name ? "/" : "", name);

	return n >= 0 && (size_t)n < size;
}

void tree_note_dir(struct index_changes *out, const struct dir *dir, int space)
{
	char path[RYE_ID_MAX + 64];

	if (out && *dir->path && tree_path(dir, "", path, sizeof(path)))
		tree_note(out, space, (enum rye_kind)dir->kind, path, dir->path);
}

void tree_note_file(struct index_changes *out, const struct index_node *node, int space, int ext)
{
	const struct dir *dir = node->dir;
	const char *suffix = kind_extensions((enum rye_kind)dir->kind)[ext];
	char name[RYE_NAME_MAX + 1], path[RYE_ID_MAX + 64], id[RYE_ID_MAX + RYE_NAME_MAX + 2];

	if (!out)
		return;
	snprintf(name, sizeof(name), "%s%s", node->stem, suffix);
	snprintf(id, sizeof(id), "%s%s%s", dir->path, *dir->path ? "/" : "", node->stem);
	if (tree_path(dir, name, path, sizeof(path)))
		tree_note(out, space, (enum rye_kind)dir->kind, path, id);
}
