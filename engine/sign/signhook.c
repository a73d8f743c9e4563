/* SPDX-License-Identifier: MIT */
/*
 * Hooks of what is to be signed: a directive's, a graph's, those of agent/hooks.yaml. Which events
 * and operators there are is said where they are carried out (expr/); here each remark gets the line
 * of the file, and what a hook calls is looked for in the spaces. For signmeant.c.
 */
#include "sign/sign_inner.h"

#include "base/id.h"
#include "expr/expr.h"
#include "graph/graph.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>

struct signhook_list {
	const struct meant *m;
	const char *name; /* of the list in YAML; NULL: the hooks are XML */
	const json_t *hooks;
	enum hook_of of;
	json_t *faults; /* where what never does anything is told */
};

/* ---- places ---- */

/* From `at` on: behind the end of its line. */
static size_t signhook_line_end(struct rye_span body, size_t at)
{
	ssize_t end = span_find(body, at, "\n");

	return end < 0 ? body.len : (size_t)end + 1;
}

static size_t signhook_indent(struct rye_span body, size_t at)
{
	size_t n = 0;

	while (at + n < body.len && body.ptr[at + n] == ' ')
		n++;
	return n;
}

/* Where a line begins with the list's name; the body's length: nowhere. */
static size_t signhook_yaml_list(struct rye_span body, const char *name)
{
	size_t n = strlen(name), at = 0;

	for (; at < body.len; at = signhook_line_end(body, at)) {
		size_t word = at + signhook_indent(body, at);

		if (span_starts(span_skip(body, word), name) && word + n < body.len &&
		    body.ptr[word + n] == ':')
			break;
	}
	return at;
}

/* The n-th line with a dash below the list, of those that stand as far in as the first. */
static size_t signhook_yaml_at(struct rye_span body, const char *name, size_t n)
{
	size_t list = signhook_yaml_list(body, name), deep = SIZE_MAX;

	for (size_t at = signhook_line_end(body, list); at < body.len;
	     at = signhook_line_end(body, at)) {
		size_t indent = signhook_indent(body, at);
		char first = at + indent < body.len ? body.ptr[at + indent] : '\n';

		if (first == '\n' || first == '#')
			continue;
		if (deep == SIZE_MAX && first == '-')
			deep = indent;
		if (deep == SIZE_MAX || indent < deep || (indent == deep && first != '-'))
			break;
		if (indent == deep && !n--)
			return at;
	}
	return list;
}

static size_t signhook_xml_at(struct rye_span body, size_t n)
{
	ssize_t list = span_find(body, 0, "<hooks");

	for (ssize_t at = list; at >= 0; at = span_find(body, (size_t)at + 1, "<hook")) {
		struct rye_span behind = span_skip(body, (size_t)at + strlen("<hook"));

		if (behind.len && *behind.ptr != 's' && !n--)
			return (size_t)at;
	}
	return list < 0 ? 0 : (size_t)list;
}

static size_t signhook_at(const struct signhook_list *list, size_t n)
{
	struct rye_span body = list->m->item->body;

	return list->name ? signhook_yaml_at(body, list->name, n) : signhook_xml_at(body, n);
}

/* What a remark names: what it has between quotes, else its first word. */
static void signhook_word(const char *text, char ret[], size_t size)
{
	const char *open = strchr(text, '\''), *close = open ? strchr(open + 1, '\'') : NULL;

	if (close)
		snprintf(ret, size, "%.*s", (int)(close - open - 1), open + 1);
	else
		snprintf(ret, size, "%.*s", (int)strcspn(text, ":. "), text);
}

static size_t signhook_line(const struct signhook_list *list, size_t n, const char *text)
{
	size_t from = signhook_at(list, n), to = signhook_at(list, n + 1);
	struct rye_span body = list->m->item->body;
	char word[100];
	ssize_t at;

	if (to > from)
		body.len = to;
	signhook_word(text, word, sizeof(word));
	at = *word ? span_find(body, from, word) : -1;
	return meant_line_at(list->m, at < 0 ? from : (size_t)at);
}

/* ---- remarks ---- */

static void signhook_tell(const struct signhook_list *list, size_t n, const json_t *texts,
			  json_t *to)
{
	const struct meant *m = list->m;
	char where[40];
	const json_t *text;
	size_t i;

	snprintf(where, sizeof(where), "hook %zu: ", n + 1);
	json_array_foreach(texts, i, text) {
		const char *line = json_string_value(text);

		if (strncmp(line, where, strlen(where)))
			continue;
		/* what is refused stays as it is */
		sign_tell(to, "line %zu: %s",
			  signhook_line(list, n, line + strlen(where)) -
				  (to == m->warnings ? 0 : m->added),
			  line);
	}
}

