/* SPDX-License-Identifier: MIT */
/*
 * strays.h: processes that outlive the run they belong to. Orphans come to this process
 * (subreaper); they carry their run's mark in the environment, or its session.
 *
 * Lock: `lock` of struct strays guards the table of orphans that were seen alive.
 */
#ifndef RYE_PROCESS_STRAYS_H
#define RYE_PROCESS_STRAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct strays;

struct strays *strays_open(void); /* NULL: no memory */
void strays_close(struct strays *strays);
/*
 * From now on a thread of its own reaps dead orphans as they come, also while no run lives.
 * The first thread has to block SIGCHLD; where it does not, nothing is reaped so.
 */
void strays_watch(struct strays *strays);

void strays_mark(uint64_t run, char ret[48]); /* "RYE_RUN=<pid>.<number>" */

/*
 * How many orphans of that run are there? 0 where the kernel cannot tell. Dead orphans of
 * runs are reaped on the way; no other child of this process is touched.
 */
size_t strays_count(struct strays *strays, pid_t session, uint64_t run);
/*
 * After the run's group was killed: its orphans come to us a moment after their parent's end
 * and stay zombies until we look, so look until the group is gone (at most 0.1 s).
 */
void strays_settle(struct strays *strays, pid_t session, uint64_t run);

#endif
