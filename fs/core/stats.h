/* SPDX-License-Identifier: MIT */
/*
 * stats.h: how many requests of each sort the kernel sent, as .ryefs/stats.json tells them.
 * Tests measure requests, not time. Counters are atomic and need no lock.
 */
#ifndef RYE_FS_CORE_STATS_H
#define RYE_FS_CORE_STATS_H

#include <rye/rye.h>

#include <stdatomic.h>

enum stat_op {
	STAT_LOOKUP,
	STAT_FORGET,
	STAT_GETATTR,
	STAT_SETATTR,
	STAT_READLINK,
	STAT_OPEN,
	STAT_OPENDIR,
	STAT_FLUSH,
	STAT_RELEASE,
	STAT_READ,
	STAT_WRITE,
	STAT_READDIR,
	STAT_READDIRPLUS,
	STAT_CREATE,
	STAT_MAKE, /* mknod, mkdir, symlink, link */
	STAT_REMOVE, /* unlink, rmdir */
	STAT_RENAME,
	STAT_XATTR,
	STAT_OTHER,
	STAT_INVAL, /* notifications that the notify threads sent */
	STAT__MAX
};

struct stats {
	_Atomic uint64_t n[STAT__MAX];
};

static inline void stats_count(struct stats *stats, enum stat_op op)
{
	atomic_fetch_add_explicit(&stats->n[op], 1, memory_order_relaxed);
}

#endif
