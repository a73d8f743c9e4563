/* SPDX-License-Identifier: MIT */
/*
 * What can be done with servers. Adding and refreshing take two calls: the first asks the server and
 * tells everything that would be signed, with its digest; the second, with `accept`, signs it, if
 * the server still says the same. A running item, and a model that it works for, can do none of
 * it: the yes is a person's. On a worker; no lock.
 */
#include "mcp/items/items_inner.h"

#include "base/engine_options.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void act_fail(const struct rye_err *err, struct mcp_outcome *ret)
{
	ret->code = err->code;
	free(ret->error);
	ret->error = memory_note(strdup(err->msg));
}

static bool was_accepted(const struct server_run *run)
{
	return json_is_true(json_object_get(run->ask->params, "accept"));
}

/* As a failed call tells it. */
static bool is_found(const struct server_found *found, struct mcp_outcome *ret)
{
	if (found->answer.fault == MCP_FINE)
		return true;
	json_decref(ret->data);
	mcp_outcome_of(&found->answer, "tools/list", ret);
	return false;
}

static void put_facts(const struct server_run *run, json_t *data)
{
	json_sets(data, "action", run->ask->act->word);
	json_sets(data, "server", run->ask->id);
	if (run->ask->space)
		json_sets(data, "scope", run->ask->space->label);
	json_set(data, "accepted", json_boolean(was_accepted(run)));
}

/* What was shown must be what is signed; 0, or why not. */
static int check_accepted(const struct server_run *run, const struct server_found *found,
			  struct rye_err *err)
{
	const char *wanted = json_str(run->ask->params, "digest");
	char now[MCP_PIN_SIZE];

	if (run->no_sign)
		return options_no_sign("signing", err);
	server_digest(run->ask, found, now);
	if (*wanted && strcmp(wanted, now) != 0)
		return rye_fail(err, RYE_TOOL_FAILED,
				"the server says something else than it said before: nothing is "
				"signed; look again");
	return 0;
}

static void put_digest(const struct server_run *run, const struct server_found *found, json_t *data)
{
	char digest[MCP_PIN_SIZE];

	server_digest(run->ask, found, digest);
	json_sets(data, "digest", digest);
}

/* Those of the changes, or, without any (NULL), all that was found; and the server's. */
static int write_items(const struct server_run *run, const struct server_found *found,
		       const struct server_changes *changes, struct rye_err *err)
{
	__attribute__((cleanup(server_stage_done))) struct server_stage stage;
	size_t n = changes ? changes->n : found->n;
	int r = server_stage_open(run, &stage, err);

	for (size_t i = 0; i < n && !r; i++) {
		const struct server_tool *tool = changes ? changes->v[i].tool : &found->v[i];

		if (tool)
			r = server_write_tool(&stage, tool, err);
	}
	if (!r)
		r = server_write_server(&stage, found, err);
	if (!r)
		r = server_stage_install(&stage, changes, err);
	for (size_t i = 0; i < n && !r; i++) {
		const struct server_tool *tool = changes ? changes->v[i].tool : &found->v[i];

		if (tool)
			server_touched(run, tool->stem);
		else if (changes->v[i].path)
			run->touched(run->arg, run->ask->space, changes->v[i].path);
	}
	if (!r)
		server_touched(run, NULL);
	return r;
}

/* ---- add, discover ---- */

static int check_new(const struct server_run *run, struct rye_err *err)
{
	auto_free char *path = server_path(run->ask, NULL);
	struct stat st;

	if (!path)
		return memory_fail(err);
	if (space_fd(run->ask->space) < 0 || fstatat(space_fd(run->ask->space), path, &st, 0) < 0)
		return 0;
	return rye_fail(err, RYE_INVALID, "%s is there already; " MEND_WITH "ryefs mcp refresh %s",
			run->ask->id, server_name(run->ask));
}

static int write_all(const struct server_run *run, const struct server_found *found, json_t *data,
		     struct rye_err *err)
{
	auto_free char *path = server_path(run->ask, NULL);
	auto_free char *whole = path ? space_abspath(run->ask->space, path) : NULL;
	json_t *created = json_array();
	int r = write_items(run, found, NULL, err);

