/* SPDX-License-Identifier: MIT */
/*
 * Validation before signing, driven by one table per kind. Other software reads the texts, so
 * they are the format's; all issues are collected, in table order. Pure: looks at a parsed but
 * unverified item and touches nothing.
 */
#include "sign/sign.h"
#include "sign/sign_inner.h"

#include "item/item.h"
#include "schema/schema.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"

#define ABOUT(text) NULL, NULL, NULL, text

static const struct schema_field model[] = { { "tier", FIELD_TEXT },
					     { "fallback", FIELD_TEXT },
					     { "id", FIELD_TEXT },
					     { "parallel", FIELD_TRUTH },
					     { NULL } };
static const struct schema_field limits[] = {
	{ "turns", FIELD_INTEGER },	  { "tokens", FIELD_INTEGER },
	{ "spawns", FIELD_INTEGER },	  { "depth", FIELD_INTEGER },
	{ "spend", FIELD_NUMBER },	  { "duration_seconds", FIELD_INTEGER },
	{ "spend_currency", FIELD_TEXT }, { NULL }
};
static const struct schema_field hook[] = { { NULL } };
static const struct schema_field input[] = { { "name", FIELD_ANY, true },
					     { "type", FIELD_ANY, true },
					     { NULL } };
static const struct schema_field permission[] = { { "tag", FIELD_ANY, true }, { NULL } };

static const struct schema_field directive[] = { { "name", FIELD_SNAKE, true },
						 { "version", FIELD_SEMVER, true },
						 { "description", FIELD_TEXT, true },
						 { "category", FIELD_CATEGORY, true },
						 { "author", FIELD_TEXT, true },
						 { "model", FIELD_MAP, false, model },
						 { "limits", FIELD_MAP, false, limits },
						 { "hooks", FIELD_LIST, false, hook },
						 { "inputs", FIELD_LIST, false, input },
						 { "permissions", FIELD_LIST, false, permission },
						 { NULL } };
static const struct schema_field tool[] = {
	{ "category", FIELD_CATEGORY, true, ABOUT("The directory below .ai/tools.") },
	{ "tool_type", FIELD_TEXT, true,
	  ABOUT("What it is: bash, python, http, graph, mcp_server, runtime, library …") },
	{ "version", FIELD_SEMVER, true, ABOUT("X.Y.Z, between quotes.") },
	{ "description", FIELD_TEXT, true, NULL, "tool_description", NULL,
	  "One sentence; a model chooses the tool by it." },
	{ NULL }
};
static const struct schema_field knowledge[] = {
	{ "name", FIELD_STEM, true, NULL, "id", NULL, "The file's name without its end." },
	{ "title", FIELD_TEXT, true, ABOUT("What people read in lists.") },
	{ "version", FIELD_SEMVER, true, ABOUT("X.Y.Z, between quotes.") },
	{ "entry_type", FIELD_TEXT, true,
	  ABOUT("What it is: reference, procedure, pattern, learning …") },
	{ "category", FIELD_CATEGORY, false, ABOUT("The directory below .ai/knowledge.") },
	{ NULL }
};
static const struct schema_field config[] = {
	{ "category", FIELD_CATEGORY, true, ABOUT("The directory below .ai/config.") },
	{ "version", FIELD_SEMVER, true, ABOUT("X.Y.Z, between quotes.") },
	{ "description", FIELD_TEXT, false, ABOUT("One sentence.") },
	{ NULL }
};
static const struct schema_field skill[] = {
	{ "name", FIELD_STEM, true, ABOUT("The folder's name.") },
	{ "version", FIELD_SEMVER, true, ABOUT("X.Y.Z, between quotes.") },
	{ NULL }
};

static const struct schema_field *const tables[RYE_KIND__MAX] = { [RYE_DIRECTIVE] = directive,
								  [RYE_TOOL] = tool,
								  [RYE_KNOWLEDGE] = knowledge,
								  [RYE_CONFIG] = config,
								  [RYE_SKILL] = skill };

const struct schema_field *sign_fields(enum rye_kind kind)
{
	return tables[kind];
}

/* ---- reports ---- */

bool sign_report_init(struct sign_report *report)
{
	*report = (struct sign_report){ json_array(), json_array() };
	return report->issues && report->warnings;
}

void sign_report_done(struct sign_report *report)
{
	json_decref(report->issues);
	json_decref(report->warnings);
}

void sign_tell(json_t *list, const char *format, ...)
{
	char line[1200];

	STR_FORMAT(line, format);
	json_array_append_new(list, json_string(line));
}

static const char missing[] = "Missing required field: ";

bool sign_only_missing(const struct sign_report *report)
{
	size_t i;
	json_t *issue;

	json_array_foreach(report->issues, i, issue)
		if (strncmp(json_string_value(issue), missing, strlen(missing)))
			return false;
	return json_array_size(report->issues);
}

/* ---- values ---- */

struct signcheck_subject {
	const struct parsed_item *item;
	json_t *issues;
	const char *prefix; /* "model." inside an object, else "" */
};

static void wrong_type(const struct signcheck_subject *s, const char *name, const char *wanted,
		       const json_t *value)
{
	sign_tell(s->issues, "Field '%s%s' must be %s, got %s", s->prefix, name, wanted,
		  json_python_type(value));
}

static bool is_semver(const char *text)
{
	for (int i = 0; i < 3; i++) {
		size_t n = strspn(text, "0123456789");

		if (!n || text[n] != (i < 2 ? '.' : 0))
			return false;
		text += n + (i < 2);
	}
	return true;
}

static bool is_snake(const char *text)
{
	return *text >= 'a' && *text <= 'z' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(text);
}

