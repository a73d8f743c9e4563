/* SPDX-License-Identifier: MIT */
/*
 * Schemas made of others: allOf, anyOf, oneOf, not, if, dependentSchemas, and what references lead to
 * (schema_ref.c). What is only tried tells no faults. Recursive with schema.c, which bounds depth and
 * work. Pure.
 */
#include "schema/schema_inner.h"

#include "base/json.h"
#include "scope.h"
#include "str.h"

bool schema_tries(struct schema_check *c, const json_t *schema, const json_t *value)
{
	size_t faults = c->faults, from = c->trial_from;
	bool fits;

	c->trial++;
	c->trial_from = faults;
	schema_check_value(c, schema, value);
	fits = c->faults == faults;
	c->trial--;
	c->trial_from = from;
	c->faults = faults;
	return fits;
}

static void check_every(struct schema_check *c, const json_t *list, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		schema_check_value(c, json_array_get(list, i), value);
}

static size_t count_fits(struct schema_check *c, const json_t *list, const json_t *value,
			 size_t enough)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(list) && n < enough; i++)
		n += schema_tries(c, json_array_get(list, i), value);
	return n;
}

static void check_choices(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const json_t *any = json_object_get(schema, "anyOf"),
		     *one = json_object_get(schema, "oneOf");

	if (json_is_array(any) && !count_fits(c, any, value, 1))
		schema_issue(c, "fits no schema of anyOf");
	if (!json_is_array(one))
		return;
	switch (count_fits(c, one, value, 2)) {
	case 0:
		schema_issue(c, "fits no schema of oneOf");
		break;
	case 1:
		break;
	default:
		schema_issue(c, "fits more than one schema of oneOf");
	}
}

static void check_conditions(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const json_t *unwanted = json_object_get(schema, "not"),
		     *when = json_object_get(schema, "if"), *then;

	if (unwanted && schema_tries(c, unwanted, value))
		schema_issue(c, "is what it must not be (not)");
	if (!when)
		return;
	then = json_object_get(schema, schema_tries(c, when, value) ? "then" : "else");
	if (then)
		schema_check_value(c, then, value);
}

const json_t *schema_dependent(const json_t *schema, const char *key)
{
	const json_t *rule = json_object_get(json_object_get(schema, "dependentSchemas"), key);

	/* until 2019 one word stood for both sorts of dependencies */
	return rule ? rule : json_object_get(json_object_get(schema, "dependencies"), key);
}

/* A list names fields, anything else is a schema. */
static void check_dependents(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const char *key;
	json_t *member;

	if (!json_object_get(schema, "dependentSchemas") &&
	    !json_object_get(schema, "dependencies"))
		return;
	json_object_foreach((json_t *)value, key, member) {
		const json_t *rule = schema_dependent(schema, key);

		if (rule && !json_is_array(rule))
			schema_check_value(c, rule, value);
	}
}

static void check_reference(struct schema_check *c, const json_t *schema, enum schema_ref which,
			    const json_t *value)
{
	struct schema_scope scope;
	const json_t *target = schema_reference(c, schema, which, &scope);

	if (!target)
		return;
	c->scope = &scope;
	schema_check_value(c, target, value);
	c->scope = scope.outer;
}

void schema_check_logic(struct schema_check *c, const json_t *schema, const json_t *value)
{
	c->inside++;
	check_every(c, json_object_get(schema, "allOf"), value);
	check_choices(c, schema, value);
	check_conditions(c, schema, value);
	check_dependents(c, schema, value);
	for (enum schema_ref which = 0; which < SCHEMA_REFS; which++)
		check_reference(c, schema, which, value);
	c->inside--;
}
