/* SPDX-License-Identifier: MIT */
/*
 * The life of a request between its caller and the worker that carries it out. A caller that stops
 * waiting may make it a thread; the worker that ends meanwhile waits until that is decided, so the
 * thread's record is complete before the caller hears of the end.
 */
#include "run/run_inner.h"

#include "bounds.h"
#include "memory.h"
#include "scope.h"

#include <errno.h>
#include <string.h>

static void hurry_cancelled(struct rye_call *call)
{
	struct job *job = job_of(call);

	runq_hurry(job->exec->runq, call);
}

static void job_destroy(struct rye_call *call)
{
	struct job *job = job_of(call);

	free(job->id);
	free(job->authority);
	free(job->target);
	rye_blob_unref(job->message);
	free(job->ref);
	json_decref(job->request);
	pthread_cond_destroy(&job->moved);
	free(job);
}

static bool begin_move(struct job *job)
{
	GUARD(&job->call.lock);
	if (job->state != JOB_MOVABLE)
		return false;
	job->state = JOB_ADOPTING;
	return true;
}

static bool job_detach(struct rye_call *call, char thread_id[64])
{
	struct job *job = job_of(call);
	const struct exec_hooks *hooks = job->exec->env.hooks;
	bool moved;

	if (!hooks || !hooks->adopt)
		return false;
	if (job->prepare)
		job->prepare(call);
	if (!begin_move(job))
		return false;
	/* ref and request do not change while it is being adopted. */
	moved = hooks->adopt(hooks->arg, call, job->ref, job->request, thread_id);
	GUARD(&job->call.lock);
	job->state = moved ? JOB_ADOPTED : JOB_MOVABLE;
	if (moved)
		snprintf(job->thread_id, sizeof(job->thread_id), "%s", thread_id);
	pthread_cond_broadcast(&job->moved);
	return moved;
}

static const struct call_ops ops = { .cancelled = hurry_cancelled,
				     .detach = job_detach,
				     .destroy = job_destroy };

/* A message in a blob is kept as it is; any other is copied, of whatever size it is. */
static int keep_request(struct job *job, const struct rye_request *req, struct rye_err *err)
{
	size_t size = req->message.len;

	job->ask = *req;
	job->ask.id = "";
	job->ask.message = (struct rye_span){ "", 0 };
	job->ask.blob = NULL;
	job->ask.authority = NULL;
	job->ask.target = NULL;
	if (size > RYE_JOB_MESSAGE_MAX)
		return rye_fail(err, RYE_TOO_BIG, "request: a message of %zu bytes is too big",
				size);
	job->id = strdup(req->id ? req->id : "");
	job->message = req->blob ? rye_blob_ref(req->blob) : rye_blob_new(req->message.ptr, size);
	job->authority = req->authority ? strdup(req->authority) : NULL;
	job->target = req->target ? strdup(req->target) : NULL;
	if (!job->id || !job->message || (req->authority && !job->authority) ||
	    (req->target && !job->target))
		return rye_fail_sys(err, ENOMEM, "request: no memory for %zu bytes", size);
	job->ask.id = job->id;
	job->ask.authority = job->authority;
	job->ask.target = job->target;
	job->ask.message = req->blob ? req->message : (struct rye_span){ job->message->data, size };
	return 0;
}

struct rye_call *job_call(struct exec *exec, const struct rye_request *req, rye_done_fn fn,
			  void *arg)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	call_init(&job->call, &ops, fn, arg);
	pthread_cond_init(&job->moved, NULL);
	job->exec = exec;
	(void)keep_request(job, req, &job->unfit);
	job->call.events = events_new(&exec->tellers, &req->events);
	if (req->events.fn && !job->call.events)
		memory_fail(&job->unfit);
	return &job->call;
}

void job_movable(struct job *job, const char *ref, json_t *request)
{
	char *copy = strdup(ref);

	{
		GUARD(&job->call.lock);
		if (copy && job->state == JOB_PLAIN) {
			job->ref = steal(&copy);
			job->request = request;
			request = NULL;
			job->state = JOB_MOVABLE;
		}
	}
	free(copy);
	json_decref(request);
}

void job_finish(struct rye_call *call, const struct rye_outcome *outcome)
{
	struct job *job = job_of(call);
	const struct exec_hooks *hooks = job->exec->env.hooks;
	bool adopted = false;

	{
		GUARD(&job->call.lock);
		while (job->state == JOB_ADOPTING)
			pthread_cond_wait(&job->moved, &job->call.lock);
		adopted = job->state == JOB_ADOPTED;
		job->state = JOB_OVER;
	}
	if (adopted)
		hooks->adopted_end(hooks->arg, job->thread_id, outcome);
	call_finish(call, outcome);
}
