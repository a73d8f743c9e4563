/* SPDX-License-Identifier: MIT */
/*
 * How the index follows the disk: whole scans, single events, and the checks that lookups make
 * where inotify does not tell of changes. An event says only where to look: what is there now
 * decides, so late, repeated and merged events are harmless. The space's update lock is held while
 * looking and merging, so that an older look never overwrites a newer one.
 */
#include "space/space.h"

#include "base/id.h"
#include "base/io.h"
#include "space/space_inner.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* One directory may be part of several spaces, and of one space by several links. */
#define SHARED_MAX 16

void index_scan(struct index *index, int threads, bool forget)
{
	index->lacking = false;
	for (size_t i = 0; i < index->env.spaces->n; i++) {
		const struct walk_opt opt = { .space = (int)i,
					      .threads = threads,
					      .deep = true,
					      .forget = forget };

		GUARD(&index->tops[i].update);
		walk_space(index, &opt);
	}
}

void index_forget(struct index *index)
{
	GUARD(&index->lock);
	for (size_t i = 0; i < index->node_slots; i++)
		for (struct index_node *node = index->nodes[i]; node; node = node->chain)
			tree_forget(index, node);
}

/* ---- one name ---- */

struct spot {
	int space;
	enum rye_kind kind;
	char dir[RYE_ID_MAX + 1]; /* below the kind's directory */
};

static void drop_item(struct index *index, struct dir *dir, const struct spot *spot,
		      const char *name, struct index_changes *out)
{
	int ext = walk_ext(spot->kind, name);
	struct tree_file what = { span_of(name), spot->space, ext, false };

	if (ext < 0)
		return;
	what.stem.len -= strlen(kind_extensions(spot->kind)[ext]);
	tree_drop(index, dir, &what, out);
}

static void drop_dir(struct index *index, const struct spot *spot, const char *path,
		     struct index_changes *out)
{
	struct dir *dir = tree_dir(index, spot->kind, span_of(path));

	if (dir)
		tree_place_drop(index, dir, spot->space, out);
}

/*
 * A name without a place came or went. It may have been a link out of the space, which bars what
 * lower spaces have in a directory of that name (space_barred). The index does not remember such
 * links, so the verdicts of everything below the name are forgotten.
 */
static void index_update_forget_dir(struct index *index, const struct spot *spot, const char *path,
				    struct index_changes *out)
{
	struct dir *dir = tree_dir(index, spot->kind, span_of(path));

	if (dir && !tree_place(dir, spot->space))
		tree_forget_below(index, dir, out);
}

static void index_update_put_item(struct index *index, struct dir *dir, const struct spot *spot,
				  const struct walk_entry *entry, struct index_changes *out)
{
	struct tree_file what = { span_of(entry->name), spot->space, entry->ext, entry->linked };

	what.stem.len -= strlen(kind_extensions(spot->kind)[entry->ext]);
	tree_put(index, dir, &what, true, out);
}

static bool index_update_join(const char *dir, const char *name, char *ret, size_t size)
{
	int n = snprintf(ret, size, "%s%s%s", dir, *dir && *name ? "/" : "", name);

	return n >= 0 && (size_t)n < size;
}

/* Files and directories that are not there any more or have become the other sort. */
static bool index_update_settle(struct index *index, const struct spot *spot,
				const struct walk_entry *entry, struct index_changes *out)
{
	struct dir *dir = tree_dir(index, spot->kind, span_of(spot->dir));
	char path[RYE_ID_MAX + 1], file[RYE_ID_MAX + 64];
	size_t told = out->n;

	/* No place, so not walked yet: the walk of a parent is still to come. */
	if (!dir || !tree_place(dir, spot->space))
		return false;
	if (index_update_join(spot->dir, entry->name, path, sizeof(path))) {
		if (entry->what != WALK_DIR)
			drop_dir(index, spot, path, out);
		index_update_forget_dir(index, spot, path, out);
	}
	if (entry->what == WALK_ITEM)
		index_update_put_item(index, dir, spot, entry, out);
	else
		drop_item(index, dir, spot, entry->name, out);
	/* Other files show in the spaces' own trees. */
	if (entry->what == WALK_NOTHING && out->n == told &&
	    tree_path(dir, entry->name, file, sizeof(file)))
		tree_note(out, spot->space, RYE_KIND__MAX, file, NULL);
	return entry->what == WALK_DIR;
}

