/* SPDX-License-Identifier: MIT */
/*
 * threads_wait.c - `wait`: blocks a reader until its thread has ended, then says the status.
 *
 * Owns the parked requests. stat never blocks: until the end the size is a fake page; a
 * GETATTR through a descriptor and a READ are parked, both, because some readers ask the size
 * first and some read first (no-open 4). One lock for all `wait` nodes of a mount; never held
 * across a reply or a call into the engine. Interrupted readers are looked after by a lookout.
 */
#include "threads_part.h"

#include "auto.h"
#include "caller.h"
#include "enter.h"
#include "lookout.h"
#include "proc.h"
#include "reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_SIZE 4096

struct parked {
	struct parked *next;
	struct waits *waits;
	fuse_req_t req;
	pid_t tid;
	_Atomic bool interrupted;
	bool read;
	size_t size;
	off_t off;
};

struct wait {
	struct wait *next; /* of waits */
	struct waits *waits;
	struct front *front;
	struct rye_call *call; /* while somebody waits */
	struct rye_blob *status; /* once decided */
	struct parked *parked;
	struct stat st;
	unsigned refs; /* the node's and the engine's */
	bool asked;
	char id[];
};

struct waits {
	pthread_mutex_t lock;
	struct lookout *lookout;
	struct wait *list;
};

/* Lock held; true: that was the last reference, free it outside. */
static bool drop_ref(struct wait *wait)
{
	struct wait **at = &wait->waits->list;

	if (--wait->refs)
		return false;
	while (*at && *at != wait)
		at = &(*at)->next;
	if (*at)
		*at = wait->next;
	return true;
}

static void free_wait(struct wait *wait)
{
	rye_blob_unref(wait->status);
	free(wait);
}

static void put(struct wait *wait)
{
	bool last = false;

	WITH_LOCK(&wait->waits->lock)
		last = drop_ref(wait);
	if (last)
		free_wait(wait);
}

static void answer(struct parked *parked, const struct rye_blob *status, const struct stat *st)
{
	while (parked) {
		struct parked *next = parked->next;

		fuse_req_interrupt_func(parked->req, NULL, NULL);
		if (!status)
			reply_errno(parked->req, EINTR);
		else if (parked->read)
			reply_blob(parked->req, status, parked->off, parked->size);
		else
			reply_attr(parked->req, st, 0);
		free(parked);
		parked = next;
	}
}

/* On an engine thread, once per rye_thread_wait. */
static void on_status(void *arg, const struct rye_outcome *outcome)
{
	struct wait *wait = arg;
	struct parked *parked = NULL;
	struct rye_blob *status = NULL;
	struct rye_call *call = NULL;
	struct stat st;

	WITH_LOCK(&wait->waits->lock) {
		if (outcome->code == RYE_OK && !wait->status) {
			wait->status = rye_blob_ref(outcome->reply);
			wait->st.st_size = (off_t)wait->status->len;
		}
		wait->asked = false;
		parked = wait->parked;
		wait->parked = NULL;
		call = wait->call;
		wait->call = NULL;
		status = rye_blob_ref(wait->status);
		st = wait->st;
	}
	answer(parked, status, &st);
	rye_blob_unref(status);
	rye_call_unref(call);
	put(wait);
}

/* May be told before rye_thread_wait returns: then the call is given back here. */
static void ask(struct wait *wait)
{
	struct rye_listener who = { .fn = on_status, .arg = wait };
	struct rye_outcome none = { .code = RYE_IO };
	struct rye_call *call = NULL;
	struct rye_err err;
	bool keep = false;

	if (rye_thread_wait(wait->front->rye, wait->id, &who, &call, &err)) {
		on_status(wait, &none);
		return;
	}
	WITH_LOCK(&wait->waits->lock) {
		keep = wait->asked;
		if (keep)
			wait->call = call;
	}
	if (!keep)
		rye_call_unref(call);
}

/* In a FUSE thread that holds the request's lock: only leave word. */
static void on_interrupt(fuse_req_t req, void *arg)
{
	struct parked *parked = arg;

	parked->interrupted = true;
	lookout_poke(parked->waits->lookout);
}