/* What its texts name is known when it runs. */
static void signhook_item(const struct signhook_list *list, const json_t *action, const char *where,
			  json_t *warnings)
{
	const char *extends = json_str(action, "set_extends"), *kind = json_str(action, "kind");
	const char *id = *extends ? extends : json_str(action, "item_id"), *bare;
	enum rye_kind named = id_split(id, &bare);

	if (!*kind)
		kind = json_str(action, "item_type");
	if (named == RYE_KIND__MAX) {
		bare = id;
		named = *extends ? RYE_DIRECTIVE : *kind ? kind_from_name(kind) : RYE_TOOL;
	}
	if (!*id || named == RYE_KIND__MAX || strstr(id, "${") || strstr(id, "{input:") ||
	    !strcmp(bare, EXPR_CONTROL) || meant_item_here(list->m, named, bare))
		return;
	json_array_append_new(warnings,
			      json_sprintf("%s: action: '%.200s' names no %s that is here", where,
					   bare, rye_kind_name(named)));
}

static void signhook_items(const struct signhook_list *list, const json_t *hook, const char *where,
			   json_t *warnings)
{
	const json_t *actions = json_object_get(hook, "actions"), *action;
	size_t i;

	if (!json_is_array(actions))
		signhook_item(list, json_object_get(hook, "action"), where, warnings);
	json_array_foreach(actions, i, action) {
		signhook_item(list, action, where, warnings);
	}
}

static void signhook_list_check(const struct signhook_list *list)
{
	const json_t *hook;
	size_t i;

	json_array_foreach(list->hooks, i, hook) {
		auto_json json_t *faults = json_array(), *warnings = json_array();
		char where[32];
		const struct hook_check check = { list->of, where, faults, faults, warnings };

		snprintf(where, sizeof(where), "hook %zu", i + 1);
		expr_check_hook(hook, &check);
		signhook_items(list, hook, where, warnings);
		signhook_tell(list, i, faults, list->faults);
		signhook_tell(list, i, warnings, list->m->warnings);
	}
}

/* ---- whose they are ---- */

static void signhook_directive(const struct meant *m)
{
	const struct signhook_list list = { m, NULL, json_object_get(m->item->meta, "hooks"),
					    HOOK_OF_DIRECTIVE, m->faults };
	struct rye_span xml = span_of(json_str(m->item->meta, "content"));
	ssize_t at = span_find(m->item->body, 0, "<hook");

	signhook_list_check(&list);
	if (!list.hooks && at >= 0 && span_find(xml, 0, "<hook") >= 0)
		sign_tell(
			m->warnings,
			"line %zu: a <hook> counts within <metadata>, <hooks> alone: move it there",
			meant_line_at(m, (size_t)at));
}

/* How a graph reads the actions is asked of the graph itself. */
static void signhook_graph(const struct meant *m)
{
	const json_t *config = parsed_get(m->item, "config");
	const struct graph_source source = { .id = m->item->id, .config = config };
	const struct signhook_list list = { m, "hooks", json_object_get(config, "hooks"),
					    HOOK_OF_GRAPH, m->faults };
	auto_json json_t *faults = json_array(), *warnings = json_array();
	struct graph *graph;

	if (!list.hooks)
		return;
	graph = graph_read(&source, faults, warnings);
	graph_free(graph);
	for (size_t i = json_array_size(faults); i--;)
		if (!strstr(json_string_value(json_array_get(faults, i)), ": action."))
			json_array_remove(faults, i);
	signhook_list_check(&list);
	for (size_t i = 0; i < json_array_size(list.hooks); i++)
		signhook_tell(&list, i, faults, list.faults);
}

static void signhook_config(const struct meant *m)
{
	static const char *const lists[][2] = { { "agent/hooks", "hooks" },
						{ "agent/hook_conditions", "builtin_hooks" },
						{ "agent/hook_conditions", "context_hooks" },
						{ "agent/hook_conditions", "infra_hooks" } };
	const json_t *data = json_object_get(m->item->meta, "data");

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct signhook_list list = { m, lists[i][1], json_object_get(data, lists[i][1]),
					      HOOK_OF_CONFIG, m->faults };

		if (strcmp(m->item->id, lists[i][0]))
			continue;
		/* other implementations' own lists have events that never come */
		if (i)
			list.faults = m->warnings;
		else if (!json_is_array(list.hooks))
			sign_tell(
				m->faults,
				"line %zu: hooks: a list of {event, condition, action} is wanted: "
				"there is none",
				meant_line_at(m, 0) - (m->faults == m->warnings ? 0 : m->added));
		signhook_list_check(&list);
	}
}

void sign_check_hooks(const struct meant *m)
{
	const char *type = json_string_value(parsed_get(m->item, "tool_type"));

	if (rye_kind_has(m->item->kind, RYE_KIND_ELEMENT))
		signhook_directive(m);
	else if (m->item->kind == RYE_CONFIG)
		signhook_config(m);
	else if (rye_kind_has(m->item->kind, RYE_KIND_PROCESS) && type && !strcmp(type, "graph"))
		signhook_graph(m);
}
