/* SPDX-License-Identifier: MIT */
/*
 * The execution layer's parts and their life: opened with the engine, closed after everything
 * was cancelled and answered. Starting a call copies what it needs and queues it; nothing
 * here waits. Lock order: run queue, runs, warm, boxes; none is held while another is taken.
 */

#include "base/self.h"
#include "bounds.h"
#include "http/http.h"
#include "memory.h"
#include "process/process.h"
#include "run/run_inner.h"
#include "scope.h"
#include "warm/warm.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>

/*
 * ---- a job ----
 *
 * The life of a request between its caller and the worker that carries it out. A caller that stops
 * waiting may make it a thread; the worker that ends meanwhile waits until that is decided, so the
 * thread's record is complete before the caller hears of the end.
 */

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

/* ---- all of it ---- */

static void exec_answer(struct rye_call *call, struct run *run)
{
	struct rye_outcome outcome;

	reply_outcome(&run->reply, &run->exec->lost, &outcome);
	job_finish(call, &outcome);
	rye_outcome_done(&outcome);
}

static void tidy_up(struct exec *exec, struct later *list)
{
	while (list) {
		struct later *next = list->next;

		list->fn(exec, list);
		list = next;
	}
}

static void exec_refuse(struct run *run, enum rye_code verdict)
{
	struct rye_err err = { 0 };

	if (verdict == RYE_BUSY)
		rye_fail(&err, RYE_BUSY, "too many runs are waiting: try again later");
	else if (verdict == RYE_OK)
		memory_fail(&err);
	else
		rye_fail(&err, verdict, "Run was cancelled");
	reply_error(&run->reply, &err, *run->ask->id ? run->ask->id : NULL);
}

/* runq_fn */
static void exec_carry_out(void *arg, struct rye_call *call, enum rye_code verdict)
{
	struct job *job = job_of(call);
	struct run run = { .exec = arg, .call = call, .ask = &job->ask };

	reply_init(&run.reply);
	if (verdict == RYE_OK && job->unfit.code == RYE_OK)
		run.living = runs_begin(run.exec->runs, call, job->ask.parent_run);
	/* exec_close cancels what is in the list; what comes into it later cancels itself */
	if (run.living && atomic_load(&run.exec->closing))
		rye_call_cancel(call, RYE_CANCELLED);
	if (run.living)
		verbs_run(&run);
	else if (job->unfit.code != RYE_OK)
		reply_error(&run.reply, &job->unfit, NULL);
	else
		exec_refuse(&run, verdict);
	run_advise(&run);
	if (run.living)
		runs_end(run.exec->runs, run.living);
	exec_answer(call, &run);
	tidy_up(run.exec, run.later);
	request_done(&run.request);
	authority_done(&run.asker);
	reply_done(&run.reply);
	ground_unref(run.ground);
}

/*
 * What only renders verified text costs less than waking a worker for it: 20 µs against 30 to
 * 50 µs for each of the two hand-overs, there and back.
 */
static bool is_light(const struct rye_request *req)
{
	const struct verb *verb = verb_row(req->verb);

	return !verb->names && !(verb->ways & (RYE_WAY_ASYNC | RYE_WAY_FORK)) &&
	       rye_kind_has(req->kind, RYE_KIND_RUNS) &&
	       !rye_kind_has(req->kind, RYE_KIND_PROCESS) && req->form == RYE_FORM_JSON &&
	       req->message.len <= RYE_LIGHT_MESSAGE_MAX;
}

/*
 * A call of an MCP server's tool costs its thread little but waiting, and leaves nothing to be tidied
 * up behind the answer. A child of a run has its place to be lent, which is a worker's.
 */
static bool may_be_here(const struct exec *exec, const struct rye_request *req)
{
	const struct verb *verb = verb_row(req->verb);

	return req->ret_here && req->kind == RYE_TOOL && !req->parent_run && !req->target &&
	       !verb->names && !(verb->ways & (RYE_WAY_ASYNC | RYE_WAY_FORK)) &&
	       grounds_have_server(exec->base.grounds, req->id);
}

void exec_start(struct exec *exec, const struct rye_request *req, rye_done_fn fn, void *arg,
		struct rye_call **ret)
{
	struct rye_call *call = job_call(exec, req, fn, arg);

	*ret = call;
	if (!call) {
		fn(arg, &exec->lost);
		return;
	}
	job_of(call)->prepare = run_movable_early;
	atomic_fetch_add(&exec->started, 1);
	if (req->at_once && is_light(req))
		exec_carry_out(exec, call, RYE_OK);
	else if (may_be_here(exec, req) && runq_enter(exec->runq, call))
		*req->ret_here = true;
	else if (!runq_push(exec->runq, call, req->parent_run))
		job_finish(call, &exec->lost);
}

