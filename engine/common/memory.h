/* SPDX-License-Identifier: MIT */
/*
 * memory.h: notices that memory ran out where the caller did not look. Documents are built from
 * hundreds of small values; a single one that is missing makes a document wrong without a sign of it.
 * So allocations that fail are counted, for each thread: the calls at the top (a load, a view, a plan,
 * a reply) compare the count with that of their beginning and fail as a whole.
 */
#ifndef RYE_COMMON_MEMORY_H
#define RYE_COMMON_MEMORY_H

#include "err.h"

#include <rye/rye.h>

/* How many allocations of the calling thread have failed so far. */
unsigned long memory_failures(void);
/* got, as an allocator gave it; NULL is counted. */
void *memory_note(void *got);
/* RYE_IO with ENOMEM, and counted; for callers that have looked themselves. */
int memory_fail(struct rye_err *err);
/* As in err.h: an analyzer does not know that it never returns 0. */
#if defined(__clang_analyzer__) && !defined(RYE_ERR_SOURCE)
#define memory_fail(err) (memory_fail(err), -1)
#endif
/* 0, or memory_fail when an allocation of this thread has failed after the count was `since`. */
int memory_check(unsigned long since, struct rye_err *err);
/* r, or memory_fail as above: what failed or was left out for lack of memory says so. */
static inline int memory_result(unsigned long since, int r, struct rye_err *err)
{
	int lost = memory_check(since, err);

	return lost ? lost : r;
}

#endif
