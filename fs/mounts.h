/* SPDX-License-Identifier: MIT */
/* mounts.h: what /proc/self/mountinfo says. */
#ifndef RYE_FS_MOUNTS_H
#define RYE_FS_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

struct mount_line {
	char point[4096]; /* unescaped */
	char type[64]; /* "fuse.ryefs" */
	char source[4096];
};

/* Parses one line; false: it is none. */
bool mounts_parse(const char *line, struct mount_line *ret);
/* The mount that covers this very path (absolute, resolved); false: none begins there. */
bool mounts_find(const char *path, struct mount_line *ret);
bool mounts_is_fuse(const struct mount_line *mount);

#endif
