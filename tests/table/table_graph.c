/* SPDX-License-Identifier: MIT */
/*
 * graph: input is a graph's item as YAML; expected what is wrong with it, parted by "; ", or "ok",
 * and behind " ~ " what is strange. A context other than `-` asks for the look at the whole graph,
 * too. The schema for editors has to agree, but for what only the graph as a whole, or a text, says.
 */
#include "expr/expr.h"
#include "format/format.h"
#include "graph_doc.h"
#include "schema/schema.h"
#include "scope.h"
#include "table/table.h"

#include <stdio.h>
#include <string.h>

static void put_list(struct rye_buf *text, const json_t *list)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		buf_addf(text, "%s%s", i ? "; " : "", json_string_value(one));
	}
}

/* Is it in the form of the file? */
static bool is_of_form(const char *fault)
{
	return !strstr(fault, "there is no node") && !strstr(fault, "${") && !strstr(fault, "pipe");
}

static bool schema_takes(const json_t *doc)
{
	auto_json json_t *definitions = json_object();
	auto_json json_t *schema = graph_schema(definitions);
	struct schema_report report = { 0 };
	bool good;

	json_object_set(schema, "definitions", definitions);
	good = schema_fit(schema, doc, &report);
	schema_report_done(&report);
	return good;
}

static void put_disagreement(struct rye_buf *text, const json_t *doc, const json_t *faults,
			     const json_t *warnings)
{
	bool refused = false;
	size_t i;
	json_t *fault;

	json_array_foreach(faults, i, fault)
		refused |= is_of_form(json_string_value(fault));
	if (refused && schema_takes(doc))
		buf_adds(text, " (the schema takes it)");
	if (!json_array_size(faults) && !json_array_size(warnings) && !schema_takes(doc))
		buf_adds(text, " (the schema refuses it)");
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
	put_disagreement(&text, doc, faults, warnings);
	snprintf(out, size, "%s", err.code ? err.msg : text.data);
	graph_free(graph);
}
