/* SPDX-License-Identifier: MIT */
/*
 * What a server lists, as it would be signed: definitions as they came, names of files that do not
 * clash, what cannot be called and why, and what a person should know. On a worker; no lock.
 */
#include "mcp/items/items_inner.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Of a file's stem, so that there is room for what may be added. */
#define STEM_MAX 120

/* Values in a tool's definition, and in all: real ones have hundreds. Signing takes its time for each. */
#define TOOL_VALUES_MAX 5000
#define ALL_VALUES_MAX 100000

/* ---- names of files ---- */

static char *plain_stem(const char *name)
{
	char *stem = memory_note(strndup(name, STEM_MAX));

	for (char *c = stem; c && *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_.-", *c))
			*c = '_';
	/* What begins with a dot is hidden, with a dash an option. */
	if (stem && (*stem == '.' || *stem == '-'))
		*stem = '_';
	return stem;
}

static void add_suffix(struct server_tool *tool)
{
	const char *name = json_str(tool->definition, "name");
	auto_buf struct rye_buf stem = RYE_BUF_INIT;
	char hex[SHA_HEX];

	sha256_hex(span_of(name), hex);
	buf_addf(&stem, "%s-%.6s", tool->stem, hex);
	free(tool->stem);
	tool->stem = memory_note(buf_steal(&stem));
}

/* Free it; NULL: no memory. */
static char *low_stem(const struct server_tool *tool)
{
	char *low = tool->stem ? strdup(tool->stem) : NULL;

	for (char *c = low; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return low;
}

/* Two names that differ by case alone are one on some disks; both get a suffix, whatever their
 * order. */
static void part_stems(struct server_found *found)
{
	auto_json json_t *seen = json_object();

	for (size_t i = 0; i < found->n; i++) {
		auto_free char *low = low_stem(&found->v[i]);

		if (low)
			json_set(seen, low, json_integer(json_int(seen, low, 0) + 1));
	}
	for (size_t i = 0; i < found->n; i++) {
		const char *name = json_str(found->v[i].definition, "name");
		auto_free char *low = low_stem(&found->v[i]);

		if (low && (json_int(seen, low, 0) > 1 || strlen(name) > STEM_MAX))
			add_suffix(&found->v[i]);
	}
}

/* ---- tools ---- */

static void found_warn(struct server_found *found, const char *name, const char *what)
{
	size_t unseen = 0;
	auto_free char *shown = server_visible(name, &unseen);

	json_array_append_new(found->warnings,
			      json_sprintf("%.200s: %s", shown ? shown : "", what));
}

/* Why it cannot be an item at all; NULL: it can. */
static const char *why_dropped(const struct server_run *run, const struct server_tool *tool)
{
	const json_t *schema = json_object_get(tool->definition, "inputSchema");
	auto_json json_t *item = NULL;
	const char *why;

	if (!json_is_object(schema) || strcmp(json_str(schema, "type"), "object") != 0)
		return "left out: its inputSchema is no object's";
	if (run->ask->spec.transport == MCP_HTTP && !mcp_mirror_check(schema, &why))
		return why;
	item = server_tool_item(run->ask, tool);
	return server_item_fits(item) ? NULL : "left out: it has characters that no item can have";
}

static void warn_unseen(struct server_found *found, const struct server_tool *tool)
{
	size_t n = server_unseen(tool->definition);
	char text[80];

	if (!n)
		return;
	snprintf(text, sizeof(text), "%zu characters of its texts cannot be seen", n);
	found_warn(found, json_str(tool->definition, "name"), text);
}

/* As many as there are, or one more than `most`. No deeper than the parser lets a message be. */
static size_t count_values(const json_t *value, size_t most)
{
	json_t *object = (json_t *)value, *one;
	const char *key;
	size_t n = 1, i;

	json_object_foreach(object, key, one) {
		if (n <= most)
			n += count_values(one, most - n + 1);
	}
	json_array_foreach(value, i, one) {
		if (n <= most)
			n += count_values(one, most - n + 1);
	}
	return n;
}

/* Before anything is made of it. */
static bool is_too_much(struct server_found *found, const json_t *listed)
{
	size_t n = count_values(listed, TOOL_VALUES_MAX);

	if (n <= TOOL_VALUES_MAX && found->values + n <= ALL_VALUES_MAX) {
		found->values += n;
		return false;
	}
	found_warn(found, json_str(listed, "name"),
		   n > TOOL_VALUES_MAX ? "left out: its definition has more than 5000 values" :
					 "left out: the definitions have more than 100000 values");
	return true;
}

static void take_tool(const struct server_run *run, struct server_found *found,
		      const json_t *listed)
{
	struct server_tool *tool = &found->v[found->n];
	const json_t *execution = json_object_get(listed, "execution");
	const char *name = json_str(listed, "name"), *why;

	*tool = (struct server_tool){ .definition = mcp_definition(listed),
				      .stem = plain_stem(name) };
	if (!strcmp(json_str(execution, "taskSupport"), "required"))
		tool->disabled = "it runs as a task only, which this client cannot";
	why = why_dropped(run, tool);
	if (why) {
		found_warn(found, name, why);
		json_decref(tool->definition);
		free(tool->stem);
		return;
	}
	if (tool->disabled)
		found_warn(found, name, tool->disabled);
	warn_unseen(found, tool);
	found->n++;
}

/* ---- which program, which address ---- */

static json_t *file_digest(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char hex[SHA_HEX];
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
		return json_null();
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return json_null();
	sha256_hex((struct rye_span){ bytes, (size_t)st.st_size }, hex);
	munmap(bytes, (size_t)st.st_size);
	return json_string(hex);
}

static json_t *member_names(const json_t *map)
{
	json_t *names = json_array(), *object = (json_t *)map, *value;
	const char *name;

	json_object_foreach(object, name, value)
		json_array_append_new(names, json_string(name));
	return names;
}

static json_t *identity_of(const struct server_ask *ask)
{
	json_t *identity = json_object();
	const struct mcp_spec *spec = &ask->spec;
	const char *host = spec->url ? strstr(spec->url, "://") : NULL;

	if (spec->transport == MCP_HTTP) {
		size_t n = host ? (size_t)(host + 3 - spec->url) + strcspn(host + 3, "/?#") : 0;

		json_set(identity, "origin", json_stringn(spec->url, n));
		return identity;
	}
	json_sets(identity, "program", spec->path);
	json_set(identity, "sha256", file_digest(spec->path));
	json_set(identity, "env", member_names(json_object_get(ask->config, "env")));
	return identity;
}

/* ---- together ---- */

void server_find(const struct server_run *run, struct server_found *ret)
{
	const struct mcp_ask ask = { .spec = &run->ask->spec,
				     .until_ms = run->until_ms,
				     .cancel = run->cancel,
				     .events = run->events };
	const json_t *tools;
	json_t *tool;
	size_t i;

	*ret = (struct server_found){ .warnings = json_array() };
	mcp_call(run->mcp, &ask, &ret->answer);
	if (ret->answer.fault != MCP_FINE)
		return;
	tools = json_object_get(ret->answer.result, "tools");
	ret->identity = identity_of(run->ask);
	ret->v = memory_note(calloc(json_array_size(tools) + 1, sizeof(*ret->v)));
	if (run->ask->spec.transport == MCP_STDIO)
		server_warn_command(run->ask->config, ret->warnings);
	if (!ret->v)
		return;
	json_array_foreach(tools, i, tool) {
		if (!is_too_much(ret, tool))
			take_tool(run, ret, tool);
	}
	part_stems(ret);
}

void server_found_done(struct server_found *found)
{
	for (size_t i = 0; i < found->n; i++) {
		json_decref(found->v[i].definition);
		free(found->v[i].stem);
	}
	free(found->v);
	json_decref(found->warnings);
	json_decref(found->identity);
	mcp_answer_done(&found->answer);
}

void server_digest(const struct server_ask *ask, const struct server_found *found,
		   char ret[MCP_PIN_SIZE])
{
	auto_json json_t *tools = json_array();
	auto_json json_t *whole = NULL;

	for (size_t i = 0; i < found->n; i++)
		json_array_append(tools, found->v[i].definition);
	whole = json_pack("{s:O, s:O, s:O, s:s}", "config", ask->config, "identity",
			  found->identity, "tools", tools, "era", found->answer.version);
	mcp_pin(whole, ret);
}

static json_t *tool_row(const struct server_ask *ask, const struct server_tool *tool)
{
	auto_free char *id = server_tool_id(ask, tool->stem);
	json_t *row = server_tool_item(ask, tool);

	json_sets(row, "item_id", id ? id : "");
	json_sets(row, "name", json_str(tool->definition, "name"));
	json_object_del(row, "config");
	if (tool->disabled)
		json_sets(row, "disabled", tool->disabled);
	return row;
}

void server_describe(const struct server_ask *ask, const struct server_found *found, json_t *data)
{
	const struct mcp_spec *spec = &ask->spec;
	bool http = spec->transport == MCP_HTTP;
	json_t *tools = json_array(), *cwd = json_object_get(ask->config, "cwd");
	auto_free char *line = http ? NULL : server_line(ask->config);
	const char *url = json_str(ask->config, "url");

	json_sets(data, "transport", http ? "http" : "stdio");
	if (http)
		json_sets(data, "runs", url);
	else
		json_set(data, "runs",
			 json_sprintf("%s (as you: %s)", line ? line : "", spec->path));
	json_set(data, http ? "headers" : "env",
		 member_names(json_object_get(ask->config, http ? "headers" : "env")));
	if (cwd)
		json_object_set(data, "cwd", cwd);
	json_set(data, "speaks",
		 json_sprintf("%s (%s)", found->answer.version, mcp_era_name(found->answer.era)));
	if (found->answer.server)
		json_object_set(data, "server_info", found->answer.server);
	for (size_t i = 0; i < found->n; i++)
		json_array_append_new(tools, tool_row(ask, &found->v[i]));
	json_set(data, "tools", tools);
	json_set(data, "tool_count", json_integer((json_int_t)found->n));
	json_object_set(data, "warnings", found->warnings);
}
