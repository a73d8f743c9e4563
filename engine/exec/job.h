/* SPDX-License-Identifier: MIT */
/*
 * job.h: what a call of rye_start owns: its request, and whether it has become a thread.
 *
 * Lock: `lock` guards state, ref, request and thread_id; hooks are called without it.
 */
#ifndef RYE_EXEC_JOB_H
#define RYE_EXEC_JOB_H

#include "exec/call.h"
#include "exec/exec.h"

struct run;

struct job {
	struct exec *exec;
	struct rye_request ask; /* what it points to is ours; frozen */
	char *id, *message;
	pthread_mutex_t lock;
	pthread_cond_t moved; /* state is no longer JOB_ADOPTING */
	enum { JOB_PLAIN, JOB_MOVABLE, JOB_ADOPTING, JOB_ADOPTED, JOB_OVER } state;
	char *ref; /* of the running item, "tool:a/b" */
	json_t *request; /* that would run it again, for the thread's record */
	char thread_id[64];
};

/* The call of a new job; both references as call_new. */
struct rye_call *job_call(struct exec *exec, const struct rye_request *req, rye_done_fn fn,
			  void *arg);
/* From now on it may go on as a thread. Takes request over. */
void job_movable(struct job *job, const char *ref, json_t *request);
/* Records the end of a thread if it has become one, then tells the caller. */
void job_finish(struct rye_call *call, const struct rye_outcome *outcome);

#endif
