/* SPDX-License-Identifier: MIT */
/*
 * What a person is shown before signing the tools of an MCP server: on stderr, whole, with every
 * character that a terminal does not show made visible. A description is a text for a model: this
 * is the moment to read it.
 */
#include "cli/verb/mcp_words.h"

#include "scope.h"
#include "str.h"

#include <string.h>

/* "label    text", further lines under the first. */
static void show_row(const char *label, const char *text)
{
	for (const char *line = text; *line || line == text;) {
		size_t n = strcspn(line, "\n");
		auto_free char *part = strndup(line, n);

		fprintf(stderr, "%-12s ", line == text ? label : "");
		out_text(stderr, part ? part : "");
		putc('\n', stderr);
		line += n + (line[n] == '\n');
		if (!*line)
			return;
	}
}

/* A text as it is, any other value as JSON; absent: nothing. */
static void show_value(const char *label, const json_t *value)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (json_is_string(value)) {
		show_row(label, json_string_value(value));
		return;
	}
	if (!value || json_is_null(value) || (!json_object_size(value) && !json_array_size(value)))
		return;
	json_put(&text, value, false);
	if (text.data)
		show_row(label, text.data);
}

static void show_tool(const json_t *tool)
{
	static const struct {
		const char *member, *label;
	} rows[] = {
		{ "item_id", "tool" },		{ "title", "  title" },
		{ "description", "  says" },	{ "input_schema", "  takes" },
		{ "output_schema", "  gives" }, { "annotations", "  hints" },
		{ "disabled", "  disabled" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		show_value(rows[i].label, json_object_get(tool, rows[i].member));
}

static void show_warnings(const json_t *found)
{
	json_t *warning;
	size_t i;

	json_array_foreach(json_object_get(found, "warnings"), i, warning)
		show_value("warning", warning);
}

void mcp_show_found(const json_t *found)
{
	json_t *tool;
	size_t i;

	show_value("server", json_object_get(found, "server"));
	show_value("runs", json_object_get(found, "runs"));
	show_value("environment", json_object_get(found, "env"));
	show_value("headers", json_object_get(found, "headers"));
	show_value("directory", json_object_get(found, "cwd"));
	show_value("speaks", json_object_get(found, "speaks"));
	json_array_foreach(json_object_get(found, "tools"), i, tool)
		show_tool(tool);
	show_warnings(found);
}

static void show_tool_change(const json_t *change)
{
	json_t *members = json_object_get(change, "members"), *pair;
	const char *name;
	char what[1200];

	snprintf(what, sizeof(what), "%s (%s)", json_str(change, "item_id"),
		 json_str(change, "change"));
	show_row("tool", what);
	json_object_foreach(members, name, pair) {
		show_row("  member", name);
		show_value("  -", json_object_get(pair, "before"));
		show_value("  +", json_object_get(pair, "after"));
	}
}

void mcp_show_changes(const json_t *found)
{
	json_t *change;
	size_t i;

	show_value("server", json_object_get(found, "server"));
	json_array_foreach(json_object_get(found, "changes"), i, change)
		show_tool_change(change);
	show_warnings(found);
}
