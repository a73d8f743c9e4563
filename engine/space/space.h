/* SPDX-License-Identifier: MIT */
/*
 * space.h: the three layers of `.ai` and where an id lies in them (items 1). Built at
 * rye_open, frozen afterwards except for a space whose .ai did not exist yet.
 */
#ifndef RYE_SPACE_SPACE_H
#define RYE_SPACE_SPACE_H

#include "err.h"

#include <sys/stat.h>

struct space {
	enum rye_space type;
	int index; /* place in struct spaces: precedence, 0 is the project */
	const char *label; /* "project", "user", "system" */
	char *full; /* "project", "user", "system:<bundle>" */
	char *bundle; /* system only */
	char *root; /* absolute path of the parent of .ai */
	_Atomic int fd; /* O_PATH of .ai; -1: it does not exist */
};

struct spaces {
	size_t n;
	char *key_dir; /* of the signing pair; NULL: no user space to keep it in */
	struct space v[]; /* project, user, then bundles by name */
};

/*
 * user_base NULL: $USER_SPACE, else the home directory. system_roots NULL: as base/self.h says,
 * sorted by bundle name. A root whose .ai does not exist is kept and looked at again.
 */
int spaces_open(const struct rye_options *opt, struct spaces **ret, struct rye_err *err);
void spaces_close(struct spaces *spaces);
/* Is a space's root the project's, or in it: where tools may write? Looks at the disk. */
bool spaces_nested(const struct spaces *spaces, const struct space *space);
/* O_PATH descriptor of the space's .ai, opened again if it has appeared since; -1: none. */
int space_fd(const struct space *space);
/*
 * .ai may have been replaced or removed: the same descriptor then stands for what is there now.
 * True: it was.
 */
bool space_renew(const struct space *space);

struct located {
	const struct space *space;
	const char *ext; /* borrowed from the kind table */
	char id[1024]; /* canonical: a directory tool's alias is resolved */
	char path[1024]; /* below .ai */
	int fd; /* open for reading, owned by the caller (auto_close) */
	bool ambiguous; /* the same id exists with another extension in that space */
	bool unsigned_ok; /* struct path_ask's; space_locate leaves it false */
};

/*
 * Opens a regular file for reading. 1: its descriptor is in *fd; 0: no such file; negative: an
 * error that names what it is instead (a FIFO, a link out of the space or to nowhere).
 */
int space_open_file(const struct space *space, const char *path, int *fd, struct rye_err *err);

/*
 * An error when the directory that would have the id's file is a link out of the space: then
 * what a lower space has of that name is refused, too. The index does not see such links.
 */
int space_barred(const struct space *space, enum rye_kind kind, const char *id,
		 struct rye_err *err);

struct item_ask {
	enum rye_kind kind;
	const char *id; /* canonical id, or a directory-tool alias */
	const struct space *from; /* chain rule: search from this space downwards; NULL: all */
	const struct space *only; /* this space alone; NULL: all */
	bool quiet; /* located.ambiguous is not wanted */
	bool *ret_ambiguous; /* rye_load's: another file of that id lies beside it; or NULL */
};

/*
 * Space by space, extension by extension; then the directory-tool alias (tools 1.3). An id that
 * is not canonical is RYE_INVALID; a link out of its space, a FIFO or a device in the way is an
 * error and never a reason to look further down.
 */
int space_locate(const struct spaces *spaces, const struct item_ask *ask, struct located *ret,
		 struct rye_err *err);

/* Directories between the kind's and the file: the category an id must carry. */
struct rye_span space_category(const char *id);
/* The last segment of an id. Borrowed. */
const char *space_stem(const char *id);
/* "<root>/.ai/<path>"; free it; NULL: out of memory. */
char *space_abspath(const struct space *space, const char *path);

/*
 * Writes a file of a space atomically, making .ai and the directories on the way. mode is for
 * a new file; an old one keeps its own. -errno.
 */
int space_write(const struct space *space, const char *path, struct rye_span bytes, mode_t mode);

#endif
