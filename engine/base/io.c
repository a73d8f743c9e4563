/* SPDX-License-Identifier: MIT */
/*
 * System calls the engine makes on user files. Everything resolves beneath a root descriptor:
 * an id, a link or a path from JSON can never name a file outside its space. No lock is held
 * here and none may be held by callers (docs/architecture.md).
 */
#include "base/io.h"

#include "mountinfo.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

/* FUSE_SUPER_MAGIC of <linux/magic.h>. */
#define FUSE_MAGIC 0x65735546

/* O_TMPFILE contains O_DIRECTORY: a mask test would take every directory for one. */
static bool opens_new(uint64_t flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

static int open_how(int root, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY),
		.mode = opens_new(flags) ? 0666 : 0,
		.resolve = resolve,
	};
	int fd;

	/* EAGAIN: a rename elsewhere raced the walk; the kernel asks to try again. */
	for (int i = 0; i < 32; i++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd >= 0 ? fd : -errno;
}

int io_open_beneath(int root, const char *path, uint64_t flags)
{
	return open_how(root, *path ? path : ".", flags,
			RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);
}

struct dev_ask {
	dev_t dev;
	bool fuse;
};

static int note_dev(void *arg, const struct mountinfo *mount)
{
	struct dev_ask *ask = arg;

	if (mount->dev == ask->dev)
		ask->fuse = mountinfo_is_fuse(mount);
	return 0;
}

/* Is the mount with this st_dev a FUSE mount? Unknown counts as yes: never walk into one. */
static bool dev_is_fuse(dev_t dev)
{
	struct dev_ask ask = { dev, true };

	mountinfo_each(note_dev, &ask);
	return ask.fuse;
}

bool io_is_fuse(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == FUSE_MAGIC;
}

int io_open_mounted(int root, const char *path, uint64_t flags)
{
	auto_close int probe = -1;
	struct stat st;
	int fd = io_open_beneath(root, path, flags);

	if (fd != -EXDEV)
		return fd;
	/* O_PATH does not ask the file system itself: safe even on a mount of our own. */
	probe = open_how(root, path, O_PATH, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	if (probe < 0)
		return probe;
	if (fstat(probe, &st) < 0)
		return -errno;
	if (dev_is_fuse(st.st_dev))
		return -EXDEV;
	return open_how(root, path, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
}

static int read_whole(int fd, size_t size, size_t max, struct rye_blob **ret)
{
	struct rye_blob *blob = rye_blob_new(NULL, size);
	size_t got = 0;

	if (!blob)
		return -ENOMEM;
	while (got < size) {
		ssize_t n = pread(fd, blob->data + got, size - got, (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	if (got < size || got > max) {
		rye_blob_unref(blob);
		return got > max ? -EFBIG : -EAGAIN;
	}
	*ret = blob;
	return 0;
}

static bool same_version(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

int io_read_fd(int fd, size_t max, struct rye_blob **ret, struct stat *ret_st)
{
	struct stat before, after;
	struct rye_blob *blob = NULL;
	int r = -EAGAIN;

	for (int attempt = 0; attempt < 8 && r == -EAGAIN; attempt++) {
		if (fstat(fd, &before) < 0)
			return -errno;
		if (!S_ISREG(before.st_mode))
			return S_ISDIR(before.st_mode) ? -EISDIR : -EINVAL;
		if ((uint64_t)before.st_size > max)
			return -EFBIG;
		r = read_whole(fd, (size_t)before.st_size, max, &blob);
		if (r < 0)
			continue;
		if (fstat(fd, &after) < 0 || !same_version(&before, &after)) {
			rye_blob_unref(blob);
			r = -EAGAIN;
		}
	}
	if (r < 0)
		return r;
	*ret = blob;
	if (ret_st)
		*ret_st = after;
	return 0;
}

int io_read_at(int root, const char *path, size_t max, struct rye_blob **ret)
{
	auto_close int fd = io_open_mounted(root, path, O_RDONLY);

	return fd < 0 ? fd : io_read_fd(fd, max, ret, NULL);
}

int io_write_all(int fd, const char *ptr, size_t len)
{
	while (len) {
		ssize_t n = write(fd, ptr, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		ptr += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_mkdirs_at(int root, const char *path, mode_t mode)
{
	auto_free char *copy = strdup(path);
	auto_close int dir = dup(root);

	if (!copy || dir < 0)
		return -ENOMEM;
	for (char *save = NULL, *part = strtok_r(copy, "/", &save); part;
	     part = strtok_r(NULL, "/", &save)) {
		int next;

		if (mkdirat(dir, part, mode) < 0 && errno != EEXIST)
			return -errno;
		next = io_open_mounted(dir, part, O_RDONLY | O_DIRECTORY);
		if (next < 0)
			return next;
		close(dir);
		dir = next;
	}
	return 0;
}

int io_cloexec(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return flags < 0 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) < 0 ? -errno : 0;
}
