/* SPDX-License-Identifier: MIT */
/* clock.h: wall time in the spellings of the formats, monotonic time, and waiting by it. */
#ifndef RYE_COMMON_CLOCK_H
#define RYE_COMMON_CLOCK_H

#include <stdbool.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

int64_t clock_ns(void); /* monotonic nanoseconds */
int64_t clock_ms(void); /* monotonic milliseconds */
int64_t clock_us(void); /* monotonic microseconds */
/* Microseconds that this thread has had a processor: what others do makes them no more. */
int64_t clock_own_us(void);
/* A condition whose waits end by clock_ns. */
void clock_cond_init(pthread_cond_t *cond);
/* Until it is signalled: 0; or ETIMEDOUT, clock_ns is `end`. The lock is held, as with any wait. */
int clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t end);
void clock_stamp(time_t when, char ret[24]); /* 2026-01-02T03:04:05Z */
/* Now, or where SOURCE_DATE_EPOCH says that it is (reproducible-builds.org): of what is signed. */
void clock_stamp_signed(char ret[24]);
/* 2026-01-02T03:04:05.123456+00:00 */
void clock_iso_at(int64_t us, char ret[40]); /* microseconds since 1970 */
void clock_iso_us(char ret[40]); /* now */
/* What those, or other writers of ISO 8601, have written; without a zone it is UTC's. */
bool clock_iso_read(const char *text, struct timespec *ret);
/* "90s", "15m", "24h", "30d", "1w", of less than 100 000 of each: seconds; -1: it is no time. */
int64_t clock_age_read(const char *text);

#endif
