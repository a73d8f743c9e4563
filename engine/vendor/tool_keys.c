/* SPDX-License-Identifier: MIT */
/*
 * Arguments of a call between the tool's own schema and what the model was told of it: keys that the
 * wire spells anew, null for what is left out, objects as texts. Both walk the tool's own schema. Pure, bounded.
 */
#include "vendor/vendor_inner.h"

#include "scope.h"
#include "str.h"

struct keying {
	const struct wire_rules *rules;
	const json_t *root;
	bool to_wire;
	bool strict; /* null stands for what is left out */
	bool texts; /* objects may come as texts */
	unsigned parts;
};

static void keys_in(struct keying *k, const json_t *schema, json_t *value, int depth);

static bool takes_null(const json_t *schema)
{
	const json_t *branch, *any = json_object_get(schema, "anyOf");
	size_t i;

	if (!any)
		any = json_object_get(schema, "oneOf");
	json_array_foreach(any, i, branch)
		if (schema_is(branch, "null"))
			return true;
	return schema_is(schema, "null");
}

/* A text where an object is wanted, if it is one. */
static void object_of_text(json_t *object, const char *key, const json_t *schema)
{
	struct rye_span text = span_of(json_str(object, key));
	struct rye_err err = { 0 };
	json_t *value;

	if (!text.len || !schema_is(schema, "object") || schema_is(schema, "string"))
		return;
	value = json_parse(text, JSON_LOAD_LAST_WINS, "argument", &err);
	if (value)
		json_object_set_new(object, key, value);
}

static void key_member(struct keying *k, const json_t *schema, const char *key, json_t *object)
{
	const json_t *own = json_object_get(json_object_get(schema, "properties"), key);
	char spelt[RULE_TEXT_SIZE];
	const char *from, *to;
	json_t *value;

	rule_spell(&k->rules->key, key, spelt);
	from = k->to_wire ? key : spelt;
	to = k->to_wire ? spelt : key;
	value = json_object_get(object, from);
	if (!value)
		return;
	if (strcmp(from, to) != 0 && !json_object_get(object, to)) {
		json_object_set(object, to, value);
		json_object_del(object, from);
	}
	if (k->strict && !k->to_wire && json_is_null(json_object_get(object, to)) &&
	    !json_lists(json_object_get(schema, "required"), key) && !takes_null(own))
		json_object_del(object, to);
	if (k->texts && !k->to_wire)
		object_of_text(object, to, own);
}

static void key_object(struct keying *k, const json_t *schema, json_t *object, int depth)
{
	json_t *properties = json_object_get(schema, "properties"), *own;
	char spelt[RULE_TEXT_SIZE];
	const char *key;

	json_object_foreach(properties, key, own) {
		key_member(k, schema, key, object);
		rule_spell(&k->rules->key, key, spelt);
		keys_in(k, own, json_object_get(object, k->to_wire ? spelt : key), depth + 1);
	}
}

static void key_branches(struct keying *k, const json_t *schema, json_t *value, int depth)
{
	static const char *const lists[] = { "allOf", "anyOf", "oneOf" };
	const json_t *branch;
	size_t i;

	for (size_t n = 0; n < ARRAY_SIZE(lists); n++)
		json_array_foreach(json_object_get(schema, lists[n]), i, branch)
			keys_in(k, branch, value, depth + 1);
}

static void keys_in(struct keying *k, const json_t *schema, json_t *value, int depth)
{
	auto_json json_t *whole = schema_in_place(k->root, schema, json_str(schema, "$ref"));
	const json_t *items = json_object_get(whole ? whole : schema, "items");
	json_t *one;
	size_t i;

	if (depth > MEND_DEPTH || (!json_is_object(value) && !json_is_array(value)) ||
	    ++k->parts > MEND_PARTS)
		return;
	if (whole)
		schema = whole;
	if (json_is_object(value))
		key_object(k, schema, value, depth);
	json_array_foreach(value, i, one)
		keys_in(k, json_is_array(items) ? json_array_get(items, i) : items, one, depth + 1);
	key_branches(k, schema, value, depth);
}

static void key_arguments(const struct tool_telling *how, const json_t *tool, json_t *arguments,
			  bool to_wire)
{
	auto_json json_t *strict = schema_strict(how, tool);
	struct keying k = { .rules = how->rules,
			    .root = json_object_get(tool, "schema"),
			    .to_wire = to_wire,
			    .strict = strict,
			    .texts = how->words == WORDS_SUBSET };

	if (tool && arguments)
		keys_in(&k, k.root, arguments, 0);
}

void arguments_to_wire(const struct tool_telling *how, const json_t *tools, const char *name,
		       json_t *arguments)
{
	key_arguments(how, json_find(tools, "name", name), arguments, true);
}

void arguments_from_wire(const struct tool_telling *how, const json_t *tools, const char *name,
			 json_t *arguments)
{
	key_arguments(how, json_find(tools, "name", name), arguments, false);
}
