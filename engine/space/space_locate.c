/* SPDX-License-Identifier: MIT */
/*
 * Where an id lies in the spaces (docs/items.md). Everything is opened beneath a space's .ai, so
 * neither an id nor a link can leave it; what stands in the way of an id is an error and never
 * a reason to look in a weaker space. No lock; what was seen in a directory is space_stems.c's.
 */
#include "space/space_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "base/self.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

static int space_locate_refuse(const struct space *space, const char *path, int sys,
			       struct rye_err *err)
{
	auto_free char *abspath = sys == EACCES ? space_abspath(space, path) : NULL;
	int r;

	if (sys == EXDEV)
		return rye_fail(err, RYE_DENIED,
				"Symlink escape: %s/.ai/%s leads out of its space's .ai",
				space->root, path);
	r = rye_fail_sys(err, sys, "cannot open %s/.ai/%s", space->root, path);
	if (abspath)
		self_may(abspath, false, err);
	return r;
}

/* What could not be found by following links: 0, or an error when it is a link itself. */
static int refuse_link(const struct space *space, const char *path, struct rye_err *err)
{
	struct stat st;

	if (fstatat(space_fd(space), path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISLNK(st.st_mode))
		return 0;
	return rye_fail(err, RYE_DENIED, "%s/.ai/%s is a link that leads nowhere", space->root,
			path);
}

int space_open_file(struct located *at, struct rye_err *err)
{
	int root = space_fd(at->space);
	int fd = root < 0 ? -ENOENT : io_open_mounted(root, at->path, O_RDONLY);

	if (root < 0)
		return 0;
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ENAMETOOLONG)
		return refuse_link(at->space, at->path, err);
	if (fd < 0)
		return space_locate_refuse(at->space, at->path, -fd, err);
	memset(&at->st, 0, sizeof(at->st));
	if (!fstat(fd, &at->st) && S_ISREG(at->st.st_mode)) {
		at->fd = fd;
		return 1;
	}
	close(fd);
	if (S_ISDIR(at->st.st_mode))
		return 0;
	return rye_fail(err, RYE_INVALID, "%s/.ai/%s is a %s, wanted a regular file",
			at->space->root, at->path,
			S_ISFIFO(at->st.st_mode) ? "FIFO" : "device or socket");
}

/* "tools/a" below .ai, as a file in it would be opened: O_PATH, or -errno. */
static int open_directory(const struct space *space, const char *path)
{
	int root = space_fd(space);

	return root < 0 ? -ENOENT : io_open_mounted(root, path, O_PATH | O_DIRECTORY);
}

/* The directory that has the id's file: O_PATH, or -errno. */
static int open_category(const struct space *space, enum rye_kind kind, const char *id)
{
	struct rye_span category = space_category(id);
	char path[sizeof(((struct located *)0)->path)];
	int n = snprintf(path, sizeof(path), "%s/%.*s", rye_kind_dir(kind), (int)category.len,
			 category.ptr);

	return n >= (int)sizeof(path) ? -ENOENT : open_directory(space, path);
}

int space_barred(const struct space *space, enum rye_kind kind, const char *id, struct rye_err *err)
{
	auto_close int dir = open_category(space, kind, id);
	struct rye_span category = space_category(id);

	if (dir != -EXDEV && dir != -ELOOP)
		return 0;
	return rye_fail(err, RYE_DENIED,
			"Symlink escape: %s/.ai/%s/%.*s leads out of its space's .ai", space->root,
			rye_kind_dir(kind), (int)category.len, category.ptr);
}

/* A directory's entry, if it is a file and no link: what opening it would find. */
static bool stat_regular(int dir, const char *path, struct stat *ret)
{
	memset(ret, 0, sizeof(*ret));
	return !fstatat(dir, space_stem(path), ret, AT_SYMLINK_NOFOLLOW) && S_ISREG(ret->st_mode);
}

int space_stat_file(struct located *at)
{
	struct rye_span parent = space_category(at->path);
	char text[sizeof(((struct located *)0)->path)];
	auto_close int dir = -1;

	if (parent.len >= sizeof(text))
		return -1;
	snprintf(text, sizeof(text), "%.*s", (int)parent.len, parent.ptr);
	dir = open_directory(at->space, text);
	if (dir == -ENOENT || dir == -ENOTDIR)
		return 0;
	if (dir < 0)
		return -1;
	if (stat_regular(dir, at->path, &at->st))
		return 1;
	return at->st.st_mode || errno != ENOENT ? -1 : 0;
}

static int locate_in(const struct spaces *spaces, const struct space *space,
		     const struct item_ask *ask, struct located *ret, struct rye_err *err)
{
	const char *const *exts = kind_extensions(ask->kind);
	auto_close int dir = open_category(space, ask->kind, ret->id);
	/* of what cannot be looked at, opening the file says why */
	struct stem_names names = { 0, UINT_MAX };

	if (dir == -ENOENT || dir == -ENOTDIR)
		return 0;
	if (dir >= 0)
		names = stem_present(spaces->stems, dir, ask->kind, space_stem(ret->id));
	ret->space = space;
	for (size_t i = 0; exts[i]; i++) {
		int n = snprintf(ret->path, sizeof(ret->path), "%s/%s%s", rye_kind_dir(ask->kind),
				 ret->id, exts[i]);
		int r = 0;

		if (!((names.seen | names.untold) & 1u << i) || n >= (int)sizeof(ret->path))
			continue;
		if (!ask->unopened || dir < 0 || !stat_regular(dir, ret->path, &ret->st))
			r = space_open_file(ret, err);
		else
			r = 1;
		if (r < 0)
			return r;
		if (!r)
			continue;
		ret->ext = exts[i];
		ret->ambiguous = names.seen & ~(1u << i);
		return 1;
	}
	return 0;
}

static bool space_locate_wanted(const struct item_ask *ask, const struct space *space)
{
	if (ask->only)
		return ask->only == space;
	/* the chain rule is by layer: bundles may use each other, never what is above them */
	return !ask->from || space->type >= ask->from->type;
}

static int locate_all(const struct spaces *spaces, const struct item_ask *ask, struct located *ret,
		      struct rye_err *err)
{
	for (size_t i = 0; i < spaces->n; i++) {
		int r = space_locate_wanted(ask, &spaces->v[i]) ?
				locate_in(spaces, &spaces->v[i], ask, ret, err) :
				0;

		if (r)
			return r;
	}
	return 0;
}

int space_locate(const struct spaces *spaces, const struct item_ask *ask, struct located *ret,
		 struct rye_err *err)
{
	int r = id_check(span_of(ask->id), err), n;

	if (r < 0)
		return r;
	/* what lies deeper is a file of a folder, and no manifest */
	if (rye_kind_has(ask->kind, RYE_KIND_MANIFEST) && strchr(ask->id, '/'))
		return rye_fail(err, RYE_NOT_FOUND, "%s not found: %s", kind_title(ask->kind),
				ask->id);
	*ret = (struct located){ .fd = -1 };
	snprintf(ret->id, sizeof(ret->id), "%s", ask->id);
	r = locate_all(spaces, ask, ret, err);
	if (!r && rye_kind_has(ask->kind, RYE_KIND_FOLDER)) {
		n = snprintf(ret->id, sizeof(ret->id), "%s/%s", ask->id, space_stem(ask->id));
		r = n < (int)sizeof(ret->id) ? locate_all(spaces, ask, ret, err) : 0;
	}
	if (r)
		return r < 0 ? r : 0;
	return rye_fail(err, RYE_NOT_FOUND, "%s not found: %s", kind_title(ask->kind), ask->id);
}