static void check_place(const struct signcheck_subject *s, const struct schema_field *field,
			const char *value)
{
	struct rye_span category = space_category(s->item->id);
	const char *stem = space_stem(s->item->id);

	if (field->type == FIELD_SNAKE && !is_snake(value))
		sign_tell(s->issues,
			  "Field '%s' must be snake_case (lowercase letters, numbers, "
			  "underscores, starting with letter), got '%.200s'",
			  field->name, value);
	if (field->type == FIELD_CATEGORY && !span_eq(category, value))
		sign_tell(s->issues, "Field '%s' value '%.200s' must match path category '%.*s'",
			  field->name, value, (int)category.len, category.ptr);
	if ((field->type == FIELD_SNAKE || field->type == FIELD_STEM) && strcmp(stem, value))
		sign_tell(s->issues, "Field '%s' value '%.200s' must match filename '%s'",
			  field->name, value, stem);
}

static void check_text(const struct signcheck_subject *s, const struct schema_field *field,
		       const json_t *value)
{
	const char *text = json_string_value(value);
	bool semver = field->type == FIELD_SEMVER;

	if (!text)
		wrong_type(s, field->name, semver ? "a string (semver)" : "a string", value);
	else if (semver && !is_semver(text))
		sign_tell(s->issues, "Field '%s%s' must be semver format (X.Y.Z), got '%.200s'",
			  s->prefix, field->name, text);
	else if (field->type == FIELD_TRUTH && strcmp(text, "true") && strcmp(text, "false"))
		sign_tell(s->issues, "Field '%s%s' must be one of ['true', 'false'], got '%.200s'",
			  s->prefix, field->name, text);
	else
		check_place(s, field, text);
}

static void signcheck_check_array(const struct signcheck_subject *s,
				  const struct schema_field *field, const json_t *value)
{
	size_t i;
	const json_t *element;

	if (!json_is_array(value))
		wrong_type(s, field->name, "an array", value);
	json_array_foreach((json_t *)value, i, element) {
		if (!json_is_object(element)) {
			sign_tell(s->issues, "Field '%s[%zu]' must be an object", field->name, i);
			continue;
		}
		for (const struct schema_field *part = field->parts; part->name; part++)
			if (!json_truthy(json_object_get(element, part->name)))
				sign_tell(s->issues, "Field '%s[%zu]' missing required key '%s'",
					  field->name, i, part->name);
	}
}

static void signcheck_check_value(const struct signcheck_subject *s,
				  const struct schema_field *field, const json_t *value);

static void signcheck_check_object(const struct signcheck_subject *s,
				   const struct schema_field *field, const json_t *value)
{
	char prefix[64];
	struct signcheck_subject inner = { s->item, s->issues, prefix };

	if (!json_is_object(value)) {
		wrong_type(s, field->name, "an object", value);
		return;
	}
	snprintf(prefix, sizeof(prefix), "%s%s.", s->prefix, field->name);
	for (const struct schema_field *part = field->parts; part->name; part++)
		signcheck_check_value(&inner, part, json_object_get(value, part->name));
}

static bool is_missing(const struct schema_field *field, const json_t *value)
{
	if (!value || json_is_null(value))
		return true;
	if (json_is_array(value))
		return !json_array_size(value);
	return json_is_string(value) && !json_string_length(value) && field->type != FIELD_CATEGORY;
}

static void signcheck_check_value(const struct signcheck_subject *s,
				  const struct schema_field *field, const json_t *value)
{
	if (is_missing(field, value)) {
		if (field->required)
			sign_tell(s->issues, "%s%s%s", missing, s->prefix, field->name);
		return;
	}
	switch (field->type) {
	case FIELD_INTEGER:
		if (!json_is_integer(value))
			wrong_type(s, field->name, "an integer", value);
		break;
	case FIELD_NUMBER:
		if (!json_is_number(value))
			wrong_type(s, field->name, "a number", value);
		break;
	case FIELD_MAP:
		signcheck_check_object(s, field, value);
		break;
	case FIELD_LIST:
		signcheck_check_array(s, field, value);
		break;
	default:
		check_text(s, field, value);
	}
}

/* ---- kinds ---- */

static const json_t *signcheck_value_of(const struct parsed_item *item,
					const struct schema_field *field)
{
	const json_t *value;

	if (rye_kind_has(item->kind, RYE_KIND_ELEMENT | RYE_KIND_FRONT))
		return json_object_get(item->meta, field->name);
	if (!rye_kind_has(item->kind, RYE_KIND_PROCESS))
		return json_object_get(json_object_get(item->meta, "data"), field->name);
	value = field->also ? parsed_get(item, field->also) : NULL;
	return value ? value : parsed_get(item, field->name);
}

/* Older entries say `id` for what is called `name` now. */
static const json_t *knowledge_name(const struct parsed_item *item, struct sign_report *report)
{
	const json_t *name = json_object_get(item->meta, "name");
	const json_t *id = json_object_get(item->meta, field_named(knowledge, "name")->also);

	if (name || !id)
		return name;
	sign_tell(report->warnings, "Field 'id' is read as 'name'; write name: %s",
		  space_stem(item->id));
	return id;
}

void sign_check(const struct parsed_item *item, struct sign_report *report)
{
	struct signcheck_subject s = { item, report->issues, "" };

	for (const struct schema_field *field = tables[item->kind]; field && field->name; field++) {
		const json_t *value = signcheck_value_of(item, field);

		if (rye_kind_has(item->kind, RYE_KIND_FRONT) && !strcmp(field->name, "name"))
			value = knowledge_name(item, report);
		signcheck_check_value(&s, field, value);
	}
	if (rye_kind_has(item->kind, RYE_KIND_PROCESS))
		sign_check_tool(item, report);
	sign_check_name(item, report);
}
