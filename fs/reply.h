/* SPDX-License-Identifier: MIT */
/*
 * reply.h: the only way to answer the kernel. Every request is answered exactly once, and
 * never while a lock is held: the answer can be the kernel's last reference to the node, so
 * that FORGET may free the very lock (architecture, law 6).
 */
#ifndef RYE_FS_REPLY_H
#define RYE_FS_REPLY_H

#include <rye/rye.h>

#include <fuse_lowlevel.h>

void reply_errno(fuse_req_t req, int sys); /* positive errno; 0: plain success */
void reply_rye(fuse_req_t req, const struct rye_err *err); /* the one translation point */
void reply_written(fuse_req_t req, size_t count);
void reply_bytes(fuse_req_t req, const char *ptr, size_t len);
/* The slice [off, off + size) of the blob; short or empty at its end. */
void reply_blob(fuse_req_t req, const struct rye_blob *blob, off_t off, size_t size);
void reply_attr(fuse_req_t req, const struct stat *st, double timeout_s);
void reply_entry(fuse_req_t req, const struct fuse_entry_param *entry);
void reply_link(fuse_req_t req, const char *target);
void reply_none(fuse_req_t req);

#endif
