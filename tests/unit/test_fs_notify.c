/* SPDX-License-Identifier: MIT */
/*
 * Notifications of many conversations at once, with a kernel that is made up: it holds a thread that
 * drops the pages of a conversation until the WRITE of that conversation is answered, as it does
 * when memory was short and the writer has locked a page that was not there.
 */
#include "rye_test.h"

#include "core/front.h"
#include "core/notify.h"
#include "proc.h"
#include "scope.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define TALKS 60
/* s; a test that hangs ends */
#define TOO_LONG 20

struct fake_talk {
	_Atomic pid_t waiting; /* the thread that waits in the kernel for the answer */
	_Atomic bool begun, answered, early, returned;
	unsigned slow_ms; /* before the kernel begins */
};

static struct {
	struct front front;
	struct fake_talk talks[TALKS];
	bool no_proc;
} world;

static void sleep_ms(unsigned ms)
{
	usleep(ms * 1000);
}

int __wrap_fuse_lowlevel_notify_inval_inode(struct fuse_session *se, fuse_ino_t ino, off_t off,
					    off_t len);
int __wrap_fuse_lowlevel_notify_inval_inode(struct fuse_session *se, fuse_ino_t ino, off_t off,
					    off_t len)
{
	struct fake_talk *talk = (struct fake_talk *)(uintptr_t)ino;

	sleep_ms(talk->slow_ms);
	talk->begun = true;
	talk->waiting = gettid();
	while (!talk->answered)
		sleep_ms(1);
	talk->waiting = 0;
	talk->returned = true;
	return 0;
}

int __wrap_proc_stat(pid_t pid, struct proc_stat *ret);
int __wrap_proc_stat(pid_t pid, struct proc_stat *ret)
{
	if (world.no_proc)
		return -ENOENT;
	ret->state = 'R';
	for (size_t i = 0; i < TALKS; i++)
		if (world.talks[i].waiting == pid)
			ret->state = 'D';
	return 0;
}

static void on_answer(void *arg)
{
	struct fake_talk *talk = arg;

	talk->early = !talk->begun;
	talk->answered = true;
}

static int open_notify(void **state)
{
	memset(&world, 0, sizeof(world));
	alarm(TOO_LONG);
	return notify_open(&world.front, &world.front.notify);
}

static int close_notify(void **state)
{
	notify_end(world.front.notify);
	notify_free(world.front.notify);
	return 0;
}

static void drop(struct fake_talk *talk, bool ready)
{
	struct notify_pages pages = {
		.ino = (uintptr_t)talk,
		.len = 4096,
		.ready = ready,
		.done = on_answer,
		.done_arg = talk,
	};

	notify_talk(&world.front, &pages);
}

static void wait_for(const _Atomic bool *what)
{
	while (!*what)
		sleep_ms(1);
}

/* No WRITE is answered before the kernel has begun: it would take no size from the GETATTR that its
 * writer sends next, whose read would find nothing, and pages would be as they were. */
static void all_begin_before_their_answers(void **state)
{
	for (size_t i = 0; i < TALKS; i++)
		drop(&world.talks[i], false);
	for (size_t i = 0; i < TALKS; i++) {
		wait_for(&world.talks[i].answered);
		assert_false(world.talks[i].early);
	}
}

static void *drop_ready(void *arg)
{
	drop(arg, true);
	return NULL;
}

static void all_begin_on_their_own_threads(void **state)
{
	pthread_t threads[TALKS];

	for (size_t i = 0; i < TALKS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, drop_ready, &world.talks[i]), 0);
	for (size_t i = 0; i < TALKS; i++) {
		pthread_join(threads[i], NULL);
		wait_for(&world.talks[i].answered);
		assert_false(world.talks[i].early);
	}
}

/* The thread that drops them has been given no time yet. */
static void slow_to_begin(void **state)
{
	struct fake_talk *talk = &world.talks[0];

	talk->slow_ms = 5 * NOTIFY_PATIENCE_MS;
	drop(talk, true);
	wait_for(&talk->returned);
	assert_false(talk->early);
}

/* Nothing tells whether it has begun. */
static void without_proc(void **state)
{
	world.no_proc = true;
	drop(&world.talks[0], true);
	assert_true(world.talks[0].returned);
	assert_false(world.talks[0].early);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_begin_before_their_answers, open_notify,
						close_notify),
		cmocka_unit_test_setup_teardown(all_begin_on_their_own_threads, open_notify,
						close_notify),
		cmocka_unit_test_setup_teardown(slow_to_begin, open_notify, close_notify),
		cmocka_unit_test_setup_teardown(without_proc, open_notify, close_notify),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
