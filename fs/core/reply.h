/* SPDX-License-Identifier: MIT */
/*
 * reply.h: the only way to answer the kernel. Every request is answered exactly once, and never
 * while a lock is held: the answer can be the kernel's last reference to the node, so that the
 * thread that serves the FORGET frees the lock with it (docs/architecture.md, Laws).
 */
#ifndef RYE_FS_CORE_REPLY_H
#define RYE_FS_CORE_REPLY_H

#include <rye/rye.h>

#include <fuse_lowlevel.h>
#include <sys/statvfs.h>

void reply_errno(fuse_req_t req, int sys); /* positive errno; 0: plain success */
/* answers with err->sys when the code is RYE_IO, else with the errno of the code */
void reply_rye(fuse_req_t req, const struct rye_err *err);
void reply_written(fuse_req_t req, size_t count);
void reply_bytes(fuse_req_t req, const char *ptr, size_t len);
/* The slice [off, off + size) of the blob; short or empty at its end. */
void reply_blob(fuse_req_t req, const struct rye_blob *blob, off_t off, size_t size);
void reply_attr(fuse_req_t req, const struct stat *st, double timeout_s);
/* False: the calling process has ended and the kernel has not taken the reference: give it back. */
bool reply_entry(fuse_req_t req, const struct fuse_entry_param *entry);
bool reply_create(fuse_req_t req, const struct fuse_entry_param *entry,
		  const struct fuse_file_info *fi);
void reply_link(fuse_req_t req, const char *target);
void reply_none(fuse_req_t req);
/* Only where the kernel cannot do without OPEN and OPENDIR. */
void reply_open(fuse_req_t req, const struct fuse_file_info *fi);
void reply_statfs(fuse_req_t req, const struct statvfs *st);
void reply_lseek(fuse_req_t req, off_t off);
/* size 0: how long the value is; else the value, or ERANGE. */
void reply_xattr(fuse_req_t req, size_t size, struct rye_span value);
/* size bytes of fd from off, without a copy where the kernel can. */
void reply_file(fuse_req_t req, int fd, off_t off, size_t size);

#endif
