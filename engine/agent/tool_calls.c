/* SPDX-License-Identifier: MIT */
/*
 * The calls of one answer, in their order; those of tools that only read and stand together run at once,
 * so that what comes of them is what one after the other would have given. Each has a result in the transcript
 * and in the next message, whatever happens: a model and its provider want one for every call.
 */
#include "agent/agent_inner.h"

#include "format/format.h"
#include "bounds.h"
#include "memory.h"
#include "scope.h"

#include <string.h>

/* Calls that run at once. */
#define CALLS_TOGETHER 8

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
	auto_json json_t *clean = guard_clean(reply);
	const json_t *whole =
		json_object_get(brief_meta(&agent->brief, "runtime"), "truncate_tool_results");
	json_int_t window = agent->provider->window;
	const struct guard_ask ask = {
		.artifact = { .call_id = call->id,
			      .tool_name = call->name,
			      .turn = agent->cost.turns,
			      .n = agent->call_number },
		.result = clean,
		.lost = guard_lost(reply),
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

/* ---- calls that are carried out together ---- */

/* One of them, from its start to its result. */
struct calls_slot {
	struct tool_call call;
	struct tool_running run;
	bool begun; /* run is under way */
	bool refused; /* err says why */
	struct rye_err err;
	char skipped[160]; /* why it was not even tried; "": it was */
};

static void calls_reply(struct agent *agent, struct calls_slot *slot, json_t *results)
{
	const struct tool_call *call = &slot->call;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *reply = NULL;

	reply = slot->begun ? tool_call_end(agent, call, &slot->run, &slot->err) :
			      tool_call_execute(agent, call, &slot->err);
	if (!reply) {
		calls_result(agent, results, call, "", slot->err.msg);
		return;
	}
	calls_guard(agent, call, reply, &text);
	buf_adds(&text, "");
	calls_result(agent, results, call, text.data ? text.data : "",
		     plain_failed(reply) ? (text.data ? text.data : "the tool failed") : NULL);
}

/* Why no more calls of this answer are run; false: go on. */
static bool calls_refusal(struct agent *agent, char text[160])
{
	struct rye_err err = { 0 };

	if (agent->state == AGENT_ENDED)
		snprintf(text, 160, "not executed: the %s",
			 agent->outputs ? "directive has returned" : "thread has ended");
	else if (agent_stopped(agent))
		snprintf(text, 160, "not executed: cancelled");
	else if (agent_left_ms(agent) == 0)
		snprintf(text, 160, "not executed: the thread's time is over");
	else if (agent->limits.set[LIMIT_SPEND] &&
		 (agent->cost.spend >= agent->limits.value[LIMIT_SPEND] ||
		  budget_may_go_on(agent->budget, agent->thread_id, &err)))
		snprintf(text, 160, "not executed: budget (%.120s)",
			 *err.msg ? err.msg : "the limit of spend is reached");
	return *text;
}

/* Reads it and, of several that run together, begins it. */
static void tool_calls_open(struct agent *agent, const json_t *block, struct calls_slot *slot,
			    bool together)
{
	struct tool_call *call = &slot->call;
	json_t *input = json_object_get(block, "arguments");
	bool skipped = calls_refusal(agent, slot->skipped);
	int r = tool_call_read(agent, block, call, &slot->err);

	agent->call_number++;
	agent_event(agent, "tool_call_start",
		    json_pack("{s:s, s:s, s:O?}", "tool", call->name, "call_id", call->id, "input",
			      call->arguments ? call->arguments : input));
	if (skipped)
		return;
	if (!r)
		tool_call_settle(agent, call);
	if (!r && call->returns)
		r = tool_return(agent, call, &slot->err);
	else if (!r)
		r = tool_call_allowed(agent, call, &slot->err);
	if (!r && together)
		r = tool_call_begin(agent, call, &slot->run, &slot->err);
	slot->refused = r;
	slot->begun = !r && together;
}

static void calls_finish(struct agent *agent, struct calls_slot *slot, json_t *results)
{
	if (*slot->skipped)
		calls_result(agent, results, &slot->call, "", slot->skipped);
	else if (slot->refused)
		calls_result(agent, results, &slot->call, "", slot->err.msg);
	else if (slot->call.returns)
		calls_result(agent, results, &slot->call, "{\"status\": \"success\"}", NULL);
	else
		calls_reply(agent, slot, results);
	tool_call_done(&slot->call);
}

static bool calls_reads(const struct agent *agent, const json_t *block)
{
	const json_t *offer = json_object_get(agent->palette.items, json_str(block, "name"));

	return json_flag(offer, "reads", false);
}

/* Of those from `at` on, how many are carried out together: at least one. */
static size_t calls_together(const struct agent *agent, const json_t *calls, size_t at)
{
	size_t n = 0;

	while (n < CALLS_TOGETHER && at + n < json_array_size(calls) &&
	       calls_reads(agent, json_array_get(calls, at + n)))
		n++;
	return n ? n : 1;
}

static json_t *tool_calls_of(const json_t *message)
{
	json_t *calls = json_array(), *block;
	size_t i;

	json_array_foreach(json_object_get(message, "blocks"), i, block)
		if (tool_calls_is(block))
			json_array_append(calls, block);
	return calls;
}

void tool_calls_run(struct agent *agent, const json_t *message)
{
	auto_json json_t *calls = tool_calls_of(message);
	json_t *results = json_array();

	for (size_t at = 0, n; at < json_array_size(calls); at += n) {
		struct calls_slot slots[CALLS_TOGETHER] = { 0 };

		n = calls_together(agent, calls, at);
		for (size_t i = 0; i < n; i++)
			tool_calls_open(agent, json_array_get(calls, at + i), &slots[i], n > 1);
		for (size_t i = 0; i < n; i++)
			calls_finish(agent, &slots[i], results);
	}
	json_array_append_new(agent->messages,
			      json_pack("{s:s, s:o}", "role", "user", "blocks", results));
}
