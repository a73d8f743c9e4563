/* SPDX-License-Identifier: MIT */
/*
 * What can be seen of a graph without walking it. Only warnings: a node that cannot be reached may
 * be there for `node`, and state may be read by a hook's tool.
 */
#include "graph/graph_inner.h"

#include "scope.h"

#include <string.h>

struct graph_names {
	json_t *set, *read; /* objects used as sets of names */
};

static void mark_reached(const struct graph *graph, const char *name, json_t *reached, json_t *todo)
{
	if (graph_node(graph, name) && !json_object_get(reached, name)) {
		json_set(reached, name, json_true());
		json_array_append_new(todo, json_string(name));
	}
}

static void follow_edges(const struct graph *graph, const struct graph_node *node, json_t *reached,
			 json_t *todo)
{
	const json_t *edge;
	size_t i;

	if (json_is_string(node->next))
		mark_reached(graph, json_string_value(node->next), reached, todo);
	json_array_foreach(node->next, i, edge) {
		mark_reached(graph, json_str(edge, "to"), reached, todo);
	}
	mark_reached(graph, node->on_error, reached, todo);
}

static void lint_reach(const struct graph *graph, json_t *warnings)
{
	auto_json json_t *reached = json_object(), *todo = json_array();
	auto_buf struct rye_buf names = RYE_BUF_INIT;

	mark_reached(graph, graph->start, reached, todo);
	for (size_t i = 0; i < json_array_size(todo); i++) {
		const struct graph_node *node =
			graph_node(graph, json_string_value(json_array_get(todo, i)));

		follow_edges(graph, node, reached, todo);
	}
	for (size_t i = 0; i < graph->n; i++)
		if (!json_object_get(reached, graph->nodes[i].name))
			buf_addf(&names, "%s%s", names.len ? ", " : "", graph->nodes[i].name);
	if (names.len)
		json_array_append_new(warnings,
				      json_sprintf("unreachable nodes: %.500s", names.data));
}

/* "state.a.b" → a */
static void note_path(void *arg, struct rye_span path)
{
	struct graph_names *names = arg;
	size_t n = 0;

	if (!span_starts(path, "state."))
		return;
	path = span_skip(path, strlen("state."));
	while (n < path.len && path.ptr[n] != '.' && path.ptr[n] != '[')
		n++;
	if (n)
		json_object_setn_new(names->read, path.ptr, n, json_true());
}

static void note_condition(const json_t *condition, struct graph_names *names)
{
	static const char *const lists[] = { "any", "all" };
	const json_t *element;
	size_t k;

	note_path(names, span_of(json_str(condition, "path")));
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		json_array_foreach(json_object_get(condition, lists[i]), k, element) {
			note_condition(element, names);
		}
	if (json_object_get(condition, "not"))
		note_condition(json_object_get(condition, "not"), names);
}

static void note_keys(const json_t *map, json_t *set)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)map, key, value) {
		json_set(set, key, json_true());
	}
}

static void note_node(const struct graph_node *node, struct graph_names *names)
{
	const json_t *templates[] = { node->action.item_id, node->action.params, node->assign,
				      node->output, node->over };
	const json_t *edge;
	size_t k;

	for (size_t i = 0; i < ARRAY_SIZE(templates); i++)
		expr_each_path(templates[i], note_path, names);
	json_array_foreach(node->next, k, edge) {
		note_condition(json_object_get(edge, "when"), names);
	}
	note_keys(node->assign, names->set);
	if (*node->collect)
		json_set(names->set, node->collect, json_true());
	if (node->type == GRAPH_FOREACH) {
		json_set(names->set, node->as, json_true());
		json_set(names->read, node->as, json_true());
	}
}

static void warn_names(const json_t *of, const json_t *without, const char *what, json_t *warnings)
{
	static const char *const own[] = { "inputs", "_last_error", "_retries" };
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)of, key, value) {
		bool known = json_object_get(without, key);

		for (size_t i = 0; i < ARRAY_SIZE(own); i++)
			known |= !strcmp(own[i], key);
		if (!known)
			buf_addf(&names, "%s%s", names.len ? ", " : "", key);
	}
	if (names.len)
		json_array_append_new(warnings,
				      json_sprintf("state keys %s: %.500s", what, names.data));
}

void graph_lint(const struct graph *graph, json_t *warnings)
{
	auto_json json_t *set = json_object(), *read = json_object();
	struct graph_names names = { set, read };
	bool ends = false;

	lint_reach(graph, warnings);
	note_keys(graph->state, set);
	for (size_t i = 0; i < graph->n; i++) {
		note_node(&graph->nodes[i], &names);
		ends |= graph->nodes[i].type == GRAPH_RETURN;
	}
	for (size_t i = 0; i < graph->n_hooks; i++) {
		expr_each_path(graph->hooks[i].action.params, note_path, &names);
		expr_each_path(graph->hooks[i].control, note_path, &names);
		note_condition(graph->hooks[i].condition, &names);
	}
	warn_names(read, set, "referenced but never assigned", warnings);
	warn_names(set, read, "assigned but never referenced", warnings);
	if (!ends)
		json_array_append_new(warnings, json_string("there is no return node: the graph "
							    "ends where a node has no next"));
}
