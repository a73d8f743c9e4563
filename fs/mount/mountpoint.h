/* SPDX-License-Identifier: MIT */
/* mountpoint.h: are the two paths of a mount fit for it? */
#ifndef RYE_FS_MOUNT_MOUNTPOINT_H
#define RYE_FS_MOUNT_MOUNTPOINT_H

#include "core/mount_options.h"

/*
 * Makes source and mountpoint absolute and real, takes away a dead mount of ours that lies
 * there. Refuses what could only end in a deadlock or a surprise.
 */
int mountpoint_prepare(struct options *opt, struct rye_err *err);
/* The line to be added to .git/info/exclude, or NULL: it does not lie in a work tree, or the
 * line is there. *ret_git: the exclude file. Both are the caller's to free. */
char *mountpoint_exclude(const struct options *opt, char **ret_git);
/* Detaches the mount: umount2 for root, fusermount3 for others. 0 or an errno. */
int mountpoint_detach(const char *path);

/* Why the kernel took no mount there, and what mends it; libfuse said only what failed. */
int mountpoint_failed(const char *point, struct rye_err *err);

#endif
