/* SPDX-License-Identifier: MIT */
/*
 * One node of a graph, and its action, checked key by key. Every text comes from a signed item, but
 * by any hand that may sign: nothing is taken for granted.
 */
#include "graph/graph_inner.h"

#include "scope.h"

#include <stdarg.h>
#include <string.h>

static void graph_add(json_t *to, const char *where, const char *format, va_list args)
	RYE_PRINTF(3, 0);
static void graph_add(json_t *to, const char *where, const char *format, va_list args)
{
	auto_json json_t *text = json_vsprintf(format, args);

	json_array_append_new(to, json_sprintf("%s%s%s", where, *where ? ": " : "",
					       text ? json_string_value(text) :
						      "a text that is not UTF-8"));
}

void graph_fault(const struct graph_faults *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	graph_add(to->faults, to->where, format, args);
	va_end(args);
}

void graph_warn(const struct graph_faults *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	graph_add(to->warnings, to->where, format, args);
	va_end(args);
}

const json_t *graph_member(const json_t *doc, const char *key)
{
	const json_t *value = json_object_get(doc, key);

	return json_is_null(value) ? NULL : value;
}

/* A text; "" when absent. */
static const char *read_text(const json_t *doc, const char *key, const struct graph_faults *to)
{
	const json_t *value = graph_member(doc, key);

	if (value && !json_is_string(value))
		graph_fault(to, "%s: a text is wanted", key);
	return json_is_string(value) ? json_string_value(value) : "";
}

static bool read_bool(const json_t *doc, const char *key, const struct graph_faults *to)
{
	const json_t *value = graph_member(doc, key);

	if (value && !json_is_boolean(value))
		graph_fault(to, "%s: true or false is wanted", key);
	return json_is_true(value);
}

static const json_t *read_map(const json_t *doc, const char *key, const struct graph_faults *to)
{
	const json_t *value = graph_member(doc, key);

	if (value && !json_is_object(value)) {
		graph_fault(to, "%s: a mapping is wanted", key);
		return NULL;
	}
	return value;
}

json_int_t graph_count_read(const json_t *doc, const char *key, json_int_t fallback,
			    const struct graph_faults *to)
{
	const json_t *value = graph_member(doc, key);

	if (!value)
		return fallback;
	if (json_is_integer(value) && json_integer_value(value) >= 1)
		return json_integer_value(value);
	graph_fault(to, "%s: a whole number of at least 1 is wanted", key);
	return fallback;
}

const json_t *graph_env_read(const json_t *value, const struct graph_faults *to)
{
	const json_t *element;
	size_t i;

	if (!value || json_is_null(value) || json_is_string(value))
		return json_is_string(value) ? value : NULL;
	if (!json_is_array(value))
		graph_fault(to, "env_requires: a list of names is wanted");
	json_array_foreach(value, i, element) {
		if (!json_is_string(element))
			graph_fault(to, "env_requires: name %zu: a text is wanted", i + 1);
	}
	return json_is_array(value) ? value : NULL;
}

static bool is_among(const char *key, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], key))
			return true;
	return false;
}

static bool is_term(const char *key)
{
	for (const char *const *term = graph_terms; *term; term++)
		if (!strcmp(*term, key))
			return true;
	return false;
}

/* What says where a node runs or limits it, and would be believed: the place for it is elsewhere. */
static const char *term_place(const char *key)
{
	static const char *const whole[] = { "max_steps", "permissions", "capabilities",
					     "timeout" };

	if (is_term(key))
		return "say it in the node's action";
	return is_among(key, whole, ARRAY_SIZE(whole)) ?
		       "it is the whole graph's, or the called item's" :
		       NULL;
}

static void check_node_keys(const json_t *doc, const struct graph_faults *to)
{
	static const char *const known[] = {
		"type",	  "action",	  "next",     "on_error", "assign",	  "over",
		"as",	  "collect",	  "parallel", "remote",	  "env_requires", "max_concurrency",
		"output", "cache_result", "cache",    "comment",  "description"
	};
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)doc, key, value) {
		if (is_among(key, known, ARRAY_SIZE(known)))
			continue;
		if (term_place(key))
			graph_fault(to, "%.100s: not a node's key: %s", key, term_place(key));
		else
			graph_warn(to, "%.100s: no such key: it has no effect", key);
	}
}

/*
 * An action is a request: a key of it that nothing obeys might be the one that was to say where it
 * runs or how much it may use. So only remarks are left aside.
 */
static void check_action_keys(const json_t *doc, bool executes, const struct graph_faults *to)
{
	static const char *const known[] = { "primary", "item_id", "item_type", "kind",
					     "params",	"thread",  "async" },
				 *const remarks[] = { "comment", "description" };
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)doc, key, value) {
		if (is_among(key, known, ARRAY_SIZE(known)) || (executes && is_term(key)))
			continue;
		if (is_among(key, remarks, ARRAY_SIZE(remarks)))
			graph_warn(to, "action.%.100s: no such key: it has no effect", key);
		else
			graph_fault(to,
				    "action.%.100s: no such key: what the call takes goes into "
				    "params",
				    key);
	}
}

const char *const graph_terms[] = {
	"target", "model", "limit_overrides", "no_net", "no_write", NULL
};