static void park(fuse_req_t req, struct node *node, const struct parked *what)
{
	struct wait *wait = node->data;
	struct waits *waits = wait->waits;
	struct parked *parked = malloc(sizeof(*parked));
	struct rye_blob *status = NULL;
	bool first = false, late = false;

	if (!parked) {
		reply_errno(req, ENOMEM);
		return;
	}
	*parked = *what;
	parked->waits = waits;
	parked->req = req;
	parked->tid = fuse_req_ctx(req)->pid;
	parked->next = NULL;
	/* Before queueing: from then on anybody may answer it. */
	fuse_req_interrupt_func(req, on_interrupt, parked);
	WITH_LOCK(&waits->lock) {
		status = rye_blob_ref(wait->status);
		if (!status) {
			/* interrupted before it could be found */
			late = parked->interrupted;
			parked->next = wait->parked;
			wait->parked = parked;
			first = !wait->asked;
			wait->asked = true;
			wait->refs += first;
		}
	}
	if (status) {
		answer(parked, status, &wait->st);
		rye_blob_unref(status);
		return;
	}
	if (late)
		lookout_poke(waits->lookout);
	if (first)
		ask(wait);
}

static void wait_getattr(fuse_req_t req, struct node *node, bool by_handle)
{
	struct wait *wait = node->data;
	struct parked what = { .read = false };
	struct stat st;

	if (by_handle) {
		park(req, node, &what);
		return;
	}
	WITH_LOCK(&wait->waits->lock)
		st = wait->st;
	reply_attr(req, &st, 0);
}

static void wait_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	struct parked what = { .read = true, .size = size, .off = off };

	park(req, node, &what);
}

/* The kernel holds no reference any more, so nothing is parked and nobody needs the answer. */
static void wait_drop(void *data)
{
	struct wait *wait = data;
	struct rye_call *call = NULL;

	WITH_LOCK(&wait->waits->lock) {
		call = wait->call;
		wait->call = NULL;
	}
	if (call)
		rye_call_cancel(call, RYE_CANCELLED);
	rye_call_unref(call);
	put(wait);
}

static const struct node_class wait_class = {
	.name = "wait",
	.getattr = wait_getattr,
	.read = wait_read,
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
	wait->waits = front->waits;
	wait->refs = 1;
	memcpy(wait->id, name->id, n);
	WITH_LOCK(&wait->waits->lock) {
		wait->next = wait->waits->list;
		wait->waits->list = wait;
	}
	node = node_make(front->nodes, &want);
	if (!node)
		return ENOMEM;
	node_stat(front, node, &wait->st);
	node_entry(front, node, 0, ret);
	ret->attr_timeout = 0;
	return 0;
}

/* ---- interrupted readers ---- */

/* Lock held. Takes the readers out that a deadly signal has hit; says whether any is left. */
static struct parked *take_killed(struct waits *waits, bool *ret_left)
{
	struct parked *killed = NULL;

	for (struct wait *wait = waits->list; wait; wait = wait->next)
		for (struct parked **at = &wait->parked; *at;) {
			struct parked *p = *at;

			if (p->interrupted && proc_interrupted(p->tid)) {
				*at = p->next;
				p->next = killed;
				killed = p;
				continue;
			}
			*ret_left |= p->interrupted;
			at = &p->next;
		}
	return killed;
}

static bool look(void *arg)
{
	struct waits *waits = arg;
	struct parked *killed = NULL;
	bool left = false;

	WITH_LOCK(&waits->lock)
		killed = take_killed(waits, &left);
	answer(killed, NULL, NULL);
	return left;
}

int waits_open(struct waits **ret)
{
	struct waits *waits = calloc(1, sizeof(*waits));
	int r;

	if (!waits)
		return -ENOMEM;
	pthread_mutex_init(&waits->lock, NULL);
	r = lookout_open(look, waits, &waits->lookout);
	if (r)
		waits_free(waits);
	else
		*ret = waits;
	return r;
}

void waits_stop(struct waits *waits)
{
	struct parked *parked = NULL;

	if (!waits)
		return;
	lookout_stop(waits->lookout);
	WITH_LOCK(&waits->lock) {
		for (struct wait *wait = waits->list; wait; wait = wait->next)
			while (wait->parked) {
				struct parked *p = wait->parked;

				wait->parked = p->next;
				p->next = parked;
				parked = p;
			}
	}
	answer(parked, NULL, NULL);
}

void waits_free(struct waits *waits)
{
	if (!waits)
		return;
	lookout_free(waits->lookout);
	pthread_mutex_destroy(&waits->lock);
	free(waits);
}
