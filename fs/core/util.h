/* SPDX-License-Identifier: MIT */
/* util.h: small things that several files of the front need. */
#ifndef RYE_FS_CORE_UTIL_H
#define RYE_FS_CORE_UTIL_H

#include <stdint.h>
#include <time.h>

#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

/* Monotonic nanoseconds. */
static inline int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

#endif
