/* SPDX-License-Identifier: MIT */
/*
 * A graph's config as a struct graph: nodes, hooks, limits; and whether what they name is there.
 */
#include "graph/graph_inner.h"

#include "base/sha.h"
#include "memory.h"
#include "scope.h"

#include <stdio.h>
#include <string.h>

const struct graph_node *graph_node(const struct graph *graph, const char *name)
{
	for (size_t i = 0; name && i < graph->n; i++)
		if (!strcmp(graph->nodes[i].name, name))
			return &graph->nodes[i];
	return NULL;
}

void graph_free(struct graph *graph)
{
	if (!graph)
		return;
	free(graph->nodes);
	free(graph->hooks);
	json_decref(graph->held);
	free(graph);
}

static bool read_nodes(struct graph *graph, const json_t *nodes, struct graph_faults *to)
{
	const char *name;
	json_t *doc;

	graph->nodes = memory_note(calloc(json_object_size(nodes) + 1, sizeof(*graph->nodes)));
	if (!graph->nodes)
		return false;
	json_object_foreach((json_t *)nodes, name, doc) {
		struct graph_node *node = &graph->nodes[graph->n++];
		char where[160];

		snprintf(where, sizeof(where), "node '%.100s'", name);
		to->where = where;
		*node = (struct graph_node){ .name = name,
					     .as = "",
					     .collect = "",
					     .on_error = "",
					     .remote = "" };
		if (strlen(name) > 200)
			graph_fault(to, "a name of at most 200 bytes is wanted");
		if (json_is_object(doc))
			graph_node_read(name, doc, node, to);
		else
			graph_fault(to, "a mapping is wanted");
		to->where = "";
	}
	return true;
}

static void read_hook(struct graph *graph, const json_t *doc, const struct graph_faults *to)
{
	const struct hook_check check = { HOOK_OF_GRAPH, to->where, to->faults, to->warnings,
					  to->warnings };
	struct graph_hook *hook = &graph->hooks[graph->n_hooks];
	const json_t *action = graph_member(doc, "action"), *id;

	expr_check_hook(doc, &check);
	hook->event = expr_event_of(json_str(doc, "event"));
	hook->condition = graph_member(doc, "condition");
	hook->layer = json_int(doc, "layer", 1);
	if (!json_is_object(action))
		return;
	graph->n_hooks++;
	id = json_object_get(action, "item_id");
	if (!id) {
		hook->control = action;
	} else if (json_is_string(id) && strstr(json_string_value(id), EXPR_CONTROL)) {
		hook->control = graph_member(action, "params");
		hook->control = hook->control ? hook->control : action;
	} else {
		graph_action_read(action, &hook->action, to);
	}
}

static bool read_hooks(struct graph *graph, const json_t *hooks, struct graph_faults *to)
{
	const json_t *doc;
	size_t i;

	if (hooks && !json_is_array(hooks))
		graph_fault(to, "hooks: a list is wanted");
	graph->hooks = memory_note(calloc(json_array_size(hooks) + 1, sizeof(*graph->hooks)));
	if (!graph->hooks)
		return false;
	json_array_foreach(hooks, i, doc) {
		char where[40];

		snprintf(where, sizeof(where), "hook %zu", i + 1);
		to->where = where;
		read_hook(graph, doc, to);
		to->where = "";
	}
	return true;
}

static void check_target(const struct graph *graph, const char *name, const char *key,
			 const struct graph_faults *to)
{
	if (!graph_node(graph, name))
		graph_fault(to, "%s: there is no node '%.100s'", key, name);
}

static void check_targets(const struct graph *graph, struct graph_faults *to)
{
	for (size_t i = 0; i < graph->n; i++) {
		const struct graph_node *node = &graph->nodes[i];
		const json_t *edge;
		char where[160];
		size_t k;

		snprintf(where, sizeof(where), "node '%.100s'", node->name);
		to->where = where;
		if (json_is_string(node->next))
			check_target(graph, json_string_value(node->next), "next", to);
		json_array_foreach(node->next, k, edge) {
			if (*json_str(edge, "to"))
				check_target(graph, json_str(edge, "to"), "next", to);
		}
		if (*node->on_error)
			check_target(graph, node->on_error, "on_error", to);
		to->where = "";
	}
}

