/* SPDX-License-Identifier: MIT */
/*
 * unevaluatedProperties, unevaluatedItems: what they say of the fields and items that neither their
 * own schema nor one that it is made of has said anything about. First which of those the value fits
 * is found out, once, then each field is looked for in them. The steps that this takes are counted. Pure.
 */
#include "schema/schema_inner.h"

#include "base/json.h"
#include "bounds.h"

static void collect_holding(struct schema_check *c, const json_t *schema, const json_t *value,
			    json_t *ret);

/* fits: one that the value does not fit has said nothing. */
static void collect_list(struct schema_check *c, const json_t *list, const json_t *value,
			 json_t *ret, bool fits)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		if (!fits || schema_tries(c, one, value))
			collect_holding(c, one, value, ret);
	}
}

static void collect_conditional(struct schema_check *c, const json_t *schema, const json_t *value,
				json_t *ret)
{
	const json_t *when = json_object_get(schema, "if");
	bool holds = when && schema_tries(c, when, value);

	if (holds)
		collect_holding(c, when, value, ret);
	if (when)
		collect_holding(c, json_object_get(schema, holds ? "then" : "else"), value, ret);
}

static void collect_dependent(struct schema_check *c, const json_t *schema, const json_t *value,
			      json_t *ret)
{
	const char *key;
	json_t *member;

	json_object_foreach((json_t *)value, key, member)
		collect_holding(c, schema_dependent(schema, key), value, ret);
}

static void collect_reference(struct schema_check *c, const json_t *schema, const json_t *value,
			      json_t *ret)
{
	struct schema_scope scope;
	const json_t *target;

	for (enum schema_ref which = 0; which < SCHEMA_REFS; which++) {
		target = schema_reference(c, schema, which, &scope);
		if (!target)
			continue;
		c->scope = &scope;
		collect_holding(c, target, value, ret);
		c->scope = scope.outer;
	}
}

/* Adds the schema, which holds, and those of the ones it is made of that do. */
static void collect_holding(struct schema_check *c, const json_t *schema, const json_t *value,
			    json_t *ret)
{
	const struct schema_scope *before = c->scope;
	struct schema_scope scope;

	if (!json_is_object(schema) || *c->stop)
		return;
	if (c->depth >= RYE_JSON_DEPTH || ++c->steps > SCHEMA_STEPS) {
		schema_stop(c, "cannot be checked: its schema asks for too much");
		return;
	}
	json_array_append(ret, (json_t *)schema);
	c->scope = schema_enter(c, schema, &scope);
	c->depth++;
	collect_list(c, json_object_get(schema, "allOf"), value, ret, false);
	collect_list(c, json_object_get(schema, "anyOf"), value, ret, true);
	collect_list(c, json_object_get(schema, "oneOf"), value, ret, true);
	collect_conditional(c, schema, value, ret);
	collect_dependent(c, schema, value, ret);
	collect_reference(c, schema, value, ret);
	c->depth--;
	c->scope = before;
}

static bool speaks_of_field(struct schema_check *c, const json_t *schema, const char *key)
{
	return json_object_get(json_object_get(schema, "properties"), key) ||
	       json_object_get(schema, "additionalProperties") ||
	       schema_check_patterns(c, schema, key, NULL);
}

static bool speaks_of_item(struct schema_check *c, const json_t *schema, const json_t *list,
			   size_t i)
{
	const json_t *contains = json_object_get(schema, "contains");

	return schema_item_rule(schema, i) ||
	       (contains && schema_tries(c, contains, json_array_get(list, i)));
}

/* The first of them is the schema that asks: what it says of the rest does not count there. */
static bool field_is_seen(struct schema_check *c, const json_t *holding, const char *key)
{
	const json_t *one;
	size_t i;

	json_array_foreach(holding, i, one) {
		if (speaks_of_field(c, one, key) ||
		    (i && json_object_get(one, "unevaluatedProperties")))
			return true;
	}
	return false;
}

static bool item_is_seen(struct schema_check *c, const json_t *holding, const json_t *list,
			 size_t n)
{
	const json_t *one;
	size_t i;

	json_array_foreach(holding, i, one) {
		if (speaks_of_item(c, one, list, n) ||
		    (i && json_object_get(one, "unevaluatedItems")))
			return true;
	}
	return false;
}

void schema_check_unseen(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const json_t *fields = json_object_get(schema, "unevaluatedProperties");
	const json_t *items = json_object_get(schema, "unevaluatedItems");
	auto_json json_t *holding = NULL;
	const char *key;
	json_t *member;

	if (!(fields && json_is_object(value)) && !(items && json_is_array(value)))
		return;
	holding = json_array();
	c->inside++;
	c->depth--; /* it is added as what it is, not as a part */
	collect_holding(c, schema, value, holding);
	c->depth++;
	c->inside--;
	if (fields)
		json_object_foreach((json_t *)value, key, member) {
			if (!schema_is_full(c) && !field_is_seen(c, holding, key))
				schema_check_extra(c, fields, key, member);
		}
	for (size_t i = 0; items && i < json_array_size(value) && !schema_is_full(c); i++)
		if (!item_is_seen(c, holding, value, i))
			schema_check_item(c, items, value, i);
}
