/* SPDX-License-Identifier: MIT */
/*
 * From a verb to a reply, on a worker of the pool. Children of runs are held to the signed
 * `requires` of the item they were started for and of every run above it; nothing that signs
 * is open to them. No lock is held in any step.
 */
#include "exec/run.h"

#include "base/auto.h"
#include "base/id.h"
#include "base/limits.h"
#include "exec/job.h"
#include "item/space.h"

#include <stdio.h>
#include <string.h>

void run_fail(struct run *run, const struct rye_err *err)
{
	struct rye_err told = *err;

	/* The caller's own word for its end, whatever it did to the run. */
	if (call_cancelled(run->call) != RYE_OK)
		told.code = call_cancelled(run->call);
	reply_error(&run->reply, &told, run->request.spelled);
}

static void fail_with(struct run *run, enum rye_code code, const char *text)
{
	struct rye_err err = { 0 };

	rye_fail(&err, code, "%s", text);
	run_fail(run, &err);
}

/* What a thread's keeper needs to run it again without being asynchronous. */
static json_t *plain_request(const struct run *run, const char *ref)
{
	const struct request *request = &run->request;
	json_t *doc = json_object();

	json_sets(doc, "item_id", ref);
	json_set(doc, "parameters", json_copy(request->params));
	json_sets(doc, "thread", request->fork ? "fork" : "inline");
	/* Detached from its parent, not from what confines it. */
	if (!run->limit.net)
		json_set(doc, "no_net", json_true());
	if (!run->limit.write)
		json_set(doc, "no_write", json_true());
	if (run->ask->parent_run)
		json_set(doc, "within", asker_within(run->exec, run->ask->parent_run));
	if (request->timeout > 0 && !json_object_get(request->params, "timeout"))
		json_object_set_new(json_object_get(doc, "parameters"), "timeout",
				    json_real(request->timeout));
	for (size_t i = 0; i < 2; i++) {
		const char *key = i ? "limit_overrides" : "model";

		if (request->verb == RYE_EXECUTE && json_object_get(request->doc, key))
			json_object_set(doc, key, json_object_get(request->doc, key));
	}
	return doc;
}

void run_movable(struct run *run, const char *ref)
{
	job_movable(job_of(run->call), ref, plain_request(run, ref));
}

void run_movable_early(struct rye_call *call)
{
	struct job *job = job_of(call);
	struct run run = { .exec = job->exec, .call = call, .ask = &job->ask };
	const struct request *request = &run.request;
	char ref[RYE_ID_MAX + 16];

	run.limit = (struct confine){ true, true };
	/* one that is confined by its parent's run is so only once that was asked */
	if (job->ask.parent_run || (job->ask.verb != RYE_RUN && job->ask.verb != RYE_EXECUTE))
		return;
	if (!request_read(&job->ask, job->exec->project, &run.request, NULL) &&
	    request->kind == RYE_TOOL && !request->async && !request->dry_run && !request->fork &&
	    !request->remote) {
		snprintf(ref, sizeof(ref), "tool:%s", request->id);
		job_movable(job, ref, plain_request(&run, ref));
	}
	request_done(&run.request);
}

void run_detached(struct run *run, const char *ref)
{
	const struct exec_hooks *hooks = run->exec->env.hooks;
	struct request *request = &run->request;
	auto_json json_t *doc = plain_request(run, ref);
	auto_json json_t *extra = NULL;
	struct exec_detach ask = { .ref = ref, .request = doc, .fork = request->fork };
	struct rye_err err = { 0 };

	ask.async = request->async;
	ask.call = run->call;
	if (!hooks || !hooks->detach) {
		fail_with(run, RYE_UNSUPPORTED,
			  request->fork ? "thread=\"fork\" is not available yet" :
					  "async is not available yet");
		return;
	}
	if (hooks->detach(hooks->arg, &ask, &extra, &err)) {
		run_fail(run, &err);
		return;
	}
	reply_start(&run->reply, "success", request->kind, request->spelled);
	json_object_update(run->reply.doc, extra);
}