void exec_carry(struct rye_call *call, bool here)
{
	struct exec *exec = job_of(call)->exec;

	call_ref(call);
	if (here) {
		runq_carry(exec->runq, call);
	} else {
		runq_leave(exec->runq, call);
		if (!runq_push(exec->runq, call, 0))
			job_finish(call, &exec->lost);
	}
	rye_call_unref(call);
}

uint64_t exec_started(const struct exec *exec)
{
	return atomic_load(&exec->started);
}

uint64_t exec_run_of(struct exec *exec, const pid_t *chain, size_t n, pid_t session)
{
	return runs_of(exec->runs, chain, n, session);
}

pid_t exec_run_leader(struct exec *exec, uint64_t run)
{
	return runs_leader(exec->runs, run);
}

static void watch_strays(struct exec *exec)
{
	/* The kernel's own limit does not hold for root. */
	strays_watch(exec->strays, geteuid() ? 0 : RYE_TOOL_PROCESSES, pidlimit_held);
}

void exec_attend(struct exec *exec)
{
	const struct rye_options *opt = exec->env.opt;

	/* Beside a mount stands its watchdog. */
	if ((opt->scan && opt->mountpoint) || atomic_exchange(&exec->attended, true))
		return;
	if (!opt->scan)
		watch_strays(exec);
	exec->minder = minder_start();
}

static int exec_open_parts(struct exec *exec, struct rye_err *err)
{
	auto_free char *self = self_path();
	int r;

	exec->base.project = realpath(exec->env.opt->project, NULL);
	if (!exec->base.project)
		return rye_fail_sys(err, errno, "%s", exec->env.opt->project);
	env_rows(&exec->base.inherited, environ);
	env_base(&exec->base.allowed, exec->base.inherited.v, exec->env.opt->env_names,
		 exec->base.project);
	if (self)
		env_put(&exec->base.allowed, "RYE_RYEFS", self);
	exec->base.interps = interps_open();
	exec->base.grounds = grounds_open();
	exec->runs = runs_open();
	exec->strays = strays_open();
	exec->http = http_open();
	if (!exec->base.interps || !exec->base.grounds || !exec->runs || !exec->strays ||
	    !exec->http || exec->base.allowed.failed)
		return rye_fail_sys(err, ENOMEM, "execution");
	if (exec->env.opt->scan)
		watch_strays(exec);
	r = boxes_open(exec->env.opt, exec->env.items->spaces, &exec->base.boxes, err);
	if (!r) {
		exec->mcp = mcp_open(exec->base.boxes, exec->strays, exec->http);
		r = exec->mcp ? 0 : rye_fail_sys(err, ENOMEM, "execution");
	}
	if (!r)
		r = warm_open(&exec->base, &exec->warm, err);
	if (!r)
		r = runq_open(exec->env.opt->jobs, exec_carry_out, exec, &exec->runq, err);
	return r;
}

bool exec_veils(const struct exec *exec)
{
	return boxes_veil(exec->base.boxes);
}

int exec_open(const struct exec_env *env, struct exec **ret, struct rye_err *err)
{
	struct exec *exec = calloc(1, sizeof(*exec));
	int r;

	if (!exec)
		return rye_fail_sys(err, ENOMEM, "execution");
	exec->env = *env;
	exec->base.items = env->items;
	exec->base.opt = env->opt;
	exec->base.log = env->log;
	tellers_init(&exec->tellers);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	r = reply_lost(&exec->lost, err);
	if (!r)
		r = exec_open_parts(exec, err);
	if (r) {
		exec_close(exec);
		return r;
	}
	*ret = exec;
	return 0;
}

void exec_close(struct exec *exec)
{
	if (!exec)
		return;
	atomic_store(&exec->closing, true);
	if (exec->runs)
		runs_cancel_all(exec->runs);
	runq_close(exec->runq);
	tellers_done(&exec->tellers);
	warm_close(exec->warm);
	mcp_close(exec->mcp);
	http_close(exec->http);
	boxes_close(exec->base.boxes);
	runs_close(exec->runs);
	strays_close(exec->strays);
	minder_end(exec->minder);
	interps_close(exec->base.interps);
	grounds_close(exec->base.grounds);
	env_done(&exec->base.inherited);
	env_done(&exec->base.allowed);
	free(exec->base.project);
	rye_outcome_done(&exec->lost);
	free(exec);
}
