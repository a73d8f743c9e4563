/* SPDX-License-Identifier: MIT */
/*
 * Directives as prompts: what a person picks from a menu. A prompt's name is the directive's id with
 * dots for slashes; where two ids would have one name, neither is a prompt. Getting one renders it
 * and runs nothing. On the thread that read the request; no lock.
 */
#include "mcp/server/server_inner.h"

#include "bounds.h"
#include "str.h"

#include <string.h>

/* A path of the merged tree → the name of its prompt: without the file's extension. */
static void prompt_name(const char *path, char ret[RYE_ID_MAX + 64])
{
	char *dot;

	snprintf(ret, RYE_ID_MAX + 64, "%s", path);
	dot = strrchr(ret, '.');
	if (dot && !strchr(dot, '/'))
		*dot = 0;
	for (char *p = ret; *p; p++)
		if (*p == '/')
			*p = '.';
}

struct prompt_wanted {
	const char *name;
	char path[RYE_ID_MAX + 64];
	size_t n; /* paths that have this name */
};

static int match_prompt(void *arg, const char *path)
{
	struct prompt_wanted *wanted = arg;
	char name[RYE_ID_MAX + 64];

	prompt_name(path, name);
	if (strcmp(name, wanted->name) != 0)
		return 0;
	wanted->n++;
	snprintf(wanted->path, sizeof(wanted->path), "%s", path);
	return 0;
}

/* ---- listing ---- */

static json_t *prompt_arguments(struct serve *serve, const char *id)
{
	auto_json json_t *schema = serve_view_json(serve, RYE_DIRECTIVE, id, RYE_VIEW_SCHEMA);
	const json_t *required = json_object_get(schema, "required");
	json_t *list = json_array(), *property;
	const char *name;

	json_object_foreach(json_object_get(schema, "properties"), name, property) {
		json_t *argument = json_pack("{s:s}", "name", name);
		const char *text = json_str(property, "description");

		if (*text)
			json_sets(argument, "description", text);
		if (json_lists(required, name))
			json_set(argument, "required", json_true());
		json_array_append_new(list, argument);
	}
	return list;
}

static json_t *prompt_entry(struct serve *serve, const struct serve_found *found)
{
	const char *id = found->st->id;
	auto_json json_t *info = serve_view_json(serve, RYE_DIRECTIVE, id, RYE_VIEW_INFO);
	const char *text = json_str(info, "description");
	json_t *entry;
	char name[RYE_ID_MAX + 64];

	prompt_name(found->path, name);
	if (json_truthy(json_object_get(found->clashes, name)))
		return NULL;
	entry = json_pack("{s:s, s:o, s:{s:o}}", "name", name, "arguments",
			  prompt_arguments(serve, id), "_meta", "ryefs/ref",
			  json_sprintf("directive:%s", id));
	if (*text)
		json_sets(entry, "description", text);
	return entry;
}

struct prompt_names {
	struct serve *serve;
	json_t *names; /* {name: false}, and true for one that two have */
};

static int note_clash(void *arg, const char *path)
{
	struct prompt_names *seen = arg;
	const struct serve_options *opt = &seen->serve->opt;
	char name[RYE_ID_MAX + 64], line[2 * RYE_ID_MAX];
	const json_t *before;

	prompt_name(path, name);
	before = json_object_get(seen->names, name);
	json_set(seen->names, name, json_boolean(before != NULL));
	if (!before || !opt->warn)
		return 0;
	snprintf(line, sizeof(line), "two directives would be the prompt %s, so neither is", name);
	opt->warn(opt->arg, line);
	return 0;
}

json_t *serve_prompts_list(struct serve_request *request, const json_t *params,
			   struct serve_fault *fault)
{
	auto_json json_t *clashes = json_object();
	const struct serve_page page = { RYE_DIRECTIVE, "prompts", clashes, prompt_entry };
	struct prompt_names seen = { request->serve, clashes };

	serve_paths(request->serve, RYE_DIRECTIVE, note_clash, &seen);
	return serve_page(request, &page, params, fault);
}

/* ---- getting ---- */

/* "a=b&c=d" of the arguments; false: one that is required is missing, or is no text. */
static bool write_query(struct serve *serve, const char *id, const json_t *arguments,
			struct rye_buf *ret, struct serve_fault *fault)
{
	auto_json json_t *schema = serve_view_json(serve, RYE_DIRECTIVE, id, RYE_VIEW_SCHEMA);
	const json_t *required = json_object_get(schema, "required");
	json_t *object = (json_t *)arguments, *value;
	const char *name;
	size_t i;

	json_array_foreach(required, i, value)
		if (!json_object_get(arguments, json_string_value(value)))
			return serve_fail(fault, MCP_BAD_PARAMS, "the argument %.100s is required",
					  json_string_value(value));
	json_object_foreach(object, name, value) {
		if (!json_is_string(value))
			return serve_fail(fault, MCP_BAD_PARAMS,
					  "the argument %.100s: a text is wanted", name);
		buf_adds(ret, ret->len ? "&" : "");
		buf_percent(ret, span_of(name), false);
		buf_addc(ret, '=');
		buf_percent(ret,
			    (struct rye_span){ json_string_value(value),
					       json_string_length(value) },
			    false);
	}
	return !ret->failed || serve_fail(fault, MCP_INTERNAL, "the arguments are too big");
}

static bool find_prompt(struct serve *serve, const json_t *params, struct rye_stat *ret,
			struct serve_fault *fault)
{
	struct prompt_wanted wanted = { .name = serve_text(params, "name") };

	if (!wanted.name)
		return serve_fail(fault, MCP_BAD_PARAMS, "name: a prompt's name is wanted");
	serve_paths(serve, RYE_DIRECTIVE, match_prompt, &wanted);
	if (wanted.n != 1 || rye_lookup(serve->rye, RYE_DIRECTIVE, wanted.path, ret, NULL) ||
	    !ret->is_file)
		return serve_fail(fault, MCP_BAD_PARAMS, "Prompt not found: %.100s", wanted.name);
	if (ret->verdict != RYE_OK)
		return serve_fail(fault, MCP_BAD_PARAMS, "directive:%.100s is refused: %.150s",
				  ret->id, ret->reason);
	return true;
}

json_t *serve_prompts_get(struct serve_request *request, const json_t *params,
			  struct serve_fault *fault)
{
	struct serve *serve = request->serve;
	const json_t *arguments = json_object_get(params, "arguments");
	auto_buf struct rye_buf query = RYE_BUF_INIT;
	auto_blob struct rye_blob *text = NULL;
	struct rye_ask ask = { .kind = RYE_DIRECTIVE, .view = RYE_VIEW_PROMPT };
	struct rye_err err = { 0 };
	struct rye_stat st;
	json_t *result;

	if (!find_prompt(serve, params, &st, fault) ||
	    !write_query(serve, st.id, arguments, &query, fault))
		return NULL;
	ask.id = st.id;
	ask.query = query.len ? query.data : NULL;
	if (rye_view(serve->rye, &ask, &text, &err)) {
		serve_fail(fault, MCP_BAD_PARAMS, "%.250s", err.msg);
		utf8_mend(fault->text);
		return NULL;
	}
	result = json_pack("{s:[{s:s, s:{s:s, s:s%}}], s:{s:o}}", "messages", "role", "user",
			   "content", "type", "text", "text", text->data, text->len, "_meta",
			   "ryefs/ref", json_sprintf("directive:%s", st.id));
	if (!result)
		serve_fail(fault, MCP_INTERNAL, "the text is not UTF-8");
	return result;
}
