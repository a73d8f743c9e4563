/* SPDX-License-Identifier: MIT */
/*
 * What a caller gave → what the tool gets: names the format reserves are taken out unless the
 * tool declares them, the outer time limit is read, defaults are filled in, the schema (or the
 * chosen action's) is checked. Values are data: nothing here looks inside a string. Pure.
 */
#include "plan/plan.h"

#include "bounds.h"
#include "memory.h"
#include "schema/schema.h"
#include "scope.h"

#include <stdlib.h>
#include <string.h>

bool params_reserved(const char *name)
{
	static const char *const names[] = {
		"timeout",	"cwd",
		"env",		"server",
		"tool_name",	"project_path",
		"tool_path",	"tool_dir",
		"tool_parent",	"anchor_path",
		"runtime_lib",	"user_space",
		"system_space", "server_config_path",
		"fixed_params", "params_key",
	};

	if (name[0] == '_' && name[1] == '_')
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool params_declares(const json_t *schema, const char *name)
{
	return json_object_get(json_object_get(schema, "properties"), name);
}

/* Numbers and numeric texts; a `timeout` that the tool declares is checked by its schema. */
static int read_timeout(struct params_check *check, const json_t *schema, struct rye_err *err)
{
	const json_t *value = json_object_get(check->params, "timeout");
	const char *text = json_string_value(value);
	char *end = NULL;
	double seconds;

	check->own_timeout = params_declares(schema, "timeout");
	if (!value || json_is_null(value))
		return 0;
	seconds = text ? strtod(text, &end) : json_number_value(value);
	if (text ? (!*text || *end) : !json_is_number(value)) {
		if (check->own_timeout)
			return 0;
		return rye_fail(err, RYE_INVALID,
				"Invalid parameters: timeout: expected number of seconds");
	}
	if (!(seconds > 0))
		return rye_fail(err, RYE_INVALID, "Invalid parameters: timeout: must be > 0");
	check->timeout = seconds < RYE_TIMEOUT_MAX_S ? seconds : RYE_TIMEOUT_MAX_S;
	return 0;
}

static void drop_reserved(struct params_check *check, const json_t *schema)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(check->params, next, key, value) {
		if (!params_reserved(key) || params_declares(schema, key))
			continue;
		if (strcmp(key, "timeout"))
			json_array_append_new(check->warnings,
					      json_sprintf("parameter %s is reserved and the tool "
							   "does not declare it: not passed on",
							   key));
		json_object_del(check->params, key);
	}
}

/* name NULL: none was given. */
static int unknown_action(const json_t *actions, const char *name, struct rye_err *err)
{
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)actions, key, value)
		buf_addf(&names, "%s%s", names.len ? ", " : "", key);
	if (!name)
		return rye_fail(err, RYE_INVALID, "Missing required parameters: action. Valid: %s",
				names.data ? names.data : "");
	return rye_fail(err, RYE_INVALID, "Unknown action: %s. Valid: %s", name,
			names.data ? names.data : "");
}

/* The schema of the action that `action` names is added to the tool's own. */
static int add_action(const struct params_check *check, json_t *schema, struct rye_err *err)
{
	const json_t *actions = check->tool->meta.actions;
	const json_t *name = json_object_get(check->params, "action"), *list, *declared;
	auto_json json_t *extra = NULL;
	json_t *properties, *needed;

	if (!json_object_size(actions))
		return 0;
	/* the tool may have one of its own for calls that name none */
	declared = json_object_get(json_object_get(schema, "properties"), "action");
	if (!name)
		return json_object_get(declared, "default") ? 0 :
							      unknown_action(actions, NULL, err);
	list = json_is_string(name) ? json_object_get(actions, json_string_value(name)) : NULL;
	if (!list)
		return unknown_action(actions, json_is_string(name) ? json_string_value(name) : "",
				      err);
	extra = meta_schema_list(json_object_get(list, "parameters"));
	properties = json_object_get(schema, "properties");
	if (!json_is_object(properties)) {
		json_object_set_new(schema, "properties", json_object());
		properties = json_object_get(schema, "properties");
	}
	json_object_update_missing(properties, json_object_get(extra, "properties"));
	if (!json_object_get(properties, "action"))
		json_object_set_new(properties, "action", json_pack("{s:s}", "type", "string"));
	needed = json_object_get(schema, "required");
	if (!json_is_array(needed)) {
		json_object_set_new(schema, "required", json_array());
		needed = json_object_get(schema, "required");
	}
	if (json_object_get(extra, "required"))
		json_array_extend(needed, json_object_get(extra, "required"));
	return 0;
}

int params_check(struct params_check *check, struct rye_err *err)
{
	auto_json json_t *schema = meta_schema(check->tool->item);
	struct schema_report report = { 0 };
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	bool ok, checked = true;
	int r;

	if (!schema)
		return memory_fail(err);
	if (check->ops && check->ops->take_params)
		check->own_params = check->ops->take_params(check->params, &checked);
	r = read_timeout(check, schema, err);
	if (!r)
		r = add_action(check, schema, err);
	if (r) {
		check->declared = schema_declared(schema);
		return r;
	}
	drop_reserved(check, schema);
	if (!checked)
		return 0;
	ok = schema_check(schema, check->params, &report);
	if (json_array_size(report.warnings))
		json_array_extend(check->warnings, report.warnings);
	if (!ok) {
		schema_message(&report, schema, &text);
		check->declared = schema_declared(schema);
		r = rye_fail(err, RYE_INVALID, "%s", text.data ? text.data : "Invalid parameters");
	}
	schema_report_done(&report);
	return r;
}
