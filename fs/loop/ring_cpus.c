/* SPDX-License-Identifier: MIT */
/*
 * ring_cpus.c - which thread serves which processor's queue.
 *
 * Pure but for two looks at the machine. The kernel makes a queue for each processor that there may
 * ever be (num_possible_cpus() in fuse_uring_create, fs/fuse/dev_uring.c), and sends no request at all
 * before each has an entry (is_ring_ready): so those that are not there are counted, too.
 */
#include "loop/ring_cpus.h"

#include "scope.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define POSSIBLE "/sys/devices/system/cpu/possible"

unsigned ring_cpus_count(const char *text)
{
	unsigned long n = 0;

	while (isdigit((unsigned char)*text)) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-' && isdigit((unsigned char)end[1]))
			last = strtoul(end + 1, &end, 10);
		if (last < first || last >= RING_CPUS)
			return 0;
		n += last - first + 1;
		text = end + (*end == ',');
	}
	return (*text && *text != '\n') || n > RING_CPUS ? 0 : (unsigned)n;
}

unsigned ring_allot(unsigned possible, const bool *usable, unsigned *ret_thread)
{
	unsigned threads = 0;

	for (unsigned i = 0; i < possible; i++)
		if (usable[i])
			ret_thread[i] = threads++;
	for (unsigned i = 0; i < possible; i++)
		if (!usable[i])
			ret_thread[i] = 0;
	return threads;
}

int ring_cpus_look(struct ring_cpus *ret)
{
	auto_file FILE *file = fopen(POSSIBLE, "re");
	char text[256] = "";

	if (!file || !fgets(text, sizeof(text), file))
		return -ENOENT;
	ret->possible = ring_cpus_count(text);
	if (!ret->possible)
		return -ERANGE;
	CPU_ZERO(&ret->all);
	if (sched_getaffinity(0, sizeof(ret->all), &ret->all))
		return -errno;
	for (unsigned i = 0; i < ret->possible; i++)
		ret->usable[i] = CPU_ISSET(i, &ret->all);
	ret->threads = ring_allot(ret->possible, ret->usable, ret->thread);
	return ret->threads ? 0 : -ERANGE;
}

void ring_stay(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

void ring_roam(const struct ring_cpus *cpus)
{
	sched_setaffinity(0, sizeof(cpus->all), &cpus->all);
}
