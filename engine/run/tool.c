/* SPDX-License-Identifier: MIT */
/*
 * Running a tool: load, chain, parameters, checks, plan, primitive, reply; again when its
 * retry policy says so. Whatever fails leaves a reply with the chain as far as it was built.
 * On a worker; no lock.
 */
#include "run/run_inner.h"

#include "bounds.h"
#include "memory.h"
#include "plan/plan.h"
#include "schema/schema.h"
#include "scope.h"
#include "space/space.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct tool_run {
	struct run *run;
	const struct chain *chain; /* of the ground */
	struct planner planner;
	struct plan plan;
	struct params_check params;
};

#define PRIM_DECLARED(number, name, ...) extern const struct prim_ops prim_##name;
#define PRIM_LISTED(number, name, ...) [PRIM_##number] = &prim_##name,

PRIMS(PRIM_DECLARED)

static const struct prim_ops *prim_ops_of(const struct prim *prim)
{
	static const struct prim_ops *const ops[PRIM__MAX] = { PRIMS(PRIM_LISTED) };

	return prim ? ops[prim->number] : NULL;
}

static void tool_done(struct tool_run *tool)
{
	planner_done(&tool->planner);
	plan_done(&tool->plan);
	json_decref(tool->params.declared);
	json_decref(tool->params.own_params);
}

static void put_chain(struct tool_run *tool)
{
	const struct ground *ground = tool->run->ground;
	bool told = ground && ground->made;
	json_t *doc = tool->run->reply.doc;

	json_set(doc, "chain", told ? json_incref(ground->ids) : chain_ids(tool->chain));
	if (tool->chain->n)
		json_set(doc, "chain_detail",
			 told ? json_incref(ground->detail) : chain_detail(tool->chain));
}

static void tool_fail(struct tool_run *tool, const struct rye_err *err)
{
	struct reply *reply = &tool->run->reply;

	reply_warn(reply, tool->chain->warnings);
	run_fail(tool->run, err);
	if (tool->params.declared)
		json_object_set(reply->doc, "declared_parameters", tool->params.declared);
	put_chain(tool);
}

/* A tool that writes `run` directly names the trace among its parameters. */
static void take_trace(struct run *run, const struct link *tool)
{
	json_t *params = run->request.params;
	auto_json json_t *schema = NULL;

	if (run->request.verb != RYE_EXECUTE && json_is_boolean(json_object_get(params, "trace"))) {
		schema = meta_schema(tool->item);
		if (!json_object_get(json_object_get(schema, "properties"), "trace")) {
			run->request.trace = json_is_true(json_object_get(params, "trace"));
			json_object_del(params, "trace");
		}
	}
	if (run->request.trace)
		run->reply.trace = json_array();
}

static int load_chain(struct tool_run *tool, struct rye_err *err)
{
	const struct item_env *items = tool->run->exec->env.items;
	struct chain_start first;
	struct item_ask ask = { .kind = RYE_TOOL,
				.id = tool->run->request.id,
				.ret_ambiguous = &first.ambiguous };
	int r = rye_load(items, &ask, &first.item, err);

	return r ? r : chain_build(items, &first, &tool->run->ground->chain, err);
}

static int tool_build(struct tool_run *tool, struct rye_err *err)
{
	struct run *run = tool->run;
	const struct plan_base *base = &run->exec->base;
	bool kept;
	int r = 0;

	run->ground = ground_recall(base, run->request.id);
	kept = run->ground;
	if (!kept)
		run->ground = ground_new(base);
	if (!run->ground)
		return memory_fail(err);
	tool->chain = &run->ground->chain;
	if (!kept)
		r = load_chain(tool, err);
	if (!tool->chain->n)
		return r;
	json_set(run->reply.metadata, "canonical_ref",
		 json_sprintf("tool:%s", tool->chain->v[0].item->id));
	take_trace(run, &tool->chain->v[0]);
	if (run->reply.trace)
		chain_trace(base->items, tool->chain, run->reply.trace);
	if (!r && !kept)
		r = chain_check(tool->chain, err);
	if (!r && !kept)
		ground_mark_chain(base, run->ground, run->request.id);
	return r;
}

