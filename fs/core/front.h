/* SPDX-License-Identifier: MIT */
/*
 * front.h: what one mount is made of; the userdata of every request. Filled by session.c
 * before the first request and constant from then on; the parts have locks of their own.
 */
#ifndef RYE_FS_CORE_FRONT_H
#define RYE_FS_CORE_FRONT_H

#include "core/node.h"
#include "core/mount_options.h"
#include "core/stats.h"

#include <fuse_lowlevel.h>

/* Seconds: the notify threads tell the kernel of every change, so what it caches may live long. */
#define TIMEOUT_LONG_S 3600.0

struct callers;
struct catalogues;
struct journal;
struct named;
struct notify;
struct parking;
struct pass;
struct searches;
struct shelf;
struct talks;

/* Since when a fact of state/threads has had its bytes (threads_since). */
struct front_since {
	_Atomic uint64_t of; /* a hash of its name and bytes */
	_Atomic int64_t ns;
};
#define SINCE_PLACES 256 /* a power of two; of facts that share one the newest is known */

struct front {
	const struct options *opt;
	struct rye *rye;
	struct callers *callers;
	struct talks *talks;
	struct named *named; /* calls by name */
	struct nodes *nodes;
	struct notify *notify;
	struct parking *parking; /* requests that wait */
	struct searches *searches;
	struct catalogues *catalogues;
	struct pass *pass;
	struct shelf *shelf; /* unfinished directory listings */
	struct journal *journal; /* .ryefs/log */
	struct fuse_session *session;
	struct node *root;
	struct stats stats;
	uid_t uid; /* the mount's owner */
	gid_t gid;
	struct timespec started;
	/* counts the times told for unwatched directories (content_mtime) */
	_Atomic uint64_t asked;
	_Atomic uint64_t generation; /* grows with every change of any item */
	/* grows with every name looked up and every listing in the merged trees and searches: what the
	 * kernel was told to forget is not there again as long as it stays */
	_Atomic uint64_t looks;
	struct front_since since[SINCE_PLACES];
	int ready_fd; /* eventfd: INIT was answered, or the loop has ended */
	bool answer_open; /* this kernel cannot do without OPEN */
	/* main thread: parked requests were answered and their runs cancelled, for
	 * the mount's end */
	bool stopped;
	bool expires; /* this kernel can expire an entry without dropping it */
	bool parallel_lookups; /* it can look names of one directory up side by side */
	_Atomic bool inited;
	_Atomic bool init_told; /* the answer to INIT has been written */
};

static inline struct front *front_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static inline struct node *front_node(struct front *front, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? front->root : (struct node *)(uintptr_t)ino;
}

/*
 * The parts of a class of nodes that few classes have: what changes a directory or a file's
 * allocation, and extended attributes. Every function answers its request exactly once. Names,
 * targets and values are borrowed from the request.
 */
struct node_new {
	const char *name;
	mode_t mode; /* type and permissions, umask applied */
	dev_t rdev;
	const char *target; /* of a symlink */
};

struct node_rename {
	struct node *from, *to; /* directories */
	const char *name, *new_name;
	unsigned flags; /* of renameat2(2) */
};

struct node_copy {
	struct node *from, *to;
	off_t from_off, to_off;
	size_t len;
	int flags;
};

/* NULL: nothing here can be removed, renamed or linked, a file has no holes, and is copied by reading
 * and writing. */
struct node_changes {
	void (*make)(fuse_req_t req, struct node *dir, const struct node_new *what);
	void (*create)(fuse_req_t req, struct node *dir, const struct node_new *what,
		       const struct fuse_file_info *fi);
	void (*remove)(fuse_req_t req, struct node *dir, const char *name, bool is_dir);
	void (*rename)(fuse_req_t req, const struct node_rename *what);
	void (*link)(fuse_req_t req, struct node *node, struct node *dir, const char *name);
	void (*fallocate)(fuse_req_t req, struct node *node, int mode, off_t off, off_t len);
	void (*copy)(fuse_req_t req, const struct node_copy *what);
	void (*lseek)(fuse_req_t req, struct node *node, off_t off, int whence);
};

struct node_xattrs {
	void (*get)(fuse_req_t req, struct node *node, const char *name, size_t size);
	void (*list)(fuse_req_t req, struct node *node, size_t size);
	void (*set)(fuse_req_t req, struct node *node, const char *name, struct rye_span value,
		    int flags);
	void (*remove)(fuse_req_t req, struct node *node, const char *name);
};

#endif
