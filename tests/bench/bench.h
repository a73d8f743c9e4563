/* SPDX-License-Identifier: MIT */
/* bench.h: what the measuring programs share: a clock, medians, a wait for a quiet machine. */
#ifndef RYE_BENCH_H
#define RYE_BENCH_H

#include <stdbool.h>
#include <stddef.h>

double bench_now(void); /* seconds, monotonic */
double bench_median(const double *values, size_t n); /* n ≥ 1 */
void bench_sort(double *values, size_t n);
/* Waits until the machine was 80 % idle for 60 ms, at most so many seconds. */
void bench_quiet(double seconds);
/* Says what failed and ends the program. */
_Noreturn void bench_die(const char *what);

#endif
