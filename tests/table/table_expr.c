/* SPDX-License-Identifier: MIT */
/*
 * expr: input is a template as JSON, or a condition as {"when": …}; context the document that it is
 * filled in from; expected the result as JSON, for a condition true or false. What is wrong with
 * the template by itself follows in brackets.
 */
#include "expr/expr.h"

#include "scope.h"
#include "table/table.h"

#include <stdio.h>

void table_answer(struct table_text input, struct table_text context, char *out, size_t size)
{
	auto_json json_t *template = json_loadb(input.bytes, input.len, JSON_DECODE_ANY, NULL);
	auto_json json_t *doc = json_loadb(context.bytes, context.len, 0, NULL);
	auto_json json_t *faults = json_array(), *value = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const struct expr_scope scope = { doc, NULL };
	const json_t *condition = json_object_get(template, "when");

	if (!template) {
		snprintf(out, size, "not JSON: %s", input.bytes);
		return;
	}
	if (condition) {
		buf_adds(&text, expr_holds(condition, doc) ? "true" : "false");
		expr_check_condition(condition, "when", faults);
	} else {
		value = expr_fill(&scope, template);
		json_put(&text, value, false);
		expr_check_template(template, "x", faults);
	}
	if (json_array_size(faults)) {
		buf_adds(&text, " ");
		json_put(&text, faults, false);
	}
	snprintf(out, size, "%s", text.failed ? "failed" : text.data);
}
