/* SPDX-License-Identifier: MIT */
/*
 * Freshness where inotify does not tell of changes: layers on network file systems, directories
 * without a watch, links whose target lies elsewhere, files that have another name beside the one
 * that is watched, engines that do not watch at all, changes that the kernel was not told of in time
 * (index_late). A lookup then compares the stat of the directories on its way and of the files it is about with what the
 * index remembers; a stat too fresh to be told from the next one is never trusted (walk_stamp).
 */
#include "base/id.h"
#include "base/io.h"
#include "space/space_inner.h"
#include "str.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>

/* Does the directory of one space need a look? index->lock held. */
static bool dir_blind(struct index *index, int space, const struct dir *dir)
{
	const struct place *place = dir ? tree_place(dir, space) : NULL;

	if (place)
		return place->wd < 0 || index->late;
	/* The kind's root may appear unseen; anything deeper is seen from its parent. */
	return dir && !*dir->path && (index->tops[space].blind || index->late);
}

static bool node_linked(const struct index_node *node, int space)
{
	for (const struct file *file = node ? node->files : NULL; file; file = file->next)
		if (file->space == space && file->linked)
			return true;
	return false;
}

/* The items a name may speak of: by file name, by id. index->lock held. */
static size_t nodes_of(struct index *index, enum rye_kind kind, const char *path,
		       struct index_node *ret[2])
{
	const char *slash = strrchr(path, '/'), *leaf = slash ? slash + 1 : path;
	struct rye_span parent = { path, slash ? (size_t)(slash - path) : 0 };
	const struct dir *dir = tree_dir(index, kind, parent);
	const char *ext = kind_extension_of(kind, leaf);
	struct rye_span stem = span_of(leaf);
	size_t n = 0;

	ret[0] = dir ? tree_node(index, dir, stem) : NULL;
	n += ret[0] != NULL;
	if (dir && ext) {
		stem.len -= strlen(ext);
		ret[n] = tree_node(index, dir, stem);
		n += ret[n] != NULL;
	}
	return n;
}

static bool space_blind(struct index *index, int space, enum rye_kind kind, const char *path)
{
	struct index_node *nodes[2];
	size_t n = nodes_of(index, kind, path, nodes);
	struct rye_span prefix = { path, 0 };

	for (size_t i = 0; i < n; i++)
		if (node_linked(nodes[i], space))
			return true;
	if (index->late)
		return true;
	if (!index->tops[space].unwatched && !index->tops[space].blind)
		return false;
	for (;;) {
		const char *slash;

		if (dir_blind(index, space, tree_dir(index, kind, prefix)))
			return true;
		if (prefix.len == strlen(path))
			return false;
		/* At least one byte on, whatever the path. */
		slash = strchr(path + prefix.len + 1, '/');
		prefix.len = slash ? (size_t)(slash - path) : strlen(path);
	}
}

bool index_unwatched(struct index *index, enum rye_kind kind, const char *path)
{
	bool blind = false;

	if (kind >= RYE_KIND__MAX)
		return false;
	GUARD(&index->lock);
	for (size_t i = 0; i < index->env.spaces->n && !blind; i++)
		blind = space_blind(index, (int)i, kind, path);
	return blind;
}

void index_late(struct index *index, bool on)
{
	atomic_fetch_add(&index->late, on ? 1u : -1u);
}

/* ---- looking ---- */

struct index_check {
	struct index *index;
	enum rye_kind kind;
	int space;
	struct index_changes *out;
};

/* 0: not there, or too fresh to be trusted. */
static uint64_t stamp_at(const struct index_check *check, const char *path, bool *ret_there)
{
	int root = space_fd(&check->index->env.spaces->v[check->space]);
	auto_close int fd = root < 0 ? -1 : io_open_mounted(root, path, O_PATH);
	struct stat st;

	*ret_there = fd >= 0 && fstat(fd, &st) == 0;
	return *ret_there ? walk_stamp(&st) : 0;
}

static void check_dir(const struct index_check *check, struct rye_span prefix)
{
	const struct walk_opt opt = { .space = check->space, .out = check->out };
	struct index *index = check->index;
	char path[RYE_ID_MAX + 64], below[RYE_ID_MAX + 1];
	uint64_t old = 0, new;
	bool blind = false, there;

	snprintf(below, sizeof(below), "%.*s", (int)prefix.len, prefix.ptr);
	{
		GUARD(&index->lock);
		struct dir *dir = tree_dir(index, check->kind, prefix);
		const struct place *place = dir ? tree_place(dir, check->space) : NULL;

		blind = dir_blind(index, check->space, dir);
		if (blind && tree_path(dir, "", path, sizeof(path)))
			old = place ? place->stamp : 0;
	}
	if (!blind)
		return;
	new = stamp_at(check, path, &there);
	if (!there || !old || new != old)
		walk_dir(index, check->kind, below, &opt);
}

