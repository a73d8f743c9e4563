/* SPDX-License-Identifier: MIT */
/*
 * ctl.h: the table of control and derived files of an item's directory. A new one is a row
 * here and, where it has code of its own, one file ctl_NAME.c.
 */
#ifndef RYE_FS_CTL_H
#define RYE_FS_CTL_H

#include <rye/rye.h>

enum ctl_sort {
	CTL_TALK, /* a conversation with `verb` */
	CTL_VIEW, /* content: rye_view(view) */
	CTL_LAST, /* the caller's own last output or trace, a fresh node per lookup */
	CTL_LINK, /* `source` */
};

struct ctl {
	const char *name;
	enum ctl_sort sort;
	unsigned kinds; /* bit per enum rye_kind */
	mode_t mode;
	enum rye_verb verb;
	enum rye_view view;
	bool listed;
	const char *help; /* one line, shown by README.md of the mount and docs/files.md */
};

#define KIND_BIT(kind) (1u << (kind))

const struct ctl *ctl_find(enum rye_kind kind, const char *name); /* NULL: none */
const struct ctl *ctl_rows(size_t *ret_n);

#endif