static const char *const policies[] = { "fail", "continue", NULL };

static const struct schema_field config_fields[] = {
	{ "start", FIELD_TEXT, true, .about = "The first node." },
	{ "nodes", FIELD_MAP, true, .about = "The nodes by their names." },
	{ "state", FIELD_MAP, .about = "What the state begins with." },
	{ "hooks", FIELD_LIST, .about = "Items that are called when something happens." },
	{ "max_steps", FIELD_COUNT, .about = "Steps, after which the graph ends with an error." },
	{ "max_concurrency", FIELD_COUNT, .about = "Calls at once of a parallel foreach." },
	{ "on_error", FIELD_TEXT, .choices = policies,
	  .about = "When a call fails; fail if absent." },
	{ NULL },
};

static void read_policy(struct graph *graph, const json_t *config, const struct graph_faults *to)
{
	const char *on_error = json_str(config, "on_error");

	graph->go_on = !strcmp(on_error, "continue");
	if (json_object_get(config, "on_error") &&
	    !field_chosen(field_named(config_fields, "on_error"), on_error))
		graph_fault(to, "config.on_error: fail or continue is wanted");
	graph->state = graph_member(config, "state");
	if (graph->state && !json_is_object(graph->state))
		graph_fault(to, "config.state: a mapping is wanted");
}

static void check_permissions(struct graph *graph, const json_t *permissions,
			      const struct graph_faults *to)
{
	const json_t *element;
	size_t i;

	graph->permissions = permissions;
	if (!json_array_size(permissions))
		graph_fault(to, "permissions: a list of capabilities is wanted "
				"(rye.execute.tool.my.*): without one a graph may call nothing");
	json_array_foreach(permissions, i, element) {
		if (!json_is_string(element))
			graph_fault(to, "permissions: capability %zu: a text is wanted", i + 1);
	}
}

static void digest_config(const json_t *config, char ret[SHA_HEX])
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_canonical(&text, config ? config : json_null());
	sha256_hex((struct rye_span){ text.data ? text.data : "", text.len }, ret);
}

static void read_start(struct graph *graph, const json_t *config, const struct graph_faults *to)
{
	graph->start = json_str(config, "start");
	if (!graph->n)
		graph_fault(to, "config.nodes: a mapping of nodes is wanted");
	if (!*graph->start)
		graph_fault(to, "config.start: the name of a node is wanted");
	else
		check_target(graph, graph->start, "config.start", to);
}

struct graph *graph_read(const struct graph_source *source, json_t *faults, json_t *warnings)
{
	struct graph_faults to = { faults, warnings, "" };
	struct graph *graph = memory_note(calloc(1, sizeof(*graph)));
	const json_t *config = source->config, *nodes = graph_member(config, "nodes");

	if (!graph)
		return NULL;
	graph->id = source->id;
	graph->held = json_pack("[O?, O?, O?]", config, source->permissions, source->env_requires);
	digest_config(config, graph->digest);
	if (!graph->held || !read_nodes(graph, json_is_object(nodes) ? nodes : NULL, &to) ||
	    !read_hooks(graph, graph_member(config, "hooks"), &to)) {
		graph_free(graph);
		return memory_note(NULL);
	}
	read_start(graph, config, &to);
	graph->max_steps = graph_count_read(config, "max_steps", source->max_steps, &to);
	graph->max_concurrency =
		graph_count_read(config, "max_concurrency", source->max_concurrency, &to);
	read_policy(graph, config, &to);
	check_permissions(graph, source->permissions, &to);
	graph->env_requires = graph_env_read(source->env_requires, &to);
	check_targets(graph, &to);
	return graph;
}

/* ---- as JSON Schema ---- */