	for (size_t i = 0; i < found->n && !r; i++) {
		auto_free char *id = server_tool_id(run->ask, found->v[i].stem);

		if (id)
			json_array_append_new(created, json_string(id));
	}
	json_set(data, "tools_created", created);
	json_sets(data, "server_config", whole ? whole : "");
	json_set(data, "tool_count", json_integer((json_int_t)found->n));
	return r;
}

static void act_add(const struct server_run *run, struct mcp_outcome *ret)
{
	__attribute__((cleanup(server_found_done))) struct server_found found = { 0 };
	struct rye_err err = { 0 };
	int r = check_new(run, &err);

	if (!r) {
		server_find(run, &found);
		if (!is_found(&found, ret))
			return;
	}
	put_facts(run, ret->data);
	if (!r && was_accepted(run)) {
		r = check_accepted(run, &found, &err);
		if (!r)
			r = write_all(run, &found, ret->data, &err);
	} else if (!r) {
		server_describe(run->ask, &found, ret->data);
		put_digest(run, &found, ret->data);
	}
	if (r)
		act_fail(&err, ret);
}

static void act_discover(const struct server_run *run, struct mcp_outcome *ret)
{
	__attribute__((cleanup(server_found_done))) struct server_found found = { 0 };

	server_find(run, &found);
	if (is_found(&found, ret))
		server_describe(run->ask, &found, ret->data);
}

/* ---- refresh ---- */

static void act_refresh(const struct server_run *run, struct mcp_outcome *ret)
{
	__attribute__((cleanup(server_found_done))) struct server_found found = { 0 };
	__attribute__((cleanup(server_changes_done))) struct server_changes changes = { 0 };
	json_t *rows = json_array();
	struct rye_err err = { 0 };
	int r;

	server_find(run, &found);
	if (!is_found(&found, ret)) {
		json_decref(rows);
		return;
	}
	put_facts(run, ret->data);
	json_set(ret->data, "changes", rows);
	r = server_compare(run, &found, &changes, &err);
	for (size_t i = 0; i < changes.n; i++)
		json_array_append(rows, changes.v[i].row);
	json_object_set(ret->data, "warnings", found.warnings);
	json_set(ret->data, "tool_count", json_integer((json_int_t)found.n));
	put_digest(run, &found, ret->data);
	if (!r && was_accepted(run))
		r = check_accepted(run, &found, &err);
	if (!r && was_accepted(run))
		r = write_items(run, &found, &changes, &err);
	if (r)
		act_fail(&err, ret);
}

/* ---- remove ---- */

struct removal {
	const struct server_run *run;
	json_t *removed, *left; /* arrays */
};

/* server_item_fn. What is refused may be a person's own work by now: it stays. */
static int remove_item(void *arg, const char *path, const char *id, const struct rye_item *item)
{
	struct removal *removal = arg;
	struct tool_meta meta = { 0 };

	(void)id;
	if (item)
		meta_tool(item, &meta);
	if (item && !strcmp(json_str(meta.config, "server"), removal->run->ask->id) &&
	    !server_unlink(removal->run, path))
		json_array_append_new(removal->removed, json_string(path));
	else
		json_array_append_new(removal->left, json_string(path));
	return 0;
}

static void act_remove(const struct server_run *run, struct mcp_outcome *ret)
{
	struct removal removal = { run, json_array(), json_array() };
	auto_free char *path = server_path(run->ask, NULL);
	auto_buf struct rye_buf glob = RYE_BUF_INIT, dir = RYE_BUF_INIT;
	struct rye_err err = { 0 };

	put_facts(run, ret->data);
	json_set(ret->data, "removed", removal.removed);
	json_set(ret->data, "left", removal.left);
	if (!was_accepted(run))
		rye_fail(&err, RYE_DENIED, "remove deletes files: give accept: true");
	else if (run->no_sign)
		options_no_sign("removing what is signed", &err);
	buf_addf(&glob, "mcp/%s/*", server_name(run->ask));
	buf_addf(&dir, "tools/mcp/%s", server_name(run->ask));
	if (err.code == RYE_OK && path && !glob.failed && !dir.failed) {
		(void)server_each_item(run, glob.data, remove_item, &removal);
		if (server_unlink(run, path) < 0)
			rye_fail(&err, RYE_IO, "cannot remove %s", path);
		else
			json_array_append_new(removal.removed, json_string(path));
		(void)unlinkat(space_fd(run->ask->space), dir.data, AT_REMOVEDIR);
	}
	if (err.code)
		act_fail(&err, ret);
}

