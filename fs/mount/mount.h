/* SPDX-License-Identifier: MIT */
/*
 * mount.h: around the session: the background process, the two paths, the watchdog.
 */
#ifndef RYE_FS_MOUNT_MOUNT_H
#define RYE_FS_MOUNT_MOUNT_H

#include "core/front.h"
#include "core/options.h"

#include <stdbool.h>

/*
 * daemon.c: into the background, and telling the first process when the mount answers.
 */

struct daemon;

/*
 * -1: go on, as the daemon or in the foreground. >= 0: this is the first process and the exit
 * status to leave with, after the daemon was ready or has failed.
 */
int daemon_start(bool background, struct daemon **ret);
/* The first process may leave. */
void daemon_ready(struct daemon *daemon);
/* Nothing more will be said on stderr: lets go of the terminal. */
void daemon_detach(struct daemon *daemon);
void daemon_end(struct daemon *daemon);

/*
 * mount_options.c: argv of a mount → struct options. Unknown options are refused by name; words that
 * belong to mount(8) mean nothing to us; libfuse's own are handed on.
 */

/* Fills *ret, whose texts options_done frees, also on failure. 0, or negative with err filled. */
int options_parse(int argc, char **argv, struct options *ret, struct rye_err *err);
/* A copy that lives as long as the options; NULL: out of memory, or of places. */
const char *options_keep(struct options *opt, const char *text);
void options_done(struct options *opt);

/*
 * mountpoint.c: are the two paths of a mount fit for it?
 */

/*
 * Makes source and mountpoint absolute and real, unmounts a dead mount of ours that lies there.
 * Refuses pairs of paths with which the daemon would wait for its own mount. 0, or negative with
 * err filled.
 */
int mountpoint_prepare(struct options *opt, struct rye_err *err);
/* The line to be added to .git/info/exclude, or NULL: it does not lie in a work tree, or the
 * line is there. *ret_git: the exclude file. Both are the caller's to free. */
char *mountpoint_exclude(const struct options *opt, char **ret_git);
/* Detaches the mount: umount2 for root, fusermount3 for others. 0 or an errno. */
int mountpoint_detach(const char *path);

/* Why the kernel took no mount there, and what mends it; libfuse said only what failed. */
int mountpoint_failed(const struct options *opt, struct rye_err *err);

/*
 * watchdog.c: a process beside the daemon that outlives it. When the daemon is killed while one of
 * its notify threads waits in the kernel for a directory's lock, that thread keeps /dev/fuse open,
 * the connection never ends, and every process that enters the mount hangs in the kernel
 * (tests/e2e/watchdog.sh). The watchdog then aborts the connection, and kills the tools that the
 * daemon's runs have left behind.
 */

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
