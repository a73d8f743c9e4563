/* SPDX-License-Identifier: MIT */
/*
 * ring_cpus.h: which thread serves which processor's queue, and where threads run.
 */
#ifndef RYE_FS_LOOP_RING_CPUS_H
#define RYE_FS_LOOP_RING_CPUS_H

#include <sched.h>
#include <stdbool.h>

#define RING_CPUS 1024 /* CPU_SETSIZE */

struct ring_cpus {
	unsigned possible; /* so many queues has the kernel */
	bool usable[RING_CPUS]; /* this process may run there */
	unsigned thread[RING_CPUS]; /* by queue */
	unsigned threads;
	cpu_set_t all; /* where the process may run */
};

/* How many a list as "0-3,8" has; 0: it is none. */
unsigned ring_cpus_count(const char *text);
/* A thread for each processor that can be used, which serves its queue; the first one serves those of
 * all others. Returns how many threads. */
unsigned ring_allot(unsigned possible, const bool *usable, unsigned *ret_thread);
int ring_cpus_look(struct ring_cpus *ret); /* 0 or -errno */
/* The calling thread stays on that processor; goes where the process may. */
void ring_stay(int cpu);
void ring_roam(const struct ring_cpus *cpus);

#endif