/* ---- list ---- */

/* server_item_fn */
static int list_item(void *arg, const char *path, const char *id, const struct rye_item *item)
{
	json_t *rows = arg, *row = json_object();
	const json_t *cache = item ? meta_get(item, "cache") : NULL;
	struct tool_meta meta = { 0 };
	auto_free char *line = NULL;
	bool http;

	if (item)
		meta_tool(item, &meta);
	http = !strcmp(json_str(meta.config, "transport"), "http");
	line = item && !http ? server_line(meta.config) : NULL;
	json_sets(row, "name", space_stem(id));
	json_sets(row, "path", path);
	json_sets(row, "scope", item ? item->space->label : "");
	json_sets(row, "transport", json_str(meta.config, "transport"));
	json_sets(row, "runs",
		  !item ? "refused: look at it with ryefs verify" :
		  http	? json_str(meta.config, "url") :
		  line	? line :
			  "");
	json_sets(row, "era", json_str(json_object_get(cache, "protocol"), "era"));
	json_set(row, "tool_count", json_integer(json_int(cache, "tool_count", 0)));
	json_array_append_new(rows, row);
	return 0;
}

static void act_list(const struct server_run *run, struct mcp_outcome *ret)
{
	const struct spaces *spaces = run->items->spaces;
	json_t *rows = json_array();

	json_sets(ret->data, "action", "list");
	json_set(ret->data, "servers", rows);
	for (size_t i = 0; i < spaces->n; i++) {
		struct server_ask here = { .space = &spaces->v[i] };
		struct server_run at = *run;

		at.ask = &here;
		(void)server_each_item(&at, "mcp/servers/*", list_item, rows);
	}
	json_set(ret->data, "count", json_integer((json_int_t)json_array_size(rows)));
}

/* ---- connect ---- */

static void act_connect(const struct server_run *run, struct mcp_outcome *ret)
{
	json_t *given = json_object_get(run->ask->params, "arguments");
	auto_json json_t *arguments = given ? json_incref(given) : json_object();
	const char *tool = json_str(run->ask->params, "tool_name");
	const struct mcp_ask ask = { .spec = &run->ask->spec,
				     .tool = tool,
				     .arguments = arguments,
				     .until_ms = run->until_ms,
				     .cancel = run->cancel,
				     .events = run->events };
	struct mcp_answer answer;

	mcp_call(run->mcp, &ask, &answer);
	json_decref(ret->data);
	mcp_outcome_of(&answer, tool, ret);
	mcp_answer_done(&answer);
}

/* ---- the rows ---- */

static const struct server_act acts[] = {
	{ "add", .named = true, .asks = true, .changes = true, .run = act_add },
	{ "connect", .named = true, .there = true, .asks = true, .run = act_connect },
	{ "discover", .named = true, .asks = true, .run = act_discover },
	{ "list", .run = act_list },
	{ "refresh", .named = true, .there = true, .asks = true, .changes = true,
	  .run = act_refresh },
	{ "remove", .named = true, .there = true, .changes = true, .run = act_remove },
};

const struct server_act *server_act_find(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(acts); i++)
		if (!strcmp(acts[i].word, word))
			return &acts[i];
	return NULL;
}

void server_act(const struct server_run *run, struct mcp_outcome *ret)
{
	struct rye_err err = { 0 };

	*ret = (struct mcp_outcome){ .data = json_object() };
	if (run->child && run->ask->act->named) {
		rye_fail(&err, RYE_DENIED,
			 "Permission denied: a running item may call tools of servers, which are "
			 "items, and list servers; all else is for a person");
		act_fail(&err, ret);
		json_set(ret->data, "success", json_false());
		return;
	}
	run->ask->act->run(run, ret);
	if (!json_object_get(ret->data, "success"))
		json_set(ret->data, "success", json_boolean(ret->code == RYE_OK));
	if (ret->error && !json_object_get(ret->data, "error"))
		json_sets(ret->data, "error", ret->error);
}
