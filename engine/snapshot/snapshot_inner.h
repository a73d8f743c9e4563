/* SPDX-License-Identifier: MIT */
/* snapshot_inner.h: what the files of snapshot/ share. */
#ifndef RYE_SNAPSHOT_INNER_H
#define RYE_SNAPSHOT_INNER_H

#include "snapshot/snapshot.h"

#include <sys/stat.h>

/* Files are looked at, and told of when they are refused, up to here; a manifest has no more. */
#define SENT_MAX MANIFEST_LINES
#define SENT_REFUSED 1000

/* Takes the path, or refuses it by its name. */
void sent_add(struct sent *sent, const char *path);
void sent_refuse(struct sent *sent, const char *path, const char *reason);
/*
 * sent_walk.c: the files below `path` ("" is the project); plain: also those with a dot and of packages.
 * Enters no mount of FUSE and follows no link.
 */
int sent_walk(struct sent *sent, int root, const char *path, bool plain, struct rye_err *err);
/* sent_git.c: 1: done; 0: git is not here, or knows nothing of the project. */
int sent_git(struct sent *sent, const char *project, struct rye_err *err);

/* stat_cache.c: what each file's digest was, as long as its inode, size and times are what they were. */
struct stat_cache;
struct stat_row {
	char *path;
	uint64_t ino, size, mtime, ctime;
	struct digest sha;
	bool key; /* it is a private key, its digest is nothing */
};
struct stat_cache *stat_cache_open(int dir, const char *name); /* NULL: no memory */
void stat_cache_free(struct stat_cache *cache);
const struct stat_row *stat_cache_find(const struct stat_cache *cache, const char *path,
				       const struct stat *st);
/* For the next time; what has just changed is left out. */
void stat_cache_put(struct stat_cache *cache, const char *path, const struct stat *st,
		    const struct digest *sha, bool key);
/* Writes what was put. Without it the next time reads every file, so nothing is said. */
void stat_cache_save(struct stat_cache *cache);
DEFINE_AUTO(auto_stat_cache_, struct stat_cache *, stat_cache_free)
#define auto_stat_cache __attribute__((cleanup(auto_stat_cache_)))

/* The list of pieces of a big file that was read for this snapshot, by its digest; or NULL. */
const struct rye_blob *snapshot_listed(const struct snapshot *snapshot, const struct digest *sha);

/* A regular file beneath root, no part of the path a link; its descriptor or -errno. */
int snapshot_open(int root, const char *path);
/* Reads a file of that size piece by piece; fn may be NULL. RYE_BUSY: it has another size. */
typedef int (*piece_fn)(void *arg, const struct piece *piece, struct rye_span bytes,
			struct rye_err *err);
int piece_file(int fd, uint64_t size, piece_fn fn, void *arg, struct rye_err *err);

#endif
