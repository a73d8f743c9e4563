/* SPDX-License-Identifier: MIT */
/*
 * caller_inner.h: the table of callers; shared by the files of caller/.
 */
#ifndef RYE_FS_CALLER_CALLER_INNER_H
#define RYE_FS_CALLER_CALLER_INNER_H

#include "caller/caller.h"

#include <pthread.h>

/* Direct-mapped by pid: a collision costs a few reads of /proc. */
#define CALLER_RECENT 64
/* Each holds a descriptor: far below any limit, far above the shells of one person. */
#define CALLER_ANCESTORS 128
#define CALLER_BUCKETS 256

/* Direct-mapped by thread, three descriptors each: more than the threads that write at one time. */
#define CALLER_LOOKS 16

struct recent {
	struct caller *caller;
};

struct ancestor {
	struct process process;
	pid_t ppid;
	bool owns; /* its replies are kept: no session manager, not pid 1 of the host */
	int pidfd; /* -1: slot empty */
	int64_t at_ns;
};

/* One reply, in its bucket's list (newest first) and in the list of all (by use). */
struct kept {
	struct kept *next, **link;
	struct kept *newer, *older;
	struct last last;
	size_t bytes;
	uid_t uid;
	pid_t tid; /* the thread that wrote the message */
	bool unread;
	bool settled; /* its owner is chain[first] alone, for good */
	int64_t at_ns; /* when its caller knew of it, monotonic */
	size_t n, first; /* chain[first] is the nearest that lived when last looked at */
	struct process chain[CALLER_CHAIN_MAX];
	int64_t gone_ns; /* when its writer was seen to be gone, or 0 */
	char key[]; /* NUL-terminated */
};

struct callers {
	struct callers_env env;
	struct proc_cage cage; /* what confines the daemon itself */
	bool host; /* pid 1 is the host's */
	pthread_mutex_t lock;
	struct recent recent[CALLER_RECENT];
	struct proc_look looks[CALLER_LOOKS]; /* one that is in use is not in its slot */
	struct ancestor ancestors[CALLER_ANCESTORS];
	size_t hand; /* the ancestor that is looked at next, whether it is of use still */
	struct kept *buckets[CALLER_BUCKETS];
	struct kept *newest, *oldest;
	size_t count, bytes;
	bool awake; /* callers_sweep is wanted soon, and its thread was told */
	int64_t swept_ns;
};

/* All ancestors, the process itself first. */
struct caller_line {
	pid_t pids[CALLER_LINE_MAX];
	size_t n;
};

void caller_refuse(struct caller *caller, const char *why);
/* Sets `allowed`, and `why` when it is not. The line is of the caller. (caller_guard.c) */
void caller_guard(struct callers *callers, struct caller *caller, const struct caller_line *line,
		  const struct proc_cage *cage);

void caller_last_clear(struct callers *callers); /* at the end: no lock */

#endif
