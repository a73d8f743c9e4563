/* SPDX-License-Identifier: MIT */
/*
 * fuzz_expr.c - the first line is a template (and a condition) as JSON, the rest the document.
 * Filling in and deciding end soon; a template without expressions comes out as it is.
 */
#include "expr/expr.h"

#include "fuzz_parse.h"

static void count_path(void *arg, struct rye_span path)
{
	size_t *n = arg;

	*n += path.len + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rye_span text = { (const char *)data, size }, line = { 0 };
	auto_json json_t *template = NULL, *doc = NULL, *faults = json_array(),
			 *warnings = json_array(), *filled = NULL;
	size_t paths = 0;

	span_line(&text, &line);
	template = json_parse(line, JSON_LOAD_LAST_WINS | JSON_LOAD_ANY, "template", NULL);
	doc = json_parse(text, JSON_LOAD_LAST_WINS, "document", NULL);
	if (!template || !doc)
		return 0;
	filled = expr_fill(&(struct expr_scope){ doc, warnings }, template);
	expr_check_template(template, "x", faults);
	expr_check_condition(template, "x", faults);
	expr_each_path(template, count_path, &paths);
	if (filled && !memmem(line.ptr, line.len, "{", 1) && !json_equal(filled, template))
		abort();
	(void)expr_holds(template, doc);
	fuzz_value(filled);
	fuzz_value(faults);
	fuzz_value(warnings);
	return 0;
}
