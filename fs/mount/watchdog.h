/* SPDX-License-Identifier: MIT */
/*
 * watchdog.h: a process beside the daemon that outlives it. When the daemon is killed while one
 * of its notify threads waits in the kernel for a directory's lock, that thread keeps /dev/fuse
 * open, the connection never ends, and everybody who enters the mount waits for ever. The
 * watchdog then ends the connection, and the tools that the daemon's runs have left behind.
 */
#ifndef RYE_FS_MOUNT_WATCHDOG_H
#define RYE_FS_MOUNT_WATCHDOG_H

#include <stdbool.h>

struct watchdog;

/*
 * Forks: to be called by the daemon's main thread, before it has made another one. NULL: no
 * process or no memory; the mount then works without.
 */
struct watchdog *watchdog_start(void);
/* The mount answers: from now on the watchdog knows what to end. */
void watchdog_guard(struct watchdog *watchdog, const char *mountpoint);
/* The daemon ends in order; waits until the watchdog has gone. */
void watchdog_end(struct watchdog *watchdog);

#endif
