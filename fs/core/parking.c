/* SPDX-License-Identifier: MIT */
/*
 * parking.c - one list of the requests that wait, one thread that wakes them.
 *
 * The thread takes one request at a time out of the list's front and puts it at its end, so that
 * it can look into /proc and wake an owner without the lock; a reference keeps the request's
 * memory meanwhile. libfuse calls on_interrupt with its lock of the request held.
 */
#include "core/parking.h"

#include "clock.h"
#include "proc.h"
#include "scope.h"

#include <errno.h>

/* The kernel tells of the first signal only: look again this often. */
#define RELOOK_NS (100 * NS_PER_MS)
/* The look at one of which the kernel may not have told is for those that wait long: most do not. */
#define UNSEEN_NS (20 * NS_PER_MS)
#define SWEEP_NS (30 * NS_PER_S)

TAILQ_HEAD(parked_list, parked);

struct parking {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t poke;
	struct parked_list list; /* the lock's, like all that follows */
	void (*sweep)(void *arg); /* may be NULL */
	void *arg;
	int64_t wake_ns; /* the thread sleeps until then; 0: it is awake and will look */
	int64_t sweep_ns;
	bool closed;
	bool looks_once;
};

/* ---- the thread ---- */

/* Lock held. The time (monotonic ns) at which the thread has to look at this request. */
static int64_t parked_turn(const struct parked *parked)
{
	if (parked->parking->closed)
		return parked->told ? PARKED_NEVER : 0;
	if ((parked->interrupted || parked->unseen) && !parked->ended)
		return MIN_OF(parked->look_ns, parked->due_ns);
	return parked->due_ns;
}

/* Lock held. Why the request's turn has come; notes it, so that its next turn has another reason,
 * or for an interrupted one comes RELOOK_NS later. */
static enum parked_why parked_reason(struct parked *parked, int64_t now)
{
	if (parked->parking->closed) {
		parked->told = true;
		return PARKED_CLOSED;
	}
	if (parked->due_ns <= now) {
		parked->due_ns = PARKED_NEVER;
		return PARKED_DUE;
	}
	parked->look_ns = now + RELOOK_NS;
	parked->unseen = false;
	return PARKED_ENDED;
}

/* Lock held. A request whose turn it is, with a reference; NULL: *ret_next says when. */
static struct parked *pick_parked(struct parking *parking, int64_t now, int64_t *ret_next)
{
	struct parked *parked;

	TAILQ_FOREACH(parked, &parking->list, link) {
		int64_t turn = parked_turn(parked);

		if (turn <= now) {
			TAILQ_REMOVE(&parking->list, parked, link);
			TAILQ_INSERT_TAIL(&parking->list, parked, link);
			parked->refs++;
			return parked;
		}
		*ret_next = MIN_OF(*ret_next, turn);
	}
	return NULL;
}

static void parking_sleep_until(struct parking *parking, int64_t end)
{
	parking->wake_ns = end;
	clock_cond_wait(&parking->poke, &parking->lock, end);
	parking->wake_ns = 0;
}

struct turn {
	struct parked *parked; /* a reference; NULL: sweep */
	enum parked_why why;
	void (*sweep)(void *arg); /* may be NULL */
	void *arg;
};

/* Sleeps until there is something to do; false: the parking is closed and all were told. */
static bool await_turn(struct parking *parking, struct turn *ret)
{
	GUARD(&parking->lock);
	for (;;) {
		int64_t now = clock_ns(), next = parking->sweep_ns;

		ret->parked = pick_parked(parking, now, &next);
		if (ret->parked) {
			ret->why = parked_reason(ret->parked, now);
			return true;
		}
		if (parking->closed)
			return false;
		if (now >= parking->sweep_ns) {
			parking->sweep_ns = now + SWEEP_NS;
			ret->sweep = parking->sweep;
			ret->arg = parking->arg;
			return true;
		}
		parking_sleep_until(parking, next);
	}
	return false;
}

static void take_turn(const struct turn *turn)
{
	struct parked *parked = turn->parked;

	if (turn->why == PARKED_ENDED) {
		parked->ended = proc_interrupted(parked->tid);
		/* one that does not end it now may be followed by one of which the kernel says as little */
		if (!parked->interrupted && proc_signalled(parked->tid))
			parked->interrupted = true;
	}
	if (turn->why != PARKED_ENDED || parked->ended)
		parked->class->wake(parked, turn->why);
	parked_unref(parked);
}

static void *parking_thread(void *arg)
{
	struct parking *parking = arg;
	struct turn turn;

	while (await_turn(parking, &turn))
		if (turn.parked)
			take_turn(&turn);
		else if (turn.sweep)
			turn.sweep(turn.arg);
	return NULL;
}

