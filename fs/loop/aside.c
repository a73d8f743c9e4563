/* SPDX-License-Identifier: MIT */
/*
 * aside.c - which threads read the device, whose task has a place, which tasks wait for one.
 *
 * A place that becomes free goes to the first kept task that fits, on the thread that gave it back:
 * so where a place is free, no kept task could take it, and a new task overtakes none of its lane.
 *
 * Lock: asides->lock. A thread is made, and tasks are run and kept, without it.
 */
#include "loop/loop_inner.h"

#include "scope.h"

#include <errno.h>

/* Threads that stay at the device. Measured: two are 1.3 to 2 times as fast as one; with a third each
 * request wakes one that has slept longer (stats.json 69 for 61 µs). */
#define READERS 2

/* Each group's places, and a lane's of them: several where one disk serves several requests. */
static const struct aside_bounds {
	unsigned group, lane;
} bounds[ASIDE_GROUP__MAX] = {
	[ASIDE_FILES] = { 24, 8 },  [ASIDE_ITEMS] = { 24, 8 }, [ASIDE_FACTS] = { 12, 2 },
	[ASIDE_THREADS] = { 4, 4 }, [ASIDE_WORDS] = { 16, 1 }, [ASIDE_VERBS] = { 8, 1 },
	[ASIDE_OWN] = { 4, 1 },
};
#define PLACES 24 /* of the largest group */

TAILQ_HEAD(aside_queue, aside_task);

struct aside_lanes {
	unsigned taken; /* places of the group */
	struct {
		uint64_t key;
		unsigned taken;
	} lane[PLACES]; /* those with a place taken */
	unsigned n;
	struct aside_queue queue; /* kept */
};

/* A thread that waits for a task of a ring's request (aside_help). */
struct aside_helper {
	pthread_cond_t call;
	struct aside_task *task; /* the lock's */
	TAILQ_ENTRY(aside_helper) link;
};

struct asides {
	pthread_mutex_t lock;
	pthread_cond_t call;
	struct aside_lanes groups[ASIDE_GROUP__MAX]; /* the lock's, like all that follows */
	int readers; /* threads at the device, or on their way to it */
	int spare; /* threads that wait to be called */
	int called; /* of those, not awake yet; they count as readers */
	/* that wait; the one that has waited shortest first */
	TAILQ_HEAD(aside_waiting, aside_helper) helpers;
	struct aside_queue handed; /* tasks with a place that no helper has yet */
	unsigned n_helpers;
	bool ended;
	aside_spawn_fn spawn;
	void *arg;
};

int asides_open(struct asides **ret)
{
	struct asides *asides = calloc(1, sizeof(*asides));

	if (!asides)
		return -ENOMEM;
	pthread_mutex_init(&asides->lock, NULL);
	pthread_cond_init(&asides->call, NULL);
	for (size_t i = 0; i < ASIDE_GROUP__MAX; i++)
		TAILQ_INIT(&asides->groups[i].queue);
	TAILQ_INIT(&asides->helpers);
	TAILQ_INIT(&asides->handed);
	*ret = asides;
	return 0;
}

void asides_spawn(struct asides *asides, aside_spawn_fn spawn, void *arg)
{
	GUARD(&asides->lock);
	asides->spawn = spawn;
	asides->arg = arg;
}

void aside_arrive(struct asides *asides)
{
	GUARD(&asides->lock);
	asides->readers++;
}

void asides_end(struct asides *asides)
{
	struct aside_helper *helper;

	GUARD(&asides->lock);
	asides->ended = true;
	pthread_cond_broadcast(&asides->call);
	TAILQ_FOREACH(helper, &asides->helpers, link)
		pthread_cond_signal(&helper->call);
}

void asides_free(struct asides *asides)
{
	if (!asides)
		return;
	pthread_cond_destroy(&asides->call);
	pthread_mutex_destroy(&asides->lock);
	free(asides);
}

/* ---- at the device ---- */

