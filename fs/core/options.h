/* SPDX-License-Identifier: MIT */
/*
 * options.h: what a mount was asked to be, read from its command line (mount/mount_options.c).
 */
#ifndef RYE_FS_CORE_OPTIONS_H
#define RYE_FS_CORE_OPTIONS_H

#include <rye/rye.h>

#include <fuse_opt.h>

/* Longest -o list: mount(8) takes a page. */
#define OPTIONS_MAX 4096
/* Values kept as text: userspace, system, env, and two paths. */
#define OPTIONS_TEXTS 16

struct options {
	char *source; /* project directory, absolute and real */
	char *mountpoint; /* absolute */
	struct rye_options engine; /* texts point into `texts` */
	int wait_s; /* 0: until the run ends */
	bool foreground, debug;
	bool xattr;
	bool io_uring; /* where the kernel offers it */
	bool allow_other;
	bool list_all; /* list=all */
	enum rye_offer skills;
	bool trust_any; /* trust_callers=any */
	bool read_only;
	enum { SPACES_RW, SPACES_RO, SPACES_NONE } spaces;
	struct fuse_args args; /* for fuse_session_new */
	struct fuse_args lists; /* what stood behind each -o */
	int again_fd; /* what the daemon before has left (mount/handover.c); -1: there was none */
	int old_fd; /* the mount whose place this one takes, until it has; or -1 */
	char *texts[OPTIONS_TEXTS];
	size_t n_texts;
};

#endif
