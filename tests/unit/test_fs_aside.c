/* SPDX-License-Identifier: MIT */
/*
 * test_fs_aside.c - stepping aside without a device: threads that play FUSE threads, tasks that
 * wait for the case, and how many are left to read.
 */
#include "rye_test.h"

#include "loop/loop_inner.h"
#include "scope.h"

#include <semaphore.h>

#define DEEDS 64

struct deed {
	struct aside_task task;
	unsigned number;
	sem_t go;
};

static struct {
	struct asides *asides;
	struct deed deed[DEEDS];
	pthread_t thread[DEEDS];
	pthread_mutex_t lock;
	unsigned order[DEEDS], n; /* the lock's: numbers of the tasks that are over */
	sem_t begun, over, kept, spawned, served;
	pthread_t helper[DEEDS];
	unsigned helpers;
	_Atomic unsigned running, most;
} desk = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void deed_run(struct aside_task *task)
{
	struct deed *deed = (struct deed *)task;
	unsigned now = ++desk.running;

	if (now > desk.most)
		desk.most = now;
	sem_post(&desk.begun);
	sem_wait(&deed->go);
	desk.running--;
	{
		GUARD(&desk.lock);
		desk.order[desk.n++] = deed->number;
	}
	sem_post(&desk.over);
}

static struct aside_task *deed_keep(const struct aside_task *task)
{
	sem_post(&desk.kept);
	return (struct aside_task *)task;
}

/* What is left of it: on a thread that counts as one at the device, so none is called for another's task. */
static void deed_answer(struct aside_task *task)
{
	struct deed *other = (struct deed *)task + 1;
	int spawned;

	aside_run(desk.asides, &other->task);
	sem_getvalue(&desk.spawned, &spawned);
	assert_int_equal(spawned, 0);
	sem_post(&desk.served);
}

static bool spawn_none(void *arg, enum aside_thread what)
{
	sem_post(arg);
	return true;
}

static void *deed_thread(void *arg)
{
	struct deed *deed = arg;

	aside_run(desk.asides, &deed->task);
	return NULL;
}

/* A FUSE thread has a request of this lane. */
static void deed_begin(unsigned i, enum aside_group group, uint64_t key)
{
	static const struct aside_class class = { .run = deed_run, .keep = deed_keep };

	desk.deed[i].task = (struct aside_task){ .class = &class, .lane = { group, key } };
	desk.deed[i].number = i;
	sem_init(&desk.deed[i].go, 0, 0);
	aside_arrive(desk.asides);
	assert_int_equal(pthread_create(&desk.thread[i], NULL, deed_thread, &desk.deed[i]), 0);
}

static int desk_open(void **state)
{
	(void)state;
	desk.n = 0;
	desk.most = 0;
	desk.helpers = 0;
	sem_init(&desk.begun, 0, 0);
	sem_init(&desk.over, 0, 0);
	sem_init(&desk.kept, 0, 0);
	sem_init(&desk.spawned, 0, 0);
	sem_init(&desk.served, 0, 0);
	if (asides_open(&desk.asides))
		return -1;
	asides_spawn(desk.asides, spawn_none, &desk.spawned);
	return 0;
}

static int desk_close(void **state)
{
	(void)state;
	asides_end(desk.asides);
	for (unsigned i = 0; i < desk.helpers; i++)
		pthread_join(desk.helper[i], NULL);
	asides_free(desk.asides);
	return 0;
}

static void begun(unsigned n)
{
	while (n--)
		sem_wait(&desk.begun);
}

static void end_all(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sem_post(&desk.deed[i].go);
	for (unsigned i = 0; i < n; i++)
		pthread_join(desk.thread[i], NULL);
}

/* Words for one thread: one at a time, in the order in which they came. */
static void one_by_one_in_order(void **state)
{
	(void)state;
	deed_begin(0, ASIDE_WORDS, 7);
	begun(1);
	for (unsigned i = 1; i < 20; i++) {
		deed_begin(i, ASIDE_WORDS, 7);
		sem_wait(&desk.kept);
		/* it is queued when its thread has come back */
		pthread_join(desk.thread[i], NULL);
	}
	for (unsigned i = 0; i < 20; i++)
		sem_post(&desk.deed[i].go);
	pthread_join(desk.thread[0], NULL);
	assert_int_equal(desk.n, 20);
	assert_int_equal(desk.most, 1);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(desk.order[i], i);
}

