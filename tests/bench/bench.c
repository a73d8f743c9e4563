/* SPDX-License-Identifier: MIT */
/* Clock, medians, quiet gate. Programs of their own, not part of ryefs. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void bench_sort(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), by_value);
}

double bench_median(const double *values, size_t n)
{
	double *copy = malloc(n * sizeof(*copy)), median;

	if (!copy)
		bench_die("malloc");
	memcpy(copy, values, n * sizeof(*copy));
	bench_sort(copy, n);
	median = n & 1 ? copy[n / 2] : (copy[n / 2 - 1] + copy[n / 2]) / 2;
	free(copy);
	return median;
}

static void read_cpu(unsigned long *ret_idle, unsigned long *ret_total)
{
	unsigned long v[8] = { 0 };
	FILE *file = fopen("/proc/stat", "re");

	if (!file || fscanf(file, "cpu %lu %lu %lu %lu %lu %lu %lu %lu", &v[0], &v[1], &v[2], &v[3],
			    &v[4], &v[5], &v[6], &v[7]) != 8)
		bench_die("/proc/stat");
	fclose(file);
	*ret_idle = v[3] + v[4];
	*ret_total = 0;
	for (int i = 0; i < 8; i++)
		*ret_total += v[i];
}

void bench_quiet(double seconds)
{
	double end = bench_now() + seconds;

	while (bench_now() < end) {
		unsigned long idle[2], total[2];

		read_cpu(&idle[0], &total[0]);
		usleep(60000);
		read_cpu(&idle[1], &total[1]);
		if (total[1] > total[0] && (idle[1] - idle[0]) * 100 >= 80 * (total[1] - total[0]))
			return;
	}
}

_Noreturn void bench_die(const char *what)
{
	perror(what);
	_exit(1);
}
