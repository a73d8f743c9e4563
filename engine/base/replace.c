/* SPDX-License-Identifier: MIT */
/*
 * Putting a file in another one's place, in one step, and telling what a process that was killed on
 * the way has left of that. The only lock is the one of the temporary file.
 */
#include "base/io.h"

#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#define TEMPORARY ".rye-%016llx.tmp"
#define TEMPORARY_LEN 25

/*
 * A temporary file, locked by its maker until it has its real name: one whose lock is free belongs to
 * a process that was killed (io_is_left). A process that looks just now may remove it before it is
 * locked; then another one is made.
 */
static int make_temporary(int dir, char name[TEMPORARY_LEN + 1])
{
	for (int i = 0; i < 8; i++) {
		auto_close int fd = -1;
		unsigned long long random = 0;
		struct stat st;

		if (getrandom(&random, sizeof(random), 0) < 0)
			return -errno;
		snprintf(name, TEMPORARY_LEN + 1, TEMPORARY, random);
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return -errno;
		/* a file system without locks goes without */
		while (flock(fd, LOCK_EX) < 0 && errno == EINTR)
			;
		if (fstat(fd, &st) == 0 && st.st_nlink)
			return steal_fd(&fd);
	}
	return -EAGAIN;
}

bool io_is_left(int dir, const char *name, bool drop)
{
	auto_close int fd = -1;
	struct stat st;

	if (strlen(name) != TEMPORARY_LEN || strncmp(name, ".rye-", 5) || !str_ends(name, ".tmp"))
		return false;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    flock(fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	return !drop || unlinkat(dir, name, 0) == 0;
}

static int fill_temporary(int fd, struct rye_span bytes, mode_t mode)
{
	int r = io_write_all(fd, bytes.ptr, bytes.len);

	if (!r && fchmod(fd, mode & 07777) < 0)
		r = -errno;
	if (!r && fsync(fd) < 0)
		r = -errno;
	return r;
}

int io_replace_at(int dirfd, const char *path, struct rye_span bytes, mode_t mode)
{
	const char *slash = strrchr(path, '/'), *leaf = slash ? slash + 1 : path;
	auto_free char *parent = strndup(path, slash ? (size_t)(slash - path) : 0);
	auto_close int dir = -1, fd = -1;
	char name[TEMPORARY_LEN + 1];
	int r;

	if (!parent)
		return -ENOMEM;
	dir = io_open_mounted(dirfd, parent, O_RDONLY | O_DIRECTORY);
	if (dir < 0)
		return dir;
	fd = make_temporary(dir, name);
	if (fd < 0)
		return fd;
	r = fill_temporary(fd, bytes, mode);
	if (!r && renameat(dir, name, dir, leaf) < 0)
		r = -errno;
	if (r)
		unlinkat(dir, name, 0);
	if (!r && fsync(dir) < 0 && errno != EINVAL)
		r = -errno;
	return r;
}
