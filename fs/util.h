/* SPDX-License-Identifier: MIT */
/*
 * util.h: the front's own few macros: cleanup attributes and scope locks, as the engine has
 * them (whose private headers the front does not see), and the two clocks' short form.
 */
#ifndef RYE_FS_UTIL_H
#define RYE_FS_UTIL_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A test may see the engine's auto.h too: the first one wins, they say the same. */
#ifndef WITH_LOCK

static inline void auto_free_(void *held)
{
	free(*(void **)held);
}

static inline void auto_close_(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void auto_unlock_(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

static inline pthread_mutex_t *auto_lock_(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	return lock;
}

#define auto_free __attribute__((cleanup(auto_free_)))
#define auto_close __attribute__((cleanup(auto_close_)))

/* The statement or block that follows runs with the mutex held; return and break release it. */
#define WITH_LOCK(lock)                                      \
	for (__attribute__((cleanup(auto_unlock_)))          \
	     pthread_mutex_t *with_lock_ = auto_lock_(lock), \
			     *with_once_ = with_lock_;       \
	     with_once_; with_once_ = NULL)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif

#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

/* Monotonic nanoseconds. */
static inline int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

#endif
