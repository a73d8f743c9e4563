/* SPDX-License-Identifier: MIT */
/*
 * The items of a server and its tools: made of what it said, signed in memory and staged (server_stage.c),
 * so that nothing unsigned is ever seen where they lie. On a worker; no lock.
 */
#include "mcp/items/items_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "clock.h"
#include "format/format.h"
#include "memory.h"
#include "scope.h"
#include "sign/sign.h"
#include "space/space.h"

#include <string.h>
#include <unistd.h>

const char *server_name(const struct server_ask *ask)
{
	return ask->id + strlen("mcp/servers/");
}

char *server_path(const struct server_ask *ask, const char *stem)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;

	if (stem)
		buf_addf(&path, "tools/mcp/%s/%s.yaml", server_name(ask), stem);
	else
		buf_addf(&path, "tools/%s.yaml", ask->id);
	return memory_note(buf_steal(&path));
}

char *server_tool_id(const struct server_ask *ask, const char *stem)
{
	auto_buf struct rye_buf id = RYE_BUF_INIT;

	buf_addf(&id, "mcp/%s/%s", server_name(ask), stem);
	return memory_note(buf_steal(&id));
}

/* ---- what is in them ---- */

static json_t *tool_config(const struct server_ask *ask, const struct server_tool *tool)
{
	bool user = ask->space && ask->space->type == RYE_USER;
	json_t *config = json_object();
	char pin[MCP_PIN_SIZE];

	mcp_pin(tool->definition, pin);
	json_sets(config, "server", ask->id);
	json_set(config, "server_config_path",
		 json_sprintf("{%s}/.ai/tools/%s.yaml", user ? "user_space" : "project_path",
			      ask->id));
	json_object_set(config, "tool_name", json_object_get(tool->definition, "name"));
	json_sets(config, "pin", pin);
	json_set(config, "members", mcp_members(tool->definition));
	if (tool->disabled)
		json_sets(config, "disabled", tool->disabled);
	return config;
}

static json_t *visible_text(const json_t *value)
{
	size_t unseen = 0;
	auto_free char *text =
		json_is_string(value) ? server_visible(json_string_value(value), &unseen) : NULL;

	return text && *text ? json_string(text) : NULL;
}

json_t *server_tool_item(const struct server_ask *ask, const struct server_tool *tool)
{
	static const struct {
		const char *said, *member;
	} kept[] = { { "annotations", "annotations" },
		     { "inputSchema", "input_schema" },
		     { "outputSchema", "output_schema" } };
	bool http = ask->spec.transport == MCP_HTTP;
	json_t *text = visible_text(json_object_get(tool->definition, "description"));
	json_t *title = visible_text(json_object_get(tool->definition, "title"));
	json_t *item = json_object();

	json_sets(item, "tool_id", tool->stem ? tool->stem : "");
	json_sets(item, "tool_type", "mcp");
	json_sets(item, "executor_id",
		  http ? "rye/core/runtimes/mcp/http" : "rye/core/runtimes/mcp/stdio");
	json_set(item, "category", json_sprintf("mcp/%s", server_name(ask)));
	json_sets(item, "version", "1.0.0");
	json_set(item, "description",
		 text ? text : json_sprintf("A tool of the MCP server %s", server_name(ask)));
	if (title)
		json_set(item, "title", title);
	json_set(item, "config", tool_config(ask, tool));
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		json_t *value = json_object_get(tool->definition, kept[i].said);

		if (json_is_object(value))
			json_object_set(item, kept[i].member, value);
	}
	return item;
}

