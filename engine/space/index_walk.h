/* SPDX-License-Identifier: MIT */
/*
 * index_walk.h: reading directories into the index. Private to index_*.c. The caller holds the
 * space's update lock and not index->lock, except where said.
 */
#ifndef RYE_SPACE_INDEX_WALK_H
#define RYE_SPACE_INDEX_WALK_H

#include "bounds.h"
#include "space/index_tree.h"

#include <sys/stat.h>

enum walk_what {
	WALK_NOTHING, /* not there, or nothing the index looks at */
	WALK_ITEM,
	WALK_DIR,
};

/* What one directory entry is. */
struct walk_entry {
	const char *name;
	enum walk_what what;
	int ext; /* of an item */
	bool linked;
};

struct walk_opt {
	int space;
	int threads;
	bool deep; /* known directories below are walked again, too */
	bool forget; /* every file found counts as changed */
	struct index_changes *out; /* or NULL; one thread then */
};

/* Makes the index equal to the directory (path below the kind's) and what is new beneath. */
void walk_dir(struct index *index, enum rye_kind kind, const char *path,
	      const struct walk_opt *opt);
/* All kinds of a space, and the watches of .ai and its parent. */
void walk_space(struct index *index, const struct walk_opt *opt);

/* ---- one directory (index_walk_dir.c) ---- */

/* An open directory of a space. */
struct walk_at {
	int space_fd, fd;
	enum rye_kind kind;
	char path[RYE_ID_MAX + 64]; /* below .ai: "tools/a/b" */
};
/* Opens the kind's directory or one below it. 0 or -errno; the caller closes at->fd. */
int walk_open(struct index *index, int space, enum rye_kind kind, const char *path,
	      struct walk_at *ret);
/* What is `name` there? */
void walk_probe(const struct walk_at *at, const char *name, struct walk_entry *ret);
/* Index in kind_extensions of the name's extension; -1: none of them. */
int walk_ext(enum rye_kind kind, const char *name);
/* What of its entries concerns the index, sorted by name; owns the names. */
struct walk_batch {
	struct walk_entry *v;
	size_t n, size;
};

/* Fills an empty batch; false: not all could be read. Done with it in either case. */
bool walk_read(const struct walk_at *at, struct walk_batch *batch);
const struct walk_entry *walk_batch_find(const struct walk_batch *batch, const char *name);
void walk_batch_done(struct walk_batch *batch);
/* Changes made by other machines or daemons are not told by inotify. */
bool walk_is_remote(int fd);
/* Digest of a stat for "is it the same?"; 0 when the change may be too fresh to be told apart. */
uint64_t walk_stamp(const struct stat *st);

#endif
