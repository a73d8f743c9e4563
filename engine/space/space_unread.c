/* SPDX-License-Identifier: MIT */
/*
 * Directories of a space that this process may not read. The index passes over them, since what can be read
 * is to be served; what looks whether all is well says so. Reads the disk, keeps nothing, takes no lock.
 */
#include "space/space_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "base/self.h"
#include "memory.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

struct unread_walk {
	const struct space *space;
	const char *glob; /* may be NULL */
	rye_verdict_fn fn;
	void *arg;
	bool stop;
};

static bool is_near(const char *a, const char *b, size_t n)
{
	return !strncmp(a, b, n) && (!b[n] || b[n] == '/' || !n);
}

/* Could an item of that name, or one that the pattern names, lie in or below the directory? */
static bool may_hold(const char *glob, const char *dir)
{
	size_t n = strlen(dir), fixed;

	if (!glob || !*dir)
		return true;
	fixed = strcspn(glob, "*?");
	if (!glob[fixed])
		return is_near(dir, glob, n);
	/* without a slash a pattern speaks of names at any depth */
	return !strchr(glob, '/') || !strncmp(dir, glob, MIN_OF(n, fixed));
}

static void unread_tell(struct unread_walk *walk, enum rye_kind kind, const char *path, int sys)
{
	auto_free char *abspath = space_abspath(walk->space, path);
	struct rye_err err = { 0 };
	struct rye_verdict verdict = { .kind = kind, .id = "", .space = walk->space->full };

	if (!abspath)
		return;
	if (!*path)
		abspath[strlen(abspath) - 1] = 0; /* "…/.ai/" */
	rye_fail_sys(&err, sys, "what lies in it cannot be read");
	self_may(abspath, false, &err);
	verdict.path = abspath;
	verdict.code = err.code;
	verdict.message = err.msg;
	walk->stop = walk->fn(walk->arg, &verdict, 0, 0);
}

static void unread_dir(struct unread_walk *walk, const struct walk_at *above, const char *name,
		       bool linked);

/* The one directory on the way to an id, or that of the tool itself; nothing is listed. */
static void unread_way(struct unread_walk *walk, const struct walk_at *at, const char *below)
{
	size_t n = strlen(below);
	const char *rest = walk->glob + n + (n && walk->glob[n] == '/');
	auto_free char *name = strndup(rest, strcspn(rest, "/"));

	if (name && *name)
		unread_dir(walk, at, name, false);
}

/* Of manifests what lies deeper are the files that they list, which verifying them reads. */
static void unread_below(struct unread_walk *walk, const struct walk_at *at, const char *below)
{
	struct walk_batch batch = { 0 };

	if (walk->glob && !strpbrk(walk->glob, "*?")) {
		unread_way(walk, at, below);
		return;
	}

	if (!walk_read(at, &batch))
		for (size_t i = 0; i < batch.n && !walk->stop; i++)
			if (batch.v[i].what == WALK_DIR)
				unread_dir(walk, at, batch.v[i].name, batch.v[i].linked);
	walk_batch_done(&batch);
}

static void unread_dir(struct unread_walk *walk, const struct walk_at *above, const char *name,
		       bool linked)
{
	const char *dir = rye_kind_dir(above->kind), *below;
	struct walk_at at = { .space_fd = above->space_fd, .kind = above->kind };
	auto_close int fd = -1;
	size_t depth = 0;
	int n = snprintf(at.path, sizeof(at.path), "%s%s%s", above->path, *name ? "/" : "", name);

	if (n < 0 || (size_t)n >= sizeof(at.path))
		return;
	below = at.path[strlen(dir)] ? at.path + strlen(dir) + 1 : "";
	for (const char *c = at.path; *c; c++)
		depth += *c == '/';
	if (depth > RYE_DEPTH_MAX || !may_hold(walk->glob, below) || walk_is_secret(at.kind, below))
		return;
	fd = at.fd = io_open_mounted(at.space_fd, at.path, O_RDONLY | O_DIRECTORY);
	if (fd == -EACCES || fd == -EPERM)
		unread_tell(walk, at.kind, at.path, -fd);
	/* its names can be read, and nothing else of them */
	else if (fd >= 0 && faccessat(fd, ".", X_OK, AT_EACCESS) < 0 && errno == EACCES)
		unread_tell(walk, at.kind, at.path, EACCES);
	/* a link leads to what is walked at its own place, or back to a parent */
	else if (fd >= 0 && !linked && !(*name && rye_kind_has(at.kind, RYE_KIND_MANIFEST)))
		unread_below(walk, &at, below);
}

void space_unread(const struct space *space, unsigned kinds, const char *glob, rye_verdict_fn fn,
		  void *arg)
{
	struct unread_walk walk = { space, glob, fn, arg, false };
	int fd = space_fd(space);
	/* a home that is closed to us may have none; no descriptor: errno is of the opening */
	bool known = fd >= 0 || space->type == RYE_PROJECT;
	bool barred = known && (fd < 0 || faccessat(fd, ".", X_OK, AT_EACCESS) < 0) &&
		      errno == EACCES;

	if (barred)
		unread_tell(&walk, RYE_KIND__MAX, "", EACCES);
	for (int kind = 0; fd >= 0 && !barred && kind < RYE_KIND__MAX && !walk.stop; kind++) {
		struct walk_at top = { .space_fd = fd, .kind = (enum rye_kind)kind };

		if (!(kinds >> kind & 1))
			continue;
		snprintf(top.path, sizeof(top.path), "%s", rye_kind_dir(top.kind));
		unread_dir(&walk, &top, "", false);
	}
}
