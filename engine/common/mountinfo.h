/* SPDX-License-Identifier: MIT */
/*
 * mountinfo.h: what /proc/self/mountinfo says. The paths in it are never touched: a stat of a
 * dead or foreign mount may hang. Every call reads a file, so no lock that forbids I/O may be
 * held.
 */
#ifndef RYE_COMMON_MOUNTINFO_H
#define RYE_COMMON_MOUNTINFO_H

#include <stdbool.h>
#include <sys/types.h>

/* One line; the texts point into it, unescaped. */
struct mountinfo {
	int id, parent;
	dev_t dev;
	bool shared; /* unmounts here reach its copies */
	bool read_only; /* the mount, not the file system */
	char *root; /* what of the file system begins there */
	char *point;
	char *type; /* "fuse.ryefs" */
	char *source;
	char *options; /* of the file system */
	uid_t owner; /* of a FUSE mount: the user that made it; else 0 */
};

/* Takes a line apart, in place; false: it is none. */
bool mountinfo_parse(char *line, struct mountinfo *ret);
/* fn for every mount, in the order in which they were made; nonzero stops and is returned.
 * -errno: the file cannot be read. */
int mountinfo_each(int (*fn)(void *arg, const struct mountinfo *mount), void *arg);
/* The mount that lies on top at this very path (absolute, resolved). The line that *ret points
 * into, for the caller to free; NULL: no mount begins there. */
char *mountinfo_find(const char *path, struct mountinfo *ret);
bool mountinfo_is_fuse(const struct mountinfo *mount);
bool mountinfo_is_ours(const struct mountinfo *mount);

#endif