static json_t *server_item(const struct server_ask *ask, const struct server_found *found)
{
	const json_t *requires = json_object_get(ask->params, "requires");
	json_t *item = json_object(), *config = json_deep_copy(ask->config);
	char now[24];

	clock_stamp(time(NULL), now);
	json_object_set(config, "identity", found->identity);
	json_sets(item, "tool_id", server_name(ask));
	json_sets(item, "tool_type", "mcp_server");
	json_set(item, "executor_id", json_null());
	json_sets(item, "category", "mcp/servers");
	json_sets(item, "version", "1.0.0");
	json_set(item, "description", json_sprintf("MCP server: %s", server_name(ask)));
	if (requires)
		json_object_set(item, "requires", (json_t *) requires);
	json_set(item, "config", config);
	json_set(item, "cache",
		 json_pack("{s:s, s:I, s:{s:s, s:s, s:s}}", "discovered_at", now, "tool_count",
			   (json_int_t)found->n, "protocol", "era", mcp_era_name(found->answer.era),
			   "version", found->answer.version, "checked_at", now));
	return item;
}

/* ---- writing ---- */

bool server_item_fits(const json_t *item)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *read = NULL;
	struct rye_err err = { 0 };

	mapping_yaml(&text, item);
	if (text.failed)
		return false;
	read = parse_yaml(buf_span(&text), &err);
	return err.code == RYE_OK && json_equal(item, read);
}

/* stem: of a tool; NULL: the server. */
static int write_signed(const struct server_stage *stage, const char *stem, const json_t *item,
			struct rye_err *err)
{
	const struct server_run *run = stage->run;
	auto_key struct key_secret key = { 0 };
	auto_free char *id = stem ? server_tool_id(run->ask, stem) : strdup(run->ask->id);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct sign_text what = { .key = &key, .place = { RYE_TOOL, id, ".yaml" } };
	struct rye_blob *made = NULL;
	struct signature sig;
	int r;

	mapping_yaml(&text, item);
	if (!id || text.failed)
		return memory_fail(err);
	what.raw = buf_span(&text);
	r = keystore_signer(run->items, &key, err);
	if (!r)
		r = sign_text(&what, &made, &sig, err);
	if (r)
		return r;
	r = server_stage_put(stage, stem, (struct rye_span){ made->data, made->len });
	rye_blob_unref(made);
	if (r < 0)
		return rye_fail_sys(err, -r, "cannot write the item %s", id);
	if (!stem)
		sign_share(run->items, run->ask->space, &key);
	return 0;
}

int server_write_server(const struct server_stage *stage, const struct server_found *found,
			struct rye_err *err)
{
	auto_json json_t *item = server_item(stage->run->ask, found);

	if (!server_item_fits(item))
		return rye_fail(err, RYE_INVALID,
				"the server's config has characters that no item can have");
	return write_signed(stage, NULL, item, err);
}

int server_write_tool(const struct server_stage *stage, const struct server_tool *tool,
		      struct rye_err *err)
{
	auto_json json_t *item = server_tool_item(stage->run->ask, tool);

	return write_signed(stage, tool->stem, item, err);
}

void server_touched(const struct server_run *run, const char *stem)
{
	auto_free char *path = server_path(run->ask, stem);

	if (path)
		run->touched(run->arg, run->ask->space, path);
}

int server_unlink(const struct server_run *run, const char *path)
{
	if (unlinkat(space_fd(run->ask->space), path, 0) < 0)
		return -errno;
	run->touched(run->arg, run->ask->space, path);
	return 0;
}

/* ---- reading ---- */

int server_each_item(const struct server_run *run, const char *glob, server_item_fn fn, void *arg)
{
	auto_json json_t *paths = sign_find(run->ask->space, RYE_TOOL, glob);
	json_t *path;
	size_t i;
	int r = 0;

	json_array_foreach(paths, i, path) {
		const char *text = json_string_value(path);
		const char *ext = kind_extension_of(RYE_TOOL, text);
		size_t n = strlen(text) - strlen("tools/") - (ext ? strlen(ext) : 0);
		auto_free char *id = strndup(text + strlen("tools/"), n);
		const struct item_ask ask = { .kind = RYE_TOOL, .id = id, .only = run->ask->space };
		struct rye_item *item = NULL;
		struct rye_err err = { 0 };

		if (!memory_note(id))
			return -RYE_IO;
		(void)rye_load(run->items, &ask, &item, &err);
		r = fn(arg, text, id, item);
		rye_item_unref(item);
		if (r)
			break;
	}
	return r;
}
