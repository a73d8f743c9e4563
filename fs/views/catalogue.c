/* SPDX-License-Identifier: MIT */
/*
 * catalogue.c - index.md and index.json in the root: the catalogue of the items.
 *
 * Owns the newest catalogue and the one worker that makes it. Nothing is made before a program
 * looks one of the two names up: that LOOKUP is parked until the worker is done, for the size is
 * told with the entry. A catalogue is kept until an item changes (the front's generation). One lock
 * for all of it, held neither while the catalogue is made nor while a request is answered. They are
 * not listed: `ls -l` of the root would wait for them.
 */
#include "views/views_inner.h"

#include "clock.h"
#include "core/enter.h"
#include "core/parking.h"
#include "core/reply.h"
#include "scope.h"
#include "views/views.h"

#include <errno.h>
#include <stdatomic.h>

/* Where the system tells of no changes, one is looked for after this. */
#define CATALOGUE_FRESH_NS NS_PER_S
/* What has changed while it was made is not waited for more often than this. */
#define CATALOGUE_TRIES 3

struct catalogues {
	struct front *front;
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_t worker;
	struct rye_catalogue pages; /* NULL: none was made */
	uint64_t generation; /* of the items that are in it */
	int64_t made_ns;
	struct timespec made;
	bool wanted, stopping;
	_Atomic int stop; /* give up: no request waits */
};

struct catalogue_ask {
	struct parked parked;
	enum tree_sort sort;
};

static bool items_are_watched(const struct catalogues *c)
{
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		if (rye_unwatched(c->front->rye, (enum rye_kind)kind, ""))
			return false;
	return true;
}

/* Lock held. */
static bool catalogue_is_fresh(const struct catalogues *c, bool watched)
{
	return c->pages.page && c->generation == atomic_load(&c->front->generation) &&
	       (watched || clock_ns() - c->made_ns < CATALOGUE_FRESH_NS);
}

/* Lock held. A new reference. */
static struct rye_blob *catalogue_page(const struct catalogues *c, enum tree_sort sort,
				       struct timespec *ret_made)
{
	*ret_made = c->made;
	return rye_blob_ref(sort == TREE_INDEX_JSON ? c->pages.data : c->pages.page);
}

/* blob is taken over; NULL: sys. */
static void catalogue_answer(fuse_req_t req, enum tree_sort sort, struct rye_blob *blob,
			     struct timespec made)
{
	struct front *front = front_of(req);
	struct tree_key key = { .sort = sort };
	struct content_file what = { .key = &key, .blob = blob, .mode = 0444, .mtime = made };
	struct fuse_entry_param entry = { 0 };
	int sys = enter_node(front, content_make(front, &what), 0, &entry);

	enter_reply(req, sys, &entry, NULL);
}

/* ---- requests ---- */

static void catalogue_leave(struct catalogue_ask *ask, int sys)
{
	struct catalogues *c = ask->parked.owner;
	fuse_req_t req = parked_leave(&ask->parked);
	struct rye_blob *blob = NULL;
	struct timespec made;

	if (!sys) {
		GUARD(&c->lock);
		blob = catalogue_page(c, ask->sort, &made);
	}
	if (blob)
		catalogue_answer(req, ask->sort, blob, made);
	else
		reply_errno(req, sys);
	parked_unref(&ask->parked);
}

/* The caller is being ended, or the mount goes. */
static void catalogue_wake(struct parked *parked, enum parked_why why)
{
	struct catalogues *c = parked->owner;

	if (!parking_take(parked))
		return;
	{
		GUARD(&c->lock);
		if (!parking_waits(parked->parking, c))
			c->stop = EINTR;
	}
	catalogue_leave((struct catalogue_ask *)parked, EINTR);
}

void catalogue_lookup(fuse_req_t req, enum tree_sort sort)
{
	static const struct parked_class class = { .wake = catalogue_wake };
	struct catalogues *c = front_of(req)->catalogues;
	struct catalogue_ask *ask = parked_new(c->front->parking, req, &class, c, sizeof(*ask));
	struct rye_blob *blob = NULL;
	struct timespec made;
	bool watched = items_are_watched(c), waits = false;

	if (!ask) {
		reply_errno(req, ENOMEM);
		return;
	}
	ask->sort = sort;
	{
		GUARD(&c->lock);
		if (catalogue_is_fresh(c, watched))
			blob = catalogue_page(c, sort, &made);
		else
			waits = parking_wait(&ask->parked, PARKED_NEVER);
		if (waits) {
			c->wanted = true;
			pthread_cond_signal(&c->more);
		}
	}
	if (waits)
		return;
	if (!blob) {
		catalogue_leave(ask, EINTR);
		return;
	}
	parked_leave(&ask->parked);
	catalogue_answer(req, sort, blob, made);
	parked_unref(&ask->parked);
}

/* ---- the worker ---- */

/* False: the end. */
static bool catalogue_await(struct catalogues *c)
{
	GUARD(&c->lock);
	while (!c->wanted && !c->stopping)
		pthread_cond_wait(&c->more, &c->lock);
	c->stop = c->stopping ? EINTR : 0;
	return !c->stopping;
}

static int catalogue_make(struct catalogues *c)
{
	struct rye_catalogue pages, old;
	struct rye_err err;
	uint64_t generation = atomic_load(&c->front->generation);

	/* this thread alone replaces c->pages */
	if (rye_catalogue(c->front->rye, &c->stop, c->pages.page ? &c->pages : NULL, &pages, &err))
		return rye_code_errno(err.code) ? rye_code_errno(err.code) : EIO;
	{
		GUARD(&c->lock);
		old = c->pages;
		c->pages = pages;
		c->generation = generation;
		c->made_ns = clock_ns();
		clock_gettime(CLOCK_REALTIME, &c->made);
	}
	rye_catalogue_done(&old);
	return generation == atomic_load(&c->front->generation) ? 0 : EAGAIN;
}

/* Lock held. The requests to be answered; NULL: none, or some that came while it was given up. */
static struct parked *catalogue_finish(struct catalogues *c, bool given_up)
{
	struct parking *parking = c->front->parking;

	if (given_up && !c->stopping && parking_waits(parking, c))
		return NULL;
	c->wanted = false;
	return parking_take_all(parking, c);
}

static void *catalogue_work(void *arg)
{
	struct catalogues *c = arg;

	while (catalogue_await(c)) {
		struct parked *parked = NULL, *next;
		int sys = EAGAIN;

		for (int i = 0; i < CATALOGUE_TRIES && sys == EAGAIN; i++)
			sys = catalogue_make(c);
		{
			GUARD(&c->lock);
			parked = catalogue_finish(c, sys && sys != EAGAIN && c->stop);
		}
		for (; parked; parked = next) {
			next = parked->next;
			catalogue_leave((struct catalogue_ask *)parked, sys == EAGAIN ? 0 : sys);
		}
	}
	return NULL;
}

/* ---- opening and closing ---- */

int catalogues_open(struct front *front, struct catalogues **ret)
{
	struct catalogues *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->front = front;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->more, NULL);
	r = -pthread_create(&c->worker, NULL, catalogue_work, c);
	if (r)
		catalogues_free(c);
	else
		*ret = c;
	return r;
}

void catalogues_stop(struct catalogues *c)
{
	if (!c)
		return;
	{
		GUARD(&c->lock);
		c->stopping = true;
		c->stop = EINTR;
		pthread_cond_signal(&c->more);
	}
	pthread_join(c->worker, NULL);
}

void catalogues_free(struct catalogues *c)
{
	if (!c)
		return;
	rye_catalogue_done(&c->pages);
	pthread_cond_destroy(&c->more);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
