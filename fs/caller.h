/* SPDX-License-Identifier: MIT */
/*
 * caller.h: who asks. pid → process, its ancestry, session and uid; may it use control files
 * (interface 6); which reply is its own (no-open 3).
 *
 * Lock: one per struct callers, for the tables; /proc is read without it.
 */
#ifndef RYE_FS_CALLER_H
#define RYE_FS_CALLER_H

#include <rye/rye.h>

#include <sys/types.h>

#define CALLER_CHAIN_MAX 12 /* ancestors remembered (no-open 3) */

struct process {
	pid_t pid;
	uint64_t start; /* ticks since boot: tells a reused pid from the old one */
};

/* Immutable once made; refcounted. */
struct caller {
	_Atomic unsigned refs;
	uid_t uid;
	pid_t tid; /* as the request's header said */
	pid_t session;
	size_t n;
	struct process chain[CALLER_CHAIN_MAX]; /* the caller's process first */
	bool allowed; /* passes the guard */
	char why[128]; /* if not */
	uint64_t run; /* the run of ours it descends from, or 0 */
};

struct callers;

struct callers_env {
	struct rye *rye;
	uid_t owner; /* of the mount */
	bool trust_any; /* trust_callers=any */
};

int callers_open(const struct callers_env *env, struct callers **ret);
void callers_close(struct callers *callers);

/* Never NULL; an unreadable /proc makes a refused caller. Cached for 2 ms per process. */
struct caller *caller_identify(struct callers *callers, pid_t tid, uid_t uid);
struct caller *caller_ref(struct caller *caller);
void caller_unref(struct caller *caller);
/* Still what it was when its node was made? Checked again at every write. */
bool caller_same(struct callers *callers, const struct caller *caller, pid_t tid, uid_t uid);
/* May it use this verb on this item (children of runs: `requires`)? Fills why. */
bool caller_may(struct callers *callers, const struct caller *caller, enum rye_verb verb,
		enum rye_kind kind, const char *id, char why[128]);

/* Last replies, per item key ("tool:a/b", "sign", "" for the newest of any item). */
struct last {
	struct rye_blob *reply, *output, *trace, *errors; /* any may be NULL; borrowed refs */
};
void callers_record(struct callers *callers, const struct caller *caller, const char *key,
		    const struct last *last);
/* New references in *ret (release with last_done). False: nothing of this caller. */
bool callers_last(struct callers *callers, const struct caller *caller, const char *key,
		  struct last *ret);
void last_done(struct last *last);

#endif
