/* SPDX-License-Identifier: MIT */
/*
 * The same action for each element of a list, one after the other or several at once. A call that
 * fails is a value like another: the list goes on.
 */
#include "graph/graph_inner.h"

#include "memory.h"
#include "scope.h"

#include <string.h>

/* The list that `over` comes to; a JSON text is read. A new reference. */
static json_t *elements_of(struct graph_walker *walker, const struct graph_node *node)
{
	auto_json json_t *scope = walker_scope(walker, NULL);
	auto_json json_t *list = walker_fill(walker, node->over, scope);

	if (json_is_string(list)) {
		json_t *read = json_parse((struct rye_span){ json_string_value(list),
							     json_string_length(list) },
					  JSON_LOAD_ANY | JSON_LOAD_LAST_WINS, "over", NULL);

		json_decref(list);
		list = read;
	}
	if (json_is_array(list))
		return steal(&list);
	json_array_append_new(walker->warnings,
			      json_sprintf("node '%s': over came to no list: nothing was done",
					   node->name));
	return json_array();
}

/* What a call left for `collect`; takes the result over. */
static json_t *collect_value(json_t *result)
{
	json_t *thread = json_object_get(result, "thread_id");

	if (!thread || result_failed(result))
		return result;
	json_incref(thread);
	json_decref(result);
	return thread;
}

/* The element under its own name, and below state. Each call has its own copy when they run at once. */
static json_t *element_scope(struct graph_walker *walker, const struct graph_node *node,
			     json_t *element)
{
	json_t *scope = walker_scope(walker, NULL);

	if (node->parallel)
		json_set(scope, "state",
			 json_pack("{s:O?, s:O}", "inputs",
				   json_object_get(walker->state, "inputs"), node->as, element));
	json_object_set(scope, node->as, element);
	return scope;
}

static json_t *one_by_one(struct graph_walker *walker, const struct graph_node *node,
			  const json_t *list)
{
	const struct graph_ops *ops = walker->ask->ops;
	json_t *values = json_array(), *element;
	size_t i;

	json_array_foreach(list, i, element) {
		auto_json json_t *scope = element_scope(walker, node, element);
		struct graph_call *call;
		json_t *result = NULL;
		bool kept;

		if (ops->stopped(ops->arg))
			break;
		json_object_set(walker->state, node->as, element);
		call = call_of_node(walker, node, scope, &result);
		if (call)
			call->n = i;
		if (call)
			result = call_carry_out(walker, call, &kept);
		json_array_append_new(values, collect_value(result));
	}
	if (json_array_size(list))
		walker_unset(walker, node->as);
	return values;
}

struct foreach_run {
	struct graph_walker *walker;
	const struct graph_node *node;
	const json_t *list;
	json_t *values; /* of the list's length, null to begin with */
	size_t begun, living;
};

/* Begins the next element's call; one that cannot be made has its result at once. */
static void begin_next(struct foreach_run *run)
{
	const struct graph_ops *ops = run->walker->ask->ops;
	json_t *element = json_array_get(run->list, run->begun), *error = NULL;
	auto_json json_t *scope = element_scope(run->walker, run->node, element);
	struct graph_call *call = call_of_node(run->walker, run->node, scope, &error);

	if (call) {
		call->n = run->begun;
		run->living++;
		ops->begin(ops->arg, call);
	} else {
		json_array_set_new(run->values, run->begun, error);
	}
	run->begun++;
}

static json_t *all_at_once(struct graph_walker *walker, const struct graph_node *node,
			   const json_t *list)
{
	const struct graph_ops *ops = walker->ask->ops;
	struct foreach_run run = { walker, node, list, json_array(), 0, 0 };
	size_t n = json_array_size(list);
	size_t most = (size_t)(node->max_concurrency ? node->max_concurrency :
						       walker->graph->max_concurrency);

	for (size_t i = 0; i < n; i++)
		json_array_append_new(run.values, json_null());
	while (run.begun < n || run.living) {
		if (run.begun < n && run.living < most && !ops->stopped(ops->arg)) {
			begin_next(&run);
		} else if (run.living) {
			struct graph_call *call = ops->next(ops->arg);

			run.living--;
			json_array_set_new(run.values, call->n,
					   collect_value(graph_unwrap(steal(&call->reply))));
			call_free(call);
		} else {
			break;
		}
	}
	return run.values;
}

json_t *graph_foreach(struct graph_walker *walker, const struct graph_node *node)
{
	auto_json json_t *list = elements_of(walker, node);

	return node->parallel ? all_at_once(walker, node, list) : one_by_one(walker, node, list);
}
