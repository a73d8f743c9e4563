/* SPDX-License-Identifier: MIT */
/*
 * What a server says now against what was signed: new, changed and missing tools, member by member;
 * and the program itself. On a worker; no lock.
 */
#include "mcp/items/items_inner.h"

#include "memory.h"
#include "scope.h"

#include <string.h>

struct change_walk {
	const struct server_run *run;
	const struct server_found *found;
	struct server_changes *ret;
	bool *met; /* of each found tool: it has an item */
	bool failed;
};

static struct server_change *add_change(struct server_changes *changes, const char *id,
					const char *what)
{
	struct server_change *longer = realloc(changes->v, (changes->n + 1) * sizeof(*changes->v));

	if (!memory_note(longer))
		return NULL;
	changes->v = longer;
	changes->v[changes->n] = (struct server_change){ .row = json_pack("{s:s, s:s}", "item_id",
									  id, "change", what) };
	return &changes->v[changes->n++];
}

static const json_t *member_before(const struct rye_item *item, const char *name)
{
	static const char *const places[][2] = { { "inputSchema", "input_schema" },
						 { "outputSchema", "output_schema" } };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (!strcmp(places[i][0], name))
			return meta_get(item, places[i][1]);
	return strcmp(name, "name") ? meta_get(item, name) : NULL;
}

static json_t *members_of(const struct rye_item *item, const struct server_tool *tool)
{
	struct tool_meta meta;
	auto_json json_t *now = mcp_members(tool->definition), *names = NULL;
	json_t *pairs = json_object(), *name;
	size_t i;

	meta_tool(item, &meta);
	names = mcp_changes(json_object_get(meta.config, "members"), now);
	json_array_foreach(names, i, name) {
		const char *member = json_string_value(name);
		json_t *pair = json_object(), *after = json_object_get(tool->definition, member);
		const json_t *before = member_before(item, member);

		if (before)
			json_object_set(pair, "before", (json_t *)before);
		if (after)
			json_object_set(pair, "after", after);
		json_set(pairs, member, pair);
	}
	return pairs;
}

static const struct server_tool *found_tool(const struct change_walk *walk, const char *path)
{
	for (size_t i = 0; i < walk->found->n; i++) {
		auto_free char *own = server_path(walk->run->ask, walk->found->v[i].stem);

		if (!own || strcmp(own, path) != 0)
			continue;
		walk->met[i] = true;
		return &walk->found->v[i];
	}
	return NULL;
}

/* Is it one of this server's, by its signed text? */
static bool is_of_server(const struct server_ask *ask, const struct rye_item *item)
{
	struct tool_meta meta;

	meta_tool(item, &meta);
	return !strcmp(json_str(meta.config, "server"), ask->id);
}

static bool is_same_pin(const struct rye_item *item, const struct server_tool *tool)
{
	struct tool_meta meta;
	char pin[MCP_PIN_SIZE];

	meta_tool(item, &meta);
	mcp_pin(tool->definition, pin);
	return !strcmp(json_str(meta.config, "pin"), pin);
}

/* server_item_fn */
static int compare_item(void *arg, const char *path, const char *id, const struct rye_item *item)
{
	struct change_walk *walk = arg;
	const struct server_tool *tool = found_tool(walk, path);
	struct server_change *change = NULL;

	if (tool && (!item || !is_of_server(walk->run->ask, item))) {
		change = add_change(walk->ret, id, "its item is refused");
	} else if (tool && !is_same_pin(item, tool)) {
		change = add_change(walk->ret, id, "changed");
		if (change)
			json_set(change->row, "members", members_of(item, tool));
	} else if (!tool && item && is_of_server(walk->run->ask, item)) {
		change = add_change(walk->ret, id, "gone");
		if (change)
			change->path = memory_note(strdup(path));
	}
	if (change)
		change->tool = tool;
	return 0;
}

static void add_new(struct change_walk *walk)
{
	for (size_t i = 0; i < walk->found->n; i++) {
		const struct server_tool *tool = &walk->found->v[i];
		struct server_change *change;
		auto_free char *id = server_tool_id(walk->run->ask, tool->stem);
		auto_json json_t *item = NULL;

		if (walk->met[i] || !id)
			continue;
		change = add_change(walk->ret, id, "new");
		item = server_tool_item(walk->run->ask, tool);
		if (!change)
			continue;
		change->tool = tool;
		json_object_del(item, "config");
		json_set(change->row, "members", json_pack("{s:{s:O}}", "item", "after", item));
	}
}

/* Another program, another address: of the server's own item. */
static void add_identity(struct change_walk *walk)
{
	json_t *now = walk->found->identity, *value, *pairs;
	struct server_change *change;
	const char *name;

	if (!walk->run->ask->found || json_equal(now, walk->run->ask->found))
		return;
	change = add_change(walk->ret, walk->run->ask->id, "another program");
	if (!change)
		return;
	pairs = json_object();
	json_object_foreach(now, name, value) {
		json_t *before = json_object_get(walk->run->ask->found, name);

		if (!before || !json_equal(before, value))
			json_set(pairs, name,
				 json_pack("{s:O?, s:O}", "before", before, "after", value));
	}
	json_set(change->row, "members", pairs);
}

int server_compare(const struct server_run *run, const struct server_found *found,
		   struct server_changes *ret, struct rye_err *err)
{
	auto_free bool *met = calloc(found->n + 1, sizeof(*met));
	struct change_walk walk = { .run = run, .found = found, .ret = ret, .met = met };
	unsigned long memory = memory_failures();
	auto_buf struct rye_buf glob = RYE_BUF_INIT;

	*ret = (struct server_changes){ 0 };
	buf_addf(&glob, "mcp/%s/*", server_name(run->ask));
	if (!met || glob.failed)
		return memory_fail(err);
	add_identity(&walk);
	(void)server_each_item(run, glob.data, compare_item, &walk);
	add_new(&walk);
	return memory_check(memory, err);
}

void server_changes_done(struct server_changes *changes)
{
	for (size_t i = 0; i < changes->n; i++) {
		json_decref(changes->v[i].row);
		free(changes->v[i].path);
	}
	free(changes->v);
}
