/* SPDX-License-Identifier: MIT */
/*
 * What the tool format asks beyond its fields: executors, tool ids, capability names and the
 * schemas of parameters. Pure; called by sign_check on a parsed but unverified tool.
 */
#include "sign/sign.h"
#include "sign/sign_inner.h"

#include "base/formats.h"
#include "item/item.h"
#include "near.h"
#include "schema/schema.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"

#include <ctype.h>

enum tool_trait { RUN, ALONE, FOREIGN };

static const struct tool_type {
	const char *name;
	enum tool_trait trait;
} types[] = {
#define TYPE_ROW(name, trait) { name, trait },
	TOOL_TYPES(TYPE_ROW)
};

static bool is_of_trait(const char *tool_type, enum tool_trait trait)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i].trait == trait && !strcmp(tool_type, types[i].name))
			return true;
	return trait == FOREIGN && str_ends(tool_type, "_provider");
}

/* A Python file without an execute() of its own is there to be imported. */
static bool is_module(const struct parsed_item *item, const char *tool_type)
{
	return !strcmp(tool_type, "python") && !strcmp(item->ext, ".py") &&
	       !span_starts(item->body, "def execute(") &&
	       span_find(item->body, 0, "\ndef execute(") < 0 &&
	       span_find(item->body, 0, "\nasync def execute(") < 0;
}

/* Where the faults of a tool go that other software's rules let pass. */
static json_t *faults_of(const struct sign_report *report, bool lenient)
{
	return lenient || report->signed_before ? report->warnings : report->issues;
}

static void check_executor(const struct parsed_item *item, struct sign_report *report)
{
	const json_t *executor = parsed_get(item, "executor_id");
	const char *told = json_string_value(parsed_get(item, "tool_type"));
	const char *type = told ? told : "";
	bool exempt = is_of_trait(type, ALONE);
	json_t *faults = faults_of(report, is_of_trait(type, FOREIGN) || is_module(item, type));

	if (executor && !json_is_null(executor) && !json_is_string(executor))
		sign_tell(report->issues, "Field 'executor_id' must be a string, got %s",
			  json_python_type(executor));
	else if (exempt || json_string_length(executor))
		return;
	else if (!executor)
		sign_tell(faults, "Missing required field: executor_id");
	else
		sign_tell(faults,
			  "Field 'executor_id' may be null only for primitive, runtime, library "
			  "and mcp_server, not for tool_type '%.80s'",
			  type);
}

static bool is_kebab(const char *text)
{
	return *text && *text != '-' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(text);
}

/* '_' and '-' are the same in an id that is only declared. */
static bool signtool_same_name(const char *a, const char *b)
{
	while (*a && *b && (*a == '_' ? '-' : *a) == (*b == '_' ? '-' : *b)) {
		a++;
		b++;
	}
	return *a == *b;
}

/* "a/c" in a/b/c: the first directories and the name, what lies between left out. */
static bool is_shortened(const char *declared, const char *id)
{
	size_t n = (size_t)(space_stem(declared) - declared);

	return n && !strncmp(declared, id, n) && signtool_same_name(declared + n, space_stem(id));
}

static void check_tool_id(const struct parsed_item *item, struct sign_report *report)
{
	const json_t *value = parsed_get(item, "tool_id");
	const char *id = json_string_value(value), *stem = space_stem(item->id);

	if (!value && str_ends(item->ext, "ml") && strcmp(item->ext, ".toml"))
		sign_tell(report->warnings, "No tool_id; write tool_id: %s", stem);
	if (!is_kebab(stem))
		sign_tell(report->warnings, "Tool name '%s' is not kebab-case", stem);
	if (!value)
		return;
	if (!id)
		sign_tell(report->issues, "Field 'tool_id' must be a string, got %s",
			  json_python_type(value));
	else if (signtool_same_name(id, stem) || signtool_same_name(id, item->id))
		return;
	else if (is_shortened(id, item->id))
		sign_tell(report->warnings, "Field 'tool_id' value '%.200s' is short for '%s'", id,
			  item->id);
	else
		sign_tell(report->issues, "Field 'tool_id' value '%.200s' must match filename '%s'",
			  id, stem);
}

/* "fs.write": names with dots between them, a star where any name may stand. */
static bool is_capability(const char *text)
{
	size_t dots = 0;

	for (const char *c = text; *c; c++) {
		bool name = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
			    (*c >= '0' && *c <= '9') || strchr("_-*/", *c);

		if (*c == '.' && c > text && c[-1] != '.' && c[1])
			dots++;
		else if (!name)
			return false;
	}
	return dots > 0;
}

/* Those that something here looks at; other software's may be any. */
static const char *known_capability(const char *text)
{
#define CAPABILITY_NAME(name, opens) name,
	static const char *const names[] = { CAPABILITIES(CAPABILITY_NAME) };
	struct near_word near;

	if (!strncmp(text, "net.", strlen("net.")))
		return NULL;
	near_start(&near, text);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(text, names[i]))
			return NULL;
		near_offer(&near, names[i], names[i]);
	}
	return near.best;
}

/* A misspelt one grants nothing, and nothing says so where it is wanted. */
static void check_spelling(const char *text, struct sign_report *report)
{
	const char *meant = known_capability(text);

	if (meant)
		sign_tell(report->warnings,
			  "requires names '%.80s', which lets it do nothing: is %s meant?", text,
			  meant);
}