/* Update lock held. */
static void look_locked(struct index *index, const struct spot *spot, const char *name,
			struct index_changes *out)
{
	const struct walk_opt opt = { .space = spot->space,
				      .deep = true,
				      .forget = true,
				      .out = out };
	struct walk_entry entry = { .name = name };
	struct walk_at at = { .fd = -1 };
	auto_close int fd = -1;
	char path[RYE_ID_MAX + 1];
	bool is_dir = false;
	int r = walk_open(index, spot->space, spot->kind, spot->dir, &at);

	if (!r) {
		fd = at.fd;
		r = walk_probe(&at, name, &entry);
	}
	if (r == -EIO) {
		walk_doubt(index, spot->kind, spot->dir, -1, &opt);
		return;
	}
	{
		GUARD(&index->lock);
		is_dir = index_update_settle(index, spot, &entry, out);
	}
	if (is_dir && index_update_join(spot->dir, name, path, sizeof(path)))
		walk_dir(index, spot->kind, path, &opt);
}

/* The name of the manifest whose folder a path below the kind's directory is, or lies in. */
static struct rye_span index_update_owner(enum rye_kind kind, const char *path)
{
	if (!rye_kind_has(kind, RYE_KIND_MANIFEST))
		return SPAN("");
	return (struct rye_span){ path, strcspn(path, "/") };
}

/* index->lock held. */
static void forget_owner(struct index *index, enum rye_kind kind, const char *path)
{
	struct rye_span owner = index_update_owner(kind, path);
	struct dir *root = index->roots[kind];
	struct index_node *node = owner.len && root ? tree_node(index, root, owner) : NULL;

	if (node)
		tree_forget(index, node);
}

/*
 * A file that a manifest may list: what was found of the item holds no longer, in whichever space it
 * is. A folder without a manifest is told of as if it were an item: it is shown, too.
 */
static void index_update_attached(struct index *index, const struct spot *spot, const char *name,
				  struct index_changes *out)
{
	struct rye_span owner = index_update_owner(spot->kind, *spot->dir ? spot->dir : name);
	char path[RYE_NAME_MAX + 64], id[RYE_NAME_MAX + 1];

	/* the manifest itself is an item's file as any other */
	if (!owner.len || owner.len > RYE_NAME_MAX ||
	    (!*spot->dir && kind_extension_of(spot->kind, name)))
		return;
	snprintf(id, sizeof(id), "%.*s", (int)owner.len, owner.ptr);
	snprintf(path, sizeof(path), "%s/%s%s", rye_kind_dir(spot->kind), id,
		 kind_extensions(spot->kind)[0]);
	GUARD(&index->lock);
	forget_owner(index, spot->kind, id);
	tree_note(out, spot->space, spot->kind, path, id);
}

static void index_update_look(struct index *index, const struct spot *spot, const char *name,
			      struct index_changes *out)
{
	GUARD(&index->tops[spot->space].update);
	look_locked(index, spot, name, out);
	index_update_attached(index, spot, name, out);
}

/* ---- events ---- */

static size_t spots_of(struct index *index, int wd, struct spot *ret)
{
	size_t n = 0;

	GUARD(&index->lock);
	for (const struct place *p = index->wds[wd % INDEX_WD_SLOTS]; p && n < SHARED_MAX;
	     p = p->wd_chain) {
		if (p->wd != wd)
			continue;
		ret[n].space = p->space;
		ret[n].kind = (enum rye_kind)p->dir->kind;
		snprintf(ret[n].dir, sizeof(ret[n].dir), "%s", p->dir->path);
		n++;
	}
	return n;
}

static void kind_arrived(struct index *index, int space, const char *name,
			 struct index_changes *out)
{
	const struct walk_opt opt = { .space = space, .deep = true, .forget = true, .out = out };
	enum rye_kind kind = kind_from_dir(span_of(name));

