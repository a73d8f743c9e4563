/* SPDX-License-Identifier: MIT */
/*
 * Ids of a directive's threads: seconds while they tell threads apart, milliseconds then. The registry
 * decides: an id that it has is tried again with the next number. Pure.
 */
#include "record/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int thread_name(const char *directive, int64_t now_us, unsigned attempt, char ret[THREAD_NAME_MAX],
		struct rye_err *err)
{
	const char *slash = strrchr(directive, '/'), *leaf = slash ? slash + 1 : directive;
	int64_t number = attempt ? now_us / 1000 + attempt - 1 : now_us / 1000000;
	int n = snprintf(ret, THREAD_NAME_MAX, "%s/%s-%" PRId64, directive, leaf, number);

	/* the leaf is a directory: its name is no longer than any */
	if (n < 0 || n >= THREAD_NAME_MAX || strlen(strrchr(ret, '/') + 1) > 255)
		return rye_fail(err, RYE_INVALID, "no thread can be named after %.300s…",
				directive);
	return 0;
}
