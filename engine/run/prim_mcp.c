/* SPDX-License-Identifier: MIT */
/*
 * The primitive `mcp`: one tool of a server of the Model Context Protocol, called through a process
 * or session that may have waited for it. And `mcp_servers`: servers as items, for the bundled
 * tools rye/mcp/manager, discover and connect. On a worker; no lock.
 */
#include "plan/plan.h"

#include "clock.h"
#include "mcp/client/client.h"
#include "run/run_inner.h"
#include "schema/schema.h"
#include "scope.h"
#include "mcp/items/items.h"

static int mcp_plan(struct planner *planner, struct plan *plan, struct rye_err *err)
{
	return mcp_plan_make(planner, plan->own, err);
}

static void mcp_done(void *own)
{
	mcp_plan_done(own);
}

static void trace_mcp(const struct run *run, const struct mcp_target *target,
		      const struct mcp_answer *answer)
{
	if (!run->reply.trace)
		return;
	json_array_append_new(run->reply.trace,
			      json_pack("{s:s, s:s, s:s, s:s, s:i, s:b}", "step", "mcp", "server",
					target->spec.id, "tool", target->tool, "version",
					answer->version, "pid", (int)answer->pid, "warm",
					answer->kept));
}

/* Why the structured content is not what the tool promises; nothing: it is. */
static void find_unfit(const struct mcp_target *target, struct result *result,
		       struct rye_buf *ret_why)
{
	const json_t *structured = json_object_get(result->data, "structured");
	struct schema_report report = { 0 };

	if (!structured) {
		buf_adds(ret_why, "there is no structured content");
	} else if (!schema_fit(target->output_schema, structured, &report)) {
		buf_adds(ret_why, "the structured content does not fit output_schema: ");
		schema_faults(&report, ret_why);
	}
	json_array_extend(result->warnings, report.warnings);
	schema_report_done(&report);
}

/* What a tool promises of its structured content decides whether a result is one. */
static void check_structured(const struct mcp_target *target, struct result *ret)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (!target->output_schema || ret->code != RYE_OK)
		return;
	find_unfit(target, ret, &text);
	if (!text.len)
		return;
	free(ret->error);
	ret->code = RYE_TOOL_FAILED;
	ret->error = buf_steal(&text);
	json_set(ret->data, "success", json_false());
	json_sets(ret->data, "error", ret->error);
	json_sets(ret->data, "error_type", "invalid_result");
}

static void mcp_run(struct run *run, const struct plan *plan, struct result *ret)
{
	const struct mcp_plan *own = plan->own;
	const struct mcp_target *target = own->target;
	/* else the message was the parameters */
	const json_t *doc = run->request.verb == RYE_EXECUTE ? run->request.doc : NULL;
	const struct mcp_ask ask = {
		.spec = &target->spec,
		.tool = target->tool,
		.arguments = own->arguments,
		.schema = target->schema,
		.pin = target->pin,
		.members = target->members,
		.responses = json_object_get(doc, "input_responses"),
		.state = json_object_get(doc, "request_state"),
		.until_ms = clock_ms() + plan->timeout_ms,
		.cancel = call_wake(run->call),
		.events = run->call->events,
	};
	struct mcp_outcome outcome;
	struct mcp_answer answer;

	exec_attend(run->exec);
	events_state(run->call->events, RYE_STATE_STARTED);
	mcp_call(run->exec->mcp, &ask, &answer);
	trace_mcp(run, target, &answer);
	mcp_outcome_of(&answer, target->tool, &outcome);
	*ret = (struct result){ .code = outcome.code,
				.data = outcome.data,
				.warnings = json_array(),
				.error = outcome.error ? outcome.error : strdup("") };
	if (answer.upgraded)
		json_array_append_new(ret->warnings,
				      json_sprintf("%s is recorded as legacy and speaks %s now",
						   target->spec.id, answer.version));
	check_structured(target, ret);
	mcp_answer_done(&answer);
}

const struct prim_ops prim_mcp = {
	.own_size = sizeof(struct mcp_plan),
	.plan = mcp_plan,
	.run = mcp_run,
	.done = mcp_done,
};

/* ---- servers as items ---- */

static int servers_plan(struct planner *planner, struct plan *plan, struct rye_err *err)
{
	return server_ask_make(planner, plan->own, err);
}

static void servers_done(void *own)
{
	server_ask_done(own);
}

static void servers_run(struct run *run, const struct plan *plan, struct result *ret)
{
	const struct server_ask *own = plan->own;
	const struct server_run act = {
		.ask = own,
		.items = run->exec->env.items,
		.mcp = run->exec->mcp,
		.events = run->call->events,
		.cancel = call_wake(run->call),
		.until_ms = clock_ms() + plan->timeout_ms,
		.no_sign = run->exec->env.opt->no_sign,
		.child = run->call->parent != 0 || run->ask->keeps,
		.touched = run_touched,
		.arg = run,
	};
	struct mcp_outcome outcome;

	exec_attend(run->exec);
	events_state(run->call->events, RYE_STATE_STARTED);
	server_act(&act, &outcome);
	run_wait_told(run);
	*ret = (struct result){ .code = outcome.code,
				.data = outcome.data,
				.warnings = json_array(),
				.error = outcome.error ? outcome.error : strdup("") };
}

const struct prim_ops prim_mcp_servers = {
	.own_size = sizeof(struct server_ask),
	.plan = servers_plan,
	.run = servers_run,
	.done = servers_done,
};
