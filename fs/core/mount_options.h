/* SPDX-License-Identifier: MIT */
/*
 * mount_options.h: argv of a mount → struct options. Unknown options are refused by name; words that
 * belong to mount(8) mean nothing to us; libfuse's own are handed on.
 */
#ifndef RYE_FS_CORE_MOUNT_OPTIONS_H
#define RYE_FS_CORE_MOUNT_OPTIONS_H

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
	bool allow_other;
	bool list_all; /* list=all */
	bool trust_any; /* trust_callers=any */
	bool read_only;
	enum { SPACES_RW, SPACES_RO, SPACES_NONE } spaces;
	struct fuse_args args; /* for fuse_session_new */
	char *texts[OPTIONS_TEXTS];
	size_t n_texts;
};

/* Fills *ret, whose texts options_done frees, also on failure. 0, or negative with err filled. */
int options_parse(int argc, char **argv, struct options *ret, struct rye_err *err);
/* A copy that lives as long as the options; NULL: out of memory, or of places. */
const char *options_keep(struct options *opt, const char *text);
void options_done(struct options *opt);

#endif
