/* SPDX-License-Identifier: MIT */
/*
 * Conditions of edges and hooks. A document is nested at most as deep as its parser lets it be, so
 * the recursion is bounded.
 */
#include "expr/expr.h"

#include "schema/schema.h"
#include "scope.h"

#include <string.h>

static bool holds_list(const json_t *list, const json_t *doc, bool all)
{
	const json_t *element;
	size_t i;

	json_array_foreach(list, i, element) {
		if (expr_holds(element, doc) != all)
			return !all;
	}
	return all;
}

bool expr_holds(const json_t *condition, const json_t *doc)
{
	const json_t *part;
	const char *op;

	if (!json_truthy(condition))
		return true;
	part = json_object_get(condition, "any");
	if (part)
		return holds_list(part, doc, false);
	part = json_object_get(condition, "all");
	if (part)
		return holds_list(part, doc, true);
	part = json_object_get(condition, "not");
	if (part)
		return !expr_holds(part, doc);
	op = json_str(condition, "op");
	return expr_compare(*op ? op : "eq", expr_path(doc, span_of(json_str(condition, "path"))),
			    json_object_get(condition, "value"));
}

static void add_fault(json_t *faults, const char *where, const char *what)
{
	json_array_append_new(faults, json_sprintf("%s: %s", where, what));
}

static void check_leaf(const json_t *condition, const char *where, json_t *faults)
{
	static const char *const keys[] = { "path", "op", "value" };
	const json_t *op = json_object_get(condition, "op");
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)condition, key, value) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
			known |= !strcmp(keys[i], key);
		if (!known)
			json_array_append_new(
				faults,
				json_sprintf("%s: '%.100s' is not a key of a condition (path, "
					     "op, value; any, all, not)",
					     where, key));
	}
	if (!json_is_string(json_object_get(condition, "path")))
		add_fault(faults, where, "path: a text is wanted");
	if (op && (!json_is_string(op) || !expr_operator_known(json_string_value(op))))
		json_array_append_new(
			faults,
			json_sprintf("%s: op: '%.60s' is none (eq ne gt gte lt lte in contains "
				     "regex exists): it is never true",
				     where, json_is_string(op) ? json_string_value(op) : "?"));
}

static void check_list(const json_t *list, const char *where, json_t *faults)
{
	const json_t *element;
	size_t i;

	if (!json_is_array(list))
		add_fault(faults, where, "any, all: a list of conditions is wanted");
	json_array_foreach(list, i, element) {
		expr_check_condition(element, where, faults);
	}
}

void expr_check_condition(const json_t *condition, const char *where, json_t *faults)
{
	const json_t *any = json_object_get(condition, "any"),
		     *all = json_object_get(condition, "all"),
		     *not_ = json_object_get(condition, "not");

	if (!condition || json_is_null(condition))
		return;
	if (!json_is_object(condition))
		add_fault(faults, where, "a condition is a mapping {path, op, value}");
	else if (any || all)
		check_list(any ? any : all, where, faults);
	else if (not_)
		expr_check_condition(not_, where, faults);
	else if (json_object_size(condition))
		check_leaf(condition, where, faults);
}

json_t *expr_condition_schema(void)
{
	json_t *names = json_array();
	auto_free char *ops = NULL;

	for (size_t i = 0; expr_operator_name(i); i++)
		json_array_append_new(names, json_string(expr_operator_name(i)));
	ops = schema_text(names);
	return schema_of(
		"{'type': ['object', 'null'], 'additionalProperties': false,"
		" 'description': '{path, op, value}, {any: […]}, {all: […]} or {not: …}.',"
		" 'properties': {"
		"  'path': {'type': 'string'}, 'op': {'enum': %s}, 'value': {}, 'not': {'$ref': '%s'},"
		"  'any': {'type': 'array', 'items': {'$ref': '%s'}},"
		"  'all': {'type': 'array', 'items': {'$ref': '%s'}}},"
		" 'anyOf': [{'maxProperties': 0}, {'required': ['path']}, {'required': ['not']},"
		"  {'required': ['any']}, {'required': ['all']}]}",
		ops ? ops : "[]", EXPR_CONDITION, EXPR_CONDITION, EXPR_CONDITION);
}
