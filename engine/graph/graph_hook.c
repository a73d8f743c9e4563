/* SPDX-License-Identifier: MIT */
/*
 * Hooks of a graph: items that are called when something happens. Those of the layers 1 and 2 may
 * decide what comes next, those of layer 3 only see it. A hook's call needs the graph's permission
 * as a node's does; one that fails is a warning, the graph goes on.
 */
#include "graph/graph_inner.h"

#include "scope.h"

#include <string.h>

/* A new reference; NULL: it was not for this. */
static json_t *hook_run(struct graph_walker *walker, const struct graph_hook *hook,
			const json_t *context)
{
	json_t *result = NULL;
	struct graph_call *call;
	bool kept;

	if (!expr_holds(hook->condition, context))
		return NULL;
	if (hook->control)
		return walker_fill(walker, hook->control, context);
	call = call_make(walker, &hook->action, context, &result);
	if (call)
		result = call_carry_out(walker, call, &kept);
	if (result_failed(result))
		json_array_append_new(walker->warnings, json_sprintf("hook of %s: %.300s",
								     expr_event_name(hook->event),
								     json_str(result, "error")));
	return result;
}

json_t *graph_hooks(struct graph_walker *walker, enum expr_event event, json_t *context)
{
	const struct graph_ops *ops = walker->ask->ops;
	auto_json json_t *held = context;
	json_t *decision = NULL;

	for (json_int_t layer = 1; layer <= 3; layer++) {
		for (size_t i = 0; i < walker->graph->n_hooks; i++) {
			const struct graph_hook *hook = &walker->graph->hooks[i];
			auto_json json_t *result = NULL;

			if (hook->layer != layer || hook->event != event || ops->stopped(ops->arg))
				continue;
			result = hook_run(walker, hook, held);
			if (result && layer < 3 && !decision)
				decision = steal(&result);
		}
	}
	return decision;
}
