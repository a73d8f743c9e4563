/* SPDX-License-Identifier: MIT */
/*
 * The files below a directory of the project. A mount of FUSE below it, which may be our own, is not entered, and no
 * link is followed. No lock.
 */
#include "base/io.h"
#include "snapshot/snapshot_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

/* Deeper trees are a mistake, or a directory that contains itself. */
#define WALK_DEPTH 64

struct sent_walker {
	struct sent *sent;
	bool plain;
	char path[MANIFEST_PATH + 1];
};

/* Directories that a program fills again by itself. */
static bool is_made(const char *name)
{
	static const char *const made[] = { "node_modules", "__pycache__", "venv", "target" };

	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		if (!strcmp(name, made[i]))
			return true;
	return false;
}

static bool is_fuse_fd(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == FUSE_SUPER_MAGIC;
}

static int walk_into(struct sent_walker *walker, int fd, size_t len, int depth,
		     struct rye_err *err);

/* Takes it, as walker->path says; true: it is a directory, which is not taken. */
static bool walk_name(struct sent_walker *walker, int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		sent_add(walker->sent, walker->path);
	else if (!S_ISDIR(st.st_mode))
		sent_refuse(walker->sent, walker->path, "that is no file, directory or link");
	return S_ISDIR(st.st_mode);
}

/* The same, as the directory says it; what it does not say is asked for. */
static bool walk_entry_name(struct sent_walker *walker, int dir, const struct dirent *entry)
{
	bool takes = entry->d_type == DT_REG || entry->d_type == DT_LNK;

	if (entry->d_type == DT_DIR)
		return true;
	if (!takes)
		return walk_name(walker, dir, entry->d_name);
	sent_add(walker->sent, walker->path);
	return false;
}

/* Of what is left out without a rule that which no rule would send: a run might miss it. */
static void tell_left(const struct sent_walker *walker, const char *name)
{
	const char *why = sent_never(walker->path);

	if (why && strcmp(name, ".git") != 0 && strcmp(name, ".ai") != 0)
		sent_refuse(walker->sent, walker->path, why);
}

static int walk_one(struct sent_walker *walker, int dir, const struct dirent *entry, size_t before,
		    int depth, struct rye_err *err)
{
	const char *name = entry->d_name;
	size_t len = strlen(name) + before + (before > 0);
	int fd;

	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	if (len > MANIFEST_PATH) {
		sent_refuse(walker->sent, name, "its path is too long");
		return 0;
	}
	snprintf(walker->path + before, sizeof(walker->path) - before, "%s%s", before ? "/" : "",
		 name);
	if (!walker->plain && (*name == '.' || is_made(name))) {
		tell_left(walker, name);
		return 0;
	}
	if (!walk_entry_name(walker, dir, entry))
		return 0;
	/* .ai has its own rules, and what is never sent is not looked at */
	if (!strcmp(walker->path, ".ai") || !strcmp(walker->path, ".git"))
		return 0;
	if (sent_never(walker->path)) {
		sent_add(walker->sent, walker->path);
		return 0;
	}
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? (sent_refuse(walker->sent, walker->path, "it cannot be opened"), 0) :
			walk_into(walker, fd, len, depth - 1, err);
}

/* Takes the descriptor over. */
static int walk_into(struct sent_walker *walker, int fd, size_t len, int depth, struct rye_err *err)
{
	auto_dir DIR *dir = NULL;
	const struct dirent *entry;
	int r = 0;

	if (is_fuse_fd(fd) || depth < 0) {
		walker->path[len] = '\0';
		sent_refuse(walker->sent, walker->path,
			    depth < 0 ? "it is too deep" : "a mount of FUSE is not sent");
		close(fd);
		return 0;
	}
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return rye_fail(err, RYE_IO, "out of memory");
	}
	while (!r && walker->sent->n <= SENT_MAX && (entry = readdir(dir)))
		r = walk_one(walker, dirfd(dir), entry, len, depth, err);
	return r;
}

int sent_walk(struct sent *sent, int root, const char *path, bool plain, struct rye_err *err)
{
	const struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	struct sent_walker walker = { .sent = sent, .plain = plain };
	int fd = io_resolve(root, *path ? path : ".", &how);

	snprintf(walker.path, sizeof(walker.path), "%s", path);
	if (fd == -ENOTDIR) {
		walk_name(&walker, root, path);
		return 0;
	}
	if (fd == -ENOENT)
		return 0;
	if (fd < 0) {
		sent_refuse(sent, path, "a link on the way is not followed");
		return 0;
	}
	return walk_into(&walker, fd, strlen(path), WALK_DEPTH, err);
}