int parking_open(struct parking **ret)
{
	struct parking *parking = calloc(1, sizeof(*parking));
	int r;

	if (!parking)
		return -ENOMEM;
	parking->sweep_ns = clock_ns() + SWEEP_NS;
	TAILQ_INIT(&parking->list);
	pthread_mutex_init(&parking->lock, NULL);
	clock_cond_init(&parking->poke);
	r = pthread_create(&parking->thread, NULL, parking_thread, parking);
	if (r)
		parking_free(parking);
	else
		*ret = parking;
	return -r;
}

void parking_look_once(struct parking *parking)
{
	GUARD(&parking->lock);
	parking->looks_once = true;
}

void parking_sweep(struct parking *parking, void (*sweep)(void *arg), void *arg)
{
	GUARD(&parking->lock);
	parking->sweep = sweep;
	parking->arg = arg;
}

void parking_sweep_by(struct parking *parking, int64_t due_ns)
{
	GUARD(&parking->lock);
	parking->sweep_ns = MIN_OF(parking->sweep_ns, due_ns);
	if (due_ns < parking->wake_ns)
		pthread_cond_signal(&parking->poke);
}

void parking_close(struct parking *parking)
{
	if (!parking)
		return;
	{
		GUARD(&parking->lock);
		parking->closed = true;
		pthread_cond_signal(&parking->poke);
	}
	pthread_join(parking->thread, NULL);
}

void parking_free(struct parking *parking)
{
	if (!parking)
		return;
	pthread_cond_destroy(&parking->poke);
	pthread_mutex_destroy(&parking->lock);
	free(parking);
}

/* ---- one request ---- */

void *parked_new(struct parking *parking, fuse_req_t req, const struct parked_class *class,
		 void *owner, size_t size)
{
	struct parked *parked = calloc(1, size);

	if (!parked)
		return NULL;
	parked->req = req;
	parked->owner = owner;
	parked->class = class;
	parked->parking = parking;
	parked->tid = fuse_req_ctx(req)->pid;
	parked->refs = 1;
	parked->due_ns = PARKED_NEVER;
	return parked;
}

void parked_unref(struct parked *parked)
{
	if (!parked || --parked->refs > 0)
		return;
	if (parked->class->done)
		parked->class->done(parked);
	free(parked);
}

/* On the FUSE thread that reads the INTERRUPT; libfuse holds its lock of the request. Only sets a
 * flag and wakes the parking thread. */
static void on_interrupt(fuse_req_t req, void *arg)
{
	struct parked *parked = arg;

	parked->interrupted = true;
	GUARD(&parked->parking->lock);
	pthread_cond_signal(&parked->parking->poke);
}

static void hook_interrupt(struct parked *parked, bool on)
{
	if (parked->hooked == on)
		return;
	parked->hooked = on;
	fuse_req_interrupt_func(parked->req, on ? on_interrupt : NULL, on ? parked : NULL);
}

bool parking_wait(struct parked *parked, int64_t due_ns)
{
	struct parking *parking = parked->parking;
	bool closed = false;

	/* first: from when it is in the list, another thread may answer it */
	hook_interrupt(parked, true);
	GUARD(&parking->lock);
	closed = parking->closed;
	parked->due_ns = due_ns;
	if (!parked->there && !closed) {
		TAILQ_INSERT_TAIL(&parking->list, parked, link);
		parked->there = true;
		parked->unseen = parking->looks_once;
		parked->look_ns = parked->unseen ? clock_ns() + UNSEEN_NS : 0;
	}
	/* the INTERRUPT may have come before the request was in the list */
	if (parked->interrupted || parked_turn(parked) < parking->wake_ns)
		pthread_cond_signal(&parking->poke);
	return !closed;
}

/* Lock held. */
static void parking_unlist(struct parked *parked)
{
	TAILQ_REMOVE(&parked->parking->list, parked, link);
	parked->there = false;
}

bool parking_take(struct parked *parked)
{
	bool was = false;

	GUARD(&parked->parking->lock);
	was = parked->there;
	if (was)
		parking_unlist(parked);
	return was;
}

struct parked *parking_take_all(struct parking *parking, const void *owner)
{
	struct parked *taken = NULL, *next;

	GUARD(&parking->lock);
	for (struct parked *parked = TAILQ_FIRST(&parking->list); parked; parked = next) {
		next = TAILQ_NEXT(parked, link);
		if (parked->owner != owner)
			continue;
		parking_unlist(parked);
		parked->next = taken;
		taken = parked;
	}
	return taken;
}

bool parking_waits(struct parking *parking, const void *owner)
{
	struct parked *parked;

	GUARD(&parking->lock);
	TAILQ_FOREACH(parked, &parking->list, link)
		if (parked->owner == owner)
			return true;
	return false;
}

fuse_req_t parked_leave(struct parked *parked)
{
	parking_take(parked);
	hook_interrupt(parked, false);
	return parked->req;
}