static int check_params(struct tool_run *tool, struct rye_err *err)
{
	struct run *run = tool->run;
	int r;

	tool->params.tool = &tool->chain->v[0];
	tool->params.params = run->request.params;
	tool->params.warnings = run->reply.warnings;
	tool->params.ops = prim_ops_of(tool->chain->prim);
	r = params_check(&tool->params, err);
	run->request.timeout = tool->params.timeout;
	return r;
}

static int make_plan(struct tool_run *tool, struct rye_err *err)
{
	struct run *run = tool->run;

	tool->planner = (struct planner){
		.base = &run->exec->base,
		.ground = run->ground,
		.chain = tool->chain,
		.ops = prim_ops_of(tool->chain->prim),
		.params = json_incref(run->request.params),
		.timeout = tool->params.timeout,
		.own_timeout = tool->params.own_timeout,
		.kept = run->ask->keeps,
		.limit = run->limit,
		.trace = run->reply.trace,
		.warnings = run->reply.warnings,
		.own_params = tool->params.own_params,
	};
	return planner_make(&tool->planner, &tool->plan, err);
}

/* ---- retries (retry_policy) ---- */

static double retry_number(const json_t *retry, const char *key, double otherwise)
{
	const json_t *value = json_object_get(retry, key);

	return json_is_number(value) ? json_number_value(value) : otherwise;
}

/*
 * Any failure of the run itself: not what was refused before it began, not a cancel. retry_on says
 * which: "timeout", "spawn" (or ended by a signal), "exit" (status), "error" for all of them; an answer
 * that calls itself retryable is one of each.
 */
static bool worth_retrying(const json_t *retry, const struct result *result)
{
	const json_t *on = json_object_get(retry, "retry_on");

	if (result->code == RYE_OK || result->code == RYE_CANCELLED)
		return false;
	if (result->retryable || (json_is_array(on) && json_lists(on, "error")))
		return true;
	if (!json_is_array(on))
		return result->code == RYE_TIMEOUT || result->code == RYE_TOOL_FAILED ||
		       result->exit != 0;
	if (result->code == RYE_TIMEOUT)
		return json_lists(on, "timeout");
	return result->exit && json_lists(on, result->exit < 0 ? "spawn" : "exit");
}

static int64_t tool_pause_ms(const json_t *retry, int attempt)
{
	const char *type = json_str(retry, "backoff_type");
	double delay = retry_number(retry, "initial_delay", 1),
	       most = retry_number(retry, "max_delay", 60);
	double factor = retry_number(retry, "backoff_multiplier", 2);

	for (int i = 1; i < attempt; i++) {
		if (!strcmp(type, "linear"))
			delay += retry_number(retry, "initial_delay", 1);
		else if (strcmp(type, "fixed"))
			delay *= factor;
	}
	if (!(delay <= most))
		delay = most;
	return delay > 0 && delay < RYE_TIMEOUT_MAX_S ? (int64_t)(delay * 1000) : 0;
}

static void run_attempts(struct tool_run *tool, struct result *ret)
{
	struct run *run = tool->run;
	const json_t *retry = tool->chain->v[0].meta.retry_policy;
	int most = retry ? (int)retry_number(retry, "max_attempts", 1) : 1, n = 1;

	tool->plan.ops->run(run, &tool->plan, ret);
	while (n < most && n < RYE_ATTEMPTS_MAX && worth_retrying(retry, ret) &&
	       call_pause(run->call, tool_pause_ms(retry, n))) {
		result_done(ret);
		tool->plan.ops->run(run, &tool->plan, ret);
		n++;
	}
	if (n > 1)
		json_set(run->reply.metadata, "attempts", json_integer(n));
}

/* ---- replies ---- */

