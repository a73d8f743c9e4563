/* SPDX-License-Identifier: MIT */
/*
 * caller.h: the process behind a request, what it may do, and its last replies. Functions may be
 * called on any thread, holding no lock but a talk's.
 */
#ifndef RYE_FS_CALLER_CALLER_H
#define RYE_FS_CALLER_CALLER_H

#include "bounds.h"
#include "proc.h"

#include <rye/rye.h>

#include <sys/types.h>

/* ancestors kept with a caller: they decide which last reply it reads */
#define CALLER_CHAIN_MAX 12
/* Ancestors searched for a run. A process with more is refused, for it may be a child of a run. */
#define CALLER_LINE_MAX 256
/* How long an identity is reused, in ms: one open of `run` looks its name up two or three times and
 * then writes. */
#define CALLER_FRESH_MS 2
/* Seconds after a reply in which a process that ends leaves it to its parent. */
#define CALLER_PASS_S 2
/* Seconds that a reply is kept after its writer has ended. */
#define CALLER_GONE_S 600
/* A reply that nothing has read competes this long with those of other threads of its process. */
#define CALLER_UNREAD_S 600
/* Last replies kept, and their bytes: the ones used longest ago go first. */
#define CALLER_REPLIES 4096
#define CALLER_BYTES (64u << 20)

/* Why a caller is refused, with what to do instead, which names an item. */
#define CALLER_WHY (256 + RYE_ID_MAX)

/* Immutable once made; refcounted. */
struct caller {
	_Atomic unsigned refs;
	uid_t uid;
	pid_t tid; /* as the request's header said */
	int64_t at_ns; /* when it was looked at, monotonic */
	pid_t session;
	size_t n; /* 0: its processes are unknown, or it is a session manager itself */
	struct process chain[CALLER_CHAIN_MAX]; /* the caller's process first */
	bool allowed; /* passes the guard */
	bool unseen; /* not allowed, for the daemon had no descriptor left to look at it */
	bool confined; /* not allowed, and in a sandbox it may run items all the same */
	char why[128]; /* if not allowed; caller_refusal has what to do, too */
	uint64_t run; /* the run of ours it descends from, or 0 */
	struct proc_cage cage; /* its thread's; all zero if that could not be read */
};

struct callers;

struct callers_env {
	struct rye *rye; /* NULL: no runs to recognise (tests) */
	uid_t owner; /* of the mount */
	bool trust_any; /* trust_callers=any */
	/* callers_sweep is wanted then, monotonic; on any thread, no lock of callers held; or NULL */
	void (*wake)(void *arg, int64_t due_ns);
	void *arg;
};

int callers_open(const struct callers_env *env, struct callers **ret); /* 0 or -errno */
void callers_close(struct callers *callers);

/* NULL only when out of memory; an unreadable /proc makes a refused caller. Cached for
 * CALLER_FRESH_MS per thread of a caller. The new reference is the caller's. */
struct caller *caller_identify(struct callers *callers, pid_t tid, uid_t uid);
/* The same, but what confines the thread is looked at now: for a write, since the thread may have
 * confined itself after it was identified. */
struct caller *caller_examine(struct callers *callers, pid_t tid, uid_t uid);
/*
 * Is it still the caller that it was less than CALLER_FRESH_MS ago, with all that it can give up by
 * itself: no_new_privs, filters, capabilities? One read. Namespaces are taken for the same.
 */
bool caller_stands(struct callers *callers, const struct caller *caller);
struct caller *caller_ref(struct caller *caller);
void caller_unref(struct caller *caller); /* NULL is fine */

/* What a caller is about to do with a control file. id is borrowed. */
struct caller_target {
	enum rye_verb verb;
	enum rye_kind kind;
	const char *id;
	bool persons; /* no verb of an item: for no child of a run, whatever its item names */
};

/*
 * May it? Refused callers may not, other uids than the owner may not; children of runs may as far
 * as their item's `requires` names the target, and never `sign`. False: why is filled. All that is
 * refused in the mount is refused here.
 */
bool caller_may(struct callers *callers, const struct caller *caller,
		const struct caller_target *target, char why[CALLER_WHY]);

/* Of a caller that is not allowed. ref: "tool:a/b", the item that it wants; NULL: not known. */
void caller_refusal(const struct caller *caller, enum rye_verb verb, const char *ref,
		    char why[CALLER_WHY]);

/* Last replies, per item key ("tool:a/b", "sign"). Any may be NULL; borrowed references. */
struct last {
	struct rye_blob *reply, *output, *trace, *errors;
	struct timespec at; /* when it was recorded; not to be given */
	int64_t age_ns; /* so long ago its caller knew of it, 0: just now; not an answer */
	uint64_t from; /* the conversation; 0: of none, each process has one whatever its threads */
	bool disputed; /* an answer: another thread's competes, none may be shown; not to be given */
};
void callers_record(struct callers *callers, const struct caller *caller, const char *key,
		    const struct last *last);
/* New references in *ret (release with last_done). False: nothing of this caller. */
bool callers_last(struct callers *callers, const struct caller *caller, const char *key,
		  struct last *ret);
void last_done(struct last *last);
/* The last reply of that conversation has been read: it competes with no other any more. */
void callers_read(struct callers *callers, const char *key, uint64_t from);

/* Would `reader` get a reply of `writer`? The nearest ancestor that they share decides. */
bool callers_related(struct callers *callers, const struct caller *writer,
		     const struct caller *reader);

/*
 * Finds the owners of the replies whose CALLER_PASS_S are over; every 30 s drops those whose writers
 * ended CALLER_GONE_S ago. On the parking thread. When it has to be called again; 0: in its own
 * time.
 */
int64_t callers_sweep(struct callers *callers);

#endif
