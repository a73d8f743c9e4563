/* SPDX-License-Identifier: MIT */
/*
 * One step: what a node does, what becomes of its failure, and what the record says of it. An
 * error of a node goes to the hooks, to the node's own edge, or is the graph's.
 */
#include "graph/graph_inner.h"

#include "base/id.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"

#include <string.h>

void call_free(struct graph_call *call)
{
	if (!call)
		return;
	free(call->ref);
	json_decref(call->params);
	json_decref(call->reply);
	free(call);
}

static json_t *error_result(const char *text)
{
	return json_pack("{s:s, s:s}", "status", "error", "error", text);
}

struct graph_call *call_make(struct graph_walker *walker, const struct graph_action *action,
			     const json_t *scope, json_t **ret_error)
{
	auto_json json_t *id = walker_fill(walker, action->item_id, scope);
	struct graph_call *call = memory_note(calloc(1, sizeof(*call)));
	auto_buf struct rye_buf ref = RYE_BUF_INIT;
	const char *bare;

	if (!json_is_string(id) || !json_string_length(id) || !call) {
		*ret_error = error_result("action.item_id came to no text");
		free(call);
		return NULL;
	}
	if (id_split(json_string_value(id), &bare) == RYE_KIND__MAX)
		buf_addf(&ref, "%s:", action->kind);
	buf_adds(&ref, json_string_value(id));
	call->primary = action->primary;
	call->thread = action->thread;
	call->terms = action->doc;
	call->ref = buf_steal(&ref);
	call->params = action->params ? walker_fill(walker, action->params, scope) : json_object();
	graph_strip(call->params);
	if (call->ref && call->params)
		return call;
	call_free(call);
	*ret_error = error_result("out of memory");
	return NULL;
}

struct graph_call *call_of_node(struct graph_walker *walker, const struct graph_node *node,
				const json_t *scope, json_t **ret_error)
{
	struct graph_call *call = call_make(walker, &node->action, scope, ret_error);

	if (call) {
		call->remote = node->remote;
		call->keep = node->keeps ? node->name : NULL;
		call->step = walker->step;
		call->retry = json_int(json_object_get(walker->state, "_retries"), node->name, 0);
	}
	return call;
}

json_t *call_carry_out(struct graph_walker *walker, struct graph_call *call, bool *ret_kept)
{
	const struct graph_ops *ops = walker->ask->ops;
	json_t *result;

	ops->begin(ops->arg, call);
	call = ops->next(ops->arg);
	*ret_kept = call->kept;
	result = graph_unwrap(steal(&call->reply));
	call_free(call);
	return result;
}

static void put_started(struct graph_walker *walker, const struct graph_node *node,
			const char *action)
{
	static const char *const types[] = { NULL, "foreach", "gate", "return" };
	json_t *payload = json_object();

	json_set(payload, "step", json_integer(walker->step));
	json_sets(payload, "node", node->name);
	if (types[node->type])
		json_sets(payload, "node_type", types[node->type]);
	if (action)
		json_sets(payload, "action_id", action);
	graph_log_event(walker->ask->log, "step_started", payload);
}

struct step_report {
	const char *action, *status;
	const json_t *result; /* or NULL */
	int64_t start_us;
	bool kept; /* nothing was called */
};

static void put_step_end(struct graph_walker *walker, const struct graph_node *node,
			 const struct step_report *report)
{
	double seconds = (double)(clock_us() - report->start_us) / 1e6;
	const json_t *error = json_object_get(report->result, "error"),
		     *thread = json_object_get(report->result, "thread_id");
	bool failed = !strcmp(report->status, "error");
	json_t *payload = json_object();

	json_set(payload, "step", json_integer(walker->step));
	json_sets(payload, "node", node->name);
	json_sets(payload, "action_id", report->action ? report->action : "");
	json_sets(payload, "status", report->status);
	json_set(payload, "elapsed_s", json_real(seconds));
	json_sets(payload, "next_node", walker->current);
	if (thread)
		json_object_set(payload, "thread_id", (json_t *)thread);
	if (report->kept)
		json_set(payload, "cache_hit", json_true());
	if (failed && error)
		json_object_set(payload, "error", (json_t *)error);
	graph_log_event(walker->ask->log,
			node->type == GRAPH_FOREACH ? "foreach_completed" : "step_completed",
			payload);
	walker_progress(walker, node->name,
			failed			   ? "✗" :
			node->type == GRAPH_RETURN ? "⏹" :
						     "✓",
			seconds,
			failed && json_is_string(error) ? json_string_value(error) :
			report->kept			? "kept" :
			node->type == GRAPH_FOREACH	? "foreach" :
			node->type == GRAPH_GATE	? "gate" :
							  "");
}

static void step_assign(struct graph_walker *walker, const struct graph_node *node,
			const json_t *result)
{
	const char *key;
	json_t *template;

	json_object_foreach((json_t *)node->assign, key, template) {
		/* each sees what those before it have set */
		auto_json json_t *scope = walker_scope(walker, result);

		walker_set(walker, key, walker_fill(walker, template, scope));
	}
}

/* ---- failures ---- */

static bool has_word(const json_t *text, const char *word)
{
	return json_is_string(text) && strcasestr(json_string_value(text), word);
}

