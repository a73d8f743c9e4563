/* SPDX-License-Identifier: MIT */
/*
 * threads_ctl.c - `ctl` of a thread: one verb a line, the write carries the verdict.
 *
 * Owns the guard of these writes: the mount's owner outside a sandbox, and never a child of a
 * run (it may not end threads that it did not start). The engine does what the verb says:
 * a signal, a row, some unlinks. No lock, no state.
 */
#include "views/views_inner.h"

#include "caller/caller.h"
#include "core/enter.h"
#include "core/reply.h"
#include "talk/talk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes. "cancel because of …" is the longest verb; a longer line is refused. */
#define VERB_MAX 4096

/* Shells print an errno; the sentence is in the caller's .ryefs/errors. */
static void threads_ctl_refuse(fuse_req_t req, const char *id, const struct rye_err *err)
{
	struct front *front = front_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct caller *caller = caller_identify(front->callers, ctx->pid, ctx->uid);
	char name[1100];

	snprintf(name, sizeof(name), "thread %s ctl", id);
	if (caller)
		talks_complain(front->talks, caller, name, err->msg);
	caller_unref(caller);
	reply_rye(req, err);
}

/* 0, or the errno: EAGAIN where the daemon has too many files open to see the caller. */
static int threads_ctl_may(struct front *front, const struct fuse_ctx *ctx)
{
	struct caller *caller = caller_identify(front->callers, ctx->pid, ctx->uid);
	int sys = caller->unseen ? EAGAIN : caller->allowed && !caller->run ? 0 : EACCES;

	caller_unref(caller);
	return sys;
}

static void ctl_write(fuse_req_t req, struct node *node, const struct node_write *write)
{
	struct front *front = front_of(req);
	struct rye_span line = write->bytes;
	size_t n = line.len;
	struct rye_err err;
	int sys;

	if (write->page || n > VERB_MAX) {
		reply_errno(req, EINVAL);
		return;
	}
	sys = threads_ctl_may(front, fuse_req_ctx(req));
	if (sys) {
		reply_errno(req, sys);
		return;
	}
	while (line.len && strchr(" \t\r\n", line.ptr[line.len - 1]))
		line.len--;
	/* The newline of `printf`, or the empty line of `: >> ctl`, asks for nothing. */
	if (line.len && rye_thread_ctl(front->rye, node->data, line, &err))
		threads_ctl_refuse(req, node->data, &err);
	else
		reply_written(req, n);
}

static void ctl_setattr(fuse_req_t req, struct node *node, const struct stat *want, int which)
{
	struct stat st;

	(void)want;
	(void)which;
	node_stat(front_of(req), node, &st);
	reply_attr(req, &st, 0);
}

static void ctl_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	(void)node;
	(void)size;
	(void)off;
	reply_bytes(req, NULL, 0);
}

static const struct node_class ctl_class = {
	.name = "thread-ctl",
	.read = ctl_read,
	.write = ctl_write,
	.setattr = ctl_setattr,
	.drop = free,
};

int threads_enter_ctl(fuse_req_t req, const struct tree_key *key, const struct thread_name *name,
		      struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct node_want want = {
		.key = key,
		.class = &ctl_class,
		.data = strdup(name->id),
		.version = 1,
		.mtime = front->started,
		.mode = S_IFREG | (threads_ctl_may(front, ctx) == EACCES ? 0 : 0200),
		.fresh = true,
	};
	struct node *node = want.data ? node_make(front->nodes, &want) : NULL;

	if (!node)
		return ENOMEM;
	node_entry(front, node, 0, ret);
	ret->attr_timeout = 0;
	return 0;
}
