/* SPDX-License-Identifier: MIT */
/*
 * threads_cancel.c - `.cancel_requested` of a thread: making it cancels the thread, as `cancel`
 * written to its ctl does. For programs that can make files and no more.
 *
 * Nothing else can be made, moved or removed below state/threads. No lock, no state.
 */
#include "views/views_inner.h"

#include "caller/caller.h"
#include "core/enter.h"
#include "core/reply.h"
#include "scope.h"
#include "talk/talk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void cancel_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	(void)node;
	(void)size;
	(void)off;
	reply_bytes(req, NULL, 0);
}

/* What is in it says nothing. */
static void cancel_write(fuse_req_t req, struct node *node, const struct node_write *write)
{
	(void)node;
	reply_written(req, write->bytes.len);
}

static void cancel_setattr(fuse_req_t req, struct node *node, const struct stat *want, int which)
{
	struct stat st;

	(void)want;
	(void)which;
	node_stat(front_of(req), node, &st);
	reply_attr(req, &st, 0);
}

static const struct node_class cancel_class = {
	.name = "thread-cancel",
	.read = cancel_read,
	.write = cancel_write,
	.setattr = cancel_setattr,
};

int threads_enter_cancel(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	const struct node_want want = {
		.key = key,
		.class = &cancel_class,
		.version = 1,
		.mtime = front->started,
		.mode = S_IFREG | 0600,
		.fresh = true,
	};

	return enter_node(front, node_make(front->nodes, &want), 0, ret);
}

/* 0 or an errno; the sentence is in the caller's .ryefs/errors. */
static int cancel_thread(fuse_req_t req, const char *id)
{
	struct front *front = front_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct caller *caller = caller_identify(front->callers, ctx->pid, ctx->uid);
	int sys = !caller || caller->unseen ? EAGAIN : caller->allowed && !caller->run ? 0 : EACCES;
	static const char verb[] = "cancel";
	const struct rye_span cancel = { verb, sizeof(verb) - 1 };
	struct rye_err err;
	char name[1100];

	snprintf(name, sizeof(name), "thread %s " THREADS_CANCEL, id);
	if (!sys && rye_thread_ctl(front->rye, id, cancel, NULL, &err)) {
		talks_complain(front->talks, caller, name, err.msg);
		sys = rye_code_errno(err.code);
	}
	caller_unref(caller);
	return sys;
}

static int cancel_make(fuse_req_t req, struct node *dir, const struct node_new *what,
		       struct fuse_entry_param *ret)
{
	bool own = dir->item && dir->path_len && dir->path_len == dir->text_len;
	struct tree_key key = { .sort = TREE_THREADS, .path_len = dir->path_len };
	int n, sys;

	if (!own || !S_ISREG(what->mode) || strcmp(what->name, THREADS_CANCEL) != 0)
		return EROFS;
	n = snprintf(key.text, sizeof(key.text), "%s/%s", dir->text, what->name);
	if (n < 0 || n >= (int)sizeof(key.text))
		return ENAMETOOLONG;
	key.text_len = (uint16_t)n;
	sys = cancel_thread(req, dir->text);
	return sys ? sys : threads_enter_cancel(req, &key, ret);
}

static void threads_make(fuse_req_t req, struct node *dir, const struct node_new *what)
{
	struct fuse_entry_param entry = { 0 };
	int sys = cancel_make(req, dir, what, &entry);

	enter_reply(req, sys, &entry, NULL);
}

static void threads_create(fuse_req_t req, struct node *dir, const struct node_new *what,
			   const struct fuse_file_info *fi)
{
	struct fuse_entry_param entry = { 0 };
	int sys = cancel_make(req, dir, what, &entry);

	enter_reply(req, sys, &entry, fi);
}

const struct node_changes threads_changes = {
	.make = threads_make,
	.create = threads_create,
};
