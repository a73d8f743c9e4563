/* SPDX-License-Identifier: MIT */
/*
 * job.h: a call of rye_start: its request, and whether it has become a thread.
 *
 * Lock: that of the call guards state, ref, request and thread_id; hooks are called without it.
 */
#ifndef RYE_RUN_JOB_H
#define RYE_RUN_JOB_H

#include "run/call.h"
#include "run/exec.h"

struct job {
	struct rye_call call; /* first: the engine's callers know the job by it */
	struct exec *exec;
	struct rye_request ask; /* what it points to is ours; frozen */
	char *id;
	struct rye_blob *message;
	struct rye_err unfit; /* why the request cannot be carried out; .code RYE_OK: it can */
	void (*prepare)(struct rye_call *call); /* before it may go on as a thread; or NULL */
	pthread_cond_t moved; /* state is no longer JOB_ADOPTING */
	enum { JOB_PLAIN, JOB_MOVABLE, JOB_ADOPTING, JOB_ADOPTED, JOB_OVER } state;
	char *ref; /* of the running item, "tool:a/b" */
	json_t *request; /* that would run it again, for the thread's record */
	char thread_id[64];
};

/* Of a call that job_call made. */
static inline struct job *job_of(struct rye_call *call)
{
	return (struct job *)call;
}

/* The call of a new job; both references as call_init. */
struct rye_call *job_call(struct exec *exec, const struct rye_request *req, rye_done_fn fn,
			  void *arg);
/* From now on it may go on as a thread. Takes request over. */
void job_movable(struct job *job, const char *ref, json_t *request);
/* Records the end of a thread if it has become one, then tells the caller. */
void job_finish(struct rye_call *call, const struct rye_outcome *outcome);

#endif
