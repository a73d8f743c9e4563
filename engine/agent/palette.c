/* SPDX-License-Identifier: MIT */
/*
 * The tools that a model is offered: the primitives that its capabilities ask for, then the tools
 * that they name, by id, as many as the budget of characters has room for; last the call that
 * returns the directive's outputs. Made once, before the first request: providers cache it.
 */
#include "agent/agent_inner.h"

#include "base/id.h"
#include "base/sha.h"
#include "bounds.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Tokens of four characters, as agent/coordination says or by default. */
#define PALETTE_TOKENS 2000
/* Items looked at: verifying each takes a read. */
#define PALETTE_ITEMS 512
#define PALETTE_NAME_MAX 64

void palette_done(struct palette *palette)
{
	json_decref(palette->tools);
	json_decref(palette->items);
	*palette = (struct palette){ 0 };
}

/* ---- names ---- */

/* The end of a long or taken name is a digest of the id. */
static void palette_short(const char *id, char ret[65])
{
	char hex[SHA_HEX];

	sha256_hex(span_of(id), hex);
	snprintf(ret + MIN_OF(strlen(ret), PALETTE_NAME_MAX - 9), 10, "_%.8s", hex);
}

void palette_name(const char *id, const json_t *taken, char ret[65])
{
	/* Gemini wants a letter or "_" first */
	size_t before = isdigit((unsigned char)*id) ? 1 : 0, n = before;

	if (before)
		ret[0] = '_';
	for (const char *p = id; *p && n < PALETTE_NAME_MAX; p++) {
		/* bytes of one character beyond ASCII: one sign */
		if (((unsigned char)*p & 0xc0) == 0x80)
			continue;
		ret[n++] = isalnum((unsigned char)*p) ? *p : '_';
	}
	ret[n] = 0;
	if (strlen(id) + before > PALETTE_NAME_MAX || json_object_get(taken, ret))
		palette_short(id, ret);
}

/* ---- what is allowed ---- */

static bool palette_covers(const struct agent *agent, const char *id)
{
	return !authority_check(&agent->asker,
				&(struct authority_ask){ ACT_RUN, rye_kind_name(RYE_TOOL), id },
				NULL);
}

struct palette_walk {
	struct agent *agent;
	json_t *ids; /* found */
	json_t *dirs; /* still to be looked into */
	const char *dir;
};

static int palette_see(void *arg, const struct rye_entry *entry)
{
	struct palette_walk *walk = arg;
	const char *ext = entry->is_dir ? NULL : kind_extension_of(RYE_TOOL, entry->name);
	size_t n = strlen(entry->name) - (ext ? strlen(ext) : 0);
	json_t *path =
		json_sprintf("%s%s%.*s", walk->dir, *walk->dir ? "/" : "", (int)n, entry->name);

	if (entry->is_dir)
		json_array_append_new(walk->dirs, path);
	else if (ext && palette_covers(walk->agent, json_string_value(path)))
		json_array_append_new(walk->ids, path);
	else
		json_decref(path);
	return 0;
}

static int palette_search(struct agent *agent, json_t *ids)
{
	auto_json json_t *dirs = json_pack("[s]", "");
	struct palette_walk walk = { agent, ids, dirs, "" };

	for (size_t i = 0; i < json_array_size(dirs) && i < RYE_LINK_DIRS; i++) {
		struct rye_walk ask = { .kind = RYE_TOOL, .fn = palette_see, .arg = &walk };
		struct rye_err err = { 0 };

		ask.dir = walk.dir = json_string_value(json_array_get(dirs, i));
		rye_list(agent->rye, &ask, &err);
	}
	return 0;
}

/* "rye.execute.tool.a.b" without a wildcard names one tool: no need to look at all. */
static bool palette_exact(const json_t *capability)
{
	return !strpbrk(json_string_value(capability), "*?[");
}

static void palette_named(const json_t *capability, json_t *ids)
{
	static const char before[] = "rye.execute.tool.";
	const char *text = json_string_value(capability);
	auto_free char *id = NULL;

	if (strncmp(text, before, sizeof(before) - 1) != 0)
		return;
	id = strdup(text + sizeof(before) - 1);
	for (char *p = id; p && *p; p++)
		if (*p == '.')
			*p = '/';
	if (id && !json_lists(ids, id))
		json_array_append_new(ids, json_string(id));
}

static int palette_order(const void *a, const void *b)
{
	return strcmp(json_string_value(*(json_t *const *)a),
		      json_string_value(*(json_t *const *)b));
}

