/* SPDX-License-Identifier: MIT */
/*
 * Places: the real directories of the spaces that take part in a merged one, and their watches.
 * A space's part of the tree goes away with its place. All under index->lock (the caller's);
 * the only system call is the end of a watch, which does not wait.
 */
#include "space/space_inner.h"

#include "str.h"

struct place *tree_place(const struct dir *dir, int space)
{
	struct place *place = dir->places;

	while (place && place->space != space)
		place = place->next;
	return place;
}

struct place *tree_place_make(struct index *index, struct dir *dir, int space)
{
	struct place *place = tree_place(dir, space);

	if (place)
		return place;
	place = calloc(1, sizeof(*place));
	if (!place) {
		index->lacking = true;
		return NULL;
	}
	place->dir = dir;
	place->space = (uint16_t)space;
	place->wd = -1;
	place->next = dir->places;
	dir->places = place;
	index->tops[space].unwatched++;
	return place;
}

static void index_place_unwatch(struct index *index, struct place *place)
{
	struct place **at = &index->wds[place->wd % INDEX_WD_SLOTS];
	int wd = place->wd;
	bool shared = false;

	while (*at != place)
		at = &(*at)->wd_chain;
	*at = place->wd_chain;
	place->wd = -1;
	index->tops[place->space].unwatched++;
	/* Two names of one directory share its watch. */
	for (const struct place *p = index->wds[wd % INDEX_WD_SLOTS]; p; p = p->wd_chain)
		shared |= p->wd == wd;
	if (!shared && index->env.unwatch)
		index->env.unwatch(index->env.arg, wd);
}

void tree_place_watch(struct index *index, struct place *place, int wd)
{
	if (place->wd == wd)
		return;
	if (place->wd >= 0)
		index_place_unwatch(index, place);
	if (wd < 0)
		return;
	place->wd = wd;
	place->wd_chain = index->wds[wd % INDEX_WD_SLOTS];
	index->wds[wd % INDEX_WD_SLOTS] = place;
	index->tops[place->space].unwatched--;
}

static void place_remove(struct index *index, struct dir *dir, int space)
{
	struct place **at = &dir->places, *gone;

	while (*at && (*at)->space != space)
		at = &(*at)->next;
	gone = *at;
	if (!gone)
		return;
	tree_place_watch(index, gone, -1);
	index->tops[space].unwatched--;
	index->tops[space].links -= gone->linked;
	*at = gone->next;
	free(gone);
}

/* The space's sources in this one directory; backwards, since the arrays shrink. */
static void drop_files(struct index *index, struct dir *dir, int space, struct index_changes *out)
{
	for (uint32_t i = dir->n_nodes; i-- > 0;) {
		struct index_node *node = dir->nodes[i];
		struct file *file = node->files, *next;

		for (; file; file = next) {
			bool last = node->files == file && !file->next;
			struct tree_file what = { span_of(node->stem), space, file->ext, false };

			next = file->next;
			if (file->space == space)
				tree_drop(index, dir, &what, out);
			if (last)
				break;
		}
	}
}

/* Recursion is bounded by RYE_DEPTH_MAX: deeper directories are never entered. */
void tree_place_drop(struct index *index, struct dir *dir, int space, struct index_changes *out)
{
	if (!tree_place(dir, space))
		return;
	for (uint32_t i = dir->n_dirs; i-- > 0;)
		tree_place_drop(index, dir->dirs[i], space, out);
	drop_files(index, dir, space, out);
	place_remove(index, dir, space);
	tree_prune(index, dir);
}
