/* SPDX-License-Identifier: MIT */
/*
 * search_work.c - the worker that searches while requests wait.
 *
 * Owns the results of all queries that the kernel holds a directory of and the one worker that
 * makes them, one after the other: what the first search reads the next one needs, too. A search
 * that no request waits for any longer is given up. One lock for all of it, never held while
 * searching or answering; requests are parked under it, so that results cannot come in between.
 * Results are constant once they are made.
 */
#include "views/views.h"

#include "core/parking.h"
#include "core/reply.h"
#include "scope.h"

#include <errno.h>
#include <string.h>

/* Hits of a query: a listing stays on a few screens. */
#define HITS_MAX 100

struct hit {
	char *name, *target;
};

struct searcher {
	struct parked parked;
	struct search_query_ask ask; /* a reference to its dir; its name is in text */
	char text[];
};

struct results {
	struct results *next; /* of the queue */
	struct searches *searches;
	unsigned refs; /* the node's, and the worker's from queueing on */
	bool queued, made;
	_Atomic int stop; /* give up: no request waits */
	size_t n;
	struct hit hits[HITS_MAX];
	char query[];
};

struct searches {
	struct front *front;
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_t worker;
	struct results *queue; /* the first is the one being made */
	bool stopping;
};

/* ---- results ---- */

struct results *results_new(struct searches *searches, const char *query)
{
	size_t n = strlen(query) + 1;
	struct results *results = calloc(1, sizeof(*results) + n);

	if (!results)
		return NULL;
	results->searches = searches;
	results->refs = 1;
	memcpy(results->query, query, n);
	return results;
}

static void search_work_clear(struct results *results)
{
	for (size_t i = 0; i < results->n; i++) {
		free(results->hits[i].name);
		free(results->hits[i].target);
	}
	results->n = 0;
}

static void search_work_put(struct results *results)
{
	bool last = false;

	{
		GUARD(&results->searches->lock);
		last = --results->refs == 0;
	}
	if (!last)
		return;
	search_work_clear(results);
	free(results);
}

/* Nothing is parked: a parked request holds the node. */
void results_drop(void *data)
{
	struct results *results = data;

	results->stop = ECANCELED;
	search_work_put(results);
}

size_t results_count(const struct results *results)
{
	return results->n;
}

const char *results_name(const struct results *results, size_t i)
{
	return results->hits[i].name;
}

const char *results_target(const struct results *results, size_t i)
{
	return results->hits[i].target;
}

static int on_hit(void *arg, const struct rye_hit *hit)
{
	struct results *results = arg;
	struct hit *mine = &results->hits[results->n];
	const char *slash = strrchr(hit->id, '/');
	char name[256], target[2048];

	/* a link that leads nowhere helps no caller */
	if (rye_kind_has(hit->kind, RYE_KIND_MANIFEST) &&
	    results->searches->front->opt->skills == RYE_OFFER_NONE)
		return 0;
	if (!search_name(results->n + 1, hit->kind, hit->id, name))
		return 0;
	snprintf(target, sizeof(target), "../../%s/%.*s%s", rye_kind_dir(hit->kind),
		 slash ? (int)(slash + 1 - hit->id) : 0, hit->id, hit->name);
	mine->name = strdup(name);
	mine->target = strdup(target);
	if (!mine->name || !mine->target) {
		free(mine->name);
		free(mine->target);
		return 1;
	}
	results->n++;
	return results->n == HITS_MAX;
}

/* ---- requests ---- */

/* sys 0: the results are there. */
static void answer_searcher(struct searcher *searcher, int sys)
{
	fuse_req_t req = parked_leave(&searcher->parked);

	if (sys)
		reply_errno(req, sys);
	else
		search_answer(&searcher->ask);
	parked_unref(&searcher->parked);
}

static void searcher_done(struct parked *parked)
{
	node_unref(((struct searcher *)parked)->ask.dir);
}

/* The caller is being ended, or the mount goes. The request holds the results' node. */
static void wake_searcher(struct parked *parked, enum parked_why why)
{
	struct results *results = parked->owner;

	if (!parking_take(parked))
		return;
	{
		GUARD(&results->searches->lock);
		if (results->queued && !parking_waits(parked->parking, results))
			results->stop = EINTR;
	}
	answer_searcher((struct searcher *)parked, EINTR);
}

static struct searcher *searcher_new(struct results *results, const struct search_query_ask *ask)
{
	static const struct parked_class class = { .wake = wake_searcher, .done = searcher_done };
	size_t n = ask->name ? strlen(ask->name) + 1 : 0;
	struct searcher *searcher = parked_new(results->searches->front->parking, ask->req, &class,
					       results, sizeof(*searcher) + n);

