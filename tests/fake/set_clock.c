/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into ryefs by tests/e2e/agent_lib.sh: the clocks of a mount, its runners and its command lines
 * as a test sets them. FAKE_CLOCK names a file of two 64-bit numbers that all of them map: nanoseconds
 * that are added to wall time, and to time since the start of the machine. A wait with an end looks every
 * few milliseconds whether its clock is there, so an hour that is added has passed for a thread that
 * already waits. The program knows nothing of this, and tools inherit neither variable.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))
#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define SLICE_NS (10 * NS_PER_MS)

enum { ADD_WALL, ADD_STEADY };
static const int64_t *added; /* NULL: the clocks are as they are */

static int (*real_clock)(clockid_t id, struct timespec *ret);
static int (*real_poll)(struct pollfd *fds, nfds_t n, int ms);
static int (*real_ppoll)(struct pollfd *fds, nfds_t n, const struct timespec *ts,
			 const sigset_t *mask);
static int (*real_epoll)(int epoll, struct epoll_event *events, int n, int ms);

__attribute__((constructor)) static void clock_map(void)
{
	const char *path = getenv("FAKE_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, fd, 0);

	*(void **)&real_clock = dlsym(RTLD_NEXT, "clock_gettime");
	*(void **)&real_poll = dlsym(RTLD_NEXT, "poll");
	*(void **)&real_ppoll = dlsym(RTLD_NEXT, "ppoll");
	*(void **)&real_epoll = dlsym(RTLD_NEXT, "epoll_wait");
	if (fd >= 0)
		close(fd);
	if (map != MAP_FAILED)
		added = map;
}

static int64_t added_to(clockid_t id)
{
	if (!added)
		return 0;
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		return __atomic_load_n(&added[ADD_WALL], __ATOMIC_RELAXED);
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_BOOTTIME:
		return __atomic_load_n(&added[ADD_STEADY], __ATOMIC_RELAXED);
	default: /* a process's or thread's own */
		return 0;
	}
}

int SEEN clock_gettime(clockid_t id, struct timespec *ret)
{
	/* another library's constructor may be first */
	int r = real_clock ? real_clock(id, ret) : -1;
	int64_t more = added_to(id), ns;

	if (!real_clock)
		errno = EAGAIN;
	if (r || !more)
		return r;
	ns = ret->tv_sec * NS_PER_S + ret->tv_nsec + more;
	*ret = (struct timespec){ ns / NS_PER_S, ns % NS_PER_S };
	/* before 1970 the seconds are negative, never their parts */
	if (ret->tv_nsec < 0)
		*ret = (struct timespec){ ret->tv_sec - 1, ret->tv_nsec + NS_PER_S };
	return 0;
}

time_t SEEN time(time_t *ret)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}

static int64_t steady_ns(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* How long to wait at most until `end`; 0: it is over. */
static int64_t slice_ns(int64_t end)
{
	int64_t left = end - steady_ns();

	return left <= 0 ? 0 : left < SLICE_NS ? left : SLICE_NS;
}

/* At least one millisecond of a slice that is not over. */
static int slice_ms(int64_t end)
{
	return (int)((slice_ns(end) + NS_PER_MS - 1) / NS_PER_MS);
}

int SEEN poll(struct pollfd *fds, nfds_t n, int ms)
{
	int64_t end = steady_ns() + ms * NS_PER_MS;
	int r, slice;

	if (!added || ms <= 0)
		return real_poll(fds, n, ms);
	do {
		slice = slice_ms(end);
		r = real_poll(fds, n, slice);
	} while (!r && slice);
	return r;
}

int SEEN ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts, const sigset_t *mask)
{
	int64_t end = ts ? steady_ns() + ts->tv_sec * NS_PER_S + ts->tv_nsec : 0;
	struct timespec slice;
	int r;

	if (!added || !ts)
		return real_ppoll(fds, n, ts, mask);
	do {
		slice = (struct timespec){ 0, slice_ns(end) };
		r = real_ppoll(fds, n, &slice, mask);
	} while (!r && slice.tv_nsec);
	return r;
}

int SEEN epoll_wait(int epoll, struct epoll_event *events, int n, int ms)
{
	int64_t end = steady_ns() + ms * NS_PER_MS;
	int r, slice;

	if (!added || ms <= 0)
		return real_epoll(epoll, events, n, ms);
	do {
		slice = slice_ms(end);
		r = real_epoll(epoll, events, n, slice);
	} while (!r && slice);
	return r;
}

/* Those of ryefs wait by the monotonic clock. */
int SEEN pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				const struct timespec *until)
{
	int64_t end = until->tv_sec * NS_PER_S + until->tv_nsec, slice;
	int r = ETIMEDOUT;

	while (r == ETIMEDOUT && (slice = slice_ns(end)) > 0) {
		int64_t ns = steady_ns() - added_to(CLOCK_MONOTONIC) + slice;
		const struct timespec ts = { ns / NS_PER_S, ns % NS_PER_S };

		r = pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &ts);
	}
	return r;
}