static void check_requires(const struct parsed_item *item, struct sign_report *report)
{
	const json_t *list = parsed_get(item, "requires");
	json_t *faults = faults_of(report, false);
	size_t i;
	json_t *name;

	if (list && !json_is_null(list) && !json_is_array(list))
		sign_tell(faults, "Field 'requires' must be an array, got %s",
			  json_python_type(list));
	json_array_foreach((json_t *)list, i, name)
		if (!json_is_string(name) || !is_capability(json_string_value(name)))
			sign_tell(faults,
				  "Field 'requires[%zu]' must use dotted notation (fs.write)", i);
		else
			check_spelling(json_string_value(name), report);
}

#define PYTHON_RUNTIME "runtimes/python/function"

/* What the runtime calls may be defined, assigned or imported: the word alone has to be there. */
static void check_execute(const struct parsed_item *item, struct sign_report *report)
{
	static const char word[] = "execute";
	const char *executor = json_string_value(parsed_get(item, "executor_id"));
	ssize_t at = -1;

	if (!executor || !str_ends(executor, PYTHON_RUNTIME) || strcmp(item->ext, ".py"))
		return;
	while ((at = span_find(item->body, (size_t)(at + 1), word)) >= 0) {
		struct rye_span rest = span_skip(item->body, (size_t)at + strlen(word));

		if (!rest.len || (!isalnum((unsigned char)*rest.ptr) && *rest.ptr != '_'))
			return;
	}
	sign_tell(report->warnings,
		  "No execute(params, project_path) is in it, which is what %s calls", executor);
}

#define SCRIPT_RUNTIME "runtimes/script/script"

/* The runtime of scripts runs what the first line names, and nothing else says it. */
static void check_shebang(const struct parsed_item *item, struct sign_report *report)
{
	const char *executor = json_string_value(parsed_get(item, "executor_id"));

	if (executor && str_ends(executor, SCRIPT_RUNTIME) && !item->shebang.len &&
	    strcmp(item->ext, ".yaml") && strcmp(item->ext, ".yml"))
		sign_tell(report->issues,
			  "The first line does not say what runs it: #!/usr/bin/env NAME");
	if (str_ends(item->ext, "js") && item->shebang.len)
		sign_tell(report->warnings,
			  "A shebang stops a signed JavaScript tool from running");
}

static void tell_faults(const char *of, const json_t *schema, json_t *list)
{
	auto_json json_t *faults = schema ? schema_lint(schema) : NULL;
	json_t *fault;
	size_t i;

	json_array_foreach(faults, i, fault) {
		sign_tell(list, "%s%s", of, json_string_value(fault));
	}
}

/* Each action has parameters of its own. */
static void check_actions(const struct parsed_item *item, struct sign_report *report)
{
	const json_t *actions = parsed_get(item, "actions");
	const char *name;
	json_t *action;

	json_object_foreach((json_t *)actions, name, action) {
		auto_json json_t *schema = meta_schema_list(json_object_get(action, "parameters"));
		char of[100];

		snprintf(of, sizeof(of), "Action '%.80s': ", name);
		tell_faults(of, schema, report->issues);
	}
}

void sign_check_tool(const struct parsed_item *item, struct sign_report *report)
{
	auto_json json_t *schema = parsed_schema(item);
	const json_t *answer = parsed_get(item, "output_schema");
	const char *unlisted = schema ? schema_unlisted(schema) : NULL;

	check_executor(item, report);
	check_tool_id(item, report);
	check_requires(item, report);
	tell_faults("", schema, report->issues);
	check_actions(item, report);
	if (unlisted)
		sign_tell(report->warnings,
			  "required names '%.80s', which is no parameter: no call could be made",
			  unlisted);
	/* it decides nothing but a warning, and another's server may have written it */
	tell_faults("output_schema: ", json_is_object(answer) ? answer : NULL, report->warnings);
	check_shebang(item, report);
	check_execute(item, report);
}

/* What runs nothing of its own may leave its executor out; a dotted name is is_capability's. */
json_t *sign_tool_schema(void)
{
	json_t *names = json_array();
	auto_free char *exempt = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i].trait != RUN)
			json_array_append_new(names, json_string(types[i].name));
	exempt = schema_text(names);
	return schema_of(
		"{'properties': {"
		"  'tool_id': {'type': 'string', 'description': 'The file\\u0027s name.'},"
		"  'executor_id': {'type': ['string', 'null'],"
		"    'description': 'What runs it, as rye/core/runtimes/bash/bash.'},"
		"  'requires': {'type': ['array', 'null'],"
		"    'description': 'What it may do: fs.write, net.*, rye.execute.tool.PATTERN.',"
		"    'items': {'type': 'string',"
		"      'pattern': '^[A-Za-z0-9_*/-]+(\\\\.[A-Za-z0-9_*/-]+)+$'}}},"
		" 'if': {'properties': {'tool_type':"
		"    {'anyOf': [{'enum': %s}, {'type': 'string', 'pattern': '_provider$'}]}}},"
		" 'else': {'required': ['executor_id'],"
		"    'properties': {'executor_id': {'type': 'string', 'minLength': 1}}}}",
		exempt ? exempt : "[]");
}

void sign_check_name(const struct parsed_item *item, struct sign_report *report)
{
	static const char *const names[] = { "run",	  "dry_run",	 "async",      "fork",
					     "output",	  "schema.json", "chain.json", "prompt.md",
					     "data.json", "info.json",	 "trace.json", "verify",
					     "source",	  "calls",	 "replies" };
	char file[300];

	snprintf(file, sizeof(file), "%s%s", space_stem(item->id), item->ext);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], space_stem(item->id)) || !strcmp(names[i], file))
			sign_tell(report->warnings,
				  "The name '%s' is a control file's: where both meet, that wins",
				  names[i]);
}
