/* SPDX-License-Identifier: MIT */
/*
 * graph: input is a graph's item as YAML; expected what is wrong with it, parted by "; ", or "ok",
 * and behind " ~ " what is strange. A context other than `-` asks for the look at the whole graph,
 * too.
 */
#include "expr/expr.h"
#include "format/format.h"
#include "graph_doc.h"
#include "scope.h"
#include "table/table.h"

#include <stdio.h>

static void put_list(struct rye_buf *text, const json_t *list)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		buf_addf(text, "%s%s", i ? "; " : "", json_string_value(one));
	}
}

void table_answer(struct table_text input, struct table_text context, char *out, size_t size)
{
	struct rye_err err = { 0 };
	auto_json json_t *doc = parse_yaml((struct rye_span){ input.bytes, input.len }, &err);
	auto_json json_t *faults = json_array(), *warnings = json_array();
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct graph *graph = graph_of_doc(doc, faults, warnings);

	if (context.len && graph)
		graph_lint(graph, warnings);
	if (json_array_size(faults))
		put_list(&text, faults);
	else
		buf_adds(&text, "ok");
	if (json_array_size(warnings)) {
		buf_adds(&text, " ~ ");
		put_list(&text, warnings);
	}
	snprintf(out, size, "%s", err.code ? err.msg : text.data);
	graph_free(graph);
}
