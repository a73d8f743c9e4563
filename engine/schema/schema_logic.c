/* SPDX-License-Identifier: MIT */
/*
 * Schemas made of others: allOf, anyOf, oneOf, not, if, dependentSchemas, and $ref to a part of the
 * same document. No other document is ever looked for. What is only tried tells no faults. Recursive with schema.c,
 * which bounds depth and work. Pure.
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

/* ---- references ---- */

static int pointer_hex(char c)
{
	return c >= '0' && c <= '9'		  ? c - '0' :
	       (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 :
						    -1;
}

/* The next word of a pointer, "a~1b%20c" → "a/b c"; *at moves behind it. */
static void pointer_word(const char **at, struct rye_buf *ret)
{
	const char *p = *at;

	buf_clear(ret);
	buf_adds(ret, "");
	for (; *p && *p != '/'; p++) {
		if (*p == '%' && pointer_hex(p[1]) >= 0 && pointer_hex(p[2]) >= 0) {
			buf_addc(ret, (char)(pointer_hex(p[1]) * 16 + pointer_hex(p[2])));
			p += 2;
		} else if (*p == '~' && (p[1] == '0' || p[1] == '1')) {
			buf_addc(ret, *++p == '0' ? '~' : '/');
		} else {
			buf_addc(ret, *p);
		}
	}
	*at = p;
}

static const json_t *pointer_step(const json_t *from, const char *word)
{
	char *end;
	unsigned long n;

	if (!json_is_array(from))
		return json_object_get(from, word);
	n = strtoul(word, &end, 10);
	return *word >= '0' && *word <= '9' && !*end ? json_array_get(from, n) : NULL;
}

/* What "#/$defs/name" leads to; NULL: nothing. */
static const json_t *pointer_target(const json_t *root, const char *pointer)
{
	auto_buf struct rye_buf word = RYE_BUF_INIT;

	while (root && *pointer == '/') {
		pointer++;
		pointer_word(&pointer, &word);
		root = word.failed ? NULL : pointer_step(root, word.data);
	}
	return *pointer ? NULL : root;
}

const json_t *schema_reference(struct schema_check *c, const json_t *schema)
{
	const char *ref = json_string_value(json_object_get(schema, "$ref"));
	const json_t *target;

	if (!ref)
		return NULL;
	if (*ref != '#') {
		schema_stop(c,
			    "cannot be checked: $ref %.120s is another document: none is fetched",
			    ref);
		return NULL;
	}
	target = pointer_target(c->root, ref + 1);
	if (!target)
		schema_stop(c, "cannot be checked: $ref %.120s leads nowhere", ref);
	return target;
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

void schema_check_logic(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const json_t *target;

	c->inside++;
	check_every(c, json_object_get(schema, "allOf"), value);
	check_choices(c, schema, value);
	check_conditions(c, schema, value);
	check_dependents(c, schema, value);
	target = schema_reference(c, schema);
	if (target)
		schema_check_value(c, target, value);
	c->inside--;
}
