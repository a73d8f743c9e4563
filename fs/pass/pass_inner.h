/* SPDX-License-Identifier: MIT */
/*
 * pass_inner.h: operations that stand in other files than their table.
 */
#ifndef RYE_FS_PASS_PASS_INNER_H
#define RYE_FS_PASS_PASS_INNER_H

#include "core/front.h"

void pass_lookup(fuse_req_t req, struct node *dir, const char *name);
int pass_enter(fuse_req_t req, struct node *dir, const char *name, struct fuse_entry_param *ret);
void pass_readdir(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus);
void pass_fallocate(fuse_req_t req, struct node *node, int mode, off_t off, off_t len);
void pass_copy(fuse_req_t req, const struct node_copy *what);
void pass_lseek(fuse_req_t req, struct node *node, off_t off, int whence);
void pass_drop(void *data);

#endif
