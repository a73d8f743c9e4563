/* SPDX-License-Identifier: MIT */
/*
 * Walking a graph from node to node until there is no next one, the steps are used up, a node
 * fails, or the caller stops it. On the worker that runs the graph; calls of items are made by the
 * caller's functions. After every step the record says where the run stands.
 */
#include "graph/graph_inner.h"

#include "clock.h"
#include "memory.h"
#include "scope.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Sentences that a reply can hold; the later ones say the same of other steps. */
#define WARNINGS_MAX 50

json_t *walker_scope(const struct graph_walker *walker, const json_t *result)
{
	json_t *scope = json_object();
	struct timespec now;
	char stamp[40];

	clock_gettime(CLOCK_REALTIME, &now);
	clock_iso_us(stamp);
	json_object_set(scope, "state", walker->state);
	json_object_set(scope, "inputs", json_object_get(walker->state, "inputs"));
	if (result)
		json_object_set(scope, "result", (json_t *)result);
	json_sets(scope, "_now", stamp);
	json_set(scope, "_timestamp",
		 json_integer((json_int_t)now.tv_sec * 1000 + now.tv_nsec / 1000000));
	return scope;
}

json_t *walker_fill(struct graph_walker *walker, const json_t *template, const json_t *scope)
{
	const struct expr_scope in = { scope, json_array_size(walker->warnings) < WARNINGS_MAX ?
						      walker->warnings :
						      NULL };

	return expr_fill(&in, template);
}

void walker_set(struct graph_walker *walker, const char *key, json_t *value)
{
	json_object_set(walker->set, key, value);
	json_set(walker->state, key, value);
}

void walker_unset(struct graph_walker *walker, const char *key)
{
	if (!json_object_get(walker->state, key))
		return;
	json_object_del(walker->state, key);
	json_object_del(walker->set, key);
	json_array_append_new(walker->unset, json_string(key));
}

const char *walker_next(const struct graph_walker *walker, const json_t *next, const json_t *result)
{
	auto_json json_t *scope = NULL;
	const json_t *edge;
	size_t i;

	if (!json_is_array(next))
		return json_string_value(next);
	scope = walker_scope(walker, result);
	json_array_foreach(next, i, edge) {
		if (expr_holds(graph_member(edge, "when"), scope))
			return json_string_value(json_object_get(edge, "to"));
	}
	return NULL;
}

static double walker_elapsed(const struct graph_walker *walker)
{
	return (double)(clock_us() - walker->start_us) / 1e6;
}

void walker_progress(struct graph_walker *walker, const char *node, const char *mark,
		     double seconds, const char *detail)
{
	const struct graph_ops *ops = walker->ask->ops;
	char line[700];

	if (!ops->progress)
		return;
	snprintf(line, sizeof(line), "[graph:%.200s] step %lld/%zu %.200s %s %.1fs%s%.150s%s\n",
		 walker->graph->id, (long long)walker->step, walker->graph->n, node, mark, seconds,
		 *detail ? " (" : "", detail, *detail ? ")" : "");
	utf8_mend(line);
	ops->progress(ops->arg, line);
}

/* Where the run stands behind its last event. */
static void put_checkpoint(struct graph_walker *walker, json_int_t step, const json_t *error)
{
	json_t *payload = json_object();

	json_set(payload, "step", json_integer(step));
	json_sets(payload, "current_node", walker->current);
	if (json_object_size(walker->set))
		json_object_set(payload, "set", walker->set);
	if (json_array_size(walker->unset))
		json_object_set(payload, "unset", walker->unset);
	if (error)
		json_object_set(payload, "error", (json_t *)error);
	graph_log_event(walker->ask->log, "state_checkpoint", payload);
	json_decref(walker->set);
	json_decref(walker->unset);
	walker->set = json_object();
	walker->unset = json_array();
}

/* What every reply says of the run. */
static json_t *end_data(const struct graph_walker *walker, bool success, const char *status)
{
	json_t *data = json_object();

	json_set(data, "success", json_boolean(success));
	json_sets(data, "status", status);
	json_set(data, "steps", json_integer(walker->step));
	json_sets(data, "graph_run_id", graph_log_run(walker->ask->log));
	return data;
}