/* A lane that is full stands in no other's way; a group that is full does in its own lanes' alone. */
static void lanes_are_apart(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++)
		deed_begin(i, ASIDE_ITEMS, 1);
	begun(8);
	deed_begin(8, ASIDE_ITEMS, 1);
	sem_wait(&desk.kept);
	deed_begin(9, ASIDE_ITEMS, 2);
	begun(1);
	for (unsigned i = 10; i < 26; i++)
		deed_begin(i, ASIDE_WORDS, i);
	begun(16);
	deed_begin(26, ASIDE_WORDS, 99);
	sem_wait(&desk.kept);
	deed_begin(27, ASIDE_VERBS, 99);
	begun(1);
	end_all(28);
	assert_int_equal(desk.n, 28);
}

/* The thread that is the last at the device brings another reader first. */
static void a_reader_is_left(void **state)
{
	int spawned;

	(void)state;
	aside_arrive(desk.asides);
	deed_begin(0, ASIDE_FILES, 1);
	begun(1);
	sem_getvalue(&desk.spawned, &spawned);
	assert_int_equal(spawned, 0);
	desk.deed[1].number = 1;
	sem_init(&desk.deed[1].go, 0, 0);
	desk.deed[1].task = desk.deed[0].task;
	desk.deed[1].task.lane.key = 2;
	/* the one that was left has a request, too: no thread would read */
	assert_int_equal(pthread_create(&desk.thread[1], NULL, deed_thread, &desk.deed[1]), 0);
	sem_wait(&desk.spawned);
	begun(1);
	end_all(2);
}

/* The next request may be there before the thread that has sent an answer goes on. */
static void an_answer_comes_behind_the_place(void **state)
{
	static const struct aside_class answers = { deed_run, deed_answer, deed_keep };

	(void)state;
	aside_arrive(desk.asides);
	aside_arrive(desk.asides);
	for (unsigned i = 0; i < 2; i++) {
		desk.deed[i].number = i;
		sem_init(&desk.deed[i].go, 0, 1);
		desk.deed[i].task = (struct aside_task){ .lane = { ASIDE_WORDS, 7 } };
	}
	desk.deed[0].task.class = &answers;
	/* of the same lane, which has one place: kept, were that not given back by then */
	desk.deed[1].task.class = &(const struct aside_class){ .run = deed_run, .keep = deed_keep };
	aside_run(desk.asides, &desk.deed[0].task);
	assert_int_equal(sem_trywait(&desk.served), 0);
	assert_int_equal(sem_trywait(&desk.kept), -1);
	assert_int_equal(desk.n, 2);
}

static void what_is_dropped_never_runs(void **state)
{
	(void)state;
	deed_begin(0, ASIDE_WORDS, 1);
	begun(1);
	deed_begin(1, ASIDE_WORDS, 1);
	pthread_join(desk.thread[1], NULL);
	assert_true(aside_drop(desk.asides, &desk.deed[1].task));
	assert_false(aside_drop(desk.asides, &desk.deed[1].task));
	sem_post(&desk.deed[0].go);
	pthread_join(desk.thread[0], NULL);
	assert_int_equal(desk.n, 1);
}

/* More threads than are wanted at the device wait until they are called. */
static void *serve(void *arg)
{
	bool *ret = arg;

	*ret = aside_serve(desk.asides);
	sem_post(&desk.served);
	return NULL;
}

static void spare_threads_are_called(void **state)
{
	bool goes_on = false;
	pthread_t spare;

	(void)state;
	for (int i = 0; i < 4; i++)
		aside_arrive(desk.asides);
	assert_int_equal(pthread_create(&spare, NULL, serve, &goes_on), 0);
	deed_begin(0, ASIDE_FILES, 1);
	for (unsigned i = 1; i < 4; i++) {
		desk.deed[i] = desk.deed[0];
		desk.deed[i].number = i;
		sem_init(&desk.deed[i].go, 0, 0);
		pthread_create(&desk.thread[i], NULL, deed_thread, &desk.deed[i]);
	}
	begun(4);
	sem_wait(&desk.served);
	assert_true(goes_on);
	end_all(4);
	pthread_join(spare, NULL);
	assert_int_equal(desk.n, 4);
}

