/* SPDX-License-Identifier: MIT */
/*
 * io.h: opening beneath a root, reading whole files once, replacing files atomically.
 * Functions here return 0 (or a descriptor) or -errno.
 */
#ifndef RYE_BASE_IO_H
#define RYE_BASE_IO_H

#include "buf.h"

#include <linux/openat2.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * openat2(2) with RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV. Symlinks that
 * stay beneath the root are followed (a link that leaves it is -EXDEV), FIFOs never block
 * (O_NONBLOCK is added), O_CLOEXEC always. -EXDEV at a mount: see io_open_mounted.
 */
int io_open_beneath(int root, const char *path, uint64_t flags);

/*
 * What openat2 does, with RESOLVE_BENEATH or from "/"; magic links are never followed. It is asked
 * where the kernel says ENOSYS.
 */
int io_resolve(int root, const char *path, const struct open_how *how);

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
/* The same without the directory's fsync: of what counts only beside what io_replace_at puts there next. */
int io_replace_before_at(int dirfd, const char *path, struct rye_span bytes, mode_t mode);
/* Whole for each reader, but not synced: of what is verified when it is read, and can be made again. */
int io_remember_at(int dirfd, const char *path, struct rye_span bytes, mode_t mode);
/* The same where nothing of that name is: else -EEXIST, and what is there stays. */
int io_create_at(int dirfd, const char *path, struct rye_span bytes, mode_t mode);
/*
 * Is that a temporary file of io_replace_at, ours, whose maker has ended without renaming it? drop:
 * and has it been removed? Never one that a living process works on.
 */
bool io_is_left(int dir, const char *name, bool drop);
/* Removes a file, or a directory with what is in it, so many levels deep; follows no link. */
void io_remove_tree(int dirfd, const char *name, int depth);
/* mkdir -p beneath root; mode for new directories. */
int io_mkdirs_at(int root, const char *path, mode_t mode);
/* The directory at path beneath that of `root`, to read; create: made for its owner alone. */
int io_open_dir(const char *root, const char *path, bool create);

/* The same file, unchanged since? */
bool stat_same(const struct stat *a, const struct stat *b);
/* Were its times old enough then to tell it from any later version? */
bool stat_settled(const struct stat *st, const struct timespec *then);
/* Can other machines or daemons change this file system without an inotify event? */
bool io_is_remote(int fd);
int io_write_all(int fd, const char *ptr, size_t len);
int io_cloexec(int fd);

/*
 * Files and directories that something was made of, each as it was then: whether they are so still tells
 * whether it would be made the same. By one stat each, which a change never comes behind. A change
 * within the tick of a clock leaves a file's times as they were, so only times that are old when they
 * are noted are believed.
 */

struct io_mark {
	int root; /* of the path: AT_FDCWD, or a descriptor that stays open */
	bool follow; /* where a link leads counts, else it may be none */
	bool there;
	char *path;
	struct stat st;
};

/* Begin with zeros. One thread fills them; afterwards they are frozen. */
struct marks {
	struct io_mark *v;
	size_t n;
	bool unfit; /* it cannot be told: what was made of them is made anew each time */
};

void marks_done(struct marks *marks);
/*
 * What lies there now, or that nothing does. To be called behind the reading that it stands for.
 * What has just changed, or lies on a file system of other machines, makes the marks unfit. marks may
 * be NULL or unfit: nothing is done.
 */
void marks_add(struct marks *marks, int root, const char *path, bool follow);
/* The same of a file that was read, and whose stat was `is` then: another one makes them unfit. */
void marks_add_read(struct marks *marks, int root, const char *path, const struct stat *is);
void marks_unfit(struct marks *marks); /* NULL is fine */
/* Is all as it was? */
bool marks_hold(const struct marks *marks);
/* The same places with the same in them? */
bool marks_same(const struct marks *a, const struct marks *b);

#endif