static void walker_end(struct graph_walker *walker, enum graph_status status, json_t *data)
{
	size_t errors = json_array_size(walker->errors);

	if (errors) {
		json_set(data, "errors_suppressed", json_integer((json_int_t)errors));
		json_object_set(data, "errors", walker->errors);
	}
	walker->end->status = status;
	walker->end->data = data;
	walker->over = true;
}

static json_t *end_event(const struct graph_walker *walker, const char *key, const json_t *value)
{
	json_t *payload = json_object();

	if (key)
		json_object_set(payload, key, (json_t *)value);
	json_set(payload, "steps", json_integer(walker->step));
	json_set(payload, "elapsed_s", json_real(walker_elapsed(walker)));
	return payload;
}

void walker_fail(struct graph_walker *walker, const char *node, const json_t *error)
{
	json_t *data = end_data(walker, false, "error"), *event = end_event(walker, "error", error);

	json_object_set(data, "error", (json_t *)error);
	if (node) {
		json_sets(data, "node", node);
		json_sets(event, "node", node);
	}
	json_object_set(data, "state", walker->state);
	put_checkpoint(walker, node ? walker->step - 1 : walker->step, NULL);
	graph_log_event(walker->ask->log, "graph_error", event);
	walker_end(walker, GRAPH_FAILED, data);
}

static void walker_cancelled(struct graph_walker *walker)
{
	json_t *data = end_data(walker, false, "cancelled");

	json_sets(data, "error", "Graph was cancelled");
	json_object_set(data, "state", walker->state);
	graph_log_event(walker->ask->log, "graph_cancelled", end_event(walker, NULL, NULL));
	walker_end(walker, GRAPH_CANCELLED, data);
}

static void hooks_of_end(struct graph_walker *walker, const char *error)
{
	json_t *context = json_pack("{s:s, s:O, s:O?, s:I}", "graph_id", walker->graph->id, "state",
				    walker->state, "inputs",
				    json_object_get(walker->state, "inputs"), "steps",
				    walker->step);

	if (error)
		json_sets(context, "error", error);
	json_decref(graph_hooks(walker, EVENT_GRAPH_COMPLETED, context));
}

static void walker_complete(struct graph_walker *walker, const struct graph_node *last)
{
	auto_json json_t *scope = walker_scope(walker, NULL);
	bool errors = json_array_size(walker->errors);
	const char *status = errors ? "completed_with_errors" : "completed";
	auto_json json_t *word = json_string(status);
	json_t *data = end_data(walker, true, status);

	if (last && last->output)
		json_set(data, "output", walker_fill(walker, last->output, scope));
	else
		json_set(data, "output", json_object());
	graph_log_event(walker->ask->log, "graph_completed", end_event(walker, "status", word));
	walker_end(walker, errors ? GRAPH_WITH_ERRORS : GRAPH_COMPLETED, data);
	hooks_of_end(walker, NULL);
}

static void walker_limit(struct graph_walker *walker)
{
	auto_json json_t *error =
		json_sprintf("Max steps exceeded (%lld)", (long long)walker->max_steps);
	json_t *context = json_pack("{s:s, s:I, s:I, s:O}", "limit_code", "max_steps_exceeded",
				    "current_value", walker->step, "current_max", walker->max_steps,
				    "state", walker->state);

	json_decref(graph_hooks(walker, EVENT_LIMIT, context));
	walker_fail(walker, NULL, error);
	hooks_of_end(walker, "max_steps_exceeded");
}

static void walker_single(struct graph_walker *walker, const char *node)
{
	json_t *data = end_data(walker, true, "completed");

	json_object_set(data, "state", walker->state);
	json_sets(data, "executed_node", node);
	json_sets(data, "next_node", walker->current);
	json_set(data, "step_count", json_integer(walker->step));
	graph_log_event(walker->ask->log, "graph_completed", end_event(walker, NULL, NULL));
	walker_end(walker, GRAPH_COMPLETED, data);
}

static bool walker_stopped(const struct graph_walker *walker)
{
	return walker->ask->ops->stopped(walker->ask->ops->arg);
}

/* Behind a step that was not the last word: its record, then its hooks. */
static int step_record(struct graph_walker *walker, const struct graph_node *node,
		       const json_t *result, struct rye_err *err)
{
	int r = graph_log_flush(walker->ask->log, false, err);

	if (!r && result && node->type != GRAPH_RETURN)
		graph_after(walker, node, result);
	if (walker->ask->node)
		walker_single(walker, node->name);
	else if (!walker->current)
		walker_complete(walker, node->type == GRAPH_RETURN ? node : NULL);
	return r;
}

