/* SPDX-License-Identifier: MIT */
/*
 * A new item's file, where none was: put there in one step, with the directories that it needs. Where that
 * fails, they go again. No lock: what another process makes there at the same time stays.
 */
#include "sign/sign_inner.h"

#include "base/io.h"
#include "memory.h"
#include "scope.h"
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
