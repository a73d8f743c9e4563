/* SPDX-License-Identifier: MIT */
/*
 * Words of a tool that nothing reads and that are nearly one that counts: its type, members of its parameters
 * and of its configuration, {names} in that. Other software uses other words freely: a word that is like
 * none of ours is never told, nor is one beside the word that it is like. For signmeant.c.
 */
#include "sign/sign_inner.h"

#include "base/formats.h"
#include "base/id.h"
#include "bounds.h"
#include "near.h"
#include "schema/schema.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>

/* Links of a chain: tool, runtime, primitive. */
#define LINKS_MAX 8
#define NAME_MAX_LEN 80
/* Configuration may nest; the walk calls itself. */
#define DEPTH_MAX 32

/* The known word (a member's name) that is meant; NULL: it is one, or like none. */
static const char *signnear_meant(const char *word, const json_t *known)
{
	struct near_word near;
	const char *name;
	json_t *value;

	if (json_object_get(known, word) || strlen(word) < 3)
		return NULL;
	near_start(&near, word);
	near.whole = true;
	json_object_foreach((json_t *)known, name, value)
		near_offer(&near, name, name);
	return near.best;
}

static json_t *signnear_words(const char *const *words, size_t n)
{
	json_t *known = json_object();

	for (size_t i = 0; i < n; i++)
		json_set(known, words[i], json_true());
	return known;
}

/* ---- tool_type ---- */

static void signnear_type(const struct meant *m)
{
#define TYPE_NAME(name, trait) name,
	static const char *const types[] = { TOOL_TYPES(TYPE_NAME) };
	auto_json json_t *known = signnear_words(types, ARRAY_SIZE(types));
	const char *type = json_string_value(parsed_get(m->item, "tool_type"));
	const char *meant = type ? signnear_meant(type, known) : NULL;

	if (meant)
		sign_tell(m->warnings,
			  "line %zu: tool_type '%.80s' is no type that is known: is %s meant?",
			  meant_line_of(m, "tool_type", type), type, meant);
}

/* ---- members ---- */

struct signnear_list {
	const char *of; /* "of parameter 'a'" */
	const json_t *members, *known;
};

static void signnear_members(const struct meant *m, const struct signnear_list *list)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)list->members, name, value) {
		const char *meant = signnear_meant(name, list->known);
		char held[NAME_MAX_LEN + 2];

		/* a value of the tool's own, which its configuration places as {name} */
		snprintf(held, sizeof(held), "{%.78s}", name);
		if (!meant || json_object_get(list->members, meant) ||
		    span_find(m->item->body, 0, held) >= 0)
			continue;
		sign_tell(m->warnings, "line %zu: '%.80s' %s is not read: is %s meant?",
			  meant_line_of(m, name, ""), name, list->of, meant);
	}
}

/* ---- parameters ---- */

/* Words of JSON Schema besides those that the lint looks at, and of a list's entries. */
static json_t *signnear_parameter_words(void)
{
	static const char *const words[] = { "name",
					     "required",
					     "title",
					     "format",
					     "const",
					     "examples",
					     "minimum",
					     "maximum",
					     "minLength",
					     "maxLength",
					     "minItems",
					     "maxItems",
					     "uniqueItems",
					     "exclusiveMinimum",
					     "exclusiveMaximum",
					     "minProperties",
					     "minContains",
					     "maxContains",
					     "maxProperties",
					     "dependentRequired",
					     "deprecated",
					     "readOnly",
					     "writeOnly",
					     "nullable",
					     "example",
					     "options",
					     "choices",
					     "secret",
					     "$ref",
					     "$id",
					     "$schema",
					     "$comment" };
	json_t *known = signnear_words(words, ARRAY_SIZE(words));
	auto_json json_t *schema = schema_of_schemas("#");

	json_object_update(known, json_object_get(schema, "properties"));
	return known;
}

static void signnear_parameter(const struct meant *m, const char *name, const json_t *members,
			       const json_t *known)
{
	char of[NAME_MAX_LEN + 32];

	snprintf(of, sizeof(of), "of parameter '%.80s'", name);
	signnear_members(m, &(struct signnear_list){ of, members, known });
}

static void signnear_parameters(const struct meant *m)
{
	static const char *const schemas[] = { "config_schema", "input_schema", "parameters" };
	auto_json json_t *known = signnear_parameter_words();
	const json_t *list = parsed_get(m->item, "parameters");
	const char *name;
	json_t *one;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(schemas); i++) {
		const json_t *map = json_object_get(parsed_get(m->item, schemas[i]), "properties");

		json_object_foreach((json_t *)map, name, one)
			signnear_parameter(m, name, one, known);
	}
	json_array_foreach((json_t *)list, i, one)
		signnear_parameter(m, json_str(one, "name"), one, known);
	if (json_is_object(list) && !json_is_object(json_object_get(list, "properties")))
		json_object_foreach((json_t *)list, name, one)
			signnear_parameter(m, name, one, known);
}

/* ---- config ---- */

