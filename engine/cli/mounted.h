/* SPDX-License-Identifier: MIT */
/* mounted.h: which mounts of ours the kernel has, and ending them. */
#ifndef RYE_CLI_MOUNTED_H
#define RYE_CLI_MOUNTED_H

#include <stdbool.h>

/* Calls fn with the absolute path of every ryefs mount; nonzero stops and is returned. */
int mounts_each(int (*fn)(void *arg, const char *path), void *arg);
bool mounts_has(const char *path);
/* By fusermount3, or as root by umount2. lazy: also one that is in use. False: not undone. */
bool mounts_detach(const char *path, bool lazy);

#endif
