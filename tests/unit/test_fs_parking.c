/* SPDX-License-Identifier: MIT */
/*
 * test_fs_parking.c - the parking with a made-up libfuse and a made-up /proc: a request is a
 * record that remembers its interrupt function, and a case says which callers are being ended.
 */
#include "rye_test.h"

#include "scope.h"
#include "core/parking.h"
#include "proc.h"
#include "clock.h"

#include <errno.h>

struct fuse_req {
	struct fuse_ctx ctx;
	fuse_interrupt_func_t on_interrupt;
	void *arg;
};

/* What an owner keeps of a request. */
struct guest {
	struct parked parked;
	unsigned number;
	char tail[100];
};

static struct {
	struct parking *parking;
	struct fuse_req req[4];
	struct guest *guest[4];
	_Atomic bool ended[4], signalled[4]; /* by number: what /proc says */
	_Atomic unsigned looks, woken[4], done;
	_Atomic int why[4];
	_Atomic int64_t looked_ns; /* the last look */
	_Atomic bool takes; /* wake takes the request */
	_Atomic bool locked; /* parking's lock was held during a look or a wake */
} lot;

const struct fuse_ctx *__wrap_fuse_req_ctx(fuse_req_t req);
void __wrap_fuse_req_interrupt_func(fuse_req_t req, fuse_interrupt_func_t fn, void *arg);
bool __wrap_proc_interrupted(pid_t tid);
bool __wrap_proc_signalled(pid_t tid);

const struct fuse_ctx *__wrap_fuse_req_ctx(fuse_req_t req)
{
	return &req->ctx;
}

void __wrap_fuse_req_interrupt_func(fuse_req_t req, fuse_interrupt_func_t fn, void *arg)
{
	req->on_interrupt = fn;
	req->arg = arg;
}

/* What is called on the parking thread must be able to take its lock: here from another. */
static void *ask(void *arg)
{
	parking_waits(lot.parking, NULL);
	lot.locked = false;
	return NULL;
}

static void check_unlocked(void)
{
	pthread_t thread;

	lot.locked = true;
	pthread_create(&thread, NULL, ask, NULL);
	pthread_join(thread, NULL);
}

bool __wrap_proc_interrupted(pid_t tid)
{
	check_unlocked();
	lot.looked_ns = clock_ns();
	lot.looks++;
	return lot.ended[tid];
}

bool __wrap_proc_signalled(pid_t tid)
{
	check_unlocked();
	return lot.signalled[tid];
}

static void wake(struct parked *parked, enum parked_why why)
{
	unsigned number = ((struct guest *)parked)->number;

	check_unlocked();
	lot.why[number] = (int)why;
	lot.woken[number]++;
	if (lot.takes && parking_take(parked)) {
		parked_leave(parked);
		parked_unref(parked);
	}
}

static void done(struct parked *parked)
{
	lot.done++;
}

static const struct parked_class class = { .wake = wake, .done = done };

static struct guest *arrive(unsigned number, void *owner)
{
	struct guest *guest;

	lot.req[number].ctx.pid = (pid_t)number;
	guest = parked_new(lot.parking, &lot.req[number], &class, owner, sizeof(*guest));
	assert_non_null(guest);
	guest->number = number;
	assert_int_equal(guest->tail[99], 0);
	lot.guest[number] = guest;
	return guest;
}

static void leave(unsigned number)
{
	assert_ptr_equal(parked_leave(&lot.guest[number]->parked), &lot.req[number]);
	assert_null(lot.req[number].on_interrupt);
	parked_unref(&lot.guest[number]->parked);
}

static void interrupt(unsigned number)
{
	lot.req[number].on_interrupt(&lot.req[number], lot.req[number].arg);
}

/* Within so many milliseconds, does it happen? */
#define SOON(condition, ms)                                       \
	({                                                        \
		for (int i_ = 0; i_ < (ms) && !(condition); i_++) \
			usleep(1000);                             \
		!!(condition);                                    \
	})

static int setup(void **state)
{
	memset(&lot, 0, sizeof(lot));
	return parking_open(&lot.parking);
}

static int teardown(void **state)
{
	parking_close(lot.parking);
	parking_free(lot.parking);
	return lot.locked;
}

/* ---- cases ---- */

static void due(void **state)
{
	int64_t begin = clock_ns();

	assert_true(parking_wait(&arrive(0, NULL)->parked, PARKED_NEVER));
	assert_true(parking_wait(&arrive(1, NULL)->parked, begin + 20 * NS_PER_MS));
	assert_true(SOON(lot.woken[1], 500));
	assert_true(clock_ns() - begin >= 20 * NS_PER_MS);
	assert_int_equal(lot.why[1], PARKED_DUE);
	/* once, and again when it is set again */
	assert_false(SOON(lot.woken[1] > 1, 30));
	assert_true(parking_wait(&lot.guest[1]->parked, 0));
	assert_true(SOON(lot.woken[1] == 2, 500));
	assert_int_equal(lot.woken[0], 0);
	assert_int_equal(lot.looks, 0);
	leave(0);
	leave(1);
	assert_int_equal(lot.done, 2);
}

