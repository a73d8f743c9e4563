/* SPDX-License-Identifier: MIT */
/*
 * An item's file as a writer has seen it. A new one, where none was, is put there in one step, with the
 * directories that it needs; where that fails, they go again. One that is taken away takes those along that
 * are empty then. No lock: what another process makes there at the same time stays.
 */
#include "sign/sign.h"

#include "base/io.h"
#include "bounds.h"
#include "memory.h"
#include "scope.h"
#include "sign/sign_inner.h"
#include "space/space.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Directories above a path that were made for it, from below; one that has something in it ends that. */
static void unmake_above(int root, char *path, size_t there)
{
	for (char *slash; (slash = strrchr(path, '/')) && (size_t)(slash - path) > there;) {
		*slash = 0;
		if (unlinkat(root, path, AT_REMOVEDIR) < 0)
			return;
	}
}

/* How much of the path is directories that are there. */
static size_t there_above(int root, const char *path)
{
	auto_free char *part = strdup(path);
	struct stat st;

	if (!part)
		return strlen(path);
	for (char *slash; (slash = strrchr(part, '/'));) {
		*slash = 0;
		if (fstatat(root, part, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return strlen(part);
	}
	return 0;
}

int sign_write_new(const struct space *space, const char *path, struct rye_span bytes)
{
	auto_free char *copy = memory_note(strdup(path));
	char *slash = copy ? strrchr(copy, '/') : NULL;
	size_t there = there_above(space_fd(space), path);
	int r;

	if (!slash)
		return copy ? -EINVAL : -ENOMEM;
	*slash = 0;
	r = space_mkdirs(space, copy);
	*slash = '/';
	if (r >= 0)
		r = io_create_at(space_fd(space), path, bytes, 0644);
	if (r < 0 && space_fd(space) >= 0)
		unmake_above(space_fd(space), copy, there);
	return r;
}

int sign_seen(const struct space *space, const char *path, struct rye_span was, struct rye_err *err)
{
	auto_free char *name = space_abspath(space, path);
	auto_blob struct rye_blob *now = NULL;
	int root = space_fd(space), r;
	struct stat st;

	if (!name)
		return memory_fail(err);
	if (fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
		return rye_fail(err, RYE_INVALID,
				"%s is a symbolic link; name the file it leads to", name);
	r = io_read_at(root, path, RYE_ITEM_MAX, &now);
	if (r == -ENOENT)
		return rye_fail(err, RYE_BUSY, "%s was removed meanwhile", name);
	if (r < 0)
		return rye_fail(err, rye_code_from_errno(-r), "cannot read %s: %s", name,
				strerrordesc_np(-r));
	if (now->len != was.len || memcmp(now->data, was.ptr, was.len) != 0)
		return rye_fail(err, RYE_BUSY, "%s was changed meanwhile", name);
	return 0;
}

int sign_drop(const struct sign_dropped *what, struct rye_err *err)
{
	auto_free char *path = NULL;
	int root = space_fd(what->space), r;

	if (what->kind == RYE_CONFIG && !strncmp(what->id, "keys/", 5))
		return rye_fail(err, RYE_DENIED,
				"a key is taken out by: ryefs untrust FINGERPRINT");
	if (asprintf(&path, "%s/%s%s", rye_kind_dir(what->kind), what->id, what->ext) < 0) {
		path = NULL;
		return memory_fail(err);
	}
	r = sign_seen(what->space, path, what->was, err);
	if (r)
		return r;
	if (unlinkat(root, path, 0) < 0)
		return rye_fail_sys(err, errno, "cannot remove %s", path);
	unmake_above(root, path, strlen(rye_kind_dir(what->kind)));
	return 0;
}
