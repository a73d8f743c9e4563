/* SPDX-License-Identifier: MIT */
/*
 * unevaluatedProperties, unevaluatedItems: what they say of the fields and items that neither their
 * own schema nor one that it is made of has said anything about. Looks again, field by field, at
 * what was checked before: the steps that this takes are counted. Pure.
 */
#include "schema/schema_inner.h"

#include "base/json.h"
#include "bounds.h"

/* A field, or (key NULL) an item of a list. */
struct unseen_part {
	const char *key;
	size_t i;
	const json_t *whole;
};

static bool schema_sees(struct schema_check *c, const json_t *schema,
			const struct unseen_part *part);

static bool sees_itself(struct schema_check *c, const json_t *schema,
			const struct unseen_part *part)
{
	const json_t *contains = json_object_get(schema, "contains");

	if (!part->key)
		return schema_item_rule(schema, part->i) ||
		       (contains &&
			schema_tries(c, contains, json_array_get(part->whole, part->i)));
	return json_object_get(json_object_get(schema, "properties"), part->key) ||
	       json_object_get(schema, "additionalProperties") ||
	       schema_check_patterns(c, schema, part->key, NULL);
}

/* fits: one that the value does not fit has said nothing. */
static bool sees_by_list(struct schema_check *c, const json_t *list, const struct unseen_part *part,
			 bool fits)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		if ((!fits || schema_tries(c, one, part->whole)) && schema_sees(c, one, part))
			return true;
	}
	return false;
}

static bool sees_by_condition(struct schema_check *c, const json_t *schema,
			      const struct unseen_part *part)
{
	const json_t *when = json_object_get(schema, "if");

	if (!when)
		return false;
	if (!schema_tries(c, when, part->whole))
		return schema_sees(c, json_object_get(schema, "else"), part);
	return schema_sees(c, when, part) || schema_sees(c, json_object_get(schema, "then"), part);
}

static bool sees_by_dependent(struct schema_check *c, const json_t *schema,
			      const struct unseen_part *part)
{
	const char *key;
	json_t *member;

	json_object_foreach((json_t *)part->whole, key, member) {
		if (schema_sees(c, schema_dependent(schema, key), part))
			return true;
	}
	return false;
}

static bool sees_by_others(struct schema_check *c, const json_t *schema,
			   const struct unseen_part *part)
{
	return sees_by_list(c, json_object_get(schema, "allOf"), part, false) ||
	       sees_by_list(c, json_object_get(schema, "anyOf"), part, true) ||
	       sees_by_list(c, json_object_get(schema, "oneOf"), part, true) ||
	       sees_by_condition(c, schema, part) || sees_by_dependent(c, schema, part) ||
	       schema_sees(c, schema_reference(c, schema), part);
}

/* Has this schema, which is part of another, said something about it? */
static bool schema_sees(struct schema_check *c, const json_t *schema,
			const struct unseen_part *part)
{
	const char *rest = part->key ? "unevaluatedProperties" : "unevaluatedItems";
	bool sees;

	if (!json_is_object(schema) || *c->stop)
		return false;
	if (c->depth >= RYE_JSON_DEPTH || ++c->steps > SCHEMA_STEPS) {
		schema_stop(c, "cannot be checked: its schema asks for too much");
		return false;
	}
	c->depth++;
	sees = json_object_get(schema, rest) || sees_itself(c, schema, part) ||
	       sees_by_others(c, schema, part);
	c->depth--;
	return sees;
}

static bool part_is_seen(struct schema_check *c, const json_t *schema,
			 const struct unseen_part *part)
{
	bool seen;

	c->inside++;
	seen = sees_itself(c, schema, part) || sees_by_others(c, schema, part);
	c->inside--;
	return seen || *c->stop;
}

void schema_check_unseen(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const json_t *fields = json_object_get(schema, "unevaluatedProperties");
	const json_t *items = json_object_get(schema, "unevaluatedItems");
	struct unseen_part part = { .whole = value };
	json_t *member;

	if (fields)
		json_object_foreach((json_t *)value, part.key, member) {
			if (!schema_is_full(c) && !part_is_seen(c, schema, &part))
				schema_check_extra(c, fields, part.key, member);
		}
	part.key = NULL;
	for (; items && part.i < json_array_size(value) && !schema_is_full(c); part.i++)
		if (!part_is_seen(c, schema, &part))
			schema_check_item(c, items, value, part.i);
}
