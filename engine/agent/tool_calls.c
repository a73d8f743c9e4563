/* SPDX-License-Identifier: MIT */
/*
 * The calls of one answer, in their order. Each that begins has a result in the transcript and in
 * the next message, whatever happens: a model and its provider want one for every call.
 */
#include "agent/agent_inner.h"

#include "bounds.h"
#include "memory.h"
#include "scope.h"

#include <string.h>

static bool tool_calls_is(const json_t *block)
{
	return !strcmp(json_str(block, "kind"), "tool_call");
}

size_t tool_calls_count(const json_t *message)
{
	json_t *block;
	size_t i, n = 0;

	json_array_foreach(json_object_get(message, "blocks"), i, block)
		n += tool_calls_is(block);
	return n;
}

/* What of a reply the model gets, as text. */
static void calls_guard(struct agent *agent, const struct tool_call *call, const json_t *reply,
			struct rye_buf *out)
{
	auto_json json_t *clean = guard_clean(call->item_id, reply);
	const json_t *whole =
		json_object_get(brief_meta(&agent->brief, "runtime"), "truncate_tool_results");
	json_int_t window = agent->provider->window;
	const struct guard_ask ask = {
		.artifact = { .call_id = call->id,
			      .tool_name = call->name,
			      .turn = agent->cost.turns,
			      .n = agent->call_number },
		.result = clean,
		.context_used = window > 0 ? (double)agent->context / (double)window : 0,
		.whole = json_is_false(whole),
	};
	struct rye_err err = { 0 };

	if (guard_put(&agent->record, &ask, out, &err))
		agent_fails(agent, &err);
}

/* One result, into the message and the transcript. error NULL: it went well. */
static void calls_result(struct agent *agent, json_t *results, const struct tool_call *call,
			 const char *text, const char *error)
{
	json_t *result = json_pack("{s:s, s:s, s:s, s:s}", "kind", "tool_result", "id", call->id,
				   "name", call->name, "text", error ? error : text);
	json_t *payload = json_pack("{s:s, s:s}", "call_id", call->id, "output", text);

	if (error) {
		json_set(result, "is_error", json_true());
		json_sets(payload, "error", error);
	}
	json_array_append_new(results, result);
	agent_event(agent, "tool_call_result", payload);
}

/* The error of a reply that says so; NULL: it is a success. */
static const char *calls_error(const json_t *reply)
{
	if (strcmp(json_str(reply, "status"), "error") != 0)
		return NULL;
	return *json_str(reply, "error") ? json_str(reply, "error") : "the tool failed";
}

static void calls_execute(struct agent *agent, const struct tool_call *call, json_t *results)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct rye_err err = { 0 };
	auto_json json_t *reply = tool_call_execute(agent, call, &err);

	if (!reply) {
		calls_result(agent, results, call, "", err.msg);
		return;
	}
	calls_guard(agent, call, reply, &text);
	buf_adds(&text, "");
	/* what failed may have told more than its error: the model gets all of it */
	calls_result(agent, results, call, text.data ? text.data : "",
		     calls_error(reply) ? (text.data ? text.data : calls_error(reply)) : NULL);
}

static void calls_one(struct agent *agent, const json_t *block, json_t *results)
{
	struct tool_call call = { .arguments = NULL };
	struct rye_err err = { 0 };
	int r = tool_call_read(agent, block, &call, &err);

	agent->call_number++;
	agent_event(agent, "tool_call_start",
		    json_pack("{s:s, s:s, s:O?}", "tool", call.name, "call_id", call.id, "input",
			      call.arguments));
	if (!r && call.returns)
		r = tool_return(agent, &call, &err);
	else if (!r)
		r = tool_call_allowed(agent, &call, &err);
	if (r)
		calls_result(agent, results, &call, "", err.msg);
	else if (call.returns)
		calls_result(agent, results, &call, "{\"status\": \"success\"}", NULL);
	else
		calls_execute(agent, &call, results);
	tool_call_done(&call);
}

/* Why no more calls of this answer are run; NULL: go on. */
static const char *calls_refusal(struct agent *agent, char text[160])
{
	struct rye_err err = { 0 };

	if (agent->state == AGENT_ENDED)
		return agent->outputs ? "not executed: the directive has returned" :
					"not executed: the thread has ended";
	if (agent_stopped(agent))
		return "not executed: cancelled";
	if (agent_left_ms(agent) == 0)
		return "not executed: the thread's time is over";
	if (!agent->limits.set[LIMIT_SPEND])
		return NULL;
	if (agent->cost.spend < agent->limits.value[LIMIT_SPEND] &&
	    !budget_may_go_on(agent->budget, agent->thread_id, &err))
		return NULL;
	snprintf(text, 160, "not executed: budget (%.120s)",
		 *err.msg ? err.msg : "the limit of spend is reached");
	return text;
}

static void calls_skip(struct agent *agent, const json_t *block, const char *why, json_t *results)
{
	const struct tool_call call = { .id = json_str(block, "id"),
					.name = json_str(block, "name") };
	json_t *input = json_object_get(block, "arguments");

	agent_event(agent, "tool_call_start",
		    json_pack("{s:s, s:s, s:O?}", "tool", call.name, "call_id", call.id, "input",
			      input));
	calls_result(agent, results, &call, "", why);
}

void tool_calls_run(struct agent *agent, const json_t *message)
{
	json_t *results = json_array(), *block;
	size_t i;

	json_array_foreach(json_object_get(message, "blocks"), i, block) {
		char text[160];
		const char *why = tool_calls_is(block) ? calls_refusal(agent, text) : NULL;

		if (!tool_calls_is(block))
			continue;
		if (why)
			calls_skip(agent, block, why, results);
		else
			calls_one(agent, block, results);
	}
	json_array_append_new(agent->messages,
			      json_pack("{s:s, s:o}", "role", "user", "blocks", results));
}
