/* SPDX-License-Identifier: MIT */
/*
 * run.h: from a request to its reply: the pool, the calls, the living runs.
 */
#ifndef RYE_RUN_RUN_H
#define RYE_RUN_RUN_H

#include "err.h"
#include "policy/policy.h"
#include "item/item.h"

#include <pthread.h>

/*
 * call.c: the handle of something that runs and answers once. exec makes them for requests, the
 * engine also for waits; rye_call_cancel, rye_call_detach and rye_call_unref act on both.
 *
 * Lock: `lock` guards wake, and what a job has beside it (exec.c); done and cancel are atomic. The
 * functions of `ops` are called without it.
 */

struct events;

struct call_ops {
	/* It was asked to stop, once. May be NULL. Must not call back into the call's fn. */
	void (*cancelled)(struct rye_call *call);
	bool (*detach)(struct rye_call *call, char thread_id[64]); /* NULL: never */
	void (*destroy)(struct rye_call *call); /* frees what it lies in; NULL: it stands alone */
};

struct rye_call {
	_Atomic unsigned refs;
	const struct call_ops *ops;
	void *owner; /* of one that stands alone */
	rye_done_fn fn;
	void *arg;
	struct events *events; /* NULL: no listener; set before the call is shared */
	_Atomic int cancel; /* enum rye_code; 0: not cancelled */
	_Atomic bool done;
	pthread_mutex_t lock;
	int wake; /* eventfd, readable once cancelled; -1 until call_wake */
	struct rye_call *next; /* of the queue it waits in (queue.c), as parent */
	uint64_t parent; /* the run whose child asked for it, or 0 */
};

/* Two references: the caller's, and one that call_finish gives back. */
void call_init(struct rye_call *call, const struct call_ops *ops, rye_done_fn fn, void *arg);
/* One that stands alone. NULL: no memory. */
struct rye_call *call_new(const struct call_ops *ops, void *owner, rye_done_fn fn, void *arg);
void call_ref(struct rye_call *call);

/* The descriptor that becomes readable when it is cancelled; lives as long as the call. */
int call_wake(struct rye_call *call);
/* Waits so long unless it is cancelled; false: it is. */
bool call_pause(struct rye_call *call, int64_t ms);
enum rye_code call_cancelled(struct rye_call *call); /* RYE_OK: not */

/* Tells fn, the first time, behind the events; holds nothing while it does. */
void call_finish(struct rye_call *call, const struct rye_outcome *outcome);

/*
 * exec.c: verified items → outcomes. A request becomes a frozen plan (chain, environment,
 * argv, limits), the plan runs on the pool, its reply is recorded and then told once.
 *
 * rye_call_cancel, rye_call_detach and rye_call_unref are defined in run/call.c; other layers make
 * calls of their own with call.c.
 */

struct exec; /* run queue, pool, warm interpreters, registry of living runs */

/* A request as the detaching layer gets it: checked, its item found and verified. */
struct exec_detach {
	const char *ref; /* "tool:a/b", canonical */
	const json_t *request; /* of the execute primitive, without "async"; borrowed */
	bool fork; /* a directive's managed thread */
	const char *resume,
		*message; /* a thread that has ended goes on, ref is NULL, request what is given to it; or NULL */
	bool async; /* false: a fork that is waited for */
	struct rye_call *call; /* to watch for a cancel while waiting */
	const char *stem; /* a graph: its thread's id begins with this; NULL: a UUID */
	const char *authority; /* the request's, or NULL */
	const char *remote; /* where it is to run, or NULL: here */
};

struct exec_search {
	const json_t *request; /* as it came */
	const _Atomic int *stop; /* not 0: give up; or NULL */
	const struct authority *asker; /* what it may not read is not found; NULL: a person */
};

/* A run of another layer: a thread's runner. */
struct exec_owner {
	char ref[1040]; /* the item it was started for: "tool:a/b" */
	/* Its request: no_net, no_write and no_shown confine it, `within` has the lists of those above it. A
	 * new reference; never NULL. */
	json_t *request;
};

/*
 * What upper layers provide; a NULL function answers "not available". Called on workers of
 * the pool, which may wait. Replies are new references, without metadata.
 */
struct exec_hooks {
	void *arg;
	/* Is there a remote of that name? RYE_INVALID: a sentence that lists those that there are. */
	int (*remote)(void *arg, const char *name, struct rye_err *err);
	/*
	 * Async and fork: {thread_id, pid, state …} is merged into the reply, with *ret after a
	 * failure too when a thread has begun.
	 */
	int (*detach)(void *arg, const struct exec_detach *ask, json_t **ret, struct rye_err *err);
	/* A running call goes on as a thread; its id. */
	bool (*adopt)(void *arg, struct rye_call *call, const char *ref, const json_t *request,
		      char thread_id[64]);
	void (*adopted_end)(void *arg, const char *thread_id, const struct rye_outcome *outcome);
	/*
	 * A graph's run that is no thread gets a row of its own, with its end, below the thread that has
	 * called it (NULL: none has); false: it has none.
	 */
	bool (*enrol)(void *arg, const char *run_id, const char *ref, const char *parent_id);
	void (*discharge)(void *arg, const char *run_id, const char *status, const char *result);
	bool (*owner)(void *arg, uint64_t run, struct exec_owner *ret);
	/* fetch by query → the whole reply. */
	int (*search)(void *arg, const struct exec_search *ask, json_t **ret, struct rye_err *err);
	/* Of a request refused with this code: a message that would do, or NULL; meant: the item's
	 * reference if that was what was wrong. */
	struct rye_blob *(*instead)(void *arg, const struct rye_request *req, enum rye_code code,
				    char meant[RYE_REF_MAX]);
	/* A file below a space's .ai was made (a copy): tell the index. */
	void (*touched)(void *arg, int space, const char *path);
	/* Returns when every reader finds what was told. */
	void (*wait_told)(void *arg);
};

struct exec_env {
	const struct item_env *items;
	const struct rye_options *opt; /* copied strings, live as long as the engine */
	const struct exec_hooks *hooks; /* or NULL; lives as long as the engine */
	interp_env_fn env; /* {env:NAME} of directives; or NULL */
	void *env_arg;
	const struct log *log;
};

/* Makes this process a subreaper, so that orphans of runs stay recognisable. */
int exec_open(const struct exec_env *env, struct exec **ret, struct rye_err *err);
void exec_close(struct exec *exec); /* cancels, waits for workers, kills warm interpreters */

/* *ret belongs to the caller (rye_call_unref). fn is called once, from a worker. */
void exec_start(struct exec *exec, const struct rye_request *req, rye_done_fn fn, void *arg,
		struct rye_call **ret);
/* Of one for which req->ret_here was set. */
void exec_carry(struct rye_call *call, bool here);
/* Are tools kept from keys, trust and records (sandbox/veil.c)? */
bool exec_veils(const struct exec *exec);
uint64_t exec_started(const struct exec *exec); /* runs since start */

uint64_t exec_run_of(struct exec *exec, const pid_t *chain, size_t n, pid_t session);
pid_t exec_run_leader(struct exec *exec, uint64_t run); /* 0: not known */
bool exec_run_may(struct exec *exec, uint64_t run, enum rye_verb verb, enum rye_kind kind,
		  const char *id);

#endif
