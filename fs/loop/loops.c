/* SPDX-License-Identifier: MIT */
/*
 * loops.c - the threads between the device and ops.c.
 *
 * Owns the threads: two, and one more whenever all have stepped aside (loop.h) and no spare
 * one is there. They end when the device does, or when they are told to: a signal takes them out of
 * their read, sent again until it has met one. Lock: loops->lock, for the table of threads.
 */
#include "loop/loop_inner.h"
#include "loop/ring.h"

#include "scope.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Measured: with overlapping calls two threads are 1.3 to 2 times as fast as one; more are not
 * faster, they wait for the locks. */
#define LOOPS 2

struct loops {
	struct front *front;
	pthread_mutex_t lock;
	pthread_t threads[ASIDE_LOOPS +
			  ASIDE_HELPERS]; /* the lock's, like n; constant from loops_end on */
	size_t n;
	_Atomic int running;
	_Atomic bool ended; /* the device is gone: a loop has said so */
};

/* While forgets come one by one a look each so many microseconds takes them in heaps; an INTERRUPT waits no
 * longer than that. */
#define FORGETS_US 4000

/* With a ring only FORGET and INTERRUPT come here: each that finds a reader asleep wakes it, mostly on
 * another processor, which the caller pays for. */
static void loops_pause(const struct front *front, const struct fuse_buf *buf)
{
	const struct fuse_in_header *in = buf->mem;

	if (front->uring == URING_ON &&
	    (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET))
		usleep(FORGETS_US);
}

static void *loops_loop(void *arg)
{
	struct loops *loops = arg;
	struct fuse_session *se = loops->front->session;
	struct fuse_buf buf = { 0 };

	while (aside_serve(loops->front->asides) && !fuse_session_exited(se)) {
		int n = fuse_session_receive_buf(se, &buf);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		fuse_session_process_buf(se, &buf);
		loops_pause(loops->front, &buf);
	}
	free(buf.mem);
	atomic_store(&loops->ended, true);
	fuse_session_exit(se);
	asides_end(loops->front->asides);
	atomic_fetch_sub(&loops->running, 1);
	eventfd_write(loops->front->ready_fd, 1);
	return NULL;
}

static void loops_wake(int sig)
{
	/* the handler does nothing: the signal only interrupts a read of the device */
}

static void *loops_help(void *arg)
{
	struct loops *loops = arg;
	struct front *front = loops->front;
	struct aside_task *task;

	ring_roam(&atomic_load(&front->ring)->cpus);
	while ((task = aside_help(front->asides)))
		aside_finish(front->asides, task);
	atomic_fetch_sub(&loops->running, 1);
	eventfd_write(front->ready_fd, 1);
	return NULL;
}

static bool loops_make(struct loops *loops, void *(*fn)(void *arg), void *arg)
{
	bool made = false;

	GUARD(&loops->lock);
	if (loops->n == ARRAY_SIZE(loops->threads) || atomic_load(&loops->ended))
		return false;
	atomic_fetch_add(&loops->running, 1);
	made = !pthread_create(&loops->threads[loops->n], NULL, fn, arg);
	if (made)
		loops->n++;
	else
		atomic_fetch_sub(&loops->running, 1);
	return made;
}

/* False: there are as many as there can be. */
static bool mount_loops_start(void *arg, enum aside_thread what)
{
	return loops_make(arg, what == ASIDE_READS ? loops_loop : loops_help, arg);
}

static bool wait_for_init(struct loops *loops)
{
	while (!atomic_load(&loops->front->inited) || !atomic_load(&loops->front->init_done)) {
		eventfd_t n;

		if (atomic_load(&loops->running) == 0)
			return false;
		eventfd_read(loops->front->ready_fd, &n);
	}
	return true;
}

int loops_start(struct front *front, struct loops **ret)
{
	struct loops *loops = calloc(1, sizeof(*loops));
	struct sigaction act = { .sa_handler = loops_wake };

	*ret = loops;
	if (!loops)
		return -1;
	loops->front = front;
	pthread_mutex_init(&loops->lock, NULL);
	sigemptyset(&act.sa_mask);
	sigaction(SIGUSR1, &act, NULL);
	/* the sizes of libfuse's buffers are settled by INIT: the others come after it */
	for (int i = 0; i < LOOPS; i++) {
		aside_arrive(front->asides);
		if (!mount_loops_start(loops, ASIDE_READS) || (!i && !wait_for_init(loops)))
			return -1;
	}
	asides_spawn(front->asides, mount_loops_start, loops);
	return 0;
}

bool loops_ended(struct loops *loops)
{
	return atomic_load(&loops->ended);
}

void loops_stir(struct loops *loops)
{
	GUARD(&loops->lock);
	for (size_t i = 0; i < loops->n; i++)
		pthread_kill(loops->threads[i], SIGUSR1);
}

void loops_end(struct loops *loops)
{
	struct ring *ring = atomic_load(&loops->front->ring);

	fuse_session_exit(loops->front->session);
	asides_end(loops->front->asides);
	{
		GUARD(&loops->lock);
		atomic_store(&loops->ended, true);
	}
	while (atomic_load(&loops->running) > 0) {
		struct pollfd wait = { .fd = loops->front->ready_fd, .events = POLLIN };

		/* a signal that arrives before the read begins interrupts nothing */
		loops_stir(loops);
		poll(&wait, 1, 1);
	}
	for (size_t i = 0; i < loops->n; i++)
		pthread_join(loops->threads[i], NULL);
	if (ring)
		ring_end(ring);
	asides_spawn(loops->front->asides, NULL, NULL);
	pthread_mutex_destroy(&loops->lock);
	free(loops);
}
