/* SPDX-License-Identifier: MIT */
/*
 * threads_wait.c - `wait`: blocks a reader until its thread has ended, then says the status.
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

#include <errno.h>
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
