/* SPDX-License-Identifier: MIT */
/*
 * What the functions that carry out a run need of it: failing, going on as a thread, finding an
 * item's kind, the asker and what it may. And the top of a run: its asker is found, once, then what
 * its request's verb and kind ask for is done; each step asks for what it does of that authority. On a
 * worker of the pool; no lock is held in any step.
 */
#include "run/run_inner.h"

#include "base/id.h"
#include "bounds.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void run_fail(struct run *run, const struct rye_err *err)
{
	struct rye_err told = *err;

	/* A cancelled run reports the code of the cancel, whatever that did to the run. */
	if (call_cancelled(run->call) != RYE_OK)
		told.code = call_cancelled(run->call);
	reply_error(&run->reply, &told, run->request.spelled);
}

void run_fail_with(struct run *run, enum rye_code code, const char *text)
{
	struct rye_err err = { 0 };

	rye_fail(&err, code, "%s", text);
	run_fail(run, &err);
}

void run_touched(void *arg, const struct space *space, const char *path)
{
	const struct run *run = arg;
	const struct exec_hooks *hooks = run->exec->env.hooks;

	if (hooks && hooks->touched)
		hooks->touched(hooks->arg, space->index, path);
}

void run_wait_told(const struct run *run)
{
	const struct exec_hooks *hooks = run->exec->env.hooks;

	if (hooks && hooks->wait_told)
		hooks->wait_told(hooks->arg);
}

void run_advise(struct run *run)
{
	const struct exec_hooks *hooks = run->exec->env.hooks;
	struct reply *reply = &run->reply;
	size_t n = strlen(reply->message);
	char meant[RYE_REF_MAX] = "";

	if (!run->ask->advise || run->request.part || !hooks || !hooks->instead ||
	    strstr(reply->message, MEND_WITH) ||
	    (reply->code != RYE_INVALID && reply->code != RYE_NOT_FOUND))
		return;
	reply->instead = hooks->instead(hooks->arg, run->ask, reply->code, meant);
	if (*meant && n + strlen(meant) + sizeof("; did you mean ?") <= sizeof(reply->message))
		snprintf(reply->message + n, sizeof(reply->message) - n, "; did you mean %s?",
			 meant);
}

void run_authorize(struct run *run)
{
	const struct rye_request *ask = run->ask;
	const struct rye_options *opt = run->exec->env.opt;
	struct authority *asker = &run->asker;

	authority_init(asker, ask->parent_run ? ASKER_RUN :
			      ask->keeps      ? ASKER_RUNNER :
			      ask->authority  ? ASKER_MODEL :
						ASKER_PERSON);
	asker->no_run = opt->no_run;
	asker->no_sign = opt->no_sign;
	run->limit = (struct confine){ .net = true, .write = true, .shown = SHOW_ALL };
	if (ask->parent_run)
		runs_authority(run->exec, ask->parent_run, asker, &run->limit);
	if (ask->authority)
		authority_read(asker, ask->authority);
}

int run_may(const struct run *run, enum act act, enum rye_kind kind, const char *id,
	    struct rye_err *err)
{
	const struct authority_ask ask = { act, rye_kind_name(kind), id };

	return authority_check(&run->asker, &ask, err);
}