/* Files of one name in one space: as many as there are extensions, twice. */
#define SEEN_MAX 20

/* A source as it was when the lock was held. */
struct seen {
	struct tree_file file;
	uint64_t stamp;
	char stem[RYE_NAME_MAX + 1], path[RYE_ID_MAX + 64];
};

static size_t sources_of(const struct index_check *check, const char *path, struct seen *ret,
			 size_t max)
{
	struct index *index = check->index;
	struct index_node *nodes[2];
	size_t found = nodes_of(index, check->kind, path, nodes), n = 0;

	for (size_t i = 0; i < found; i++) {
		const struct place *place = tree_place(nodes[i]->dir, check->space);

		for (struct file *file = nodes[i]->files; file && n < max; file = file->next) {
			char name[RYE_NAME_MAX + 1];

			if (file->space != check->space ||
			    (place && place->wd >= 0 && !file->linked && !index->late))
				continue;
			snprintf(name, sizeof(name), "%s%s", nodes[i]->stem,
				 kind_extensions(check->kind)[file->ext]);
			snprintf(ret[n].stem, sizeof(ret[n].stem), "%s", nodes[i]->stem);
			ret[n].file = (struct tree_file){ span_of(ret[n].stem), check->space,
							  file->ext, file->linked };
			ret[n].stamp = file->stamp;
			n += tree_path(nodes[i]->dir, name, ret[n].path, sizeof(ret[n].path));
		}
	}
	return n;
}

/* A link that leads nowhere or out of the space is there as well: as an item that is refused. */
static uint64_t link_stamp(const struct index_check *check, const char *path, bool *ret_there)
{
	int root = space_fd(&check->index->env.spaces->v[check->space]);
	auto_close int fd = root < 0 ? -1 : io_open_beneath(root, path, O_PATH | O_NOFOLLOW);
	struct stat st;

	*ret_there = fd >= 0 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode);
	return *ret_there ? walk_stamp(&st) : 0;
}

static void check_file(const struct index_check *check, const char *path, const struct seen *seen)
{
	const char *slash = strrchr(path, '/');
	struct rye_span parent = { path, slash ? (size_t)(slash - path) : 0 };
	struct index *index = check->index;
	bool there;
	uint64_t new = stamp_at(check, seen->path, &there);

	if (!there)
		new = link_stamp(check, seen->path, &there);
	if (there && new &&new == seen->stamp)
		return;
	GUARD(&index->lock);
	struct dir *dir = tree_dir(index, check->kind, parent);

	if (dir && there)
		tree_put(index, dir, &seen->file, true, check->out);
	else if (dir)
		tree_drop(index, dir, &seen->file, check->out);
	if (dir && there)
		tree_stamp(index, dir, &seen->file, new);
}

static void index_check_space(const struct index_check *check, const char *path)
{
	struct rye_span prefix = { path, 0 };
	struct seen seen[SEEN_MAX];
	size_t n = 0;

	for (;;) {
		const char *slash;

		check_dir(check, prefix);
		if (prefix.len == strlen(path))
			break;
		/* At least one byte on, whatever the path. */
		slash = strchr(path + prefix.len + 1, '/');
		prefix.len = slash ? (size_t)(slash - path) : strlen(path);
	}
	{
		GUARD(&check->index->lock);
		n = sources_of(check, path, seen, ARRAY_SIZE(seen));
	}
	for (size_t i = 0; i < n; i++)
		check_file(check, path, &seen[i]);
}

void index_check(struct index *index, enum rye_kind kind, const char *path,
		 struct index_changes *out)
{
	for (size_t i = 0; i < index->env.spaces->n && kind < RYE_KIND__MAX; i++) {
		struct index_check check = { index, kind, (int)i, out };
		bool blind = false;

		{
			GUARD(&index->lock);
			blind = space_blind(index, (int)i, kind, path);
		}
		if (blind) {
			GUARD(&index->tops[i].update);
			index_check_space(&check, path);
		}
	}
}