/* What the links of its chain say that they read: their own configuration, and its schema. */
static json_t *signnear_config_words(const struct meant *m)
{
	const char *executor = json_string_value(parsed_get(m->item, "executor_id"));
	json_t *known = json_object();
	auto_item struct rye_item *link = NULL;

	for (size_t i = 0; i < LINKS_MAX && executor && *executor; i++) {
		const struct item_ask ask = { .kind = RYE_TOOL, .id = executor };
		struct rye_item *next = NULL;

		if (rye_load(m->env, &ask, &next, NULL) != 0)
			break;
		rye_item_unref(link);
		link = next;
		json_object_update(known, (json_t *)meta_get(link, "config"));
		json_object_update(known,
				   json_object_get(meta_get(link, "config_schema"), "properties"));
		executor = json_string_value(meta_get(link, "executor_id"));
	}
	return known;
}

struct signnear_names {
	const struct meant *m;
	const json_t *own, *config;
	int depth;
};

/* "{name}" at the start of text: its name. */
static bool signnear_name(struct rye_span text, char ret[NAME_MAX_LEN + 1])
{
	size_t n = 1;

	while (n < text.len && (isalnum((unsigned char)text.ptr[n]) || text.ptr[n] == '_'))
		n++;
	if (n == 1 || n > NAME_MAX_LEN || n == text.len || text.ptr[n] != '}')
		return false;
	snprintf(ret, NAME_MAX_LEN + 1, "%.*s", (int)(n - 1), text.ptr + 1);
	return true;
}

static void signnear_text(const struct signnear_names *names, struct rye_span text)
{
	/* what plan/ says of the tool itself */
	static const char *const told[] = { "tool_path",   "tool_dir",	  "tool_parent",
					    "anchor_path", "runtime_lib", "project_path",
					    "user_space",  "params_json", "system_space" };
	auto_json json_t *known = signnear_words(told, ARRAY_SIZE(told));

	for (ssize_t at = span_find(text, 0, "{"); at >= 0;
	     at = span_find(text, (size_t)at + 1, "{")) {
		char name[NAME_MAX_LEN + 1], held[NAME_MAX_LEN + 3];
		const char *meant;

		if ((at && text.ptr[at - 1] == '$') ||
		    !signnear_name(span_skip(text, (size_t)at), name) ||
		    json_object_get(known, name) || json_object_get(names->config, name))
			continue;
		meant = signnear_meant(name, names->own);
		snprintf(held, sizeof(held), "{%s}", name);
		if (meant)
			sign_tell(
				names->m->warnings,
				"line %zu: %s stays as it is, there is no such parameter: is {%s} "
				"meant?",
				meant_line_of(names->m, held, ""), held, meant);
	}
}

static void signnear_texts(struct signnear_names *names, const json_t *value)
{
	const json_t *part;
	const char *key;
	size_t i;

	if (json_is_string(value))
		signnear_text(names, span_of(json_string_value(value)));
	if (names->depth == DEPTH_MAX)
		return;
	names->depth++;
	json_array_foreach((json_t *)value, i, part)
		signnear_texts(names, part);
	json_object_foreach((json_t *)value, key, part)
		signnear_texts(names, part);
	names->depth--;
}

static void signnear_config(const struct meant *m)
{
	const json_t *config = parsed_get(m->item, "config");
	auto_json json_t *known = json_is_object(config) ? signnear_config_words(m) : NULL;
	auto_json json_t *schema = parsed_schema(m->item);
	struct signnear_names names = { m, json_object_get(schema, "properties"), config, 0 };

	signnear_members(m, &(struct signnear_list){ "of config", config, known });
	signnear_texts(&names, config);
}

void sign_check_near(const struct meant *m)
{
	const char *type = json_string_value(parsed_get(m->item, "tool_type"));

	signnear_type(m);
	signnear_parameters(m);
	/* a graph's is graph_read's; in a program CONFIG may be a constant of its own */
	if ((!type || strcmp(type, "graph") != 0) &&
	    (str_ends(m->item->ext, "ml") || !strcmp(m->item->ext, ".json")))
		signnear_config(m);
}

/* ---- configuration ---- */

/* Members of mappings; hooks, which are lists, are signhook.c's. */
static void signnear_form(const struct meant *m, const json_t *schema, const json_t *value,
			  const char *path)
{
	const json_t *known = json_object_get(schema, "properties");
	char of[300];
	const char *name;
	json_t *member;

	snprintf(of, sizeof(of), "of %.250s", *path ? path : "the file");
	signnear_members(m, &(struct signnear_list){ of, value, known });
	json_object_foreach((json_t *)value, name, member) {
		const json_t *inner = json_object_get(known, name);
		char below[250];

		if (!inner)
			inner = json_object_get(schema, "additionalProperties");
		snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", name);
		if (json_is_object(inner))
			signnear_form(m, inner, member, below);
	}
}

void sign_check_form(const struct meant *m)
{
	const struct config_forms *forms = m->env->forms;
	const json_t *doc = json_object_get(m->item->meta, "data");
	char file[RYE_ID_MAX + 16];
	auto_json json_t *schema = NULL;

	snprintf(file, sizeof(file), "%s%s", m->item->id, m->item->ext);
	schema = forms ? forms->schema_fn(file) : NULL;
	if (!schema)
		return;
	signnear_form(m, schema, doc, "");
	forms->refused_fn(m->env, m->item->space, file, doc, m->faults);
}
