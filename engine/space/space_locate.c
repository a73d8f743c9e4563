/* SPDX-License-Identifier: MIT */
/*
 * Where an id lies in the spaces (docs/items.md). Everything is opened beneath a space's .ai, so
 * neither an id nor a link can leave it; what stands in the way of an id is an error and never
 * a reason to look in a weaker space. No state, no lock.
 */
#include "space/space.h"

#include "base/id.h"
#include "base/io.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

static int space_locate_refuse(const struct space *space, const char *path, int sys,
			       struct rye_err *err)
{
	if (sys == EXDEV)
		return rye_fail(err, RYE_DENIED,
				"Symlink escape: %s/.ai/%s leads out of its space's .ai",
				space->root, path);
	return rye_fail_sys(err, sys, "cannot open %s/.ai/%s", space->root, path);
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

int space_open_file(const struct space *space, const char *path, int *fd, struct rye_err *err)
{
	int root = space_fd(space);
	struct stat st;

	if (root < 0)
		return 0;
	*fd = io_open_mounted(root, path, O_RDONLY);
	if (*fd == -ENOENT || *fd == -ENOTDIR || *fd == -ENAMETOOLONG)
		return refuse_link(space, path, err);
	if (*fd < 0)
		return space_locate_refuse(space, path, -*fd, err);
	memset(&st, 0, sizeof(st));
	if (!fstat(*fd, &st) && S_ISREG(st.st_mode))
		return 1;
	close(steal_fd(fd));
	if (S_ISDIR(st.st_mode))
		return 0;
	return rye_fail(err, RYE_INVALID, "%s/.ai/%s is a %s, wanted a regular file", space->root,
			path, S_ISFIFO(st.st_mode) ? "FIFO" : "device or socket");
}

static bool has_other(const struct space *space, struct located *found, const char *const *exts)
{
	size_t n = strlen(found->path) - strlen(found->ext);
	char path[sizeof(found->path) + 16];
	struct stat st;

	for (; *exts; exts++) {
		if (*exts == found->ext)
			continue;
		snprintf(path, sizeof(path), "%.*s%s", (int)n, found->path, *exts);
		if (!fstatat(space_fd(space), path, &st, AT_SYMLINK_NOFOLLOW))
			return true;
	}
	return false;
}

/* The directory that has the id's file, as the file itself would be opened: 0 or -errno. */
static int try_directory(const struct space *space, enum rye_kind kind, const char *id)
{
	struct rye_span category = space_category(id);
	char path[sizeof(((struct located *)0)->path)];
	int n = snprintf(path, sizeof(path), "%s/%.*s", rye_kind_dir(kind), (int)category.len,
			 category.ptr);
	int root = space_fd(space);
	int fd = root < 0 ? -ENOENT : io_open_mounted(root, path, O_PATH | O_DIRECTORY);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || n >= (int)sizeof(path) ? 0 : fd;
}

/* One question instead of one per extension, where a space has no such directory at all. */
static bool lacks_directory(const struct space *space, enum rye_kind kind, const char *id)
{
	int r = try_directory(space, kind, id);

	return r == -ENOENT || r == -ENOTDIR;
}

int space_barred(const struct space *space, enum rye_kind kind, const char *id, struct rye_err *err)
{
	int r = try_directory(space, kind, id);
	struct rye_span category = space_category(id);

	if (r != -EXDEV && r != -ELOOP)
		return 0;
	return rye_fail(err, RYE_DENIED,
			"Symlink escape: %s/.ai/%s/%.*s leads out of its space's .ai", space->root,
			rye_kind_dir(kind), (int)category.len, category.ptr);
}

static int locate_in(const struct space *space, const struct item_ask *ask, struct located *ret,
		     struct rye_err *err)
{
	const char *const *exts = kind_extensions(ask->kind);
	enum rye_kind kind = ask->kind;

	if (lacks_directory(space, kind, ret->id))
		return 0;
	for (size_t i = 0; exts[i]; i++) {
		int n = snprintf(ret->path, sizeof(ret->path), "%s/%s%s", rye_kind_dir(kind),
				 ret->id, exts[i]);
		int r = n < (int)sizeof(ret->path) ?
				space_open_file(space, ret->path, &ret->fd, err) :
				0;

		if (r < 0)
			return r;
		if (!r)
			continue;
		ret->space = space;
		ret->ext = exts[i];
		ret->ambiguous = !ask->quiet && has_other(space, ret, exts);
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
				locate_in(&spaces->v[i], ask, ret, err) :
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
