/* SPDX-License-Identifier: MIT */
/*
 * Metadata of shell tools and of other scripts whose comments begin with "#": the comment lines a
 * script begins with. `# __key__ = literal` is read as Python reads it, `# key: value` (of the
 * names below) as YAML; both may go on over further comment lines, the first by brackets, the
 * second by indentation. Prose between them is ignored. A tool that names no executor gets the
 * bash runtime, or the one that runs what the first line names. Pure.
 */
#include "format/format.h"
#include "parse/parse.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>

#define BASH_EXECUTOR "rye/core/runtimes/bash/bash"
#define SCRIPT_EXECUTOR "rye/core/runtimes/script/script"

/* Other words with a colon are prose ("Usage: …"). */
static bool parse_shell_is_key(struct rye_span name)
{
	static const char *const keys[] = {
		"actions",	  "author",
		"category",	  "config",
		"config_resolve", "config_schema",
		"cost",		  "description",
		"documentation",  "env_config",
		"executor_id",	  "input_schema",
		"metadata",	  "name",
		"output_schema",  "outputs",
		"parameters",	  "requires",
		"retry_policy",	  "tags",
		"timeout",	  "tool_description",
		"tool_id",	  "tool_type",
		"verify_deps",	  "version",
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (span_eq(name, keys[i]))
			return true;
	return false;
}

/* The leading comment lines without "# ", each with its LF. */
static void parse_shell_collect(struct rye_span text, struct rye_buf *out)
{
	struct rye_span line;
	bool first = true;

	while (span_line(&text, &line)) {
		bool shebang = first && span_starts(line, "#!");

		first = false;
		if (shebang || !span_trim(line).len)
			line = SPAN("#");
		if (line.ptr[0] != '#')
			break;
		line = span_skip(line, 1);
		if (line.len && line.ptr[0] == ' ')
			line = span_skip(line, 1);
		if (line.len && line.ptr[line.len - 1] == '\r')
			line.len--;
		buf_addspan(out, line);
		buf_addc(out, '\n');
	}
}

/* At "__key__ = literal": takes it and moves behind its line. */
static bool read_dunder(struct py *p, json_t *meta)
{
	size_t from = p->at;
	struct rye_span name = py_name(p);
	auto_json json_t *value = NULL;
	auto_free char *key = NULL;

	py_blanks(p, false);
	if (name.len > 4 && span_starts(name, "__") && span_ends(name, "__") &&
	    py_peek(p, 0) == '=' && py_peek(p, 1) != '=') {
		p->at++;
		py_blanks(p, false);
		value = py_literal(p, 0);
		py_blanks(p, false);
	}
	key = value && strchr("#\n", py_peek(p, 0)) ? span_dup(name) : NULL;
	if (key)
		json_object_set(meta, key, value);
	else
		p->at = from;
	return key;
}

/* "key: value" and the lines below it that are indented or list items. */
static struct rye_span yaml_chunk(struct rye_span rest)
{
	struct rye_span line, all = rest;
	size_t n = 0;

	while (span_line(&rest, &line)) {
		bool more = line.len &&
			    (line.ptr[0] == ' ' || line.ptr[0] == '\t' || span_starts(line, "- "));

		if (n && !more)
			break;
		n = (size_t)(rest.ptr - all.ptr);
	}
	return (struct rye_span){ all.ptr, n };
}

static bool yaml_key(struct py *p, json_t *meta)
{
	size_t from = p->at;
	struct rye_span name = py_name(p), chunk;
	bool colon = py_peek(p, 0) == ':' && isspace((unsigned char)py_peek(p, 1));
	struct rye_err silent = { 0 };
	auto_json json_t *map = NULL;

	p->at = from;
	if (!colon || !parse_shell_is_key(name))
		return false;
	chunk = yaml_chunk(span_skip(p->text, from));
	map = parse_yaml(chunk, &silent);
	if (!json_is_object(map))
		return false;
	json_object_update(meta, map);
	p->at += chunk.len - 1;
	return true;
}

/* A string that does not end stops us: what follows would be guessing, and not linear. */
static void read_lines(struct rye_span text, json_t *meta, struct rye_err *err)
{
	struct py p = { .text = text, .limit = RYE_LITERAL_NODES, .err = err };

	while (p.at < text.len && !p.failed) {
		ssize_t end;

		if (!read_dunder(&p, meta))
			yaml_key(&p, meta);
		end = span_find(text, p.at, "\n");
		p.at = end < 0 ? text.len : (size_t)end + 1;
	}
}

static json_t *parse_comments(struct rye_span text, const char *executor, struct rye_err *err)
{
	auto_buf struct rye_buf lines = RYE_BUF_INIT;
	json_t *meta;

	if (text_guard(text, err))
		return NULL;
	parse_shell_collect(text, &lines);
	if (lines.failed) {
		rye_fail(err, RYE_TOO_BIG, "too many comment lines");
		return NULL;
	}
	meta = json_object();
	read_lines((struct rye_span){ lines.data, lines.len }, meta, err);
	if (!json_object_get(meta, "executor_id") && !json_object_get(meta, "__executor_id__"))
		json_sets(meta, "executor_id", executor);
	return meta;
}

json_t *parse_shell(struct rye_span text, struct rye_err *err)
{
	return parse_comments(text, BASH_EXECUTOR, err);
}

json_t *parse_script(struct rye_span text, struct rye_err *err)
{
	return parse_comments(text, SCRIPT_EXECUTOR, err);
}
