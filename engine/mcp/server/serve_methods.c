/* SPDX-License-Identifier: MIT */
/*
 * The methods, one row each, and those that tell what this server is. A method that an option takes
 * away is as unknown as one that never was. On the thread that read the request; no lock.
 */
#include "mcp/server/server_inner.h"

#include <string.h>

#define HOUR_MS 3600000

static const char instructions[] =
	"A signed workspace. Tools run, directives are instructions to follow, knowledge is text to "
	"read. rye_fetch with a query and an item_type finds items, with an item_id reads one; rye_execute runs one. "
	"Items are named KIND:ID, as in tool:rye/bash/bash.";

const char *serve_text(const json_t *params, const char *key)
{
	const json_t *value = json_object_get(params, key);
	const char *text = json_string_value(value);

	return text && strlen(text) == json_string_length(value) ? text : NULL;
}

json_t *serve_fresh(const struct serve_request *request, json_t *result)
{
	if (request->frame.era != MCP_MODERN)
		return result;
	json_set(result, "ttlMs", json_integer(0));
	json_sets(result, "cacheScope", "private");
	return result;
}

/* told: the client can hear of changes. */
static json_t *capabilities(const struct serve *serve, bool told)
{
	const char *const names[] = { "tools", serve->opt.no_prompts ? NULL : "prompts",
				      serve->opt.no_resources ? NULL : "resources" };
	json_t *all = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i])
			json_set(all, names[i],
				 told ? json_pack("{s:b}", "listChanged", 1) : json_object());
	return all;
}

static json_t *discover(struct serve_request *request, const json_t *params,
			struct serve_fault *fault)
{
	const struct serve *serve = request->serve;
	json_t *can = capabilities(serve, true);

	if (serve->tasks)
		json_set(can, "extensions", json_pack("{s:{}}", SERVE_TASKS));
	return json_pack("{s:[s], s:o, s:s, s:i, s:s}", "supportedVersions", MCP_MODERN_VERSION,
			 "capabilities", can, "instructions", instructions, "ttlMs", HOUR_MS,
			 "cacheScope", "private");
}

static json_t *initialize(struct serve_request *request, const json_t *params,
			  struct serve_fault *fault)
{
	struct serve *serve = request->serve;
	const char *asked = serve_text(params, "protocolVersion");
	bool known = asked && mcp_version_era(asked) == MCP_LEGACY;

	if (!asked)
		return serve_fail(fault, MCP_BAD_PARAMS, "protocolVersion: a version is wanted");
	if (!request->frame.http) {
		GUARD(&serve->lock);
		if (!serve->legacy)
			serve->legacy = serve_reply_ref(request->reply);
	}
	return json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion",
			 known ? asked : MCP_LEGACY_VERSION, "capabilities",
			 capabilities(serve, !request->frame.http), "serverInfo", mcp_claim(),
			 "instructions", instructions);
}

static json_t *ping(struct serve_request *request, const json_t *params, struct serve_fault *fault)
{
	return json_object();
}

static const struct serve_method methods[] = {
	{ "initialize", SERVE_LEGACY, SERVE_ALWAYS, initialize },
	{ "ping", SERVE_LEGACY, SERVE_ALWAYS, ping },
	{ "prompts/get", SERVE_BOTH, SERVE_HAS_PROMPTS, serve_prompts_get },
	{ "prompts/list", SERVE_BOTH, SERVE_HAS_PROMPTS, serve_prompts_list },
	{ "resources/list", SERVE_BOTH, SERVE_HAS_RESOURCES, serve_resources_list },
	{ "resources/read", SERVE_BOTH, SERVE_HAS_RESOURCES, serve_resources_read },
	{ "resources/templates/list", SERVE_BOTH, SERVE_HAS_RESOURCES, serve_templates_list },
	{ "server/discover", SERVE_MODERN, SERVE_ALWAYS, discover },
	{ "subscriptions/listen", SERVE_MODERN, SERVE_ALWAYS, serve_listen },
	{ "tasks/cancel", SERVE_MODERN, SERVE_HAS_TASKS, serve_tasks_cancel },
	{ "tasks/get", SERVE_MODERN, SERVE_HAS_TASKS, serve_tasks_get },
	{ "tasks/update", SERVE_MODERN, SERVE_HAS_TASKS, serve_tasks_update },
	{ "tools/call", SERVE_BOTH, SERVE_ALWAYS, serve_tools_call },
	{ "tools/list", SERVE_BOTH, SERVE_ALWAYS, serve_tools_list },
};

static bool has_feature(const struct serve *serve, enum serve_feature feature)
{
	switch (feature) {
	case SERVE_HAS_PROMPTS:
		return !serve->opt.no_prompts;
	case SERVE_HAS_RESOURCES:
		return !serve->opt.no_resources;
	case SERVE_HAS_TASKS:
		return serve->tasks;
	default:
		return true;
	}
}

const struct serve_method *serve_method_find(const struct serve *serve, const char *name,
					     enum mcp_era era)
{
	unsigned bit = era == MCP_MODERN ? SERVE_MODERN : SERVE_LEGACY;

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (!strcmp(methods[i].name, name) && methods[i].eras & bit &&
		    has_feature(serve, methods[i].feature))
			return &methods[i];
	return NULL;
}
