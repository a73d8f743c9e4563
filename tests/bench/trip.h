/* SPDX-License-Identifier: MIT */
/* trip.h: what one bare FUSE request costs, the unit that figures of a mount are told in. */
#ifndef RYE_BENCH_TRIP_H
#define RYE_BENCH_TRIP_H

#include <unistd.h>

/* The mount that a path lies in, or NULL: the nearest directory above with .ryefs/stats.json in
 * it. The caller frees it. */
char *trip_mount(const char *path);

/* How many requests the kernel waits for an operation makes, by .ryefs/stats.json; what reading
 * that costs is left out. */
struct trip_meter {
	const char *mount;
	long before, own;
};

void trip_meter_begin(struct trip_meter *meter, const char *mount);
double trip_meter_end(const struct trip_meter *meter, size_t calls); /* requests of one call */

/* Prints "trip-KIND NAME MICROSECONDS" for each call that is exactly one request by
 * .ryefs/stats.json, and "requestsN-KIND …" for one that is N of them; with a pause before each
 * call also "idle-KIND …". Needs knowledge/bench/noop.md in the mount. */
void trip_measure(const char *name, const char *mount, useconds_t pause_us);

#endif