bool aside_serve(struct asides *asides)
{
	GUARD(&asides->lock);
	if (asides->readers <= READERS)
		return !asides->ended;
	asides->readers--;
	asides->spare++;
	while (!asides->called && !asides->ended)
		pthread_cond_wait(&asides->call, &asides->lock);
	if (asides->called)
		asides->called--;
	return !asides->ended;
}

/* Lock held. True: the caller of this function has to make a thread. */
static bool call_reader(struct asides *asides)
{
	if (asides->readers > 0 || asides->ended || !asides->spawn)
		return false;
	asides->readers++;
	if (!asides->spare)
		return true;
	asides->spare--;
	asides->called++;
	pthread_cond_signal(&asides->call);
	return false;
}

/* ---- places ---- */

/* Lock held. */
static bool aside_take(struct asides *asides, const struct aside_lane *lane)
{
	struct aside_lanes *group = &asides->groups[lane->group];
	unsigned i = 0;

	if (group->taken == bounds[lane->group].group)
		return false;
	while (i < group->n && group->lane[i].key != lane->key)
		i++;
	if (i == group->n) {
		group->lane[group->n].key = lane->key;
		group->lane[group->n++].taken = 0;
	}
	if (group->lane[i].taken == bounds[lane->group].lane)
		return false;
	group->lane[i].taken++;
	group->taken++;
	return true;
}

/* Lock held. */
static void aside_leave(struct asides *asides, const struct aside_lane *lane)
{
	struct aside_lanes *group = &asides->groups[lane->group];
	unsigned i = 0;

	while (group->lane[i].key != lane->key)
		i++;
	group->taken--;
	if (--group->lane[i].taken == 0)
		group->lane[i] = group->lane[--group->n];
}

/* Lock held. */
static void unqueue(struct asides *asides, struct aside_task *task)
{
	TAILQ_REMOVE(&asides->groups[task->lane.group].queue, task, link);
	task->queued = false;
}

/* Lock held. */
static void queue_task(struct asides *asides, struct aside_task *task)
{
	TAILQ_INSERT_TAIL(&asides->groups[task->lane.group].queue, task, link);
	task->queued = true;
}

/* The task's place is given back; a kept task that has it now, or NULL: this thread has none, and is one
 * at the device again if it was. */
static struct aside_task *next_task(struct asides *asides, const struct aside_lane *lane,
				    bool reads)
{
	struct aside_task *task;

	GUARD(&asides->lock);
	aside_leave(asides, lane);
	TAILQ_FOREACH(task, &asides->groups[lane->group].queue, link)
		if (aside_take(asides, &task->lane)) {
			unqueue(asides, task);
			return task;
		}
	asides->readers += reads;
	return NULL;
}

/* Lock held. The calling thread leaves the device for a task that has a place. */
static bool step_aside(struct asides *asides, const struct aside_lane *lane, bool *ret_make)
{
	if (!aside_take(asides, lane))
		return false;
	asides->readers--;
	*ret_make = call_reader(asides);
	return true;
}

static bool aside_enter(struct asides *asides, const struct aside_lane *lane, bool *ret_make)
{
	GUARD(&asides->lock);
	return step_aside(asides, lane, ret_make);
}

/* False: it is queued, and may be over already. */
static bool aside_keep(struct asides *asides, struct aside_task *task, bool *ret_make)
{
	GUARD(&asides->lock);
	if (step_aside(asides, &task->lane, ret_make))
		return true;
	queue_task(asides, task);
	return false;
}

/* The task is done all the same; at worst requests wait for its end. */
static void make_reader(struct asides *asides)
{
	if (asides->spawn(asides->arg, ASIDE_READS))
		return;
	GUARD(&asides->lock);
	asides->readers--;
}

/* That task, and those that get its place. */
static void run_tasks(struct asides *asides, struct aside_task *task, bool reads)
{
	while (task) {
		void (*answer)(struct aside_task * task) = task->class->answer;
		struct aside_lane lane = task->lane;
		struct aside_task *done = task;

		done->class->run(done);
		task = next_task(asides, &lane, reads);
		if (answer)
			answer(done);
	}
}

