/* SPDX-License-Identifier: MIT */
/* daemon.h: into the background, and telling the first process when the mount answers. */
#ifndef RYE_FS_MOUNT_DAEMON_H
#define RYE_FS_MOUNT_DAEMON_H

#include <stdbool.h>

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

#endif
