/* SPDX-License-Identifier: MIT */
/*
 * threads_wait.c - `wait` and `.cancel_requested` of a thread.
 *
 * `wait` blocks a reader until its thread has ended, then says the status.
 *
 * stat never blocks: until the end the size is a fake page; a GETATTR through a descriptor and a
 * READ are parked, both, because some programs ask for the size first and some read first. The
 * engine is asked while at least one reader waits.
 *
 * Lock: one per node; a request is parked under it, so that the status cannot come in between.
 * Never held across a reply or a call into the engine.
 */
#include "views/views_inner.h"

#include "caller/caller.h"
#include "core/enter.h"
#include "core/parking.h"
#include "core/reply.h"
#include "scope.h"
#include "talk/talk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_SIZE 4096

struct waiter {
	struct parked parked;
	bool read;
	size_t size;
	off_t off;
};

struct wait {
	struct front *front;
	_Atomic unsigned refs; /* the node's and the engine's */
	pthread_mutex_t lock; /* of the next five */
	struct rye_call *call; /* while a reader waits */
	struct rye_blob *status; /* once decided */
	struct stat st;
	bool asked;
	char id[];
};

static void wait_unref(struct wait *wait)
{
	if (--wait->refs > 0)
		return;
	rye_blob_unref(wait->status);
	pthread_mutex_destroy(&wait->lock);
	free(wait);
}

/* Without a status: the reader is being ended, or the mount goes. */
static void answer_reader(struct waiter *waiter, const struct rye_blob *status,
			  const struct stat *st)
{
	fuse_req_t req = parked_leave(&waiter->parked);

	if (!status)
		reply_errno(req, EINTR);
	else if (waiter->read)
		reply_blob(req, status, waiter->off, waiter->size);
	else
		reply_attr(req, st, 0);
	parked_unref(&waiter->parked);
}

static void wake_reader(struct parked *parked, enum parked_why why)
{
	if (parking_take(parked))
		answer_reader((struct waiter *)parked, NULL, NULL);
}

static const struct parked_class waiter_class = { .wake = wake_reader };

/* On an engine thread, once per rye_thread_wait. */
static void threads_wait_on_status(void *arg, const struct rye_outcome *outcome)
{
	struct wait *wait = arg;
	struct parked *parked = NULL, *next;
	struct rye_blob *status = NULL;
	struct rye_call *call = NULL;
	struct stat st;

	{
		GUARD(&wait->lock);
		if (outcome->code == RYE_OK && !wait->status) {
			wait->status = rye_blob_ref(outcome->reply);
			wait->st.st_size = (off_t)wait->status->len;
		}
		wait->asked = false;
		parked = parking_take_all(wait->front->parking, wait);
		call = steal(&wait->call);
		status = rye_blob_ref(wait->status);
		st = wait->st;
	}
	for (; parked; parked = next) {
		next = parked->next;
		answer_reader((struct waiter *)parked, status, &st);
	}
	rye_blob_unref(status);
	rye_call_unref(call);
	wait_unref(wait);
}

/* The engine may call back before rye_thread_wait returns: then the call is given back here. */
static void ask_engine(struct wait *wait)
{
	struct rye_listener who = { .fn = threads_wait_on_status, .arg = wait };
	struct rye_outcome none = { .code = RYE_IO };
	struct rye_call *call = NULL;
	struct rye_err err;
	bool keep = false;

	if (rye_thread_wait(wait->front->rye, wait->id, &who, &call, &err)) {
		threads_wait_on_status(wait, &none);
		return;
	}
	{
		GUARD(&wait->lock);
		keep = wait->asked;
		if (keep)
			wait->call = call;
	}
	if (!keep)
		rye_call_unref(call);
}

static void threads_wait_park_reader(fuse_req_t req, struct node *node, const struct waiter *what)
{
	struct wait *wait = node->data;
	struct waiter *waiter =
		parked_new(wait->front->parking, req, &waiter_class, wait, sizeof(*waiter));
	struct rye_blob *status = NULL;
	bool parks = false, first = false;

	if (!waiter) {
		reply_errno(req, ENOMEM);
		return;
	}
	waiter->read = what->read;
	waiter->size = what->size;
	waiter->off = what->off;
	{
		GUARD(&wait->lock);
		status = rye_blob_ref(wait->status);
		parks = !status && parking_wait(&waiter->parked, PARKED_NEVER);
		first = parks && !wait->asked;
		if (first) {
			wait->asked = true;
			wait->refs++;
		}
	}
	if (!parks)
		answer_reader(waiter, status, &wait->st);
	rye_blob_unref(status);
	if (first)
		ask_engine(wait);
}

static void wait_getattr(fuse_req_t req, struct node *node, bool by_handle)
{
	struct wait *wait = node->data;
	struct waiter what = { .read = false };
	struct stat st;

	if (by_handle) {
		threads_wait_park_reader(req, node, &what);
		return;
	}
	{
		GUARD(&wait->lock);
		st = wait->st;
	}
	reply_attr(req, &st, 0);
}

static void wait_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	struct waiter what = { .read = true, .size = size, .off = off };

	threads_wait_park_reader(req, node, &what);
}

/* The kernel holds no reference any more, so nothing is parked and no reader needs the answer. */
static void wait_drop(void *data)
{
	struct wait *wait = data;
	struct rye_call *call = NULL;

	{
		GUARD(&wait->lock);
		call = steal(&wait->call);
	}
	if (call)
		rye_call_cancel(call, RYE_CANCELLED);
	rye_call_unref(call);
	wait_unref(wait);
}

/* Parks, but the engine is asked first how it stands with the thread. */
static const struct node_class wait_aside = {
	.lane = threads_lane,
	.getattr = wait_getattr,
	.read = wait_read,
};

static const struct node_class wait_class = {
	.name = "wait",
	.aside = &wait_aside,
	.drop = wait_drop,
};

int threads_enter_wait(fuse_req_t req, const struct tree_key *key, const struct thread_name *name,
		       struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	size_t n = strlen(name->id) + 1;
	struct wait *wait = calloc(1, sizeof(*wait) + n);
	struct node_want want = {
		.key = key,
		.class = &wait_class,
		.data = wait,
		.version = 1,
		.size = FAKE_SIZE,
		.mode = S_IFREG | 0400,
		.fresh = true,
	};
	struct node *node;

	if (!wait)
		return ENOMEM;
	clock_gettime(CLOCK_REALTIME_COARSE, &want.mtime);
	wait->front = front;
	wait->refs = 1;
	pthread_mutex_init(&wait->lock, NULL);
	memcpy(wait->id, name->id, n);
	node = node_make(front->nodes, &want);
	if (!node)
		return ENOMEM;
	node_stat(front, node, &wait->st);
	node_entry(front, node, 0, ret);
	ret->attr_timeout = 0;
	return 0;
}

/* ---- .cancel_requested ----
 * Making it cancels the thread, as `cancel` written to its ctl does: for programs that can make files
 * and no more. Nothing else can be made, moved or removed below state/threads. */

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
