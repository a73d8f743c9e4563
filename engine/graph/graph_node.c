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

static const char *const types[] = { "action", "foreach", "gate", "return", NULL };
/* The last is what an action of the format's first days was called, too. */
static const char *const primaries[] = { "execute", "fetch", "sign", "load", NULL };
static const char *const ways[] = { "inline", "fork", NULL };

const struct schema_field graph_node_fields[] = {
	{ "type", FIELD_TEXT, .choices = types, .about = "An action where absent." },
	{ "action", FIELD_MAP, .about = "What is called." },
	{ "next", FIELD_ANY,
	  .about = "The next node, or a list of {to, when}; none ends the graph." },
	{ "on_error", FIELD_TEXT, .about = "The node to go to when the call fails." },
	{ "assign", FIELD_MAP,
	  .about = "Keys of the state and what they become: ${result.stdout}." },
	{ "over", FIELD_ANY, .about = "Of foreach: the list, as ${state.files}." },
	{ "as", FIELD_TEXT, .about = "Of foreach: the name of each element; item where absent." },
	{ "collect", FIELD_TEXT,
	  .about = "Of foreach: the key of the state that gets the results." },
	{ "parallel", FIELD_BOOL, .about = "Of foreach: all at once, up to max_concurrency." },
	{ "remote", FIELD_TEXT, .about = "Where it runs." },
	{ "env_requires", FIELD_NAMES, .about = "Variables that have to be set." },
	{ "max_concurrency", FIELD_COUNT, .about = "Of a parallel foreach: calls at once." },
	{ "output", FIELD_ANY, .about = "Of return: what the graph gives." },
	{ "cache_result", FIELD_BOOL,
	  .about = "The same call with the same parameters is made once." },
	{ "cache", FIELD_BOOL, .about = "The same as cache_result." },
	{ "comment", FIELD_ANY },
	{ "description", FIELD_ANY },
	{ NULL },
};
const struct schema_field graph_action_fields[] = {
	{ "primary", FIELD_TEXT, .choices = primaries, .about = "execute where absent." },
	{ "item_id", FIELD_TEXT, true, .about = "The item that is called, as tool:my/fetch." },
	{ "item_type", FIELD_TEXT, .about = "Of an id without a kind; tool where absent." },
	{ "kind", FIELD_TEXT, .about = "The same as item_type." },
	{ "params", FIELD_MAP, .about = "What it is given; ${inputs.x}, ${state.x}, ${result.x}." },
	{ "thread", FIELD_TEXT, .choices = ways, .about = "Of a directive: inline, or a fork." },
	{ "async", FIELD_ANY, .about = "Not supported: parallel: true of the node." },
	{ NULL },
};

/* Of the rows' type, else told; NULL: absent or of another. */
static const json_t *read_value(const json_t *doc, const struct schema_field *fields,
				const char *key, const struct graph_faults *to)
{
	const struct schema_field *field = field_named(fields, key);
	const json_t *value = graph_member(doc, key);

	if (!value || field_fits(field, value))
		return value;
	graph_fault(to, "%s: %s is wanted", key, field_wanted(field));
	return NULL;
}

/* A text; "" when absent. */
static const char *read_text(const json_t *doc, const struct schema_field *fields, const char *key,
			     const struct graph_faults *to)
{
	const json_t *value = read_value(doc, fields, key, to);

	return value ? json_string_value(value) : "";
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
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)doc, key, value) {
		if (field_named(graph_node_fields, key))
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
	static const char *const remarks[] = { "comment", "description" };
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)doc, key, value) {
		if (field_named(graph_action_fields, key) || (executes && is_term(key)))
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

/* "execute" when there is none. */
static const char *read_primary(const json_t *doc, const struct graph_faults *to)
{
	const char *text = read_text(doc, graph_action_fields, "primary", to);

	if (!*text)
		return "execute";
	if (!strcmp(text, "load"))
		return "fetch";
	for (size_t i = 0; primaries[i]; i++)
		if (!strcmp(primaries[i], text))
			return primaries[i];
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
	ret->kind = read_text(doc, graph_action_fields, "item_type", to);
	if (!*ret->kind)
		ret->kind = read_text(doc, graph_action_fields, "kind", to);
	if (!*ret->kind)
		ret->kind = "tool";
	if (params && !json_is_object(params))
		graph_fault(to, "action.params: a mapping is wanted");
	ret->params = json_is_object(params) ? params : NULL;
	expr_check_template(ret->params, to->where, to->faults);
	ret->thread = read_text(doc, graph_action_fields, "thread", to);
	if (*ret->thread && !field_chosen(field_named(graph_action_fields, "thread"), ret->thread))
		graph_fault(to, "action.thread: '%.60s': inline or fork is wanted", ret->thread);
}

static enum graph_type read_type(const json_t *doc, const struct graph_faults *to)
{
	const char *text = read_text(doc, graph_node_fields, "type", to);

	if (!*text)
		return GRAPH_ACTION;
	for (size_t i = 0; types[i]; i++)
		if (!strcmp(types[i], text))
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
	node->as = read_text(doc, graph_node_fields, "as", to);
	if (!*node->as)
		node->as = "item";
	if (!strcmp(node->as, "inputs") || !strcmp(node->as, "state"))
		graph_fault(to, "as: '%s' is a name that expressions need", node->as);
	node->collect = read_text(doc, graph_node_fields, "collect", to);
	node->parallel = json_is_true(read_value(doc, graph_node_fields, "parallel", to));
	node->max_concurrency = graph_count_read(doc, "max_concurrency", 0, to);
}

void graph_node_read(const char *name, const json_t *doc, struct graph_node *ret,
		     const struct graph_faults *to)
{
	const json_t *action = read_value(doc, graph_node_fields, "action", to);

	*ret = (struct graph_node){ .name = name, .as = "", .collect = "" };
	check_node_keys(doc, to);
	ret->type = read_type(doc, to);
	ret->on_error = read_text(doc, graph_node_fields, "on_error", to);
	ret->remote = read_text(doc, graph_node_fields, "remote", to);
	ret->assign = read_value(doc, graph_node_fields, "assign", to);
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
	ret->keeps = json_is_true(read_value(doc, graph_node_fields, "cache_result", to)) |
		     json_is_true(read_value(doc, graph_node_fields, "cache", to));
}
