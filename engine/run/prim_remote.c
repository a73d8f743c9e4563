/* SPDX-License-Identifier: MIT */
/*
 * The primitive `remote`, of the bundled tool rye/core/remote/remote, and the verb of a mount's files
 * remotes/NAME/push and ctl: both ask a remote by the same words (remote/remote_acts.c); `execute`, which the tool
 * has besides, is a request with a target. On a worker, which waits for the network: its place is free
 * for others. No lock.
 */
#include "plan/plan.h"

#include "base/id.h"
#include "memory.h"
#include "parse/parse.h"
#include "remote/remote.h"
#include "run/run_inner.h"
#include "scope.h"

#include <string.h>

/* What a run may not do itself nothing does for it. */
static int remote_may(const struct run *run, struct rye_err *err)
{
	if (run->limit.net)
		return 0;
	return rye_fail(err, RYE_DENIED,
			"Permission denied: what runs above it may not use the network");
}

static int remote_carry_out(struct run *run, const char *remote, const json_t *doc, json_t **ret,
			    struct rye_err *err)
{
	int r = remote_may(run, err);

	if (r)
		return r;
	exec_attend(run->exec);
	runq_step_aside(run->exec->runq, run->call);
	return remote_act(run->exec->env.items, remote, doc, ret, err);
}

static int away_execute(struct run *run, const json_t *params, const char *adopt, json_t **ret,
			struct rye_err *err);

/* What is asked; of a run that was begun elsewhere, and whose order lies here now, a thread is made. */
static int remote_ask(struct run *run, const char *remote, const json_t *doc, json_t **ret,
		      struct rye_err *err)
{
	auto_json json_t *order = NULL;
	int r = remote_carry_out(run, remote, doc, ret, err);

	if (r || strcmp(json_str(doc, "action"), "adopt") != 0)
		return r;
	order = *ret;
	*ret = NULL;
	json_set(order, "async", json_true());
	return away_execute(run, order, json_str(order, "id"), ret, err);
}

/* ---- remotes/NAME/push, ctl ---- */

static int push_read(const json_t *doc, struct rye_err *err)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)doc, key, value)
		if (strcmp(key, "force") || !json_is_boolean(value))
			return rye_fail(err, RYE_INVALID,
					"push takes {} or {\"force\": true}, not %.80s", key);
	return 0;
}

/* The message of the file as a request of remote_act. */
static int file_read(const struct run *run, bool push, json_t **ret, struct rye_err *err)
{
	int r;

	if (!push)
		return remote_act_read(run->ask->message, ret, err);
	*ret = message_read(run->ask->message, run->ask->form, err);
	if (!*ret)
		return -(int)err->code;
	r = push_read(*ret, err);
	return r || json_sets(*ret, "action", "push") ? r : memory_fail(err);
}

void run_remote(struct run *run)
{
	const char *file = strchr(run->ask->id, '/');
	auto_json json_t *doc = NULL, *reply = NULL;
	char name[ID_NAME_MAX + 1];
	struct rye_err err = { 0 };
	int r;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(run->ask->id, "/"), run->ask->id);
	run->request.verb = RYE_REMOTE;
	r = file_read(run, file && !strcmp(file, "/push"), &doc, &err);
	if (!r)
		r = remote_ask(run, name, doc, &reply, &err);
	if (r) {
		run_fail(run, &err);
		return;
	}
	json_sets(run->reply.doc, "status", "success");
	/* a member `status` of what came of it is a sentence of the node's */
	if (json_object_get(reply, "status"))
		json_set(reply, "said", json_incref(json_object_get(reply, "status")));
	json_object_update_missing(run->reply.doc, reply);
}

/* ---- the tool ---- */

struct remote_plan {
	json_t *params; /* owned */
};

static int remote_plan(struct planner *planner, struct plan *plan, struct rye_err *err)
{
	struct remote_plan *own = plan->own;

	own->params = json_deep_copy(planner->params);
	return own->params ? 0 : memory_fail(err);
}

static void remote_plan_done(void *own)
{
	json_decref(((struct remote_plan *)own)->params);
}

/* `execute`: which item, and may it be run? */
static int away_item(struct run *run, const json_t *params, enum rye_kind *ret, const char **ret_id,
		     struct rye_err *err)
{
	const char *item = json_str(params, "item_id");
	struct request of = { .spelled = (char *)item,
			      .fork = !strcmp(json_str(params, "thread"), "fork"),
			      .async = json_flag(params, "async", false) };
	int r;

	*ret = id_split(item, ret_id);
	if (*ret >= RYE_KIND__MAX)
		return rye_fail(err, RYE_INVALID,
				"execute wants item_id, for instance tool:my/train");
	snprintf(of.remote, sizeof(of.remote), "%s", json_str(params, "remote"));
	r = request_matrix(&of, *ret, err);
	return r ? r : run_may(run, ACT_RUN, *ret, *ret_id, err);
}

static int away_execute(struct run *run, const json_t *params, const char *adopt, json_t **ret,
			struct rye_err *err)
{
	const struct exec_hooks *hooks = run->exec->env.hooks;
	const char *remote = json_str(params, "remote"), *id;
	auto_json json_t *within = authority_list(&run->asker), *doc = NULL;
	json_t *given = json_object_get(params, "parameters");
	struct exec_detach ask = { .async = json_flag(params, "async", false),
				   .call = run->call,
				   .remote = remote };
	enum rye_kind kind;
	int r = away_item(run, params, &kind, &id, err);

	if (!r)
		r = remote_may(run, err);
	if (!r)
		r = hooks && hooks->remote && hooks->detach ?
			    hooks->remote(hooks->arg, remote, err) :
			    rye_fail(err, RYE_UNSUPPORTED, "no thread is kept here");
	if (r)
		return r;
	ask.fork = rye_kind_has(kind, RYE_KIND_FORKS);
	ask.ref = json_str(params, "item_id");
	doc = json_pack("{s:s, s:o, s:s}", "item_id", ask.ref, "parameters",
			given ? json_incref(given) : json_object(), "thread",
			ask.fork ? "fork" : "inline");
	if (!json_flag(params, "push", true))
		json_set(doc, "push", json_false());
	if (adopt)
		json_sets(doc, "adopt", adopt);
	if (run->ask->parent_run || json_array_size(within))
		json_object_set(doc, "within", within);
	ask.request = doc;
	ask.authority = *authority_thread(&run->asker) ? run->ask->authority : NULL;
	runq_step_aside(run->exec->runq, run->call);
	return hooks->detach(hooks->arg, &ask, ret, err);
}

static void remote_prim_run(struct run *run, const struct plan *plan, struct result *ret)
{
	const struct remote_plan *own = plan->own;
	const char *remote = json_str(own->params, "remote");
	bool execute = !strcmp(json_str(own->params, "action"), "execute");
	struct rye_err err = { 0 };
	json_t *data = NULL;
	int r;

	r = execute ? away_execute(run, own->params, NULL, &data, &err) :
		      remote_ask(run, remote, own->params, &data, &err);
	if (!data)
		data = json_object();
	json_set(data, "success", json_boolean(!r));
	*ret = (struct result){ .code = r ? err.code : RYE_OK,
				.data = data,
				.warnings = json_array(),
				.error = memory_note(strdup(r ? err.msg : "")) };
}

const struct prim_ops prim_remote = {
	.own_size = sizeof(struct remote_plan),
	.plan = remote_plan,
	.run = remote_prim_run,
	.done = remote_plan_done,
};
