/* SPDX-License-Identifier: MIT */
/*
 * The operators of conditions, as a table. Values come from runs and callers: nothing here fails,
 * what cannot be compared is false, and a pattern has bounded time (format/regex.c).
 */
#include "expr/expr.h"

#include "format/format.h"
#include "scope.h"

#include <string.h>

static bool is_number(const json_t *value)
{
	return json_is_number(value) || json_is_boolean(value);
}

static double as_number(const json_t *value)
{
	return json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
}

static bool equal_lists(const json_t *a, const json_t *b)
{
	if (json_array_size(a) != json_array_size(b))
		return false;
	for (size_t i = 0; i < json_array_size(a); i++)
		if (!expr_equal(json_array_get(a, i), json_array_get(b, i)))
			return false;
	return true;
}

static bool equal_objects(const json_t *a, const json_t *b)
{
	const char *key;
	json_t *value;

	if (json_object_size(a) != json_object_size(b))
		return false;
	json_object_foreach((json_t *)a, key, value) {
		const json_t *other = json_object_get(b, key);

		if (!other || !expr_equal(value, other))
			return false;
	}
	return true;
}

bool expr_equal(const json_t *a, const json_t *b)
{
	bool null_a = !a || json_is_null(a), null_b = !b || json_is_null(b);

	if (null_a || null_b)
		return null_a && null_b;
	if (json_is_integer(a) && json_is_integer(b))
		return json_integer_value(a) == json_integer_value(b);
	if (is_number(a) && is_number(b))
		return as_number(a) == as_number(b);
	if (json_is_array(a) && json_is_array(b))
		return equal_lists(a, b);
	if (json_is_object(a) && json_is_object(b))
		return equal_objects(a, b);
	return json_equal(a, b);
}

/* Less than, equal to, greater than 0; false: there is no order. */
static bool compare_order(const json_t *a, const json_t *b, int *ret)
{
	if (json_is_integer(a) && json_is_integer(b)) {
		json_int_t x = json_integer_value(a), y = json_integer_value(b);

		*ret = (x > y) - (x < y);
		return true;
	}
	if (is_number(a) && is_number(b)) {
		*ret = (as_number(a) > as_number(b)) - (as_number(a) < as_number(b));
		return true;
	}
	if (!json_is_string(a) || !json_is_string(b))
		return false;
	/* UTF-8 is ordered as its code points are */
	*ret = strcmp(json_string_value(a), json_string_value(b));
	return true;
}

static bool op_eq(const json_t *a, const json_t *b)
{
	return expr_equal(a, b);
}

static bool op_ne(const json_t *a, const json_t *b)
{
	return !expr_equal(a, b);
}

static bool op_gt(const json_t *a, const json_t *b)
{
	int order;

	return compare_order(a, b, &order) && order > 0;
}

static bool op_gte(const json_t *a, const json_t *b)
{
	int order;

	return compare_order(a, b, &order) && order >= 0;
}

static bool op_lt(const json_t *a, const json_t *b)
{
	int order;

	return compare_order(a, b, &order) && order < 0;
}

static bool op_lte(const json_t *a, const json_t *b)
{
	int order;

	return compare_order(a, b, &order) && order <= 0;
}

static bool op_in(const json_t *a, const json_t *list)
{
	const json_t *element;
	size_t i;

	if (!json_is_array(list))
		return false;
	json_array_foreach(list, i, element) {
		if (expr_equal(a, element))
			return true;
	}
	return false;
}

static bool op_contains(const json_t *a, const json_t *b)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT, part = RYE_BUF_INIT;

	if (!a)
		return false;
	buf_adds(&text, "");
	buf_adds(&part, "");
	json_python_str(&text, a);
	json_python_str(&part, b ? b : json_null());
	return !text.failed && !part.failed && strstr(text.data, part.data);
}

static bool op_regex(const json_t *a, const json_t *pattern)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (!a || !json_is_string(pattern))
		return false;
	buf_adds(&text, "");
	json_python_str(&text, a);
	return !text.failed &&
	       text_matches(json_string_value(pattern), (struct rye_span){ text.data, text.len });
}

static bool op_exists(const json_t *a, const json_t *b)
{
	(void)b;
	return a;
}

struct operator_row {
	const char *name;
	bool (*holds)(const json_t *a, const json_t *b);
};

static const struct operator_row operators[] = {
	{ "eq", op_eq },       { "ne", op_ne },
	{ "gt", op_gt },       { "gte", op_gte },
	{ "lt", op_lt },       { "lte", op_lte },
	{ "in", op_in },       { "contains", op_contains },
	{ "regex", op_regex }, { "exists", op_exists },
};

static const struct operator_row *operator_row(const char *op)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (!strcmp(operators[i].name, op))
			return &operators[i];
	return NULL;
}

const char *expr_operator_name(size_t n)
{
	return n < ARRAY_SIZE(operators) ? operators[n].name : NULL;
}

bool expr_operator_known(const char *op)
{
	return operator_row(op);
}

bool expr_compare(const char *op, const json_t *actual, const json_t *value)
{
	const struct operator_row *row = operator_row(op);

	return row && row->holds(json_is_null(actual) ? NULL : actual, value);
}
