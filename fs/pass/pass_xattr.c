/* SPDX-License-Identifier: MIT */
/*
 * pass_xattr.c - extended attributes of files below spaces/, with -o xattr: user.* alone.
 *
 * Owns no state. Goes through /proc/self/fd, for there is no call that takes an O_PATH
 * descriptor; a symbolic link has none.
 */
#include "pass/pass.h"

#include "core/front.h"
#include "core/reply.h"
#include "scope.h"

#include <errno.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/xattr.h>

static bool is_user(const char *name)
{
	return strncmp(name, "user.", 5) == 0;
}

static void xattr_get(fuse_req_t req, struct node *node, const char *name, size_t size)
{
	char proc[PASS_PROC_MAX];
	auto_free char *value = malloc(XATTR_SIZE_MAX);
	ssize_t n;

	pass_proc(pass_of(node)->fd, proc);
	if (!value || !is_user(name) || S_ISLNK(node->mode)) {
		reply_errno(req, value ? ENODATA : ENOMEM);
		return;
	}
	n = getxattr(proc, name, value, XATTR_SIZE_MAX);
	if (n < 0)
		reply_errno(req, errno);
	else
		reply_xattr(req, size, (struct rye_span){ value, (size_t)n });
}

static void xattr_list(fuse_req_t req, struct node *node, size_t size)
{
	char proc[PASS_PROC_MAX];
	auto_free char *names = malloc(XATTR_LIST_MAX);
	size_t used = 0;
	ssize_t n;

	pass_proc(pass_of(node)->fd, proc);
	n = names && !S_ISLNK(node->mode) ? listxattr(proc, names, XATTR_LIST_MAX) : 0;
	for (ssize_t at = 0; at < n;) {
		size_t len = strlen(names + at) + 1;

		if (is_user(names + at)) {
			memmove(names + used, names + at, len);
			used += len;
		}
		at += (ssize_t)len;
	}
	reply_xattr(req, size, (struct rye_span){ names ? names : "", used });
}

static void xattr_set(fuse_req_t req, struct node *node, const char *name, struct rye_span value,
		      int flags)
{
	char proc[PASS_PROC_MAX];
	int sys = is_user(name) ? pass_may_write(req, node) : EOPNOTSUPP;

	pass_proc(pass_of(node)->fd, proc);
	if (!sys && setxattr(proc, name, value.ptr, value.len, flags))
		sys = errno;
	reply_errno(req, sys);
}

static void xattr_remove(fuse_req_t req, struct node *node, const char *name)
{
	char proc[PASS_PROC_MAX];
	int sys = is_user(name) ? pass_may_write(req, node) : EOPNOTSUPP;

	pass_proc(pass_of(node)->fd, proc);
	if (!sys && removexattr(proc, name))
		sys = errno;
	reply_errno(req, sys);
}

const struct node_xattrs pass_xattrs = {
	.get = xattr_get,
	.list = xattr_list,
	.set = xattr_set,
	.remove = xattr_remove,
};