static void ended(void **state)
{
	lot.takes = true;
	lot.ended[0] = true;
	parking_wait(&arrive(0, NULL)->parked, PARKED_NEVER);
	parking_wait(&arrive(1, NULL)->parked, PARKED_NEVER);
	assert_false(SOON(lot.looks, 20));
	interrupt(0);
	assert_true(SOON(lot.done == 1, 500));
	assert_int_equal(lot.why[0], PARKED_ENDED);
	assert_null(lot.req[0].on_interrupt);
	assert_int_equal(lot.woken[1], 0);
	leave(1);
}

/* The kernel tells once: what is no end now may become one. */
static void looks_again(void **state)
{
	int64_t begin = clock_ns();
	unsigned looks;

	parking_wait(&arrive(0, NULL)->parked, PARKED_NEVER);
	interrupt(0);
	assert_true(SOON(lot.looks > 1, 500));
	assert_true(lot.looked_ns - begin >= 100 * NS_PER_MS);
	assert_int_equal(lot.woken[0], 0);
	lot.ended[0] = true;
	assert_true(SOON(lot.woken[0], 500));
	assert_true(lot.guest[0]->parked.ended);
	/* the end was seen: the thread does not look at /proc again */
	looks = lot.looks;
	assert_false(SOON(lot.looks > looks, 250));
	assert_int_equal(lot.woken[0], 1);
	leave(0);
}

/* The INTERRUPT comes after libfuse has the function and before the request is in the list. */
static void interrupted_before(void **state)
{
	struct guest *guest = arrive(0, NULL);

	lot.ended[0] = true;
	guest->parked.interrupted = true;
	parking_wait(&guest->parked, PARKED_NEVER);
	assert_true(SOON(lot.woken[0], 500));
	leave(0);
}

/* Where the kernel does not tell of a signal that was there before, each is looked at: once, or again
 * and again if there is one that may be followed by another. */
static void looks_once(void **state)
{
	unsigned looks;

	parking_look_once(lot.parking);
	lot.signalled[1] = true;
	lot.ended[2] = true;
	for (unsigned i = 0; i < 3; i++)
		parking_wait(&arrive(i, NULL)->parked, PARKED_NEVER);
	assert_true(SOON(lot.woken[2], 500));
	assert_int_equal(lot.why[2], PARKED_ENDED);
	assert_int_equal(lot.woken[0] + lot.woken[1], 0);
	assert_true(SOON(lot.looks == 4, 500));
	lot.ended[0] = true;
	lot.ended[1] = true;
	assert_true(SOON(lot.woken[1], 500));
	looks = lot.looks;
	assert_false(SOON(lot.looks > looks, 150));
	assert_int_equal(lot.woken[0], 0);
	for (unsigned i = 0; i < 3; i++)
		leave(i);
}

static void one_takes(void **state)
{
	int owner, other;
	struct parked *chain;

	for (unsigned i = 0; i < 4; i++)
		parking_wait(&arrive(i, i == 2 ? &other : &owner)->parked, PARKED_NEVER);
	assert_true(parking_take(&lot.guest[1]->parked));
	assert_false(parking_take(&lot.guest[1]->parked));
	assert_true(parking_waits(lot.parking, &owner));
	chain = parking_take_all(lot.parking, &owner);
	assert_non_null(chain);
	assert_ptr_equal(chain->owner, &owner);
	assert_ptr_equal(chain->next->owner, &owner);
	assert_null(chain->next->next);
	assert_false(parking_waits(lot.parking, &owner));
	assert_true(parking_waits(lot.parking, &other));
	assert_false(parking_take(&lot.guest[0]->parked));
	for (unsigned i = 0; i < 4; i++)
		leave(i);
	assert_false(parking_waits(lot.parking, &other));
	assert_int_equal(lot.done, 4);
}

static void closed(void **state)
{
	parking_wait(&arrive(0, NULL)->parked, PARKED_NEVER);
	parking_wait(&arrive(1, NULL)->parked, 0);
	parking_close(lot.parking);
	assert_int_equal(lot.why[0], PARKED_CLOSED);
	assert_int_equal(lot.why[1], PARKED_CLOSED);
	assert_int_equal(lot.woken[0], 1);
	assert_false(parking_wait(&arrive(2, NULL)->parked, PARKED_NEVER));
	assert_false(parking_take(&lot.guest[2]->parked));
	for (unsigned i = 0; i < 3; i++)
		leave(i);
	assert_int_equal(lot.done, 3);
	parking_free(lot.parking);
	setup(NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(due),	 CASE(ended),  CASE(looks_again), CASE(interrupted_before),
		CASE(one_takes), CASE(closed), CASE(looks_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
