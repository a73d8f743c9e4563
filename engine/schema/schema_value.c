/* SPDX-License-Identifier: MIT */
/*
 * What a schema says of a value by itself: choices, ranges, lengths, patterns. Pure.
 */
#include "schema/schema_inner.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <float.h>

/* One end of a range; side is 1 where more is right. */
struct bound {
	const char *key, *sign;
	int side;
	bool open; /* the limit itself is outside */
};

/* Python's spelling of a value for a message, cut where it gets long. */
static void spell_value(const json_t *value, char ret[160])
{
	auto_buf struct rye_buf text = { .cap = 1 << 16 };

	if (json_is_string(value))
		json_python_repr(&text, (struct rye_span){ json_string_value(value),
							   json_string_length(value) });
	else
		json_python_str(&text, value);
	utf8_cut(text.failed ? "a long value" : text.data, ret, 160);
}

static int schema_compare(const json_t *a, const json_t *b)
{
	double x = json_number_value(a), y = json_number_value(b);

	if (json_is_integer(a) && json_is_integer(b))
		return (json_integer_value(a) > json_integer_value(b)) -
		       (json_integer_value(a) < json_integer_value(b));
	return (x > y) - (x < y);
}

bool schema_is_equal(const json_t *a, const json_t *b)
{
	return json_is_number(a) && json_is_number(b) ? !schema_compare(a, b) : json_equal(a, b);
}

static void check_const(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const json_t *only = json_object_get(schema, "const");
	char shown[160], got[160];

	if (!only || schema_is_equal(only, value))
		return;
	spell_value(only, shown);
	spell_value(value, got);
	schema_issue(c, "must be %s, got %s", shown, got);
}

static void check_enum(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const json_t *choices = json_object_get(schema, "enum");
	char listed[160], got[160];

	if (!json_is_array(choices))
		return;
	for (size_t i = 0; i < json_array_size(choices); i++)
		if (schema_is_equal(json_array_get(choices, i), value))
			return;
	spell_value(choices, listed);
	spell_value(value, got);
	schema_issue(c, "must be one of %s, got %s", listed, got);
}

static void check_bound(struct schema_check *c, const json_t *schema, const json_t *value,
			const struct bound *bound)
{
	const json_t *limit = json_object_get(schema, bound->key);
	char shown[160], got[160];
	int order;

	if (!json_is_number(limit))
		return;
	order = schema_compare(value, limit) * bound->side;
	if (order > 0 || (!order && !bound->open))
		return;
	spell_value(limit, shown);
	spell_value(value, got);
	schema_issue(c, "must be %s %s, got %s", bound->sign, shown, got);
}

static void check_range(struct schema_check *c, const json_t *schema, const json_t *value)
{
	static const struct bound bounds[] = { { "minimum", ">=", 1, false },
					       { "maximum", "<=", -1, false },
					       { "exclusiveMinimum", ">", 1, true },
					       { "exclusiveMaximum", "<", -1, true } };

	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
		check_bound(c, schema, value, &bounds[i]);
}

/* Decimal fractions are no doubles: 0.3 is a multiple of 0.1 all the same. Where a double has no
 * digits behind the point any more, all are. */
static bool number_is_multiple(const json_t *value, const json_t *factor)
{
	double times = json_number_value(value) / json_number_value(factor), off;

	if (json_is_integer(value) && json_is_integer(factor))
		return json_integer_value(value) % json_integer_value(factor) == 0;
	if (times < 0)
		times = -times;
	if (times >= 1 / DBL_EPSILON)
		return true;
	off = times - (double)(json_int_t)(times + 0.5);
	return off <= times * 4 * DBL_EPSILON && -off <= times * 4 * DBL_EPSILON;
}

static void check_multiple(struct schema_check *c, const json_t *schema, const json_t *value)
{
	const json_t *factor = json_object_get(schema, "multipleOf");
	char shown[160], got[160];

	if (!(json_number_value(factor) > 0) || number_is_multiple(value, factor))
		return;
	spell_value(factor, shown);
	spell_value(value, got);
	schema_issue(c, "must be a multiple of %s, got %s", shown, got);
}

void schema_check_count(struct schema_check *c, const json_t *schema, const char *const keys[3],
			json_int_t n)
{
	const json_t *least = json_object_get(schema, keys[0]);
	const json_t *most = json_object_get(schema, keys[1]);

	if (json_is_integer(least) && n < json_integer_value(least))
		schema_issue(c, "must have at least %lld %s, got %lld", json_integer_value(least),
			     keys[2], n);
	if (json_is_integer(most) && n > json_integer_value(most))
		schema_issue(c, "must have at most %lld %s, got %lld", json_integer_value(most),
			     keys[2], n);
}

bool schema_matches(struct schema_check *c, const char *pattern, struct rye_span text)
{
	char shown[160];

	utf8_cut(pattern, shown, sizeof(shown));
	switch (regex_search(&c->regex, pattern, text)) {
	case REGEX_NO_MATCH:
		return false;
	case REGEX_TOO_MUCH:
		schema_issue(c, "cannot be checked against pattern %s: it takes too long", shown);
		return true;
	case REGEX_BAD:
		schema_warn(c->report, "%s: pattern %s is ignored: %s", c->path.data, shown,
			    c->regex.why);
		return true;
	default:
		return true;
	}
}

static void check_pattern(struct schema_check *c, const char *pattern, struct rye_span text)
{
	char shown[160];

	utf8_cut(pattern, shown, sizeof(shown));
	if (!schema_matches(c, pattern, text))
		schema_issue(c, "does not match pattern %s", shown);
}

static void check_string(struct schema_check *c, const json_t *schema, const json_t *value)
{
	static const char *const keys[] = { "minLength", "maxLength", "characters" };
	struct rye_span text = { json_string_value(value), json_string_length(value) };
	const char *pattern = json_string_value(json_object_get(schema, "pattern"));

	schema_check_count(c, schema, keys, (json_int_t)utf8_count(text));
	if (pattern)
		check_pattern(c, pattern, text);
}

void schema_check_scalar(struct schema_check *c, const json_t *schema, const json_t *value)
{
	check_enum(c, schema, value);
	check_const(c, schema, value);
	if (json_is_string(value))
		check_string(c, schema, value);
	if (!json_is_number(value))
		return;
	check_range(c, schema, value);
	check_multiple(c, schema, value);
}