/* Ids of all tools that it may call, sorted; a new array. */
static json_t *palette_ids(struct agent *agent)
{
	auto_json json_t *found = json_array();
	json_t *sorted = json_array(), *capability;
	json_t **list;
	bool search = false;
	size_t i, n;

	json_array_foreach(agent->capabilities, i, capability) {
		if (palette_exact(capability))
			palette_named(capability, found);
		else
			search = true;
	}
	if (search)
		palette_search(agent, found);
	n = json_array_size(found);
	list = memory_note(calloc(n + 1, sizeof(*list)));
	for (i = 0; list && i < n; i++)
		list[i] = json_array_get(found, i);
	if (list)
		qsort(list, n, sizeof(*list), palette_order);
	for (i = 0; list && i < n; i++)
		if (!i || palette_order(&list[i - 1], &list[i]))
			json_array_append(sorted, list[i]);
	free(list);
	return sorted;
}

/* ---- the offers ---- */

static void palette_add(struct palette *palette, const char *name, const char *item_id,
			const char *primary, json_t *tool)
{
	if (!json_object_get(tool, "name"))
		json_sets(tool, "name", name);
	json_array_append_new(palette->tools, tool);
	json_object_set_new(palette->items, name,
			    json_pack("{s:s, s:s}", "item_id", item_id, "primary", primary));
}

/*
 * Its signed `requires` names nothing but reading, and the sandbox holds it to that: only then may it run
 * beside others of the same answer. A word that is not known here may mean writing.
 */
static bool palette_reads(const struct tool_meta *meta)
{
	const json_t *word;
	size_t i;

	json_array_foreach(meta->requires_list, i, word)
		if (strcmp(json_string_value(word), "fs.read") != 0)
			return false;
	return meta->requires_list;
}

/* What another item runs, or lends, is no tool to call; one that declares no parameters takes none. */
static bool palette_callable(const struct tool_meta *meta)
{
	return meta->schema || meta->parameters ||
	       (!meta->executor_null && strcmp(meta->tool_type, "runtime") != 0);
}

/* The tool as it is offered; NULL: it cannot be loaded, or is none to call. */
static json_t *palette_tool(struct agent *agent, const char *id, char name[65], bool *ret_reads)
{
	const struct item_ask ask = { .kind = RYE_TOOL, .id = id };
	auto_item struct rye_item *item = NULL;
	auto_json json_t *schema = NULL;
	struct rye_err why = { 0 };
	struct tool_meta meta;

	if (rye_load(agent->items, &ask, &item, &why)) {
		agent_warn(agent, "tool %s is not offered: %s", id, why.msg);
		return NULL;
	}
	meta_tool(item, &meta);
	if (!palette_callable(&meta))
		return NULL;
	schema = meta_schema(item);
	palette_name(item->id, agent->palette.items, name);
	*ret_reads = palette_reads(&meta);
	return json_pack("{s:s, s:s, s:O}", "name", name, "description", meta.description, "schema",
			 schema);
}

static size_t palette_size(const json_t *tool)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_put(&text, json_object_get(tool, "schema"), false);
	return text.len + strlen(json_str(tool, "description"));
}

/* False: there is no room for it. */
static bool palette_offer(struct agent *agent, const char *id, size_t *room)
{
	bool reads = false;
	char name[65] = "";
	json_t *tool = palette_tool(agent, id, name, &reads);
	size_t size = tool ? palette_size(tool) : 0;

	if (!tool)
		return true;
	if (size > *room) {
		json_decref(tool);
		return false;
	}
	*room -= size;
	palette_add(&agent->palette, name, id, "execute", tool);
	if (reads)
		json_set(json_object_get(agent->palette.items, name), "reads", json_true());
	return true;
}

static int palette_tools(struct agent *agent, struct rye_err *err)
{
	struct palette *palette = &agent->palette;
	auto_json json_t *config = NULL;
	auto_json json_t *ids = palette_ids(agent);
	const json_t *preload;
	size_t i, room;
	json_t *id;
	int r = policy_config(agent->items, "agent/coordination", &config, err);

	if (r)
		return r;
	preload = json_object_get(json_object_get(config, "coordination"), "tool_preload");
	if (!preload)
		preload = json_object_get(config, "tool_preload");
	room = 4 * (size_t)json_int(preload, "max_tokens", PALETTE_TOKENS);
	palette->whole = json_flag(preload, "enabled", true);
	if (!palette->whole)
		return 0;
	json_array_foreach(ids, i, id)
		palette->whole &= i < PALETTE_ITEMS &&
				  palette_offer(agent, json_string_value(id), &room);
	return 0;
}

