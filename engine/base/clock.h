/* SPDX-License-Identifier: MIT */
/* clock.h: wall time in the spellings of the formats, and monotonic time. */
#ifndef RYE_BASE_CLOCK_H
#define RYE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

int64_t clock_ms(void); /* monotonic milliseconds */
int64_t clock_us(void); /* monotonic microseconds */
int64_t clock_wall_ms(void); /* since 1970 */
void clock_stamp(time_t when, char ret[24]); /* 2026-01-02T03:04:05Z */
void clock_iso_us(char ret[40]); /* 2026-01-02T03:04:05.123456+00:00, now */

#endif