/* A project's packages are used with -o venv alone; the error says so when an import fails. */
static void hint_venv(const struct tool_run *tool, struct result *result)
{
	static const char missing[] = "ModuleNotFoundError: No module named";
	const struct exec *exec = tool->run->exec;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	bool there;

	if (exec->env.opt->venv || !result->error || !strstr(result->error, missing) ||
	    tool->chain->v[0].item->space->type != RYE_PROJECT)
		return;
	buf_addf(&text, "%s/.venv/bin", exec->base.project);
	there = !text.failed && !access(text.data, X_OK);
	buf_clear(&text);
	buf_addf(&text, "%s(%s a .venv, which tools use only when the owner mounts with -o venv)\n",
		 result->error, there ? "the project has" : "packages of the project lie in");
	if (!text.failed) {
		free(result->error);
		result->error = buf_steal(&text);
	}
}

/* A result that is not what the tool declared is told, not refused. */
static void check_output(const struct tool_run *tool, const struct result *result)
{
	const json_t *schema = meta_get(tool->chain->v[0].item, "output_schema");
	json_t *warnings = tool->run->reply.warnings;
	struct schema_report report = { 0 };
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (tool->chain->prim->own_output || !json_is_object(schema) || result->code != RYE_OK ||
	    !json_is_object(result->data))
		return;
	if (!schema_fit(schema, result->data, &report)) {
		schema_faults(&report, &text);
		json_array_append_new(warnings,
				      json_sprintf("the result does not fit output_schema: %s",
						   text.data ? text.data : ""));
	}
	json_array_extend(warnings, report.warnings);
	schema_report_done(&report);
}

static void reply_result(struct tool_run *tool, struct result *result)
{
	struct run *run = tool->run;
	struct reply *reply = &run->reply;
	struct rye_err err = { .code = result->code };

	hint_venv(tool, result);
	check_output(tool, result);
	reply_warn(reply, result->warnings);
	reply_warn(reply, tool->chain->warnings);
	if (result->code == RYE_OK) {
		reply_start(reply, "success", RYE_TOOL, run->request.spelled);
	} else {
		snprintf(err.msg, sizeof(err.msg), "%s", result->error ? result->error : "");
		run_fail(run, &err);
		/* The reply has the whole text, the error only what fits a line. */
		json_set(reply->doc, "error",
			 result_text(
				 (struct rye_span){ result->error ? result->error : "",
						    result->error ? strlen(result->error) : 0 }));
	}
	json_object_set(reply->doc, "data", result->data);
	put_chain(tool);
}

static void add_hidden(struct tool_run *tool)
{
	struct reply *reply = &tool->run->reply;
	const json_t *cost = meta_get(tool->chain->v[0].item, "cost");
	json_t *shadowed = chain_shadowed(tool->run->exec->env.items, tool->chain);
	json_t *skipped = boxes_skipped(tool->run->exec->base.boxes);

	if (shadowed)
		json_set(reply->metadata, "shadowed", shadowed);
	if (cost)
		json_object_set(reply->metadata, "cost_estimate", (json_t *)cost);
	if (skipped)
		json_set(reply->metadata, "sandbox_skipped", skipped);
}

static void tool_reply_dry(struct tool_run *tool)
{
	struct run *run = tool->run;
	json_t *pairs = chain_pairs(tool->chain);

	reply_warn(&run->reply, tool->chain->warnings);
	reply_start(&run->reply, "validation_passed", RYE_TOOL, run->request.spelled);
	json_sets(run->reply.doc, "message", "Tool chain validation passed (dry run)");
	put_chain(tool);
	json_set(run->reply.metadata, "validated_pair_count",
		 json_integer((json_int_t)json_array_size(pairs)));
	json_set(run->reply.doc, "validated_pairs", pairs);
}

/* A lock that cannot be written is told; the run was good all the same. */
static void keep_lockfile(struct tool_run *tool, const struct result *result)
{
	struct reply *reply = &tool->run->reply;
	auto_free char *made = NULL;
	struct rye_err err = { 0 };

	if (tool->planner.lockfile)
		json_sets(reply->metadata, "lockfile_used", tool->planner.lockfile);
	if (!tool->planner.lock || result->code != RYE_OK || tool->run->request.dry_run)
		return;
	made = lockfile_write(&tool->planner, &err);
	if (made)
		json_sets(reply->metadata, "lockfile_created", made);
	else
		json_array_append_new(reply->warnings,
				      json_sprintf("the lockfile was not written: %s", err.msg));
}

