/* SPDX-License-Identifier: MIT */
/*
 * options.h: what a mount was asked to be, by its command line (mount/mount_options.c) and by the kernel.
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
	bool elsewhere; /* the command was typed outside of the project */
	struct rye_options engine; /* texts point into `texts` */
	int wait_s; /* 0: until the run ends */
	bool foreground, debug;
	bool xattr;
	bool io_uring; /* where the kernel offers it */
	enum { SURVIVE_AUTO, SURVIVE_ON, SURVIVE_OFF } survive; /* mount/kept.c */
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

/*
 * INIT as the kernel sent it, and what it was told: the next daemon of the same connection (mount/kept.c) says
 * the same, for the kernel asks once.
 */
struct front_init {
	/* daemons of this connection before this one: part of every node id, so that theirs are known */
	uint16_t epoch;
	uint16_t asked_len, told_len; /* 0: longer than what is known */
	bool same; /* if epoch: this daemon has answered what the one before was asked as that one did */
	char asked[192], told[192];
};

#endif
