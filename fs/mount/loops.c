/* SPDX-License-Identifier: MIT */
/*
 * loops.c - two threads between the device and ops.c.
 *
 * Owns the threads. They end when the device does, or when they are told to: a signal takes
 * them out of their read, sent again until it has met one. No lock.
 */
#include "mount/mount.h"

#include "scope.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

/* Measured: with overlapping calls two threads are 1.3 to 2 times as fast as one; more are not
 * faster, they wait for the locks. */
#define LOOPS 2

struct loops {
	struct front *front;
	pthread_t threads[LOOPS];
	int n;
	_Atomic int running;
};

static void *loops_loop(void *arg)
{
	struct loops *loops = arg;
	struct fuse_session *se = loops->front->session;
	struct fuse_buf buf = { 0 };

	while (!fuse_session_exited(se)) {
		int n = fuse_session_receive_buf(se, &buf);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		fuse_session_process_buf(se, &buf);
	}
	free(buf.mem);
	fuse_session_exit(se);
	atomic_fetch_sub(&loops->running, 1);
	eventfd_write(loops->front->ready_fd, 1);
	return NULL;
}

static void loops_wake(int sig)
{
	/* the handler does nothing: the signal only interrupts a read of the device */
}

static int mount_loops_start(struct loops *loops)
{
	atomic_fetch_add(&loops->running, 1);
	if (pthread_create(&loops->threads[loops->n], NULL, loops_loop, loops)) {
		atomic_fetch_sub(&loops->running, 1);
		return -1;
	}
	loops->n++;
	return 0;
}

static bool wait_for_init(struct loops *loops)
{
	while (!atomic_load(&loops->front->inited)) {
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
	sigemptyset(&act.sa_mask);
	sigaction(SIGUSR1, &act, NULL);
	/* the sizes of libfuse's buffers are settled by INIT: the second comes after it */
	return mount_loops_start(loops) || !wait_for_init(loops) || mount_loops_start(loops) ? -1 :
											       0;
}

bool loops_ended(struct loops *loops)
{
	return atomic_load(&loops->running) < loops->n;
}

void loops_end(struct loops *loops)
{
	fuse_session_exit(loops->front->session);
	while (atomic_load(&loops->running) > 0) {
		struct pollfd wait = { .fd = loops->front->ready_fd, .events = POLLIN };

		/* a signal that arrives before the read begins interrupts nothing */
		for (int i = 0; i < loops->n; i++)
			pthread_kill(loops->threads[i], SIGUSR1);
		poll(&wait, 1, 1);
	}
	for (int i = 0; i < loops->n; i++)
		pthread_join(loops->threads[i], NULL);
	free(loops);
}
