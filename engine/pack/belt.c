/* SPDX-License-Identifier: MIT */
/*
 * A belt: a thread that does something to things one after the other, beside the thread that puts them on.
 * What waits is bounded in bytes: a thread that puts more waits. Where no thread can be had, each thing is done as it is
 * put. `lock` guards what waits and how the last one went; nothing is done to a thing under it.
 */
#include "pack/pack.h"

#include "scope.h"

struct belt_thing {
	struct belt_thing *next;
	void *what;
	size_t bytes;
};

struct belt {
	struct belt_ask ask;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t turn;
	struct belt_thing *first, **last;
	size_t bytes; /* that wait */
	bool busy, ended;
	int r; /* of the first that failed; those behind it are not done */
	struct rye_err why;
};

/* NULL: it has ended. */
static struct belt_thing *belt_next(struct belt *belt)
{
	struct belt_thing *thing;
	GUARD(&belt->lock);

	belt->busy = false;
	pthread_cond_broadcast(&belt->turn);
	while (!belt->first && !belt->ended)
		pthread_cond_wait(&belt->turn, &belt->lock);
	thing = belt->ended ? NULL : belt->first;
	if (!thing)
		return NULL;
	belt->first = thing->next;
	if (!belt->first)
		belt->last = &belt->first;
	belt->bytes -= thing->bytes;
	belt->busy = true;
	pthread_cond_broadcast(&belt->turn);
	return thing;
}

static int belt_state(struct belt *belt, struct rye_err *err)
{
	GUARD(&belt->lock);

	if (belt->r && err)
		*err = belt->why;
	return belt->r;
}

static void belt_failed(struct belt *belt, int r, const struct rye_err *why)
{
	GUARD(&belt->lock);

	belt->r = r;
	belt->why = *why;
}

static void belt_do(struct belt *belt, void *what)
{
	struct rye_err why = { 0 };
	int r = belt_state(belt, NULL) ? 0 : belt->ask.fn(belt->ask.arg, what, &why);

	if (r)
		belt_failed(belt, r, &why);
	belt->ask.drop(what);
}

static void *belt_main(void *arg)
{
	struct belt *belt = arg;
	struct belt_thing *thing;

	while ((thing = belt_next(belt))) {
		belt_do(belt, thing->what);
		free(thing);
	}
	return NULL;
}

struct belt *belt_new(const struct belt_ask *ask)
{
	struct belt *belt = calloc(1, sizeof(*belt));

	if (!belt)
		return NULL;
	belt->ask = *ask;
	belt->last = &belt->first;
	pthread_mutex_init(&belt->lock, NULL);
	pthread_cond_init(&belt->turn, NULL);
	{
		HOLD_SIGNALS();
		belt->started = !pthread_create(&belt->thread, NULL, belt_main, belt);
	}
	return belt;
}

static bool belt_hang(struct belt *belt, void *what, size_t bytes)
{
	struct belt_thing *thing = calloc(1, sizeof(*thing));

	if (!thing)
		return false;
	thing->what = what;
	thing->bytes = bytes;
	GUARD(&belt->lock);
	while (belt->first && belt->bytes + bytes > belt->ask.most && !belt->r)
		pthread_cond_wait(&belt->turn, &belt->lock);
	*belt->last = thing;
	belt->last = &thing->next;
	belt->bytes += bytes;
	pthread_cond_broadcast(&belt->turn);
	return true;
}

int belt_put(struct belt *belt, void *what, size_t bytes, struct rye_err *err)
{
	if (!belt->started) {
		belt_do(belt, what);
	} else if (!belt_hang(belt, what, bytes)) {
		belt->ask.drop(what);
		return rye_fail(err, RYE_IO, "push: out of memory");
	}
	return belt_state(belt, err);
}

int belt_drain(struct belt *belt, struct rye_err *err)
{
	GUARD(&belt->lock);

	while (belt->first || belt->busy)
		pthread_cond_wait(&belt->turn, &belt->lock);
	if (belt->r && err)
		*err = belt->why;
	return belt->r;
}

static void belt_end(struct belt *belt)
{
	GUARD(&belt->lock);

	belt->ended = true;
	pthread_cond_broadcast(&belt->turn);
}

void belt_free(struct belt *belt)
{
	if (!belt)
		return;
	belt_end(belt);
	if (belt->started)
		pthread_join(belt->thread, NULL);
	while (belt->first) {
		struct belt_thing *thing = belt->first;

		belt->first = thing->next;
		belt->ask.drop(thing->what);
		free(thing);
	}
	pthread_cond_destroy(&belt->turn);
	pthread_mutex_destroy(&belt->lock);
	free(belt);
}