	if (kind < RYE_KIND__MAX) {
		{
			GUARD(&index->tops[space].update);
			walk_dir(index, kind, "", &opt);
		}
		GUARD(&index->lock);
		tree_forget_below(index, index->roots[kind], out);
	}
	tree_note(out, space, RYE_KIND__MAX, name, NULL);
}

static void top_event(struct index *index, int wd, const char *name, struct index_changes *out)
{
	for (size_t i = 0; i < index->env.spaces->n; i++) {
		const struct walk_opt opt = { .space = (int)i,
					      .deep = true,
					      .forget = true,
					      .out = out };
		bool in_ai = false, in_root = false;

		{
			GUARD(&index->lock);
			in_ai = index->tops[i].wd_ai == wd;
			in_root = index->tops[i].wd_root == wd && !strcmp(name, ".ai");
		}
		if (in_ai)
			kind_arrived(index, (int)i, name, out);
		if (!in_root)
			continue;
		space_renew(&index->env.spaces->v[i]);
		{
			GUARD(&index->tops[i].update);
			walk_space(index, &opt);
		}
		out->keys = true;
	}
}

void index_poll(struct index *index, struct index_changes *out)
{
	for (size_t i = 0; i < index->env.spaces->n; i++) {
		const struct walk_opt opt = { .space = (int)i,
					      .deep = true,
					      .forget = true,
					      .out = out };

		const struct space *space = &index->env.spaces->v[i];
		bool lost = false;

		{
			GUARD(&index->lock);
			lost = index->tops[i].lost;
		}
		/* When the parent of .ai goes, its watch goes with it. */
		if (!space_renew(space) && (!lost || access(space->root, F_OK) < 0))
			continue;
		{
			GUARD(&index->tops[i].update);
			walk_space(index, &opt);
		}
		out->keys = true;
	}
}

void index_event(struct index *index, int wd, const char *name, struct index_changes *out)
{
	auto_free struct spot *spots = calloc(SHARED_MAX, sizeof(*spots));
	size_t n = spots ? spots_of(index, wd, spots) : 0;

	if (!spots)
		index->lacking = out->all = true;
	top_event(index, wd, name, out);
	for (size_t i = 0; i < n; i++)
		index_update_look(index, &spots[i], name, out);
}

bool index_doubt(struct index *index, const char *path)
{
	const char *rest = strchr(path, '/'), *leaf = strrchr(path, '/');
	enum rye_kind kind =
		kind_from_dir((struct rye_span){ path, rest ? (size_t)(rest - path) : 0 });
	const char *ext;

	if (!rest)
		return kind_from_dir(span_of(path)) < RYE_KIND__MAX;
	if (kind == RYE_KIND__MAX)
		return false;
	ext = kind_extension_of(kind, leaf + 1);
	GUARD(&index->lock);
	forget_owner(index, kind, rest + 1);
	struct dir *dir = tree_dir(
		index, kind,
		(struct rye_span){ rest + 1, leaf > rest ? (size_t)(leaf - rest - 1) : 0 });
	struct rye_span stem = span_of(leaf + 1);
	struct index_node *node;

	stem.len -= ext ? strlen(ext) : 0;
	node = dir && ext ? tree_node(index, dir, stem) : NULL;
	if (node)
		tree_forget(index, node);
	return ext || tree_dir(index, kind, span_of(rest + 1));
}

void index_touch(struct index *index, int space, const char *path, struct index_changes *out)
{
	const char *rest = strchr(path, '/'), *leaf = strrchr(path, '/');
	struct spot spot = { .space = space };

	spot.kind = kind_from_dir((struct rye_span){ path, rest ? (size_t)(rest - path) : 0 });
	if (!rest) {
		kind_arrived(index, space, path, out);
		return;
	}
	if (spot.kind == RYE_KIND__MAX || (size_t)(leaf - rest) >= sizeof(spot.dir)) {
		tree_note(out, space, RYE_KIND__MAX, path, NULL);
		return;
	}
	if (leaf > rest)
		memcpy(spot.dir, rest + 1, (size_t)(leaf - rest - 1));
	index_update_look(index, &spot, leaf + 1, out);
}
