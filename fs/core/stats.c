/* SPDX-License-Identifier: MIT */
/*
 * stats.c - the names of the counters.
 *
 * Owns the spelling that .ryefs/stats.json uses; the counters themselves live in struct front
 * and are touched by the operations.
 */
#include "core/stats.h"

static const char *const names[] = {
	[STAT_LOOKUP] = "lookup",
	[STAT_FORGET] = "forget",
	[STAT_GETATTR] = "getattr",
	[STAT_SETATTR] = "setattr",
	[STAT_READLINK] = "readlink",
	[STAT_OPEN] = "open",
	[STAT_OPENDIR] = "opendir",
	[STAT_FLUSH] = "flush",
	[STAT_RELEASE] = "release",
	[STAT_READ] = "read",
	[STAT_WRITE] = "write",
	[STAT_READDIR] = "readdir",
	[STAT_READDIRPLUS] = "readdirplus",
	[STAT_CREATE] = "create",
	[STAT_MAKE] = "make",
	[STAT_REMOVE] = "remove",
	[STAT_RENAME] = "rename",
	[STAT_XATTR] = "xattr",
	[STAT_OTHER] = "other",
	[STAT_INVAL] = "invalidations",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == STAT__MAX, "one name per counter");

const char *stats_name(enum stat_op op)
{
	return names[op];
}
