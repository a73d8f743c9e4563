/* SPDX-License-Identifier: MIT */
/*
 * The life of a request between the one who asked and the worker that carries it out. Whoever
 * stops waiting may make it a thread; the worker that ends meanwhile waits until that is
 * decided, so the thread's record is complete before the caller hears of the end.
 */
#include "exec/job.h"

#include "base/auto.h"
#include "exec/inner.h"
#include "exec/run.h"
#include "exec/runq.h"

#include <string.h>

static void cancelled(struct rye_call *call)
{
	struct job *job = call->owner;

	runq_hurry(job->exec->runq, call);
}

static void free_job(struct job *job)
{
	free(job->id);
	free(job->message);
	free(job->ref);
	json_decref(job->request);
	pthread_cond_destroy(&job->moved);
	pthread_mutex_destroy(&job->lock);
	free(job);
}

static void destroy(struct rye_call *call)
{
	free_job(call->owner);
}

static bool begin_move(struct job *job)
{
	WITH_LOCK(&job->lock) {
		if (job->state != JOB_MOVABLE)
			return false;
		job->state = JOB_ADOPTING;
		return true;
	}
	return false;
}

static bool detach(struct rye_call *call, char thread_id[64])
{
	struct job *job = call->owner;
	const struct exec_hooks *hooks = job->exec->env.hooks;
	bool moved;

	if (!hooks || !hooks->adopt)
		return false;
	run_movable_early(call);
	if (!begin_move(job))
		return false;
	/* ref and request do not change while it is being adopted. */
	moved = hooks->adopt(hooks->arg, call, job->ref, job->request, thread_id);
	WITH_LOCK(&job->lock) {
		job->state = moved ? JOB_ADOPTED : JOB_MOVABLE;
		if (moved)
			snprintf(job->thread_id, sizeof(job->thread_id), "%s", thread_id);
		pthread_cond_broadcast(&job->moved);
	}
	return moved;
}

static const struct call_ops ops = { .cancelled = cancelled, .detach = detach, .destroy = destroy };

static struct job *copy_request(struct exec *exec, const struct rye_request *req)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	pthread_mutex_init(&job->lock, NULL);
	pthread_cond_init(&job->moved, NULL);
	job->exec = exec;
	job->ask = *req;
	job->id = strdup(req->id ? req->id : "");
	job->message = malloc(req->message.len + 1);
	if (!job->id || !job->message) {
		free_job(job);
		return NULL;
	}
	if (req->message.len)
		memcpy(job->message, req->message.ptr, req->message.len);
	job->message[req->message.len] = 0;
	job->ask.id = job->id;
	job->ask.message.ptr = job->message;
	return job;
}

struct rye_call *job_call(struct exec *exec, const struct rye_request *req, rye_done_fn fn,
			  void *arg)
{
	struct job *job = copy_request(exec, req);
	struct rye_call *call = job ? call_new(&ops, job, fn, arg) : NULL;

	/* Small internal allocations: without them there is nobody to tell. */
	if (!call)
		abort();
	return call;
}

void job_movable(struct job *job, const char *ref, json_t *request)
{
	char *copy = strdup(ref);

	WITH_LOCK(&job->lock) {
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
	struct job *job = call->owner;
	const struct exec_hooks *hooks = job->exec->env.hooks;
	bool adopted = false;

	WITH_LOCK(&job->lock) {
		while (job->state == JOB_ADOPTING)
			pthread_cond_wait(&job->moved, &job->lock);
		adopted = job->state == JOB_ADOPTED;
		job->state = JOB_OVER;
	}
	if (adopted)
		hooks->adopted_end(hooks->arg, job->thread_id, outcome);
	call_finish(call, outcome);
}