void aside_run(struct asides *asides, struct aside_task *task)
{
	bool make = false;

	if (!aside_enter(asides, &task->lane, &make)) {
		task = task->class->keep(task);
		if (!task || !aside_keep(asides, task, &make))
			return;
	}
	if (make)
		make_reader(asides);
	run_tasks(asides, task, true);
}

/* ---- on a ring's thread ---- */

struct aside_task *aside_help(struct asides *asides)
{
	struct aside_helper helper = { .call = PTHREAD_COND_INITIALIZER };

	GUARD(&asides->lock);
	helper.task = TAILQ_FIRST(&asides->handed);
	if (helper.task) {
		TAILQ_REMOVE(&asides->handed, helper.task, link);
		return helper.task;
	}
	TAILQ_INSERT_HEAD(&asides->helpers, &helper, link);
	while (!helper.task && !asides->ended)
		pthread_cond_wait(&helper.call, &asides->lock);
	if (!helper.task)
		TAILQ_REMOVE(&asides->helpers, &helper, link);
	return helper.task;
}

/* False: no other thread will have it. *ret_make: one is to be made for it. */
static bool hand_to_helper(struct asides *asides, struct aside_task *task, bool *ret_make)
{
	struct aside_helper *helper;

	GUARD(&asides->lock);
	*ret_make = false;
	if (asides->ended || !asides->spawn)
		return false;
	helper = TAILQ_FIRST(&asides->helpers);
	if (helper) {
		TAILQ_REMOVE(&asides->helpers, helper, link);
		helper->task = task;
		pthread_cond_signal(&helper->call);
		return true;
	}
	*ret_make = asides->n_helpers < ASIDE_HELPERS;
	asides->n_helpers += *ret_make;
	TAILQ_INSERT_TAIL(&asides->handed, task, link);
	return true;
}

/* True: no helper has taken the task, and none was made for it. */
static bool take_back(struct asides *asides, struct aside_task *task)
{
	struct aside_task *other;

	GUARD(&asides->lock);
	asides->n_helpers--;
	TAILQ_FOREACH(other, &asides->handed, link)
		if (other == task) {
			TAILQ_REMOVE(&asides->handed, task, link);
			return true;
		}
	return false;
}

static void hand_over(struct asides *asides, struct aside_task *task)
{
	bool make, handed = hand_to_helper(asides, task, &make);

	if (handed && make && !asides->spawn(asides->arg, ASIDE_HELPS))
		handed = !take_back(asides, task);
	/* the end, or no thread to be had: at worst an answer waits for it */
	if (!handed)
		run_tasks(asides, task, false);
}

static bool aside_place(struct asides *asides, const struct aside_lane *lane)
{
	GUARD(&asides->lock);
	return aside_take(asides, lane);
}

/* False: it is queued, and may be over already. */
static bool place_or_queue(struct asides *asides, struct aside_task *task)
{
	GUARD(&asides->lock);
	if (aside_take(asides, &task->lane))
		return true;
	queue_task(asides, task);
	return false;
}

void aside_run_here(struct asides *asides, struct aside_task *task)
{
	void (*answer)(struct aside_task * task);
	struct aside_lane lane = task->lane;
	struct aside_task *next;

	if (!aside_place(asides, &lane)) {
		task = task->class->keep(task);
		if (!task || !place_or_queue(asides, task))
			return;
	}
	answer = task->class->answer;
	task->class->run(task);
	next = next_task(asides, &lane, false);
	if (answer)
		answer(task);
	if (next)
		hand_over(asides, next);
}

void aside_finish(struct asides *asides, struct aside_task *task)
{
	run_tasks(asides, task, false);
}

bool aside_drop(struct asides *asides, struct aside_task *task)
{
	bool was = false;

	GUARD(&asides->lock);
	was = task->queued;
	if (was)
		unqueue(asides, task);
	return was;
}
