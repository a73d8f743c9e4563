/* SPDX-License-Identifier: MIT */
/*
 * threads_dir.h: state/threads. enter_table.c hands the key TREE_THREADS here; everything below is
 * made of node classes of this part alone (keys of sort TREE_THREADS, text: the path below
 * state/threads), so nobody else needs to know them.
 */
#ifndef RYE_FS_VIEWS_THREADS_DIR_H
#define RYE_FS_VIEWS_THREADS_DIR_H

#include "core/front.h"

/* The directory state/threads itself. */
int threads_enter(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
/* RYE_CHANGE_THREAD: on an engine thread, holding nothing; may only queue (notify.h). */
void threads_changed(struct front *front, const char *id);

#endif
