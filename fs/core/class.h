/* SPDX-License-Identifier: MIT */
/*
 * class.h: the parts of a class of nodes that few classes have: what changes a directory or a
 * file's allocation (struct node_changes), extended attributes (struct node_xattrs). Every
 * function answers its request exactly once.
 */
#ifndef RYE_FS_CORE_CLASS_H
#define RYE_FS_CORE_CLASS_H

#include "core/node.h"

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
