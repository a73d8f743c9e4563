/* SPDX-License-Identifier: MIT */
/*
 * reply.c - the only caller of fuse_reply_*.
 *
 * Holds nothing and must be called holding nothing: the answer can be what lets the kernel forget
 * the node, on another thread, before the call returns. libfuse returns -ENOENT when the kernel has
 * dropped an interrupted request meanwhile. That matters for entries alone: the kernel has not
 * taken the node's reference, so the caller gives it back.
 */
#include "core/reply.h"

#include "core/enter.h"

#include <errno.h>

void reply_errno(fuse_req_t req, int sys)
{
	fuse_reply_err(req, sys);
}

void reply_rye(fuse_req_t req, const struct rye_err *err)
{
	int sys = err->code == RYE_IO && err->sys ? err->sys : rye_code_errno(err->code);

	fuse_reply_err(req, sys ? sys : EIO);
}

void reply_written(fuse_req_t req, size_t count)
{
	fuse_reply_write(req, count);
}

void reply_bytes(fuse_req_t req, const char *ptr, size_t len)
{
	fuse_reply_buf(req, ptr, len);
}

void reply_blob(fuse_req_t req, const struct rye_blob *blob, off_t off, size_t size)
{
	size_t len = blob ? blob->len : 0;

	if (off < 0 || (uint64_t)off >= len)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_buf(req, blob->data + off, size < len - off ? size : len - off);
}

void reply_attr(fuse_req_t req, const struct stat *st, double timeout_s)
{
	fuse_reply_attr(req, st, timeout_s);
}

bool reply_entry(fuse_req_t req, const struct fuse_entry_param *entry)
{
	return fuse_reply_entry(req, entry) == 0;
}

bool reply_create(fuse_req_t req, const struct fuse_entry_param *entry,
		  const struct fuse_file_info *fi)
{
	return fuse_reply_create(req, entry, fi) == 0;
}

void reply_link(fuse_req_t req, const char *target)
{
	fuse_reply_readlink(req, target);
}

void reply_none(fuse_req_t req)
{
	fuse_reply_none(req);
}

void reply_open(fuse_req_t req, const struct fuse_file_info *fi)
{
	fuse_reply_open(req, fi);
}

void reply_statfs(fuse_req_t req, const struct statvfs *st)
{
	fuse_reply_statfs(req, st);
}

void reply_lseek(fuse_req_t req, off_t off)
{
	fuse_reply_lseek(req, off);
}

void reply_xattr(fuse_req_t req, size_t size, struct rye_span value)
{
	if (size == 0)
		fuse_reply_xattr(req, value.len);
	else if (size < value.len)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, value.ptr, value.len);
}

void reply_file(fuse_req_t req, int fd, off_t off, size_t size)
{
	struct fuse_bufvec vec = FUSE_BUFVEC_INIT(size);

	vec.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
	vec.buf[0].fd = fd;
	vec.buf[0].pos = off;
	fuse_reply_data(req, &vec, FUSE_BUF_SPLICE_MOVE);
}

void enter_reply(fuse_req_t req, int sys, const struct fuse_entry_param *entry,
		 const struct fuse_file_info *create)
{
	struct front *front = front_of(req); /* a reply frees the request, even one that fails */
	bool taken;

	if (sys) {
		reply_errno(req, sys);
		return;
	}
	taken = create ? reply_create(req, entry, create) : reply_entry(req, entry);
	if (!taken && entry->ino)
		node_forget(front->nodes, node_of(entry->ino), 1);
}