/* What only some types of nodes have to say. */
static json_t *graph_node_cases(void)
{
	return schema_of(
		"[{'if': {'not': {'required': ['type'],"
		"    'properties': {'type': {'enum': ['gate', 'return']}}}},"
		"  'then': {'required': ['action'], 'properties': {'action': {'type': 'object'}}}},"
		" {'if': {'required': ['type'], 'properties': {'type': {'const': 'foreach'}}},"
		"  'then': {'required': ['over'], 'properties': {"
		"    'over': {'not': {'type': 'null'}}, 'as': {'not': {'enum': ['inputs', 'state']}},"
		"    'action': {'properties': {'async': {'not': {'const': true}},"
		"      'params': {'properties': {'async': {'not': {'const': true}}}}}}}}}]");
}

static json_t *graph_node_schema(void)
{
	json_t *schema = fields_schema(graph_node_fields, true);
	json_t *members = json_object_get(schema, "properties");

	json_set(members, "action",
		 schema_of("{'anyOf': [{'$ref': '%s'}, {'type': 'null'}]}",
			   GRAPH_DEFINED "graph_action"));
	json_set(members, "next",
		 schema_of("{'type': ['string', 'array', 'null'], 'description': '%s',"
			   " 'items': {'type': 'object', 'required': ['to'], 'properties': {"
			   "   'to': {'type': 'string'}, 'when': {'$ref': '%s'}}}}",
			   field_named(graph_node_fields, "next")->about, EXPR_CONDITION));
	json_set(schema, "allOf", graph_node_cases());
	return schema;
}

/* Terms are an execution's. */
static json_t *graph_action_schema(void)
{
	json_t *schema = fields_schema(graph_action_fields, true);
	json_t *members = json_object_get(schema, "properties"), *terms = json_array();

	for (const char *const *term = graph_terms; *term; term++) {
		json_set(members, *term, json_object());
		json_array_append_new(terms, json_pack("{s:[s]}", "required", *term));
	}
	json_set(schema, "if",
		 schema_of("{'required': ['primary'],"
			   " 'properties': {'primary': {'enum': ['fetch', 'sign', 'load']}}}"));
	json_set(schema, "then", json_pack("{s:{s:o}}", "not", "anyOf", terms));
	return schema;
}

/* Its action is a node's, or says itself what becomes of the graph. */
static json_t *graph_hook_schema(void)
{
	return expr_hook_schema(
		HOOK_OF_GRAPH, schema_of("{'type': 'object', 'if': {'required': ['item_id'], 'not':"
					 " {'properties': {'item_id': {'pattern': '%s'}}}},"
					 " 'then': {'$ref': '%s'}}",
					 EXPR_CONTROL, GRAPH_DEFINED "graph_action"));
}

json_t *graph_schema(json_t *definitions)
{
	json_t *schema = fields_schema(config_fields, false);
	json_t *members = json_object_get(schema, "properties");

	json_set(json_object_get(members, "nodes"), "additionalProperties",
		 schema_of("{'$ref': '%s'}", GRAPH_DEFINED "node"));
	json_set(json_object_get(members, "nodes"), "minProperties", json_integer(1));
	json_set(json_object_get(members, "nodes"), "propertyNames",
		 schema_of("{'maxLength': 200}"));
	json_set(json_object_get(members, "hooks"), "items",
		 schema_of("{'$ref': '%s'}", GRAPH_DEFINED "graph_hook"));
	json_set(definitions, "condition", expr_condition_schema());
	json_set(definitions, "node", graph_node_schema());
	json_set(definitions, "graph_action", graph_action_schema());
	json_set(definitions, "graph_hook", graph_hook_schema());
	return json_pack("{s:[s, s], s:{s:{s:s, s:i, s:{s:s}}, s:{s:[s, s, s], s:{s:s}}, s:o}}",
			 "required", "permissions", "config", "properties", "permissions", "type",
			 "array", "minItems", 1, "items", "type", "string", "env_requires", "type",
			 "string", "array", "null", "items", "type", "string", "config", schema);
}
