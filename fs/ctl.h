/* SPDX-License-Identifier: MIT */
/*
 * ctl.h: the table of control and derived files of an item's directory, and of the three
 * primitives at the root. A new one is a row here and, where it has code of its own, one
 * file ctl_NAME.c.
 */
#ifndef RYE_FS_CTL_H
#define RYE_FS_CTL_H

#include <rye/rye.h>

#include <sys/types.h>

struct caller; /* caller.h */
struct callers;
struct talks; /* talk.h */

enum ctl_sort {
	CTL_TALK, /* a conversation with `verb` */
	CTL_VIEW, /* content: rye_view(view) */
	CTL_LAST, /* the caller's own, by `last`: a fresh node per lookup */
	CTL_LINK, /* `source` */
};

/* What of the caller's own a CTL_LAST file shows. */
enum ctl_last { CTL_OUTPUT, CTL_TRACE, CTL_ERRORS };

struct ctl {
	const char *name;
	enum ctl_sort sort;
	unsigned kinds; /* bit per enum rye_kind; 0: not in item directories */
	mode_t mode;
	enum rye_verb verb;
	enum rye_view view;
	enum ctl_last last;
	bool listed;
	const char *help; /* one line, shown by README.md of the mount and docs/files.md */
};

#define KIND_BIT(kind) (1u << (kind))

const struct ctl *ctl_find(enum rye_kind kind, const char *name); /* NULL: none */
const struct ctl *ctl_rows(size_t *ret_n); /* sorted by name */
/* execute, fetch (and its alias load), sign: in the root of the mount. */
const struct ctl *ctl_root_find(const char *name);
const struct ctl *ctl_root_rows(size_t *ret_n);

struct ctl_own {
	enum ctl_last what;
	const char *key; /* item key ("tool:a/b"); unused for CTL_ERRORS */
};

/*
 * The bytes of a CTL_LAST file for this caller and since when they are so; never NULL unless
 * out of memory, empty when there is nothing of its own. The new reference is the caller's.
 */
struct rye_blob *ctl_last_blob(struct talks *talks, const struct caller *who,
			       const struct ctl_own *own, struct timespec *ret_at);

#endif
