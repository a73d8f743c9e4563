/* SPDX-License-Identifier: MIT */
/*
 * The life of a request between its caller and the worker that carries it out. A caller that stops
 * waiting may make it a thread; the worker that ends meanwhile waits until that is decided, so the
 * thread's record is complete before the caller hears of the end.
 *
 * And what holds a request beside the word of its item: the capabilities of the model's thread that
 * made it and of every thread above that one, and the lists of runs above it in another process. The
 * process that asks hands it over with the request (`authority`), or, for a thread that children of
 * its tool ask from, with the thread's own (`within`).
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
	json_decref(job->held);
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
	if (size > RYE_JOB_MESSAGE_MAX)
		return rye_fail(err, RYE_TOO_BIG, "request: a message of %zu bytes is too big",
				size);
	job->id = strdup(req->id ? req->id : "");
	job->message = req->blob ? rye_blob_ref(req->blob) : rye_blob_new(req->message.ptr, size);
	job->authority = req->authority ? strdup(req->authority) : NULL;
	if (!job->id || !job->message || (req->authority && !job->authority))
		return rye_fail_sys(err, ENOMEM, "request: no memory for %zu bytes", size);
	job->ask.id = job->id;
	job->ask.authority = job->authority;
	job->held = held_read(job->authority);
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

/* ---- what holds it ---- */

/* Threads above a run, the one that called it included: one for each level of depth. */
#define HELD_LISTS 64

json_t *held_read(const char *authority)
{
	json_t *held = authority ? json_parse(span_of(authority), 0, "authority", NULL) : NULL;

	if (!authority || json_is_object(held))
		return held;
	json_decref(held);
	return json_pack("{s:[[]]}", "capabilities");
}

/* Of the thread and those above it; a hook of the configuration is not held to them. */
static json_t *held_capabilities(const json_t *held)
{
	return json_flag(held, "free", false) ? NULL : json_object_get(held, "capabilities");
}

static int held_lists(const json_t *lists, const char *primary, const char *ref,
		      struct rye_err *err)
{
	const json_t *all[HELD_LISTS];
	struct capability_ask ask = { .lists = all,
				      .n = json_array_size(lists),
				      .primary = primary,
				      .id = ref };
	enum rye_kind kind = id_split(ref, &ask.id);

	if (!ask.n)
		return 0;
	if (ask.n > HELD_LISTS || kind == RYE_KIND__MAX)
		return rye_fail(err, RYE_DENIED, "Permission denied: too many threads above");
	ask.kind = rye_kind_name(kind);
	for (size_t i = 0; i < ask.n; i++)
		all[i] = json_array_get(lists, i);
	return capability_check(&ask, NULL, err);
}

bool held_within(const json_t *element, enum rye_verb verb, const char *ref)
{
	if (!json_is_object(element))
		return runs_allow(element, verb, ref);
	/* the item is named later: then it is asked again with it */
	if (!ref || verb_row(verb)->ways & (RYE_WAY_PERSON | RYE_WAY_READS))
		return !(verb_row(verb)->ways & RYE_WAY_PERSON);
	return !held_lists(json_object_get(element, "capabilities"), "execute", ref, NULL);
}

int held_check(const json_t *held, const char *primary, const char *ref, struct rye_err *err)
{
	json_t *element;
	size_t i;
	int r = held_lists(held_capabilities(held), primary, ref, err);

	if (r || strcmp(primary, "execute") != 0)
		return r;
	json_array_foreach(json_object_get(held, "within"), i, element)
		if (!held_within(element, RYE_RUN, ref))
			return rye_fail(
				err, RYE_DENIED,
				"Permission denied: what runs above it does not name %.900s", ref);
	return 0;
}

bool exec_search_shows(const struct exec_search *ask, const char *ref)
{
	return !held_check(ask->held, "fetch", ref, NULL);
}

void held_extend(json_t *within, const json_t *held)
{
	json_t *lists = held_capabilities(held);

	if (lists)
		json_array_append_new(within,
				      json_pack("{s:o}", "capabilities", json_deep_copy(lists)));
	json_array_extend(within, json_object_get(held, "within"));
}

bool held_by_thread(const json_t *within)
{
	json_t *element;
	size_t i;

	json_array_foreach(within, i, element)
		if (json_is_object(element))
			return true;
	return false;
}
