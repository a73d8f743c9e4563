/* SPDX-License-Identifier: MIT */
/* threads_part.h: what the files behind state/threads share (threads_dir.h is for the rest). */
#ifndef RYE_FS_VIEWS_THREADS_PART_H
#define RYE_FS_VIEWS_THREADS_PART_H

#include "core/front.h"

struct thread_name {
	const char *id; /* of the thread */
	const char *file; /* in its directory */
};

extern const struct node_class threads_class;

int threads_enter_wait(fuse_req_t req, const struct tree_key *key, const struct thread_name *name,
		       struct fuse_entry_param *ret);
int threads_enter_ctl(fuse_req_t req, const struct tree_key *key, const struct thread_name *name,
		      struct fuse_entry_param *ret);
int threads_enter_grow(fuse_req_t req, const struct tree_key *key, const struct thread_name *name,
		       struct fuse_entry_param *ret);

#endif
