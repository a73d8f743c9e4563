/* SPDX-License-Identifier: MIT */
/*
 * search_work.c - who searches while requests wait.
 *
 * Owns the results of all queries that the kernel holds a directory of, the requests parked on
 * them and the one worker that makes them, one after the other: what the first search reads
 * the next one needs, too. A search that nobody waits for any longer is given up. One lock for
 * all of it, never held while searching or answering; results are constant once they are made.
 */
#include "search_dir.h"

#include "auto.h"
#include "lookout.h"
#include "proc.h"
#include "reply.h"

#include <errno.h>
#include <string.h>

/* Nobody reads further down; ls stays on a few screens. */
#define HITS_MAX 100

struct hit {
	char *name, *target;
};

struct parked {
	struct parked *next;
	struct searches *searches;
	struct search_ask ask; /* a reference to its dir; its name is in text */
	pid_t tid;
	_Atomic bool interrupted;
	char text[];
};

struct results {
	struct results *next; /* of the queue */
	struct searches *searches;
	struct parked *parked;
	unsigned refs; /* the node's, and the worker's from queueing on */
	bool queued, made;
	_Atomic int stop; /* give up: nobody waits */
	size_t n;
	struct hit hits[HITS_MAX];
	char query[];
};

struct searches {
	struct front *front;
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_t worker;
	struct lookout *lookout;
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

static void clear(struct results *results)
{
	for (size_t i = 0; i < results->n; i++) {
		free(results->hits[i].name);
		free(results->hits[i].target);
	}
	results->n = 0;
}

static void put(struct results *results)
{
	bool last = false;

	WITH_LOCK(&results->searches->lock)
		last = --results->refs == 0;
	if (!last)
		return;
	clear(results);
	free(results);
}

/* Nothing is parked: a parked request holds the node. */
void results_drop(void *data)
{
	struct results *results = data;

	results->stop = ECANCELED;
	put(results);
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
static void answer(struct parked *parked, int sys)
{
	while (parked) {
		struct parked *next = parked->next;
		struct node *dir = parked->ask.dir;

		fuse_req_interrupt_func(parked->ask.req, NULL, NULL);
		if (sys)
			reply_errno(parked->ask.req, sys);
		else
			search_answer(&parked->ask);
		free(parked);
		node_unref(dir);
		parked = next;
	}
}

/* In a FUSE thread that holds the request's lock: only leave word. */
static void on_interrupt(fuse_req_t req, void *arg)
{
	struct parked *parked = arg;

	parked->interrupted = true;
	lookout_poke(parked->searches->lookout);
}

static struct parked *parked_new(struct searches *searches, const struct search_ask *ask)
{
	size_t n = ask->name ? strlen(ask->name) + 1 : 0;
	struct parked *parked = calloc(1, sizeof(*parked) + n);

	if (!parked)
		return NULL;
	parked->searches = searches;
	parked->ask = *ask;
	parked->ask.dir = node_ref(ask->dir);
	parked->tid = fuse_req_ctx(ask->req)->pid;
	if (n)
		parked->ask.name = memcpy(parked->text, ask->name, n);
	return parked;
}

/* Lock held. */
static void enqueue(struct searches *searches, struct results *results)
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
static enum fate park(struct results *results, struct parked *parked, bool *ret_late)
{
	struct searches *searches = results->searches;

	if (results->made)
		return MADE;
	if (searches->stopping)
		return REFUSED;
	/* interrupted before anybody could find it */
	*ret_late = parked->interrupted;
	parked->next = results->parked;
	results->parked = parked;
	if (!results->queued)
		enqueue(searches, results);
	return WAITS;
}

void results_ask(struct results *results, const struct search_ask *ask)
{
	struct searches *searches = results->searches;
	struct parked *parked;
	enum fate fate = WAITS;
	bool made = false, late = false;

	WITH_LOCK(&searches->lock)
		made = results->made;
	if (made) {
		search_answer(ask);
		return;
	}
	parked = parked_new(searches, ask);
	if (!parked) {
		reply_errno(ask->req, ENOMEM);
		return;
	}
	/* Before it is parked: from then on anybody may answer it. */
	fuse_req_interrupt_func(ask->req, on_interrupt, parked);
	WITH_LOCK(&searches->lock)
		fate = park(results, parked, &late);
	if (fate != WAITS)
		answer(parked, fate == MADE ? 0 : EINTR);
	if (late)
		lookout_poke(searches->lookout);
}

/* ---- the worker ---- */

/* Lock held. The first of the queue, which stays there until it is made; NULL: the end. */
static struct results *next_wanted(struct searches *searches)
{
	while (!searches->queue && !searches->stopping)
		pthread_cond_wait(&searches->more, &searches->lock);
	return searches->stopping ? NULL : searches->queue;
}

static int search(struct searches *searches, struct results *results)
{
	struct rye_query query = { results->query, HITS_MAX, on_hit, results, &results->stop };
	struct rye_err err;

	return rye_search(searches->front->rye, &query, &err) ? rye_code_errno(err.code) : 0;
}

/* Lock held. Those to be answered; true: it is to be made again for those who came late. */
static bool finish(struct results *results, int sys, struct parked **ret)
{
	struct searches *searches = results->searches;

	if (sys && results->stop && results->parked && !searches->stopping) {
		results->stop = 0;
		return true;
	}
	results->stop = 0;
	results->made = !sys;
	results->queued = false;
	*ret = results->parked;
	results->parked = NULL;
	searches->queue = results->next;
	return false;
}

static void make(struct searches *searches, struct results *results)
{
	struct parked *parked = NULL;
	bool again = true;
	int sys = 0;

	while (again) {
		clear(results);
		sys = search(searches, results);
		WITH_LOCK(&searches->lock)
			again = finish(results, sys, &parked);
	}
	answer(parked, sys);
}

static void *work(void *arg)
{
	struct searches *searches = arg;
	struct results *results = NULL;

	for (;;) {
		WITH_LOCK(&searches->lock)
			results = next_wanted(searches);
		if (!results)
			return NULL;
		make(searches, results);
		put(results);
	}
}

/* ---- interrupted requests ---- */

/* Lock held. */
static struct parked *take_killed(struct results *results, struct parked *killed, bool *ret_left)
{
	for (struct parked **at = &results->parked; *at;) {
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
	if (!results->parked)
		results->stop = EINTR;
	return killed;
}

static bool look(void *arg)
{
	struct searches *searches = arg;
	struct parked *killed = NULL;
	bool left = false;

	WITH_LOCK(&searches->lock)
		for (struct results *r = searches->queue; r; r = r->next)
			killed = take_killed(r, killed, &left);
	answer(killed, EINTR);
	return left;
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
	r = lookout_open(look, searches, &searches->lookout);
	if (!r) {
		r = -pthread_create(&searches->worker, NULL, work, searches);
		if (r)
			lookout_stop(searches->lookout);
	}
	if (r)
		searches_free(searches);
	else
		*ret = searches;
	return r;
}

void searches_stop(struct searches *searches)
{
	struct parked *parked = NULL;

	if (!searches)
		return;
	WITH_LOCK(&searches->lock) {
		searches->stopping = true;
		for (struct results *r = searches->queue; r; r = r->next)
			r->stop = EINTR;
		pthread_cond_signal(&searches->more);
	}
	pthread_join(searches->worker, NULL);
	lookout_stop(searches->lookout);
	/* What the worker has not come to; its references are given back without it. */
	for (struct results *r = searches->queue, *next; r; r = next) {
		next = r->next;
		parked = steal(&r->parked);
		answer(parked, EINTR);
		put(r);
	}
	searches->queue = NULL;
}

void searches_free(struct searches *searches)
{
	if (!searches)
		return;
	lookout_free(searches->lookout);
	pthread_cond_destroy(&searches->more);
	pthread_mutex_destroy(&searches->lock);
	free(searches);
}
