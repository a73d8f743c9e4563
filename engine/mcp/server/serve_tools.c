/* SPDX-License-Identifier: MIT */
/*
 * The tools, one row each: what their clients are told of them. What they do is a verb of the
 * engine (serve_call.c).
 */
#include "mcp/server/server_inner.h"

#include <string.h>

#define KINDS "{\"type\":\"string\",\"enum\":[\"directive\",\"tool\",\"knowledge\"]}"
#define TEXT "{\"type\":\"string\"}"
#define FLAG "{\"type\":\"boolean\"}"
#define OBJECT "{\"type\":\"object\"}"
#define PROJECT "\"project_path\":{\"type\":\"string\",\"description\":\"this project, or absent\"}"
#define SOURCES "{\"type\":\"string\",\"enum\":[\"project\",\"user\",\"system\",\"local\",\"all\"]}"
#define LIMIT "{\"type\":\"integer\",\"minimum\":1,\"maximum\":100}"
#define BEGIN "{\"type\":\"object\",\"properties\":{"
#define END "},\"additionalProperties\":false}"
#define END_ID "},\"required\":[\"item_id\"],\"additionalProperties\":false}"

#define READ_MEMBERS                                                                           \
	"\"item_id\":{\"type\":\"string\",\"description\":\"the item to read, KIND:ID\"},"     \
	"\"query\":{\"type\":\"string\",\"description\":\"words to find items by, with "       \
	"item_type or scope; instead of item_id\"},\"item_type\":" KINDS                       \
	",\"scope\":{\"type\":\"string\",\"description\":\"with query: a kind, or a kind and " \
	"the beginning of ids, as in tool.rye.bash\"},"                                        \
	"\"source\":" SOURCES ",\"limit\":" LIMIT "," PROJECT

#define FETCH_SCHEMA                                                           \
	BEGIN READ_MEMBERS                                                     \
		",\"destination\":{\"type\":\"string\",\"enum\":[\"project\"," \
		"\"user\"],\"description\":\"copy the item there\"},\"overwrite\":" FLAG END
#define FETCH_NARROW BEGIN READ_MEMBERS END

#define HINTS(read, destroy, again, open)                                                         \
	"{\"readOnlyHint\":" #read ",\"destructiveHint\":" #destroy ",\"idempotentHint\":" #again \
	",\"openWorldHint\":" #open "}"

#define FETCHES                                                            \
	.verb = RYE_FETCH, .schema = FETCH_SCHEMA, .narrow = FETCH_NARROW, \
	.hints = HINTS(false, false, true, false)

static const struct serve_tool tools[] = {
	{ .name = "rye_execute",
	  .verb = RYE_EXECUTE,
	  .title = "Run an item",
	  .description =
		  "Runs a tool, renders a directive (follow the directions that come back) or reads "
		  "knowledge. item_id is KIND:ID, as in tool:rye/bash/bash; parameters are the "
		  "item's own. dry_run checks and runs nothing; async returns with a thread_id. "
		  "With trace the result is the whole reply, with its chain. "
		  "A thread that has ended goes on with resume_thread_id and message, without item_id.",
	  .schema = BEGIN
	  "\"item_id\":{\"type\":\"string\",\"description\":\"KIND:ID\"},\"item_type\":" KINDS
	  ",\"parameters\":" OBJECT ",\"limit_overrides\":" OBJECT ",\"dry_run\":" FLAG
	  ",\"async\":" FLAG ",\"trace\":" FLAG
	  ",\"thread\":{\"type\":\"string\",\"enum\":[\"inline\",\"fork\"]},\"target\":" TEXT
	  ",\"resume_thread_id\":" TEXT
	  ",\"message\":{\"type\":\"string\",\"description\":\"with resume_thread_id: what is said\"}"
	  ",\"model\":" TEXT "," PROJECT END,
	  .hints = HINTS(false, true, false, true) },
	{ .name = "rye_fetch",
	  .title = "Find or read items",
	  .description =
		  "With query and item_type: finds items, the best first. With item_id: the item's "
		  "verified text, and with destination a copy of it in another space.",
	  FETCHES },
	{ .name = "rye_load",
	  .title = "Read an item",
	  .description = "As rye_fetch with an item_id.",
	  FETCHES,
	  .alias = true },
	{ .name = "rye_search",
	  .title = "Find items",
	  .description = "As rye_fetch with a query and an item_type.",
	  FETCHES,
	  .alias = true },
	{ .name = "rye_sign",
	  .verb = RYE_SIGN,
	  .title = "Sign an item",
	  .description = "Checks an item of the project or the user and signs it with the user's "
			 "key: from then on it may run.",
	  .schema = BEGIN
	  "\"item_id\":{\"type\":\"string\",\"description\":\"KIND:ID, or a pattern as in "
	  "tool:my/*\"},\"item_type\":" KINDS ",\"source\":{\"type\":\"string\",\"enum\":["
	  "\"project\",\"user\"]}," PROJECT END_ID,
	  .hints = HINTS(false, false, true, false) },
};

/* Of those whose result is a reply: what every reply has. */
static const char output_schema[] =
	"{\"type\":\"object\",\"properties\":{\"status\":{\"type\":\"string\"}},"
	"\"required\":[\"status\"]}";

static bool tool_offered(const struct serve *serve, const struct serve_tool *tool)
{
	if (serve->opt.read_only)
		return tool->verb == RYE_FETCH;
	return tool->verb != RYE_SIGN || serve->opt.allow_sign;
}

static const char *schema_of(const struct serve *serve, const struct serve_tool *tool)
{
	return serve->opt.read_only && tool->narrow ? tool->narrow : tool->schema;
}

const struct serve_tool *serve_tool_find(const struct serve *serve, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (!strcmp(tools[i].name, name) && tool_offered(serve, &tools[i]))
			return &tools[i];
	return NULL;
}

const char *serve_tool_stranger(const struct serve *serve, const struct serve_tool *tool,
				const json_t *arguments)
{
	auto_json json_t *schema = json_loads(schema_of(serve, tool), 0, NULL);
	const json_t *known = json_object_get(schema, "properties");
	json_t *object = (json_t *)arguments, *value;
	const char *name;

	json_object_foreach(object, name, value)
		if (!json_object_get(known, name))
			return name;
	return NULL;
}

static json_t *tool_entry(const struct serve *serve, const struct serve_tool *tool)
{
	json_t *entry = json_object(), *hints = json_loads(tool->hints, 0, NULL);

	json_sets(entry, "name", tool->name);
	json_sets(entry, "title", tool->title);
	json_sets(entry, "description", tool->description);
	json_set(entry, "inputSchema", json_loads(schema_of(serve, tool), 0, NULL));
	if (tool->verb != RYE_EXECUTE)
		json_set(entry, "outputSchema", json_loads(output_schema, 0, NULL));
	if (serve->opt.read_only)
		json_set(hints, "readOnlyHint", json_true());
	json_set(entry, "annotations", hints);
	return entry;
}

json_t *serve_tools_list(struct serve_request *request, const json_t *params,
			 struct serve_fault *fault)
{
	const struct serve *serve = request->serve;
	json_t *list = json_array();

	/* One page has them all, so no cursor is ours. */
	if (json_object_get(params, "cursor")) {
		json_decref(list);
		return serve_fail(fault, MCP_BAD_PARAMS, "cursor: there is no such page");
	}
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (tool_offered(serve, &tools[i]) && (!tools[i].alias || serve->opt.aliases))
			json_array_append_new(list, tool_entry(serve, &tools[i]));
	return serve_fresh(request, json_pack("{s:o}", "tools", list));
}
