/* SPDX-License-Identifier: MIT */
/*
 * threads_wait.c - `wait`: blocks a reader until its thread has ended, then says the status.
 *
 * Owns the parked requests. stat never blocks: until the end the size is a fake page; a
 * GETATTR through a descriptor and a READ are parked, both, because some readers ask the size
 * first and some read first (no-open 4). One lock for all `wait` nodes of a mount; never held
 * across a reply or a call into the engine. An interrupted reader is looked at every 100 ms,
 * because the kernel says only once that some signal came, not which.
 */
#include "threads_part.h"

#include "auto.h"
#include "caller.h"
#include "enter.h"
#include "proc.h"
#include "reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_SIZE 4096
#define LOOK_MS 100

struct parked {
	struct parked *next;
	fuse_req_t req;
	pid_t tid;
	bool read, interrupted;
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
	pthread_cond_t changed;
	pthread_t worker;
	struct wait *list;
	bool interrupts, stopping;
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

static void on_interrupt(fuse_req_t req, void *arg)
{
	struct wait *wait = arg;

	WITH_LOCK(&wait->waits->lock) {
		for (struct parked *p = wait->parked; p; p = p->next)
			if (p->req == req)
				p->interrupted = wait->waits->interrupts = true;
		pthread_cond_signal(&wait->waits->changed);
	}
}

static void park(fuse_req_t req, struct node *node, const struct parked *what)
{
	struct wait *wait = node->data;
	struct parked *parked = malloc(sizeof(*parked));
	struct rye_blob *status = NULL;
	bool first = false;

	if (!parked) {
		reply_errno(req, ENOMEM);
		return;
	}
	*parked = *what;
	parked->req = req;
	parked->tid = fuse_req_ctx(req)->pid;
	parked->next = NULL;
	WITH_LOCK(&wait->waits->lock) {
		status = rye_blob_ref(wait->status);
		if (!status) {
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
	/* After queueing: libfuse calls it at once when the interrupt came before. */
	fuse_req_interrupt_func(req, on_interrupt, wait);
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

/* ---- the worker ---- */

/* Lock held. Takes the readers out that a deadly signal has hit; says whether any is left. */
static struct parked *take_killed(struct waits *waits)
{
	struct parked *killed = NULL;

	waits->interrupts = false;
	for (struct wait *wait = waits->list; wait; wait = wait->next)
		for (struct parked **at = &wait->parked; *at;) {
			struct parked *p = *at;

			if (p->interrupted && proc_interrupted(p->tid)) {
				*at = p->next;
				p->next = killed;
				killed = p;
				continue;
			}
			waits->interrupts |= p->interrupted;
			at = &p->next;
		}
	return killed;
}

static void *work(void *arg)
{
	struct waits *waits = arg;
	bool stop = false;

	while (!stop) {
		struct parked *killed = NULL;
		struct timespec until;

		WITH_LOCK(&waits->lock) {
			while (!waits->stopping && !waits->interrupts)
				pthread_cond_wait(&waits->changed, &waits->lock);
			killed = take_killed(waits);
			stop = waits->stopping;
		}
		answer(killed, NULL, NULL);
		if (stop)
			break;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		WITH_LOCK(&waits->lock)
			if (waits->interrupts && !waits->stopping)
				pthread_cond_timedwait(&waits->changed, &waits->lock, &until);
	}
	return NULL;
}

int waits_open(struct waits **ret)
{
	struct waits *waits = calloc(1, sizeof(*waits));

	if (!waits)
		return -ENOMEM;
	pthread_mutex_init(&waits->lock, NULL);
	pthread_cond_init(&waits->changed, NULL);
	if (pthread_create(&waits->worker, NULL, work, waits)) {
		free(waits);
		return -EAGAIN;
	}
	*ret = waits;
	return 0;
}

void waits_stop(struct waits *waits)
{
	struct parked *parked = NULL;

	if (!waits)
		return;
	WITH_LOCK(&waits->lock) {
		waits->stopping = true;
		for (struct wait *wait = waits->list; wait; wait = wait->next)
			while (wait->parked) {
				struct parked *p = wait->parked;

				wait->parked = p->next;
				p->next = parked;
				parked = p;
			}
		pthread_cond_signal(&waits->changed);
	}
	pthread_join(waits->worker, NULL);
	answer(parked, NULL, NULL);
}

void waits_free(struct waits *waits)
{
	if (!waits)
		return;
	pthread_cond_destroy(&waits->changed);
	pthread_mutex_destroy(&waits->lock);
	free(waits);
}
