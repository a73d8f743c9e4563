/* SPDX-License-Identifier: MIT */
/* session.h: one mount from its options to its end. */
#ifndef RYE_FS_SESSION_H
#define RYE_FS_SESSION_H

#include "core/options.h"

/*
 * Mounts and serves. In the background (the default) it returns in the first process as soon
 * as the mount answers; in the daemon, and in the foreground, when the mount has ended.
 * Returns the exit status; what went wrong was said on stderr.
 */
int session_run(struct options *opt);

#endif