	if (!searcher)
		return NULL;
	searcher->ask = *ask;
	searcher->ask.dir = node_ref(ask->dir);
	if (n)
		searcher->ask.name = memcpy(searcher->text, ask->name, n);
	return searcher;
}

/* Lock held. */
static void search_work_enqueue(struct searches *searches, struct results *results)
{
	struct results **at = &searches->queue;

	while (*at)
		at = &(*at)->next;
	*at = results;
	results->next = NULL;
	results->queued = true;
	results->refs++;
	pthread_cond_signal(&searches->more);
}

enum fate { MADE, WAITS, REFUSED };

/* Lock held. Unless it waits, the request is still the caller's to answer. */
static enum fate park_searcher(struct results *results, struct searcher *searcher)
{
	if (results->made)
		return MADE;
	if (!parking_wait(&searcher->parked, PARKED_NEVER))
		return REFUSED;
	if (!results->queued)
		search_work_enqueue(results->searches, results);
	return WAITS;
}

void results_ask(struct results *results, const struct search_query_ask *ask)
{
	struct searches *searches = results->searches;
	struct searcher *searcher;
	enum fate fate = WAITS;
	bool made = false;

	{
		GUARD(&searches->lock);
		made = results->made;
	}
	if (made) {
		search_answer(ask);
		return;
	}
	searcher = searcher_new(results, ask);
	if (!searcher) {
		reply_errno(ask->req, ENOMEM);
		return;
	}
	{
		GUARD(&searches->lock);
		fate = park_searcher(results, searcher);
	}
	if (fate != WAITS)
		answer_searcher(searcher, fate == MADE ? 0 : EINTR);
}

/* ---- the worker ---- */

/* Lock held. The first of the queue, which stays there until it is made; NULL: the end. */
static struct results *next_wanted(struct searches *searches)
{
	while (!searches->queue && !searches->stopping)
		pthread_cond_wait(&searches->more, &searches->lock);
	return searches->stopping ? NULL : searches->queue;
}

static int run_search(struct searches *searches, struct results *results)
{
	struct rye_query query = { results->query, HITS_MAX, on_hit, results, &results->stop };
	struct rye_err err;

	return rye_search(searches->front->rye, &query, &err) ? rye_code_errno(err.code) : 0;
}

/* Lock held. *ret: the requests to be answered. True: the search was given up, but requests have
 * come since, and the worker makes it again. */
static bool search_work_finish(struct results *results, int sys, struct parked **ret)
{
	struct searches *searches = results->searches;
	struct parking *parking = searches->front->parking;

	if (sys && results->stop && !searches->stopping && parking_waits(parking, results)) {
		results->stop = 0;
		return true;
	}
	results->stop = 0;
	results->made = !sys;
	results->queued = false;
	*ret = parking_take_all(parking, results);
	searches->queue = results->next;
	return false;
}

static void search_work_make(struct searches *searches, struct results *results)
{
	struct parked *parked = NULL, *next;
	bool again = true;
	int sys = 0;

	while (again) {
		search_work_clear(results);
		sys = run_search(searches, results);
		GUARD(&searches->lock);
		again = search_work_finish(results, sys, &parked);
	}
	for (; parked; parked = next) {
		next = parked->next;
		answer_searcher((struct searcher *)parked, sys);
	}
}

static void *search_work(void *arg)
{
	struct searches *searches = arg;
	struct results *results = NULL;

	for (;;) {
		{
			GUARD(&searches->lock);
			results = next_wanted(searches);
		}
		if (!results)
			return NULL;
		search_work_make(searches, results);
		search_work_put(results);
	}
}

/* ---- opening and closing ---- */

int searches_open(struct front *front, struct searches **ret)
{
	struct searches *searches = calloc(1, sizeof(*searches));
	int r;

	if (!searches)
		return -ENOMEM;
	searches->front = front;
	pthread_mutex_init(&searches->lock, NULL);
	pthread_cond_init(&searches->more, NULL);
	r = -pthread_create(&searches->worker, NULL, search_work, searches);
	if (r)
		searches_free(searches);
	else
		*ret = searches;
	return r;
}

void searches_stop(struct searches *searches)
{
	if (!searches)
		return;
	{
		GUARD(&searches->lock);
		searches->stopping = true;
		for (struct results *r = searches->queue; r; r = r->next)
			r->stop = EINTR;
		pthread_cond_signal(&searches->more);
	}
	pthread_join(searches->worker, NULL);
	/* The queries that the worker has not made: their references are given back here. */
	for (struct results *r = searches->queue, *next; r; r = next) {
		next = r->next;
		search_work_put(r);
	}
	searches->queue = NULL;
}

void searches_free(struct searches *searches)
{
	if (!searches)
		return;
	pthread_cond_destroy(&searches->more);
	pthread_mutex_destroy(&searches->lock);
	free(searches);
}
