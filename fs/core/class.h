/* SPDX-License-Identifier: MIT */
/*
 * class.h: what a kind of node can do, and the lanes of what may wait (loop/loop.h). Names, targets
 * and values are borrowed from the request. Classes are constant: no lock.
 */
#ifndef RYE_FS_CORE_CLASS_H
#define RYE_FS_CORE_CLASS_H

#include <rye/rye.h>

#include <fuse_lowlevel.h>
#include <sys/stat.h>

struct front;
struct node;

enum aside_group {
	ASIDE_FILES, /* spaces/; a lane: a space */
	ASIDE_ITEMS, /* items, what is made of them, runs of them; a lane: a space */
	ASIDE_THREADS, /* which threads there are, their controls: quick */
	ASIDE_FACTS, /* what is in a thread's directory; a lane: a thread */
	ASIDE_WORDS, /* what a runner is told and answers; a lane: a thread */
	ASIDE_VERBS, /* other verbs for threads; a lane: a verb for a thread */
	ASIDE_OWN, /* README.md, .ryefs; a lane: a file */
	ASIDE_GROUP__MAX
};

struct aside_lane {
	enum aside_group group;
	uint64_t key;
};

/* The answer to a write, when its thread sends it later. */
struct node_answer {
	bool due;
	int sys; /* else: */
	size_t count;
	bool carries; /* the thread can carry out a run, behind all else */
	struct rye_call *carry; /* that one, which answers; or NULL */
};

/* A write as the kernel sent it. */
struct node_write {
	struct rye_span bytes;
	off_t off;
	int flags; /* of the open file: O_APPEND … */
	bool page; /* from the page cache (mmap): caller and flags mean nothing */
	/* NULL, or: what would be answered last on this thread may be put there instead (work.c) */
	struct node_answer *answer;
};

/* Of `enter`: the answer is not in memory. */
#define ENTER_ASIDE (-1)

/*
 * What a kind of node can do. An operation that is NULL gets the answer of a read-only tree
 * (work.c). Those with a req answer it exactly once, now or later.
 *
 * NAME_class has those that answer at once or park: they run on threads that read the device.
 * NAME_aside, its `aside`, has those that may wait for a disk, a database or another process
 * (loop/loop.h). tests/lint/waits.py goes by these names.
 */
struct node_class {
	const char *name;
	const struct node_class *aside; /* NULL: nothing of it waits */
	/* Of an aside: the lane of a request; what: the name that it looks up, the bytes it writes. */
	struct aside_lane (*lane)(struct front *front, const struct node *node,
				  struct rye_span what);
	/* Does its `read` answer for this node? NULL: where it has one; else its aside's does. */
	bool (*here)(const struct node *node);
	/* Of an aside: answers a request that got no place for so long. 0: it waits until it has. */
	void (*late)(fuse_req_t req, struct node *node);
	int64_t late_ms;
	/* The core of LOOKUP and READDIRPLUS: fills *ret, whose node has one more kernel reference
	 * (ino 0: a negative entry that may be cached). Returns 0 or a positive errno; or, but for
	 * an aside's, ENTER_ASIDE. */
	int (*enter)(fuse_req_t req, struct node *dir, const char *name,
		     struct fuse_entry_param *ret);
	/* The same for READDIRPLUS alone, when that may do with less. */
	int (*enter_listed)(fuse_req_t req, struct node *dir, const char *name,
			    struct fuse_entry_param *ret);
	/* Instead of `enter`, when the answer may have to wait. */
	void (*lookup)(fuse_req_t req, struct node *dir, const char *name);
	void (*getattr)(fuse_req_t req, struct node *node, bool by_handle);
	void (*setattr)(fuse_req_t req, struct node *node, const struct stat *want, int which);
	void (*readlink)(fuse_req_t req, struct node *node);
	void (*read)(fuse_req_t req, struct node *node, size_t size, off_t off);
	void (*write)(fuse_req_t req, struct node *node, const struct node_write *write);
	void (*readdir)(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus);
	void (*statfs)(fuse_req_t req, struct node *node);
	void (*fsync)(fuse_req_t req, struct node *node, bool data_only);
	uint64_t (*size)(const struct node *node); /* NULL: node->size */
	const struct node_changes *changes; /* NULL: nothing can be made or removed here */
	const struct node_xattrs *xattrs; /* NULL: has none; asked with -o xattr only */
	void (*drop)(void *data); /* frees node->data; NULL: nothing to free */
};

/*
 * The parts of a class of nodes that few classes have: what changes a directory or a file's
 * allocation, and extended attributes. Every function answers its request exactly once.
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