/* ---- of a ring's thread ---- */

static void *desk_helper(void *arg)
{
	struct aside_task *task;

	while ((task = aside_help(desk.asides)))
		aside_finish(desk.asides, task);
	return NULL;
}

/* False: no thread can be had. */
static bool spawn_helper(void *arg, enum aside_thread what)
{
	int n;

	assert_int_equal(what, ASIDE_HELPS);
	sem_getvalue(&desk.served, &n);
	if (n)
		return false;
	sem_post(&desk.spawned);
	return pthread_create(&desk.helper[desk.helpers++], NULL, desk_helper, NULL) == 0;
}

static void *deed_here_thread(void *arg)
{
	struct deed *deed = arg;

	aside_run_here(desk.asides, &deed->task);
	return NULL;
}

/* A ring's thread has a request of this lane. */
static void deed_here(unsigned i, enum aside_group group, uint64_t key)
{
	static const struct aside_class class = { .run = deed_run, .keep = deed_keep };

	desk.deed[i].task = (struct aside_task){ .class = &class, .lane = { group, key } };
	desk.deed[i].number = i;
	sem_init(&desk.deed[i].go, 0, 0);
	assert_int_equal(pthread_create(&desk.thread[i], NULL, deed_here_thread, &desk.deed[i]), 0);
}

static int spawned_helpers(void)
{
	int n;

	sem_getvalue(&desk.spawned, &n);
	return n;
}

/* Each waits itself, a lane has still its places; what was kept is another thread's: the one that gave the
 * place back is back at once, its answer waits in it. */
static void a_ring_runs_its_own_and_nothing_that_was_kept(void **state)
{
	asides_spawn(desk.asides, spawn_helper, NULL);
	for (unsigned i = 0; i < 3; i++)
		deed_here(i, ASIDE_FILES, i);
	deed_here(3, ASIDE_WORDS, 7);
	begun(4);
	for (unsigned i = 4; i < 6; i++) {
		deed_here(i, ASIDE_WORDS, 7);
		sem_wait(&desk.kept);
		pthread_join(desk.thread[i], NULL);
	}
	assert_int_equal(spawned_helpers(), 0);
	sem_post(&desk.deed[3].go);
	begun(1);
	pthread_join(desk.thread[3], NULL);
	assert_int_equal(spawned_helpers(), 1);
	/* the helper goes on with the next of the lane */
	for (unsigned i = 4; i < 6; i++)
		sem_post(&desk.deed[i].go);
	begun(1);
	end_all(3);
	for (unsigned i = 0; i < 6; i++)
		sem_wait(&desk.over);
	assert_int_equal(spawned_helpers(), 1);
	assert_int_equal(desk.n, 6);
}

/* Where no thread can be had, and after the end, the thread that gave the place back does it. */
static void without_helpers_it_is_run_all_the_same(void **state)
{
	asides_spawn(desk.asides, spawn_helper, NULL);
	sem_post(&desk.served);
	for (unsigned round = 0; round < 2; round++) {
		deed_here(0, ASIDE_WORDS, 7);
		begun(1);
		deed_here(1, ASIDE_WORDS, 7);
		sem_wait(&desk.kept);
		pthread_join(desk.thread[1], NULL);
		sem_post(&desk.deed[1].go);
		sem_post(&desk.deed[0].go);
		pthread_join(desk.thread[0], NULL);
		assert_int_equal(desk.n, 2 * round + 2);
		begun(1);
		asides_end(desk.asides);
	}
	assert_int_equal(desk.helpers, 0);
}

int main(void)
{
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, desk_open, desk_close)
	const struct CMUnitTest cases[] = {
		CASE(one_by_one_in_order),
		CASE(lanes_are_apart),
		CASE(a_reader_is_left),
		CASE(what_is_dropped_never_runs),
		CASE(spare_threads_are_called),
		CASE(an_answer_comes_behind_the_place),
		CASE(a_ring_runs_its_own_and_nothing_that_was_kept),
		CASE(without_helpers_it_is_run_all_the_same),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
