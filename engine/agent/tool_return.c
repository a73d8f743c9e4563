/* SPDX-License-Identifier: MIT */
/*
 * The call that ends a thread with the directive's outputs. There is no tool of that name: the
 * runner takes the call itself, however the model has spelled it.
 */
#include "agent/agent_inner.h"

#include "schema/schema.h"
#include "scope.h"
#include "str.h"

#include <stdlib.h>
#include <string.h>

static json_t *return_property(const char *type, const char *description)
{
	static const char *const types[] = { "string",	"integer", "number",
					     "boolean", "array",   "object" };
	json_t *property = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(types[i], type))
			json_sets(property, "type", type);
	if (*description)
		json_sets(property, "description", description);
	return property;
}

json_t *tool_return_offer(const struct brief *brief)
{
	const json_t *outputs = brief_meta(brief, "outputs");
	json_t *properties, *output;
	const char *key;
	size_t i;

	if (!json_array_size(outputs) && !json_object_size(outputs))
		return NULL;
	properties = json_object();
	json_array_foreach(outputs, i, output)
		if (*json_str(output, "name"))
			json_object_set_new(properties, json_str(output, "name"),
					    return_property(json_str(output, "type"),
							    json_str(output, "description")));
	json_object_foreach((json_t *)outputs, key, output)
		json_object_set_new(properties, key,
				    return_property("", json_is_string(output) ?
								json_string_value(output) :
								""));
	/* what is not declared cannot be said where the provider holds its model to the schema */
	if (!json_object_get(properties, "status"))
		json_object_set_new(properties, "status",
				    json_pack("{s:s, s:[s, s]}", "type", "string", "enum",
					      "success", "error"));
	if (!json_object_get(properties, "error_detail"))
		json_object_set_new(properties, "error_detail", return_property("string", ""));
	return json_pack("{s:s, s:s, s:b, s:{s:s, s:o, s:o}}", "name", RETURN_NAME, "description",
			 "Ends the directive with its results. When a step cannot be done: status "
			 "\"error\" and error_detail.",
			 "strict", 1, "schema", "type", "object", "properties", properties,
			 "required", brief_required(brief));
}

/* A text where a number or a truth value is declared is read as one. */
static void return_coerce(const json_t *output, json_t *outputs)
{
	const char *name = json_str(output, "name"), *type = json_str(output, "type");
	const json_t *given = json_object_get(outputs, name);
	json_t *value;

	if (!json_is_string(given) || !*type || !strcmp(type, "string"))
		return;
	value = json_loads(json_string_value(given), JSON_DECODE_ANY, NULL);
	if (value && ((!strcmp(type, "integer") && json_is_integer(value)) ||
		      (!strcmp(type, "number") && json_is_number(value)) ||
		      (!strcmp(type, "boolean") && json_is_boolean(value)) ||
		      (!strcmp(type, "array") && json_is_array(value)) ||
		      (!strcmp(type, "object") && json_is_object(value))))
		json_object_set(outputs, name, value);
	json_decref(value);
}

/* Present and not null: 0, "" and false are values. */
static int return_missing(const struct brief *brief, const json_t *outputs, struct rye_err *err)
{
	auto_json json_t *required = brief_required(brief);
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	json_t *name;
	size_t i;

	json_array_foreach(required, i, name) {
		const json_t *value = json_object_get(outputs, json_string_value(name));

		if (!value || json_is_null(value))
			buf_addf(&names, "%s%s", names.len ? ", " : "", json_string_value(name));
	}
	if (!names.len)
		return 0;
	return rye_fail(err, RYE_INVALID,
			"Missing required output fields: %.800s. Call directive_return again with "
			"all required fields.",
			names.data);
}

static void return_wrong_one(const json_t *output, const json_t *outputs, struct rye_buf *names)
{
	const char *name = json_str(output, "name"), *type = json_str(output, "type");
	const json_t *value = json_object_get(outputs, name);
	auto_buf struct rye_buf shown = RYE_BUF_INIT;

	if (!value || json_is_null(value) || !schema_type_known(type) ||
	    schema_type_fits(type, value))
		return;
	json_put(&shown, value, false);
	buf_addf(names, "%s%s is %.80s%s, its type is %s", names->len ? "; " : "", name,
		 shown.data ? shown.data : "", shown.len > 80 ? "…" : "", type);
}

/* What is there has the type that is declared, as a parameter's value has. */
static int return_wrong(const struct brief *brief, const json_t *outputs, struct rye_err *err)
{
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	const json_t *output;
	size_t i;

	json_array_foreach(brief_meta(brief, "outputs"), i, output)
		return_wrong_one(output, outputs, &names);
	if (!names.len)
		return 0;
	utf8_mend(names.data);
	return rye_fail(err, RYE_INVALID,
			"Wrong output fields: %.800s. Call directive_return again with all "
			"required fields.",
			names.data);
}

static void return_event(struct agent *agent)
{
	agent_event(agent, "directive_return",
		    json_pack("{s:O, s:o}", "outputs", agent->outputs, "cost",
			      thread_cost_json(&agent->cost)));
}

int tool_return(struct agent *agent, const struct tool_call *call, struct rye_err *err)
{
	bool failed = !strcmp(json_str(call->arguments, "status"), "error");
	json_t *output;
	size_t i;
	int r;

	json_array_foreach(brief_meta(&agent->brief, "outputs"), i, output)
		return_coerce(output, call->arguments);
	r = failed ? 0 : return_missing(&agent->brief, call->arguments, err);
	if (!r && !failed)
		r = return_wrong(&agent->brief, call->arguments, err);
	if (r)
		return r;
	agent->outputs = json_incref(call->arguments);
	return_event(agent);
	hooks_run(agent, EVENT_DIRECTIVE_RETURN,
		  json_pack("{s:O, s:o, s:s}", "outputs", agent->outputs, "cost",
			    thread_cost_json(&agent->cost), "thread_id", agent->thread_id),
		  NULL);
	if (failed)
		agent_ends(agent, "error", RYE_TOOL_FAILED, "%s",
			   *json_str(call->arguments, "error_detail") ?
				   json_str(call->arguments, "error_detail") :
				   "the model reported an error");
	else
		agent_ends(agent, "completed", RYE_OK, "%s", "");
	return 0;
}
