/* SPDX-License-Identifier: MIT */
/*
 * Notifications, with a kernel that is made up. Of many conversations at once: it holds a thread that
 * drops the pages of a conversation until the WRITE of that conversation is answered, as it does
 * when memory was short and the writer has locked a page that was not there. Of the merged trees: it
 * holds the thread of their lane until a change is answered, as it does when a rename has locked the
 * directory; or it does not, and the lane's thread is slow by itself.
 */
#include "rye_test.h"

#include "core/front.h"
#include "core/notify.h"
#include "proc.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define TALKS 60
/* s; a test that hangs ends */
#define TOO_LONG 20
/* More than a lane is given time while the kernel holds it, less than it is given at most. */
#define SLOW_MS (3 * NOTIFY_AFTER_MS)

struct fake_talk {
	_Alignas(struct node) char node[sizeof(struct node)]; /* its id is where it lies */
	_Atomic pid_t waiting; /* the thread that waits in the kernel for the answer */
	_Atomic bool begun, answered, early, returned;
	unsigned slow_ms; /* before the kernel begins */
};

static struct {
	struct front front;
	struct fake_talk talks[TALKS];
	bool no_proc;
	struct fake_talk change;
	_Atomic int blind; /* rye_late */
	_Atomic bool asked; /* the kernel was told to ask for every name */
	int device[2];
} world;

static void sleep_ms(unsigned ms)
{
	usleep(ms * 1000); /* what the kernel takes, and what an order needs to go wrong */
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
	if (world.change.waiting == pid)
		ret->state = 'D';
	return 0;
}

int __wrap_fuse_session_fd(struct fuse_session *se);
int __wrap_fuse_session_fd(struct fuse_session *se)
{
	return world.device[1];
}

void __wrap_rye_late(struct rye *rye, bool on);
void __wrap_rye_late(struct rye *rye, bool on)
{
	atomic_fetch_add(&world.blind, on ? 1 : -1);
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

/* ---- changes that wait for the lane of the merged trees ---- */

static void on_change_answered(void *arg)
{
	struct fake_talk *change = arg;
	char told[64];

	/* the kernel asks again, and lookups look, before its caller can */
	world.asked = read(world.device[0], told, sizeof(told)) == 16;
	change->early = !change->returned && (world.blind != 1 || !world.asked);
	change->answered = true;
}

static int open_after(void **state)
{
	int r = open_notify(state);

	return r ? r : -pipe2(world.device, O_NONBLOCK);
}

static int close_after(void **state)
{
	close(world.device[0]);
	close(world.device[1]);
	return close_notify(state);
}

/* The task of a change; the lane's thread waits in it, or in the kernel. */
static void change_task(struct front *front, struct node *none, int held, const char *text)
{
	struct fake_talk *change = &world.change;

	if (held)
		notify_send_inode(front, (struct node *)change, 0);
	else
		sleep_ms(SLOW_MS);
	change->returned = true;
}

static void post_change(bool held)
{
	notify_task(world.front.notify,
		    &(struct notify_task){ change_task, NULL, held, "", LANE_CONTENT });
	notify_after(world.front.notify, LANE_CONTENT, on_change_answered, &world.change);
	wait_for(&world.change.answered);
}

/* A busy machine, a slow disk: the answer waits, or its caller would read what was before. */
static void slow_lane_is_waited_for(void **state)
{
	post_change(false);
	assert_true(world.change.returned);
	assert_false(world.change.early);
	assert_int_equal(world.front.stats.n[STAT_LATE], 0);
	assert_false(world.asked);
}

/* Neither can go on without the other: it is answered, and nothing that was remembered is believed
 * until the lane has told. */
static void held_lane_is_not(void **state)
{
	post_change(true);
	assert_false(world.change.early);
	assert_int_equal(world.front.stats.n[STAT_LATE], 1);
	while (world.blind)
		sleep_ms(1);
	assert_true(world.change.returned);
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
		cmocka_unit_test_setup_teardown(slow_lane_is_waited_for, open_after, close_after),
		cmocka_unit_test_setup_teardown(held_lane_is_not, open_after, close_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
