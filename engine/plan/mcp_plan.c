/* SPDX-License-Identifier: MIT */
/*
 * config {server, tool_name, pin} of a tool → one call of a server: which server, and that the tool
 * is the one whose definition was signed. On a worker; no lock.
 */
#include "plan/plan_inner.h"

#include "memory.h"
#include "scope.h"

#include <string.h>

/* "…/.ai/tools/mcp/servers/x.yaml" names the same item as its id does; free it. */
static char *id_of_path(const char *path)
{
	static const char below[] = "/.ai/tools/";
	const char *at = strstr(path, below), *dot;

	if (!at)
		return NULL;
	at += strlen(below);
	dot = strrchr(at, '.');
	return dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml")) ?
		       strndup(at, (size_t)(dot - at)) :
		       NULL;
}

static int load_server(const struct planner *planner, struct mcp_source *ret, struct rye_err *err)
{
	const struct item_env *items = planner->base->items;
	const char *id = json_str(planner->config, "server");
	auto_free char *named = id_of_path(json_str(planner->config, "server_config_path"));
	const struct item_ask ask = { .kind = RYE_TOOL,
				      .id = *id ? id : named,
				      .from = chain_search_from(items, planner->chain->v[0].item) };

	if (ask.id)
		return mcp_source_load(planner, &ask, ret, err);
	return rye_fail(err, RYE_INVALID,
			"config.server is missing: a server's item, mcp/servers/NAME, is wanted");
}

/* Where the server's item says nothing else, a pin is looked at in each call. */
static int take_pin(const struct planner *planner, const struct mcp_source *source,
		    struct mcp_plan *ret, struct rye_err *err)
{
	/* YAML reads a bare `off` as false. */
	const char *mode = json_is_false(json_object_get(source->config, "pin")) ?
				   "off" :
				   json_str(source->config, "pin");
	const json_t *pin = json_object_get(planner->config, "pin");
	json_t *members = json_object_get(planner->config, "members");

	if (*mode && strcmp(mode, "call") && strcmp(mode, "refresh") && strcmp(mode, "off"))
		return rye_fail(err, RYE_INVALID,
				"%s: config.pin is \"%s\": call, refresh or off is wanted",
				source->id, mode);
	if (!pin || (*mode && strcmp(mode, "call") != 0))
		return 0;
	if (!json_is_string(pin))
		return rye_fail(err, RYE_INVALID, "config.pin is no text");
	ret->pin = memory_note(strdup(json_string_value(pin)));
	ret->members = json_incref(members);
	return ret->pin ? 0 : memory_fail(err);
}

int mcp_plan_make(struct planner *planner, struct mcp_plan *ret, struct rye_err *err)
{
	__attribute__((cleanup(mcp_source_done))) struct mcp_source source = { 0 };
	const struct rye_item *item = planner->chain->v[0].item;
	const char *tool = json_str(planner->config, "tool_name");
	const json_t *schema = meta_get(item, "output_schema");
	int r;

	if (!*tool)
		return rye_fail(err, RYE_INVALID,
				"config.tool_name is missing: the server's name of the tool");
	if (*json_str(planner->config, "disabled"))
		return rye_fail(err, RYE_UNSUPPORTED, "%s: %s", tool,
				json_str(planner->config, "disabled"));
	r = load_server(planner, &source, err);
	if (!r)
		r = take_pin(planner, &source, ret, err);
	if (r)
		return r;
	ret->tool = memory_note(strdup(tool));
	ret->arguments = json_incref(planner->params);
	ret->schema = json_incref((json_t *)meta_get(item, "input_schema"));
	ret->output_schema = json_is_object(schema) ? json_incref((json_t *)schema) : NULL;
	if (!ret->tool)
		return memory_fail(err);
	return mcp_source_spec(planner, &source, &ret->spec, err);
}

void mcp_plan_done(struct mcp_plan *plan)
{
	mcp_spec_done(&plan->spec);
	free(plan->tool);
	free(plan->pin);
	json_decref(plan->members);
	json_decref(plan->schema);
	json_decref(plan->arguments);
	json_decref(plan->output_schema);
}