static bool has_kind(const struct item_env *env, enum rye_kind kind, const char *id)
{
	struct item_ask ask = { .kind = kind, .id = id };
	struct located at = { .fd = -1 };
	struct rye_err err = { 0 };

	if (space_locate(env->spaces, &ask, &at, &err))
		return err.code != RYE_NOT_FOUND;
	close(at.fd);
	return true;
}

int run_find_kind(const struct item_env *env, const char *id, enum rye_kind *ret,
		  struct rye_err *err)
{
	static const enum rye_kind kinds[] = { RYE_DIRECTIVE, RYE_TOOL, RYE_KNOWLEDGE };
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	auto_buf struct rye_buf refs = RYE_BUF_INIT;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *name = rye_kind_name(kinds[i]);

		if (!has_kind(env, kinds[i], id))
			continue;
		buf_addf(&names, "%s%s", n ? ", " : "", name);
		buf_addf(&refs, "%s%s:%s", n ? ", " : "", name, id);
		*ret = kinds[i];
		n++;
	}
	if (n == 1)
		return 0;
	if (!n)
		return rye_fail(err, RYE_NOT_FOUND, "Item not found: %s", id);
	return rye_fail(err, RYE_INVALID,
			"Ambiguous item_id '%s': matches %s. Use a canonical ref: %s.", id,
			names.data, refs.data);
}

static bool not_available(struct run *run)
{
	const json_t *doc = run->request.doc;

	if (run->request.remote) {
		fail_with(run, RYE_UNSUPPORTED,
			  "Remote execution is not available yet: use target=\"local\"");
		return true;
	}
	if (run->request.verb == RYE_EXECUTE &&
	    json_truthy(json_object_get(doc, "resume_thread_id"))) {
		fail_with(run, RYE_UNSUPPORTED, "resume_thread_id is not available yet");
		return true;
	}
	return false;
}

void prim_execute(struct run *run)
{
	struct request *request = &run->request;
	struct rye_err err = { 0 };
	int r = request_read(run->ask, run->exec->project, request, &err);

	reply_warn(&run->reply, request->warnings);
	if (!r && request->kind == RYE_KIND__MAX) {
		r = run_find_kind(run->exec->env.items, request->id, &request->kind, &err);
		if (!r)
			r = request_matrix(request, request->kind, &err);
	}
	if (r) {
		run_fail(run, &err);
		return;
	}
	if (not_available(run))
		return;
	run->limit.net &= !request->no_net;
	run->limit.write &= !request->no_write;
	if (request->kind == RYE_TOOL)
		run_tool(run);
	else if (request->kind == RYE_DIRECTIVE)
		run_directive(run);
	else
		run_knowledge(run);
}

void run_verb(struct run *run)
{
	uint64_t parent = run->ask->parent_run;

	run->limit = (struct confine){ .net = true, .write = true };
	/* What a person may do with `ryefs trust`; never for a child of a run, nor left behind. */
	run->limit.keys = !parent && !run->ask->keeps && !run->exec->env.opt->no_sign;
	if (run->exec->env.opt->no_run && run->ask->verb < RYE_FETCH) {
		fail_with(run, RYE_DENIED, "running is switched off (norun)");
		return;
	}
	/* An item that runs itself ends here, not when the machine is full. */
	if (run->living->depth >= RYE_NESTED_MAX) {
		fail_with(run, RYE_BUDGET,
			  "too many runs wait for each other: an item runs itself?");
		return;
	}
	if (parent && !asker_confine(run->exec, parent, &run->limit)) {
		fail_with(run, RYE_DENIED, "Permission denied: the asking run is not known");
		return;
	}
	run->limit.keys &= !parent;
	if (run->ask->verb == RYE_FETCH)
		prim_fetch(run);
	else if (run->ask->verb == RYE_SIGN)
		prim_sign(run);
	else
		prim_execute(run);
}
