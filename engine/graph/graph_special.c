/* SPDX-License-Identifier: MIT */
/*
 * Parameters of every graph: what the caller asks of the run itself, beside the graph's own inputs.
 * Pure.
 */
#include "graph/graph_inner.h"

#include "scope.h"

#include <string.h>

json_t *graph_params_take(json_t *params, bool *ret_checked)
{
	static const char *const names[] = { "max_steps",    "max_concurrency", "resume",
					     "graph_run_id", "resume_run_id",	"node",
					     "inject_state", "validate",	"capabilities",
					     "depth",	     "limits",		"async" };
	json_t *own = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_t *value = json_object_get(params, names[i]);

		if (!value)
			continue;
		if (!json_is_null(value))
			json_object_set(own, names[i], value);
		json_object_del(params, names[i]);
	}
	if (!json_object_get(own, "graph_run_id") && json_object_get(own, "resume_run_id"))
		json_object_set(own, "graph_run_id", json_object_get(own, "resume_run_id"));
	/* a run that goes on has its inputs, a look at the graph needs none */
	*ret_checked = !json_object_get(own, "graph_run_id") &&
		       !json_is_true(json_object_get(own, "validate"));
	return own;
}

struct own_type {
	const char *name, *wanted;
	bool (*fits)(const json_t *value);
};

static bool is_count(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 1;
}

static bool is_bool(const json_t *value)
{
	return json_is_boolean(value);
}

static bool is_given(const json_t *value)
{
	return json_is_string(value) && json_string_length(value);
}

static bool is_map(const json_t *value)
{
	return json_is_object(value);
}

static bool is_text_list(const json_t *value)
{
	const json_t *element;
	size_t i;

	json_array_foreach(value, i, element) {
		if (!json_is_string(element))
			return false;
	}
	return json_is_array(value);
}

int graph_params_check(const json_t *own, struct rye_err *err)
{
	static const struct own_type types[] = {
		{ "max_steps", "a whole number of at least 1", is_count },
		{ "max_concurrency", "a whole number of at least 1", is_count },
		{ "resume", "true or false", is_bool },
		{ "validate", "true or false", is_bool },
		{ "graph_run_id", "the id of a run", is_given },
		{ "node", "the name of a node", is_given },
		{ "inject_state", "an object", is_map },
		{ "capabilities", "a list of capabilities", is_text_list },
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		const json_t *value = json_object_get(own, types[i].name);

		if (value && !types[i].fits(value))
			return rye_fail(err, RYE_INVALID, "Invalid parameters: %s: expected %s",
					types[i].name, types[i].wanted);
	}
	if (json_is_true(json_object_get(own, "resume")) && !json_object_get(own, "graph_run_id"))
		return rye_fail(err, RYE_INVALID,
				"Invalid parameters: resume: graph_run_id says which run");
	return 0;
}