/* "execute" when there is none; what an action of the format's first days was called, too. */
static const char *read_primary(const json_t *doc, const struct graph_faults *to)
{
	static const char *const names[] = { "execute", "fetch", "sign" };
	const char *text = read_text(doc, "primary", to);

	if (!*text)
		return "execute";
	if (!strcmp(text, "load"))
		return "fetch";
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], text))
			return names[i];
	graph_fault(to, "action.primary: '%.60s': execute, fetch or sign is wanted", text);
	return "execute";
}

static void refuse_async(const json_t *doc, const struct graph_faults *to)
{
	if (json_is_true(json_object_get(doc, "async")))
		graph_fault(to, "action.async: not supported: say parallel: true at the node");
	if (json_is_true(json_object_get(json_object_get(doc, "params"), "async")))
		graph_fault(to,
			    "action.params.async: not supported: say parallel: true at the node");
}

void graph_action_read(const json_t *doc, struct graph_action *ret, const struct graph_faults *to)
{
	const json_t *params = graph_member(doc, "params");

	*ret = (struct graph_action){ .primary = read_primary(doc, to), .doc = doc };
	check_action_keys(doc, !strcmp(ret->primary, "execute"), to);
	ret->item_id = graph_member(doc, "item_id");
	if (!json_is_string(ret->item_id) || !json_string_length(ret->item_id))
		graph_fault(to, "action.item_id: a reference (tool:a/b) is wanted");
	expr_check_template(ret->item_id, to->where, to->faults);
	ret->kind = read_text(doc, "item_type", to);
	if (!*ret->kind)
		ret->kind = read_text(doc, "kind", to);
	if (!*ret->kind)
		ret->kind = "tool";
	if (params && !json_is_object(params))
		graph_fault(to, "action.params: a mapping is wanted");
	ret->params = json_is_object(params) ? params : NULL;
	expr_check_template(ret->params, to->where, to->faults);
	ret->thread = read_text(doc, "thread", to);
	if (*ret->thread && strcmp(ret->thread, "inline") && strcmp(ret->thread, "fork"))
		graph_fault(to, "action.thread: '%.60s': inline or fork is wanted", ret->thread);
}

static enum graph_type read_type(const json_t *doc, const struct graph_faults *to)
{
	static const char *const names[] = { "action", "foreach", "gate", "return" };
	const char *text = read_text(doc, "type", to);

	if (!*text)
		return GRAPH_ACTION;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], text))
			return (enum graph_type)i;
	graph_fault(to, "type: '%.60s': foreach, gate, return, or none for an action is wanted",
		    text);
	return GRAPH_GATE;
}

static void read_edges(struct graph_node *node, const json_t *doc, const struct graph_faults *to)
{
	const json_t *edge, *when;
	size_t i;

	node->next = graph_member(doc, "next");
	if (!node->next || json_is_string(node->next))
		return;
	if (!json_is_array(node->next)) {
		graph_fault(to, "next: the name of a node or a list of {to, when} is wanted");
		node->next = NULL;
	}
	json_array_foreach(node->next, i, edge) {
		if (!json_is_string(json_object_get(edge, "to")))
			graph_fault(to, "next: edge %zu: to: the name of a node is wanted", i + 1);
		when = graph_member(edge, "when");
		expr_check_condition(when, to->where, to->warnings);
		if (!when && i + 1 < json_array_size(node->next))
			graph_warn(to,
				   "next: edge %zu has no when: those behind it are never taken",
				   i + 1);
	}
}

static void read_foreach(struct graph_node *node, const json_t *doc, const struct graph_faults *to)
{
	node->over = graph_member(doc, "over");
	if (!node->over)
		graph_fault(to, "over: an expression is wanted");
	expr_check_template(node->over, to->where, to->faults);
	refuse_async(json_object_get(doc, "action"), to);
	node->as = read_text(doc, "as", to);
	if (!*node->as)
		node->as = "item";
	if (!strcmp(node->as, "inputs") || !strcmp(node->as, "state"))
		graph_fault(to, "as: '%s' is a name that expressions need", node->as);
	node->collect = read_text(doc, "collect", to);
	node->parallel = read_bool(doc, "parallel", to);
	node->max_concurrency = graph_count_read(doc, "max_concurrency", 0, to);
}

void graph_node_read(const char *name, const json_t *doc, struct graph_node *ret,
		     const struct graph_faults *to)
{
	const json_t *action = read_map(doc, "action", to);

	*ret = (struct graph_node){ .name = name, .as = "", .collect = "" };
	check_node_keys(doc, to);
	ret->type = read_type(doc, to);
	ret->on_error = read_text(doc, "on_error", to);
	ret->remote = read_text(doc, "remote", to);
	ret->assign = read_map(doc, "assign", to);
	expr_check_template(ret->assign, to->where, to->faults);
	ret->env_requires = graph_env_read(graph_member(doc, "env_requires"), to);
	ret->output = graph_member(doc, "output");
	expr_check_template(ret->output, to->where, to->faults);
	read_edges(ret, doc, to);
	if (ret->type == GRAPH_FOREACH)
		read_foreach(ret, doc, to);
	if (ret->type == GRAPH_ACTION || ret->type == GRAPH_FOREACH) {
		if (action)
			graph_action_read(action, &ret->action, to);
		else
			graph_fault(
				to, "action: missing%s",
				ret->type == GRAPH_ACTION ?
					" (a node that calls nothing is of the type gate or return)" :
					"");
	} else if (action) {
		graph_warn(to, "action: a %s node calls nothing",
			   ret->type == GRAPH_GATE ? "gate" : "return");
	}
	ret->keeps = read_bool(doc, "cache_result", to) | read_bool(doc, "cache", to);
}