/* The schemas of the primitives: what a model needs of them. */
static const char palette_execute[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"item_id\":{\"type\":\"string\",\"description\":\"tool:ID, directive:ID or knowledge:ID\"},"
	"\"parameters\":{\"type\":\"object\",\"description\":\"of the item\"},"
	"\"thread\":{\"type\":\"string\",\"enum\":[\"inline\",\"fork\"],\"description\":"
	"\"fork: a model works through the directive in a thread of its own\"},"
	"\"async\":{\"type\":\"boolean\",\"description\":\"do not wait for its end\"},"
	"\"model\":{\"type\":\"string\"},\"limit_overrides\":{\"type\":\"object\"}},"
	"\"required\":[\"item_id\"]}";
static const char palette_fetch[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"item_id\":{\"type\":\"string\",\"description\":\"KIND:ID of one item\"},"
	"\"query\":{\"type\":\"string\",\"description\":\"or words to look for\"},"
	"\"scope\":{\"type\":\"string\",\"description\":\"with a query: directive, tool or "
	"knowledge\"},\"limit\":{\"type\":\"integer\"}}}";
static const char palette_sign[] =
	"{\"type\":\"object\",\"properties\":{\"item_id\":{\"type\":\"string\",\"description\":"
	"\"KIND:ID\"}},\"required\":[\"item_id\"]}";

struct palette_primitive {
	const char *name, *primary, *description, *schema;
};

static const struct palette_primitive palette_primitives[] = {
	{ "rye_fetch", "fetch", "Read an item of the workspace, or search for items",
	  palette_fetch },
	{ "rye_sign", "sign", "Sign an item of the project", palette_sign },
	{ "rye_execute", "execute", "Run a directive, a tool or a knowledge entry of the workspace",
	  palette_execute },
};

/* Does a capability begin so, or is it a broad one? Signing is never part of a broad one. */
static bool palette_grants(const struct agent *agent, const char *before)
{
	json_t *capability;
	size_t i;

	json_array_foreach(agent->capabilities, i, capability) {
		const char *text = json_string_value(capability);

		if (!strncmp(text, before, strlen(before)))
			return true;
		if (strncmp(before, "rye.sign", 8) && !strncmp(text, "rye.*", 5))
			return true;
	}
	return false;
}

static bool palette_wants(const struct agent *agent, const char *primary)
{
	if (!strcmp(primary, "fetch"))
		return palette_grants(agent, "rye.fetch.");
	if (!strcmp(primary, "sign"))
		return palette_grants(agent, "rye.sign.");
	return palette_grants(agent, "rye.execute.directive") ||
	       palette_grants(agent, "rye.execute.knowledge") ||
	       palette_grants(agent, "rye.execute.*") || !agent->palette.whole;
}

/* In front of the tools, in the order of the table. */
static void palette_put_primitives(struct agent *agent)
{
	struct palette *palette = &agent->palette;
	json_t *tools = palette->tools;

	palette->tools = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(palette_primitives); i++) {
		const struct palette_primitive *row = &palette_primitives[i];

		if (!palette_wants(agent, row->primary))
			continue;
		palette_add(palette, row->name, "", row->primary,
			    json_pack("{s:s, s:s, s:o}", "name", row->name, "description",
				      row->description, "schema",
				      json_loads(row->schema, 0, NULL)));
	}
	json_array_extend(palette->tools, tools);
	json_decref(tools);
}

int palette_fill(struct agent *agent, struct rye_err *err)
{
	struct palette *palette = &agent->palette;
	json_t *returns = tool_return_offer(&agent->brief);
	int r;

	palette->tools = json_array();
	palette->items = json_object();
	/* the names of the primitives are no tool's */
	for (size_t i = 0; i < ARRAY_SIZE(palette_primitives); i++)
		json_object_set_new(palette->items, palette_primitives[i].name, json_null());
	json_object_set_new(palette->items, RETURN_NAME, json_null());
	r = palette_tools(agent, err);
	if (r) {
		json_decref(returns);
		return r;
	}
	palette_put_primitives(agent);
	if (returns)
		palette_add(palette, RETURN_NAME, RETURN_ID, "execute", returns);
	return 0;
}
