/* SPDX-License-Identifier: MIT */
/*
 * The count of failed allocations. It is of the thread, as errno is and for the same reason: the
 * libraries that allocate take no argument that could carry it. No lock.
 */
#include "memory.h"

#include <errno.h>

static _Thread_local unsigned long memory_failed;

unsigned long memory_failures(void)
{
	return memory_failed;
}

void *memory_note(void *got)
{
	memory_failed += !got;
	return got;
}

int memory_fail(struct rye_err *err)
{
	memory_failed++;
	rye_fail(err, RYE_IO, "out of memory");
	if (err)
		err->sys = ENOMEM;
	return -(int)RYE_IO;
}

int memory_result(unsigned long since, int r, struct rye_err *err)
{
	return memory_failed == since ? r : memory_fail(err);
}

int memory_check(unsigned long since, struct rye_err *err)
{
	return memory_failed == since ? 0 : memory_fail(err);
}
