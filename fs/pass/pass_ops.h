/* SPDX-License-Identifier: MIT */
/* pass_ops.h: the operations of pass_class that live in other files than its table. */
#ifndef RYE_FS_PASS_PASS_OPS_H
#define RYE_FS_PASS_PASS_OPS_H

#include "core/front.h"

void pass_lookup(fuse_req_t req, struct node *dir, const char *name);
int pass_enter(fuse_req_t req, struct node *dir, const char *name, struct fuse_entry_param *ret);
void pass_readdir(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus);
void pass_fallocate(fuse_req_t req, struct node *node, int mode, off_t off, off_t len);
void pass_copy(fuse_req_t req, const struct node_copy *what);
void pass_lseek(fuse_req_t req, struct node *node, off_t off, int whence);
void pass_drop(void *data);

#endif
