/* SPDX-License-Identifier: MIT */
/*
 * Which hooks a thread has, in the order in which they are asked: the user's, the directive's, those
 * of agent/hook_conditions, the project's, and last its infrastructure's. Read once, verified.
 */
#include "agent/agent_inner.h"

#include "expr/expr.h"
#include "memory.h"
#include "scope.h"

#include <stdlib.h>
#include <string.h>

/* Behind those of its layer. XML has the layer as text. */
static void hooks_insert(json_t *list, const json_t *hook, enum hook_layer origin)
{
	const json_t *given = json_object_get(hook, "layer");
	json_int_t layer = json_is_integer(given) ? json_integer_value(given) :
			   json_is_string(given)  ? atoi(json_string_value(given)) :
						    (json_int_t)origin;
	json_t *own = json_copy((json_t *)hook);
	size_t at = json_array_size(list);

	if (origin == LAYER_INFRA)
		layer = LAYER_INFRA;
	json_object_set_new(own, "_layer", json_integer(layer));
	json_object_set_new(own, "_origin", json_integer(origin));
	while (at && json_int(json_array_get(list, at - 1), "_layer", 0) > layer)
		at--;
	json_array_insert_new(list, at, own);
}

static void hooks_insert_all(json_t *list, const json_t *hooks, enum hook_layer origin)
{
	json_t *hook;
	size_t i;

	json_array_foreach(hooks, i, hook)
		if (json_is_object(hook))
			hooks_insert(list, hook, origin);
}

/* agent/hooks.yaml of one space; it is authority, so it must be signed. */
static int hooks_of_space(struct agent *agent, enum rye_space type, enum hook_layer layer,
			  struct rye_err *err)
{
	const struct spaces *spaces = agent->items->spaces;

	for (size_t i = 0; i < spaces->n; i++) {
		const struct config_file file = { &spaces->v[i], "agent/hooks", ".yaml" };
		auto_item struct rye_item *item = NULL;
		struct rye_err why = { 0 };
		const json_t *data;

		if (spaces->v[i].type != type)
			continue;
		if (config_load_file(agent->items, &file, &item, &why)) {
			if (why.code == RYE_NOT_FOUND)
				continue;
			return rye_fail(err, why.code, "%s", why.msg);
		}
		data = json_object_get(item->meta, "data");
		if (!json_is_object(data))
			data = item->meta;
		hooks_insert_all(agent->hooks, json_object_get(data, "hooks"), layer);
	}
	return 0;
}

int hooks_load(struct agent *agent, struct rye_err *err)
{
	auto_json json_t *builtin = NULL;
	int r = policy_config(agent->items, "agent/hook_conditions", &builtin, err);

	agent->hooks = json_array();
	if (!r)
		r = hooks_of_space(agent, RYE_USER, LAYER_USER, err);
	if (!r)
		r = hooks_of_space(agent, RYE_PROJECT, LAYER_PROJECT, err);
	if (r)
		return r;
	hooks_insert_all(agent->hooks, json_object_get(builtin, "builtin_hooks"), LAYER_BUILTIN);
	hooks_insert_all(agent->hooks, json_object_get(builtin, "context_hooks"), LAYER_BUILTIN);
	hooks_insert_all(agent->hooks, json_object_get(builtin, "infra_hooks"), LAYER_INFRA);
	return 0;
}

void hooks_add(struct agent *agent, const json_t *own)
{
	hooks_insert_all(agent->hooks, own, LAYER_DIRECTIVE);
}

bool hook_is_own(const json_t *hook)
{
	return json_int(hook, "_origin", -1) == LAYER_DIRECTIVE;
}

bool hook_applies(const json_t *hook, enum expr_event event, const json_t *doc)
{
	return expr_event_of(json_str(hook, "event")) == event &&
	       expr_holds(json_object_get(hook, "condition"), doc);
}

const char *hooks_extends(struct agent *agent, const json_t *doc)
{
	json_t *hook;
	size_t i;

	json_array_foreach(agent->hooks, i, hook) {
		const char *id = json_str(json_object_get(hook, "action"), "set_extends");

		if (*id && !hook_is_own(hook) && hook_applies(hook, EVENT_RESOLVE_EXTENDS, doc))
			return id;
	}
	return "";
}
