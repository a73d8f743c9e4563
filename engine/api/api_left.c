/* SPDX-License-Identifier: MIT */
/*
 * rye_left: what processes that were killed have left on disk. Each sort has a lock that its maker
 * holds as long as it lives, so a living process loses nothing. Called once by a mount, on a worker
 * of the prefetcher, by each verb that writes, when it has, and by doctor, which only looks.
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "bounds.h"
#include "sandbox/sandbox.h"
#include "str.h"
#include "thread/thread.h"
#include "trust/trust.h"

#include <fcntl.h>
#include <stdio.h>

struct api_left {
	const struct space *space;
	bool drop;
	rye_name_fn fn;
	void *arg;
	size_t n;
};

/* Takes fd over. path: below .ai. */
static void api_left_visit(struct api_left *left, int fd, const char *path, int depth)
{
	auto_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	char below[RYE_ID_MAX + 64];

	if (!dir && fd >= 0)
		close(fd);
	while (dir && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		int n = snprintf(below, sizeof(below), "%s/%s", path, name);

		if (n < 0 || (size_t)n >= sizeof(below))
			continue;
		if (entry->d_type == DT_DIR && *name != '.' && depth < RYE_DEPTH_MAX) {
			api_left_visit(left,
				       io_open_mounted(fd, name,
						       O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
				       below, depth + 1);
		} else if (io_is_left(fd, name, left->drop)) {
			auto_free char *full = space_abspath(left->space, below);

			left->n++;
			if (left->fn && full)
				left->fn(left->arg, full);
		}
	}
}

static size_t left_in_space(const struct space *space, bool drop, rye_name_fn fn, void *arg)
{
	struct api_left left = { space, drop, fn, arg, 0 };
	int root = space_fd(space);

	/* where .gitattributes and .gitignore are written: what lies in there, nothing below it */
	if (space->type == RYE_PROJECT)
		api_left_visit(&left, open(space->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), "..",
			       RYE_DEPTH_MAX);
	if (root >= 0)
		api_left_visit(&left, io_open_mounted(root, ".", O_RDONLY | O_DIRECTORY), ".",
			       RYE_DEPTH_MAX);
	for (int kind = 0; root >= 0 && kind < RYE_KIND__MAX; kind++) {
		const char *dir = rye_kind_dir((enum rye_kind)kind);

		api_left_visit(&left, io_open_mounted(root, dir, O_RDONLY | O_DIRECTORY), dir, 0);
	}
	return left.n;
}

size_t rye_left(struct rye *rye, bool drop, rye_name_fn fn, void *arg)
{
	size_t n = 0;

	for (size_t i = 0; i < rye->spaces->n; i++)
		if (rye->spaces->v[i].type != RYE_SYSTEM)
			n += left_in_space(&rye->spaces->v[i], drop, fn, arg);
	/* a pair of keys that was being replaced is settled by whatever reads it next */
	if (drop)
		keystore_settle(rye->spaces);
	n += threads_left(rye->threads, drop, fn, arg);
	return n + tmpdir_sweep(drop, fn, arg);
}