/* What a hook may decide by. */
static json_t *classify(const json_t *result)
{
	static const char *const passing[] = { "timed out",   "timeout",	  "temporar",
					       "rate limit",  "connection",	  "unavailable",
					       "again later", "too many requests" };
	const json_t *error = json_object_get(result, "error");
	bool limited = has_word(error, "rate limit") || has_word(error, "too many requests"),
	     transient = json_is_true(json_object_get(result, "retryable"));

	for (size_t i = 0; i < ARRAY_SIZE(passing); i++)
		transient |= has_word(error, passing[i]);
	return json_pack("{s:s, s:b}", "category",
			 limited   ? "rate_limited" :
			 transient ? "transient" :
				     "permanent",
			 "retryable", transient || limited);
}

/* True: the node runs again, since a hook says so and it was not too often yet. */
static bool step_retries(struct graph_walker *walker, const struct graph_node *node,
			 const json_t *result)
{
	json_t *context = json_pack("{s:O, s:o, s:s, s:O, s:I, s:O?}", "error", result,
				    "classification", classify(result), "node", node->name, "state",
				    walker->state, "step_count", walker->step, "inputs",
				    json_object_get(walker->state, "inputs"));
	auto_json json_t *control = graph_hooks(walker, EVENT_ERROR, context), *counts = NULL;
	json_int_t count;

	if (strcmp(json_str(control, "action"), "retry") &&
	    !json_is_true(json_object_get(control, "retry")))
		return false;
	counts = json_deep_copy(json_object_get(walker->state, "_retries"));
	counts = json_is_object(counts) ? counts : json_object();
	count = json_int(counts, node->name, 0);
	if (count >= json_int(control, "max_retries", 3))
		return false;
	json_set(counts, node->name, json_integer(count + 1));
	walker_set(walker, "_retries", steal(&counts));
	walker->step--;
	return true;
}

/* True: the step is dealt with; false: it goes on to the next node, nothing assigned. */
static bool step_failed(struct graph_walker *walker, const struct graph_node *node,
			const struct step_report *report)
{
	const json_t *found = json_object_get(report->result, "error");
	auto_json json_t *error = found ? json_incref((json_t *)found) : json_string("unknown");

	if (step_retries(walker, node, report->result)) {
		graph_log_event(walker->ask->log, "step_retried",
				json_pack("{s:s, s:O}", "node", node->name, "error", error));
		return true;
	}
	walker_set(walker, "_last_error",
		   json_pack("{s:s, s:O}", "node", node->name, "error", error));
	if (*node->on_error) {
		walker->current = node->on_error;
		put_step_end(walker, node, report);
		return true;
	}
	if (!walker->graph->go_on) {
		put_step_end(walker, node, report);
		walker_fail(walker, node->name, error);
		return true;
	}
	json_array_append_new(walker->errors, json_pack("{s:I, s:s, s:O}", "step", walker->step,
							"node", node->name, "error", error));
	return false;
}

/* ---- the types ---- */

void graph_after(struct graph_walker *walker, const struct graph_node *node, const json_t *result)
{
	json_t *context = json_pack("{s:s, s:s?, s:O, s:I, s:O?, s:O?}", "node", node->name,
				    "next_node", walker->current, "state", walker->state,
				    "step_count", walker->step, "result", result, "inputs",
				    json_object_get(walker->state, "inputs"));

	json_decref(graph_hooks(walker, EVENT_AFTER_STEP, context));
}

static json_t *step_action(struct graph_walker *walker, const struct graph_node *node)
{
	const struct graph_ops *ops = walker->ask->ops;
	struct step_report report = { .status = "ok", .start_us = clock_us() };
	auto_json json_t *scope = walker_scope(walker, NULL), *result = NULL;
	struct graph_call *call = call_of_node(walker, node, scope, &result);
	auto_free char *action = call ? strdup(call->ref) : NULL;

	report.action = action;
	put_started(walker, node, action);
	if (call) {
		/* before the call has an effect, so a person sees what was going on */
		(void)graph_log_flush(walker->ask->log, false, NULL);
		result = call_carry_out(walker, call, &report.kept);
	}
	if (ops->stopped(ops->arg))
		return NULL;
	report.result = result;
	if (result_failed(result)) {
		report.status = "error";
		if (step_failed(walker, node, &report))
			return NULL;
	} else {
		step_assign(walker, node, result);
	}
	walker->current = walker_next(walker, node->next, result);
	put_step_end(walker, node, &report);
	return steal(&result);
}

static json_t *step_gate(struct graph_walker *walker, const struct graph_node *node)
{
	struct step_report report = { .status = "ok", .start_us = clock_us() };

	put_started(walker, node, NULL);
	step_assign(walker, node, NULL);
	walker->current = node->type == GRAPH_GATE ? walker_next(walker, node->next, NULL) : NULL;
	put_step_end(walker, node, &report);
	return json_object();
}

static json_t *step_foreach(struct graph_walker *walker, const struct graph_node *node)
{
	struct step_report report = { .status = "ok", .start_us = clock_us() };
	json_t *values;

	put_started(walker, node, NULL);
	(void)graph_log_flush(walker->ask->log, false, NULL);
	values = graph_foreach(walker, node);
	if (walker->ask->ops->stopped(walker->ask->ops->arg)) {
		json_decref(values);
		return NULL;
	}
	if (*node->collect)
		walker_set(walker, node->collect, values);
	else
		json_decref(values);
	step_assign(walker, node, NULL);
	walker->current = walker_next(walker, node->next, NULL);
	put_step_end(walker, node, &report);
	return json_object();
}

json_t *graph_step(struct graph_walker *walker, const struct graph_node *node)
{
	walker->step++;
	if (node->type == GRAPH_ACTION)
		return step_action(walker, node);
	if (node->type == GRAPH_FOREACH)
		return step_foreach(walker, node);
	return step_gate(walker, node);
}