/* What a thread's keeper needs to run it again without being asynchronous. */
static json_t *plain_request(const struct run *run, const char *ref)
{
	const struct request *request = &run->request;
	auto_json json_t *within = authority_list(&run->asker);
	json_t *doc = json_object();

	json_sets(doc, "item_id", ref);
	json_set(doc, "parameters", json_copy(request->params));
	if (run->own_params)
		json_object_update(json_object_get(doc, "parameters"), (json_t *)run->own_params);
	json_sets(doc, "thread", request->fork ? "fork" : "inline");
	/* Detached from its parent, not from what confines it. */
	if (!run->limit.net)
		json_set(doc, "no_net", json_true());
	if (!run->limit.write)
		json_set(doc, "no_write", json_true());
	if (run->limit.shown != SHOW_ALL)
		json_set(doc, "no_shown", json_true());
	if (request->unpushed)
		json_set(doc, "push", json_false());
	if (request->order)
		json_object_set(doc, "order", request->order);
	if (run->ask->parent_run || json_array_size(within))
		json_object_set(doc, "within", within);
	if (request->timeout > 0 && !json_object_get(request->params, "timeout"))
		json_object_set_new(json_object_get(doc, "parameters"), "timeout",
				    json_real(request->timeout));
	for (size_t i = 0; i < 2; i++) {
		const char *key = i ? "limit_overrides" : "model";

		/* of a directive's own verbs: what is left in its parameters is an input */
		bool ours = request->verb == RYE_EXECUTE ||
			    (request->fork && !json_object_get(request->params, key));

		if (ours && json_object_get(request->doc, key))
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

	/* one that is confined by its parent's run is so only once that was asked */
	if (job->ask.parent_run || !(verb_row(job->ask.verb)->ways & RYE_WAY_RUNS))
		return;
	run_authorize(&run);
	if (!request_read(&job->ask, job->exec->base.project, &run.request, NULL) &&
	    rye_kind_has(request->kind, RYE_KIND_PROCESS) && !request->async && !request->dry_run &&
	    !request->fork && !*request->remote) {
		snprintf(ref, sizeof(ref), "%s:%s", rye_kind_name(request->kind), request->id);
		job_movable(job, ref, plain_request(&run, ref));
	}
	request_done(&run.request);
	authority_done(&run.asker);
}

/* A writer waits for a model's thread for minutes: others run meanwhile. */
static int start_detached(struct run *run, const struct exec_detach *ask, json_t **ret,
			  struct rye_err *err)
{
	const struct exec_hooks *hooks = run->exec->env.hooks;

	if ((ask->fork || ask->remote) && !ask->async)
		runq_step_aside(run->exec->runq, run->call);
	return hooks->detach(hooks->arg, ask, ret, err);
}

/* What started a thread by a line hears its id. */
static void run_tell_thread(struct run *run)
{
	auto_buf struct rye_buf line = RYE_BUF_INIT;

	if (run->ask->form != RYE_FORM_THREAD)
		return;
	buf_addf(&line, "%s\n", json_str(run->reply.doc, "thread_id"));
	run->reply.line = buf_steal(&line);
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
	ask.remote = *request->remote ? request->remote : NULL;
	ask.call = run->call;
	ask.stem = run->stem;
	/* of the thread whose model has called it; whatever else holds the run is in the request */
	ask.authority = *authority_thread(&run->asker) ? run->ask->authority : NULL;
	if (request->fork && run_may(run, ACT_FORK, RYE_DIRECTIVE, NULL, &err)) {
		run_fail(run, &err);
		return;
	}
	if (!hooks || !hooks->detach) {
		run_fail_with(run, RYE_UNSUPPORTED,
			      request->fork ? "thread=\"fork\" is not available yet" :
					      "async is not available yet");
		return;
	}
	if (memory_check(run->reply.memory, &err) || start_detached(run, &ask, &extra, &err)) {
		run_fail(run, &err);
		if (extra) /* of a thread that has begun */
			json_object_update_missing(run->reply.doc, extra);
		return;
	}
	reply_start(&run->reply, "success", request->kind, request->spelled);
	json_object_update(run->reply.doc, extra);
	run_tell_thread(run);
}

void run_resumed(struct run *run)
{
	const struct exec_hooks *hooks = run->exec->env.hooks;
	auto_json json_t *given = json_copy(run->request.doc), *extra = NULL, *ref = NULL;
	auto_json json_t *parameters = json_copy(run->request.params);
	auto_json json_t *inside = json_incref(json_object_get(parameters, "message"));
	const json_t *message = json_object_get(given, "message");
	struct exec_detach ask = { .fork = true,
				   .request = given,
				   .async = run->request.async,
				   .resume = run->request.resume,
				   .call = run->call };
	struct rye_err err = { 0 };
	bool failed;

	if (run_may(run, ACT_RESUME, RYE_KIND__MAX, NULL, &err)) {
		run_fail(run, &err);
		return;
	}
	if (!hooks || !hooks->detach) {
		run_fail_with(run, RYE_UNSUPPORTED, "no thread is kept here");
		return;
	}
	/* one that stands among the parameters is none of them */
	if (!message)
		json_object_del(parameters, "message");
	ask.message = json_string_value(message ? message : inside);
	ask.message = ask.message ? ask.message : "";
	json_object_set(given, "parameters", parameters);
	run->request.fork = true;
	failed = start_detached(run, &ask, &extra, &err);
	if (failed)
		run_fail(run, &err);
	ref = json_sprintf("directive:%s", json_str(extra, "directive"));
	if (!failed)
		reply_start(&run->reply, "success", RYE_DIRECTIVE, json_string_value(ref));
	if (extra)
		json_object_update_missing(run->reply.doc, extra);
}

/* err: where it is there in a way that refuses it. */
static bool has_kind(const struct item_env *env, enum rye_kind kind, const char *id,
		     struct rye_err *err)
{
	struct item_ask ask = { .kind = kind, .id = id };
	struct located at = { .fd = -1 };

	if (space_locate(env->spaces, &ask, &at, err))
		return err->code != RYE_NOT_FOUND;
	close(at.fd);
	return true;
}

int run_find_kind(const struct item_env *env, const char *id, enum rye_kind *ret,
		  struct rye_err *err)
{
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	auto_buf struct rye_buf refs = RYE_BUF_INIT;
	size_t n = 0;

	for (int i = 0; i < RYE_KIND__MAX; i++) {
		enum rye_kind kind = (enum rye_kind)i;
		const char *name = rye_kind_name(kind);
		struct rye_err why = { 0 };

		if (!rye_kind_has(kind, RYE_KIND_RUNS) || !has_kind(env, kind, id, &why))
			continue;
		/* whether there is one cannot be seen */
		if (why.sys == EACCES) {
			if (err)
				*err = why;
			return -(int)why.code;
		}
		buf_addf(&names, "%s%s", n ? ", " : "", name);
		buf_addf(&refs, "%s%s:%s", n ? ", " : "", name, id);
		*ret = kind;
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

bool run_refused(struct run *run, enum rye_kind kind, const char *id)
{
	struct rye_err err = { 0 };

	if (!run_may(run, ACT_RUN, kind, id, &err))
		return false;
	run_fail(run, &err);
	return true;
}

/* ---- verbs and kinds ---- */

/* Before anything is started. */
static int find_remote(const struct run *run, struct rye_err *err)
{
	const struct exec_hooks *hooks = run->exec->env.hooks;
	const char *name = run->request.remote;

	if (!*name)
		return 0;
	if (hooks && hooks->remote)
		return hooks->remote(hooks->arg, name, err);
	return rye_fail(err, RYE_UNSUPPORTED,
			"Remote execution is not available here: use target=\"local\"");
}

static int take_sending(struct request *request, const json_t *own, struct rye_err *err)
{
	static const char *const names[] = { "order", "push" };
	auto_json json_t *terms = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_t *value = json_object_get(request->params, names[i]);

		if (!value || json_object_get(own, names[i]))
			continue;
		json_object_set(terms, names[i], value);
		json_object_del(request->params, names[i]);
	}
	return request_sending(terms, request, err);
}

int run_take_target(struct run *run, const struct rye_item *item, struct rye_err *err)
{
	struct request *request = &run->request;
	auto_json json_t *value = json_incref(json_object_get(request->params, "target"));
	const char *text = json_is_string(value) ? json_string_value(value) : "";
	bool there = !strcmp(text, "remote") || !strncmp(text, "remote:", strlen("remote:"));
	auto_json json_t *schema = NULL;
	const json_t *own;
	int r = 0;

	if (verb_row(request->verb)->names || (!there && !*request->remote))
		return 0;
	schema = meta_schema(item);
	own = json_object_get(schema, "properties");
	if (there && !json_object_get(own, "target")) {
		r = target_read(value, request->remote, err);
		if (!r)
			r = request_matrix(request, request->kind, err);
		json_object_del(request->params, "target");
		if (!r)
			r = find_remote(run, err);
	}
	return r || !*request->remote ? r : take_sending(request, own, err);
}

/* Of a kind with RYE_KIND_RUNS: request_matrix refuses the others. */
static void run_kind(struct run *run)
{
	if (rye_kind_has(run->request.kind, RYE_KIND_PROCESS))
		run_tool(run);
	else if (rye_kind_has(run->request.kind, RYE_KIND_INPUTS))
		run_directive(run);
	else
		run_knowledge(run);
}

void run_item(struct run *run)
{
	struct request *request = &run->request;
	struct rye_err err = { 0 };
	int r = request_read(run->ask, run->exec->base.project, request, &err);

	reply_warn(&run->reply, request->warnings);
	if (!r && request->kind == RYE_KIND__MAX && !*request->resume) {
		r = run_find_kind(run->exec->env.items, request->id, &request->kind, &err);
		if (!r && run->ask->form == RYE_FORM_THREAD)
			request->fork = rye_kind_has(request->kind, RYE_KIND_FORKS);
		if (!r)
			r = request_matrix(request, request->kind, &err);
	}
	if (!r && !*request->resume)
		r = request_launch(request, &err);
	if (!r)
		r = find_remote(run, &err);
	if (r) {
		run_fail(run, &err);
		return;
	}
	if (*request->resume) {
		run_resumed(run);
		return;
	}
	run->limit.net &= !request->no_net;
	run->limit.write &= !request->no_write;
	run->limit.shown &= request->no_shown ? 0 : SHOW_ALL;
	run_kind(run);
}

#define VERB_ROW(verb, name, traits, ways, function, help) \
	[RYE_##verb] = { function, !(traits), ways },

static const struct verb rows[RYE_VERB__MAX] = { RYE_VERBS(VERB_ROW) };

const struct verb *verb_row(enum rye_verb verb)
{
	return &rows[verb < RYE_VERB__MAX ? verb : RYE_RUN];
}

void verbs_run(struct run *run)
{
	const struct verb *verb = verb_row(run->ask->verb);
	struct rye_err err = { 0 };

	run_authorize(run);
	/* what a person may do with `ryefs trust` */
	run->limit.keys = !run_may(run, ACT_KEYS, RYE_KIND__MAX, NULL, NULL);
	if (run_may(run, verb->ways & RYE_WAY_RUNS ? ACT_BEGIN : ACT_ASK, RYE_KIND__MAX, NULL,
		    &err)) {
		run_fail(run, &err);
		return;
	}
	/* An item that runs itself ends here, not when the machine is full. */
	if (run->living->depth >= RYE_NESTED_MAX) {
		run_fail_with(run, RYE_BUDGET,
			      "too many runs wait for each other: an item runs itself?");
		return;
	}
	verb->carry_out(run);
}