static int walker_step(struct graph_walker *walker, struct rye_err *err)
{
	const struct graph_node *node = graph_node(walker->graph, walker->current);
	size_t errors = json_array_size(walker->errors);
	auto_json json_t *result = NULL;
	int r = 0;

	if (!node) {
		auto_json json_t *error =
			json_sprintf("Node '%s' not found in graph", walker->current);

		walker_fail(walker, NULL, error);
		return graph_log_flush(walker->ask->log, true, err);
	}
	result = graph_step(walker, node);
	if (!walker->over && walker_stopped(walker)) {
		walker_cancelled(walker);
	} else if (!walker->over) {
		put_checkpoint(walker, walker->step, json_array_get(walker->errors, errors));
		r = step_record(walker, node, result, err);
	}
	return r ? r : graph_log_flush(walker->ask->log, walker->over, err);
}

static void put_start(struct graph_walker *walker)
{
	const struct graph_ask *ask = walker->ask;
	json_t *payload = json_object();

	json_sets(payload, "graph_id", walker->graph->id);
	json_sets(payload, "graph_run_id", graph_log_run(ask->log));
	json_sets(payload, "start_node", walker->current);
	if (ask->past && !ask->node) {
		json_set(payload, "step", json_integer(walker->step));
		graph_log_event(ask->log, "graph_resumed", payload);
		return;
	}
	json_sets(payload, "graph_digest", walker->graph->digest);
	json_object_set(payload, "state", walker->state);
	graph_log_event(ask->log, "graph_started", payload);
}

static void walker_begin(struct graph_walker *walker)
{
	const struct graph_ask *ask = walker->ask;
	const struct graph_past *past = ask->past;

	walker->state = past		     ? json_deep_copy(past->state) :
			walker->graph->state ? json_deep_copy(walker->graph->state) :
					       json_object();
	walker->errors = past ? json_deep_copy(past->errors) : json_array();
	walker->set = json_object();
	walker->unset = json_array();
	walker->warnings = json_array();
	walker->current = past ? past->node : walker->graph->start;
	walker->step = past ? past->step : 0;
	if (!past)
		json_set(walker->state, "inputs", json_deep_copy(ask->inputs));
	if (ask->inject)
		json_object_update(walker->state, (json_t *)ask->inject);
	if (ask->node)
		walker->current = ask->node;
	put_start(walker);
}

static void walker_done(struct graph_walker *walker)
{
	json_decref(walker->state);
	json_decref(walker->set);
	json_decref(walker->unset);
	json_decref(walker->errors);
}

static int walk(struct graph_walker *walker, struct rye_err *err)
{
	unsigned long memory = memory_failures();
	int r;

	walker_begin(walker);
	r = graph_log_flush(walker->ask->log, false, err);
	if (!r && !walker->ask->past && !walker->ask->node)
		json_decref(graph_hooks(walker, EVENT_GRAPH_STARTED,
					json_pack("{s:s, s:O, s:O?}", "graph_id", walker->graph->id,
						  "state", walker->state, "inputs",
						  json_object_get(walker->state, "inputs"))));
	while (!r && !walker->over) {
		if (walker->step >= walker->max_steps) {
			walker_limit(walker);
			r = graph_log_flush(walker->ask->log, true, err);
		} else {
			r = walker_step(walker, err);
		}
		r = memory_result(memory, r, err);
	}
	return r;
}

int graph_walk(const struct graph_ask *ask, struct graph_end *ret, struct rye_err *err)
{
	struct graph_walker walker = { .ask = ask, .graph = ask->graph, .end = ret };
	int r;

	*ret = (struct graph_end){ .status = GRAPH_FAILED };
	walker.start_us = clock_us();
	walker.max_steps = ask->max_steps ? ask->max_steps : ask->graph->max_steps;
	r = walk(&walker, err);
	ret->warnings = walker.warnings;
	walker_done(&walker);
	return r;
}

void graph_end_done(struct graph_end *end)
{
	json_decref(end->data);
	json_decref(end->warnings);
}
