/* SPDX-License-Identifier: MIT */
/*
 * fuzz_graph.c - a graph's item as YAML, and the same bytes as the transcript of a run. Reading
 * ends soon; a graph without faults names only nodes that it has, and a run knows its graph.
 */
#include "format/format.h"
#include "graph_doc.h"

#include "fuzz_parse.h"

static void check_graph(const struct graph *graph)
{
	const json_t *edge;
	size_t k;

	if (!graph_node(graph, graph->start))
		abort();
	for (size_t i = 0; i < graph->n; i++) {
		const struct graph_node *node = &graph->nodes[i];

		if (json_is_string(node->next) && !graph_node(graph, json_string_value(node->next)))
			abort();
		json_array_foreach(node->next, k, edge) {
			if (!graph_node(graph, json_str(edge, "to")))
				abort();
		}
		if (node->type <= GRAPH_FOREACH && !json_is_string(node->action.item_id))
			abort();
	}
}

static void read_as_graph(struct rye_span text)
{
	auto_json json_t *doc = parse_yaml(text, NULL), *faults = json_array(),
			 *warnings = json_array();
	struct graph *graph = graph_of_doc(doc, faults, warnings);

	if (graph && !json_array_size(faults))
		check_graph(graph);
	if (graph)
		graph_lint(graph, warnings);
	fuzz_value(faults);
	fuzz_value(warnings);
	graph_free(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rye_span text = { (const char *)data, size };
	auto_past struct graph_past past = GRAPH_PAST_INIT;
	struct rye_err err = { 0 };

	read_as_graph(text);
	if (graph_past_read(text, &past, &err) == 0) {
		if (!*past.graph_id || !json_is_object(past.state))
			abort();
		fuzz_value(past.state);
	} else if (!utf8_valid(span_of(err.msg))) {
		abort();
	}
	return 0;
}
