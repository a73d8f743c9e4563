/* SPDX-License-Identifier: MIT */
/*
 * io.h: opening beneath a root, reading whole files once, replacing files atomically.
 * Functions here return 0 (or a descriptor) or -errno.
 */
#ifndef RYE_BASE_IO_H
#define RYE_BASE_IO_H

#include "buf.h"

#include <stdint.h>
#include <sys/stat.h>

/*
 * openat2(2) with RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV. Symlinks that
 * stay beneath the root are followed (a link that leaves it is -EXDEV), FIFOs never block
 * (O_NONBLOCK is added), O_CLOEXEC always. -EXDEV at a mount: see io_open_mounted.
 */
int io_open_beneath(int root, const char *path, uint64_t flags);

/*
 * A regular file, to write at its end; made when it is not there, its directory not. No symlink is
 * followed.
 */
int io_append_beneath(int root, const char *path);

/* The same as io_open_beneath, but may cross into mounts that are not FUSE (/proc/self/mountinfo is asked). */
int io_open_mounted(int root, const char *path, uint64_t flags);
/* realpath(3), by one look at the whole path where no part of it is a link, instead of one at each. */
char *io_real_path(const char *path);
/* Does this path lie on a FUSE file system? Asks that file system. */
bool io_is_fuse(const char *path);

/*
 * Reads a regular file to its end in one go. -EFBIG over max, -EISDIR, -EINVAL for FIFOs and
 * devices. *ret_st is the fstat after reading: when size or mtime differ from before, the file
 * is read again (a torn read is never returned).
 */
int io_read_fd(int fd, size_t max, struct rye_blob **ret, struct stat *ret_st);
int io_read_at(int root, const char *path, size_t max, struct rye_blob **ret);

/* Temporary file beside it, fsync, rename, fsync of the directory; keeps nothing on failure. */
int io_replace_at(int dirfd, const char *path, struct rye_span bytes, mode_t mode);
/*
 * Is that a temporary file of io_replace_at, ours, whose maker has ended without renaming it? drop:
 * and has it been removed? Never one that a living process works on.
 */
bool io_is_left(int dir, const char *name, bool drop);
/* mkdir -p beneath root; mode for new directories. */
int io_mkdirs_at(int root, const char *path, mode_t mode);
/* The directory at path beneath that of `root`, to read; create: made for its owner alone. */
int io_open_dir(const char *root, const char *path, bool create);

/* The same file, unchanged since? */
bool stat_same(const struct stat *a, const struct stat *b);
int io_write_all(int fd, const char *ptr, size_t len);
int io_cloexec(int fd);

#endif
