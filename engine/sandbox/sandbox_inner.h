/* SPDX-License-Identifier: MIT */
/*
 * sandbox_inner.h: what the files of sandbox/ share.
 */
#ifndef RYE_SANDBOX_SANDBOX_INNER_H
#define RYE_SANDBOX_SANDBOX_INNER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * pidlimit.c: starts a thread that moves this process into the cgroup, for which the kernel takes
 * tens of milliseconds. NULL: not root, hence not needed, or no thread could be started.
 */
struct pidlimit;
struct pidlimit *pidlimit_start(void);
/*
 * Waits until that thread has ended, whether it could enter the cgroup or not. Called before the
 * first tool is started.
 */
void pidlimit_wait(struct pidlimit *limit);
void pidlimit_close(struct pidlimit *limit); /* NULL is fine */

/*
 * From the texts of /proc/self/mountinfo and /proc/self/cgroup: the directory of our cgroup in
 * the hierarchy that counts processes. False: there is none.
 */
bool pidlimit_dir(const char *mounts, const char *cgroups, char *ret, size_t size);

#endif