static void tool_carry_out(struct tool_run *tool)
{
	struct run *run = tool->run;
	auto_json json_t *may_call = NULL;
	struct result result = { 0 };
	struct rye_err err = { 0 };
	int r = make_plan(tool, &err);

	/* Nothing is started with a part of its parameters, or less confined than it should be. */
	r = memory_result(run->reply.memory, r, &err);
	if (!r && tool->planner.fresh)
		ground_keep(&run->exec->base, run->request.id, run->ground);
	if (!r && !run->request.dry_run) {
		may_call = capabilities_whole(run->exec->env.items, tool->plan.may_call);
		runs_item(run->exec->runs, run->living, may_call, tool->plan.confine);
		run_attempts(tool, &result);
	}
	/* Only now is it known what the run's box had to do without. */
	add_hidden(tool);
	if (!r)
		keep_lockfile(tool, &result);
	if (!r && run->request.dry_run) {
		tool_reply_dry(tool);
		return;
	}
	if (r && (err.code != RYE_TOOL_FAILED || run->request.dry_run)) {
		tool_fail(tool, &err);
		return;
	}
	if (r)
		result_unspawned(&err, &result);
	reply_result(tool, &result);
	result_done(&result);
}

/* The request names a thread to go on with: only a graph can. True: it has failed. */
static bool tool_resumes(struct tool_run *tool)
{
	struct run *run = tool->run;
	const json_t *id = json_object_get(run->request.doc, "resume_thread_id");
	struct rye_err err = { 0 };

	if (run->request.verb != RYE_EXECUTE || !json_truthy(id))
		return false;
	json_set(run->request.params, "resume", json_true());
	json_object_set(run->request.params, "graph_run_id", (json_t *)id);
	if (tool->chain->prim->names_threads)
		return false;
	rye_fail(&err, RYE_UNSUPPORTED,
		 "Item tool:%s does not support resume (native_resume=False).",
		 tool->chain->v[0].item->id);
	tool_fail(tool, &err);
	return true;
}

/* The thread of a graph has the name of its run. */
static void run_tool_detached(struct tool_run *tool, const char *ref)
{
	struct run *run = tool->run;
	const char *run_id = json_str(tool->params.own_params, "graph_run_id");
	json_t *doc = run->reply.doc;

	if (tool->chain->prim->names_threads)
		run->stem = tool->chain->v[0].item->id;
	run_detached(run, ref);
	if (run->stem && run->reply.code == RYE_OK)
		json_sets(doc, "graph_run_id", *run_id ? run_id : json_str(doc, "thread_id"));
}

void run_tool(struct run *run)
{
	static const struct chain none;
	__attribute__((cleanup(tool_done))) struct tool_run tool = { .run = run, .chain = &none };
	char ref[RYE_ID_MAX + 16];
	struct rye_err err = { 0 };
	int r = tool_build(&tool, &err);

	if (tool.chain->n && run_refused(run, RYE_TOOL, tool.chain->v[0].item->id))
		return;
	if (!r && tool_resumes(&tool))
		return;
	if (!r)
		r = request_whole(run->ask, &run->request, tool.chain->v[0].item, &err);
	if (!r)
		r = run_take_target(run, tool.chain->v[0].item, &err);
	if (!r)
		r = check_params(&tool, &err);
	r = memory_result(run->reply.memory, r, &err);
	if (r) {
		tool_fail(&tool, &err);
		return;
	}
	snprintf(ref, sizeof(ref), "tool:%s", tool.chain->v[0].item->id);
	run->own_params = tool.params.own_params;
	if (run->request.async || *run->request.remote) {
		run_tool_detached(&tool, ref);
		return;
	}
	run_movable(run, ref);
	run->own_params = NULL;
	tool_carry_out(&tool);
}
