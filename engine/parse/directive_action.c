/* SPDX-License-Identifier: MIT */
/*
 * Actions and hooks of a directive: the execute, fetch and sign elements with their parameters,
 * and what <hooks> says is to be done when. Pure; called by parse_directive.c and
 * directive_meta.c. Recursion is bounded by RYE_XML_DEPTH.
 */
#include "parse/parse_inner.h"

#include "format/format.h"

#include "str.h"

const char *directive_primary(const char *tag)
{
	static const char *const names[] = { "execute", "fetch", "sign" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(tag, names[i]))
			return names[i];
	return NULL;
}

/* <x name="n" value="v"/> or <x name="n">v</x> */
static const char *value_of(const json_t *kid)
{
	const json_t *value = json_object_get(json_object_get(kid, "attrs"), "value");

	return value ? json_string_value(value) : xml_text(kid);
}

/* Direct <param name value> children; a nameless one is "param", or dropped. */
static json_t *params(const json_t *node, bool unnamed)
{
	const json_t *kids = json_object_get(node, "kids");
	json_t *map = json_object();

	for (size_t i = 0; i < json_array_size(kids); i++) {
		const json_t *kid = json_array_get(kids, i);
		const char *name = json_str(json_object_get(kid, "attrs"), "name");

		if (strcmp(xml_tag(kid), "param"))
			continue;
		if (!*name && unnamed)
			name = "param";
		if (*name)
			json_sets(map, name, value_of(kid));
	}
	return map;
}

json_t *directive_action(const json_t *node, bool unnamed)
{
	json_t *action = json_object(), *given = params(node, unnamed);
	const char *primary = directive_primary(xml_tag(node));

	if (primary)
		json_sets(action, "primary", primary);
	json_object_update(action, json_object_get(node, "attrs"));
	if (json_object_size(given))
		json_object_set(action, "params", given);
	json_decref(given);
	return action;
}

void directive_actions(const json_t *node, json_t *list)
{
	const json_t *kids = json_object_get(node, "kids");

	for (size_t i = 0; i < json_array_size(kids); i++) {
		const json_t *kid = json_array_get(kids, i);

		if (directive_primary(xml_tag(kid)))
			json_array_append_new(list, directive_action(kid, false));
		directive_actions(kid, list);
	}
}

static void hook_action(json_t *hook, const json_t *node)
{
	json_t *list = json_array();

	directive_actions(node, list);
	if (json_array_size(list))
		json_object_set(hook, "actions", list);
	else
		json_set(hook, "action", directive_action(node, true));
	json_decref(list);
}

static json_t *condition(const json_t *node)
{
	json_t *map = json_copy(json_object_get(node, "attrs"));
	const char *value = json_string_value(json_object_get(map, "value"));

	if (value)
		json_set(map, "value", directive_coerce(value, true));
	return map;
}

/* <input name="x">value</input>, or <x>value</x>. */
static json_t *hook_inputs(const json_t *node)
{
	const json_t *kids = json_object_get(node, "kids");
	json_t *map = json_object();

	for (size_t i = 0; i < json_array_size(kids); i++) {
		const json_t *kid = json_array_get(kids, i);
		const char *name = json_str(json_object_get(kid, "attrs"), "name");

		json_sets(map, *name ? name : xml_tag(kid), value_of(kid));
	}
	return map;
}

static void hook_child(json_t *hook, const json_t *kid)
{
	const char *tag = xml_tag(kid);

	if (!strcmp(tag, "condition"))
		json_set(hook, tag, condition(kid));
	else if (!strcmp(tag, "action"))
		hook_action(hook, kid);
	else if (!strcmp(tag, "inputs"))
		json_set(hook, tag, hook_inputs(kid));
	else if (*xml_text(kid))
		json_sets(hook, tag, xml_text(kid));
}

json_t *directive_hooks(const json_t *hooks)
{
	const json_t *nodes = json_object_get(hooks, "kids");
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(nodes); i++) {
		const json_t *node = json_array_get(nodes, i);
		const json_t *kids = json_object_get(node, "kids");
		json_t *hook = json_copy(json_object_get(node, "attrs"));

		if (*xml_text(node))
			json_sets(hook, "content", xml_text(node));
		for (size_t k = 0; k < json_array_size(kids); k++)
			hook_child(hook, json_array_get(kids, k));
		json_array_append_new(list, hook);
	}
	return list;
}
