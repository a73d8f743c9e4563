/* SPDX-License-Identifier: MIT */
/*
 * Filters: a text is what the value has to be, behind '!' what it may not be, behind a
 * comparison its bound (numbers and dotted versions by value, all else bytewise); a list is any
 * of its members, on both sides. Pure.
 */
#include "search/search.h"

#include "clock.h"
#include "item/item.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>

int filter_check(const json_t *filters, struct rye_err *err)
{
	json_t *object = (json_t *)filters, *value;
	const char *key;

	if (filters && !json_is_object(filters))
		return rye_fail(err, RYE_INVALID, "filters: wanted an object of metadata names");
	json_object_foreach(object, key, value)
		if (json_is_object(value))
			return rye_fail(err, RYE_INVALID,
					"filters: %.100s: wanted a text, number, boolean or list",
					key);
	return 0;
}

/* Runs of digits by value, everything else by byte: 1.10 is more than 1.9. */
static int filter_compare(const char *a, const char *b)
{
	while (*a && *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			char *a_end, *b_end;
			unsigned long long x = strtoull(a, &a_end, 10), y = strtoull(b, &b_end, 10);

			if (x != y)
				return x < y ? -1 : 1;
			a = a_end;
			b = b_end;
			continue;
		}
		if (*a != *b)
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		a++;
		b++;
	}
	return *a ? 1 : *b ? -1 : 0;
}

static bool text_holds(const char *wanted, const char *have)
{
	if (*wanted == '!')
		return strcasecmp(wanted + 1, have) != 0;
	if (!strncmp(wanted, ">=", 2))
		return filter_compare(have, wanted + 2) >= 0;
	if (!strncmp(wanted, "<=", 2))
		return filter_compare(have, wanted + 2) <= 0;
	if (*wanted == '>')
		return filter_compare(have, wanted + 1) > 0;
	if (*wanted == '<')
		return filter_compare(have, wanted + 1) < 0;
	return !strcasecmp(wanted, have);
}

/* A scalar as text; "" for what is none. */
static void filter_text_of(const json_t *value, struct rye_buf *buf)
{
	if (json_is_string(value))
		buf_adds(buf, json_string_value(value));
	else if (value && !json_is_object(value) && !json_is_array(value))
		json_put(buf, value, false);
	buf_adds(buf, "");
}

static bool scalar_holds(const json_t *wanted, const json_t *have)
{
	auto_buf struct rye_buf x = RYE_BUF_INIT, y = RYE_BUF_INIT;

	filter_text_of(wanted, &x);
	filter_text_of(have, &y);
	return !x.failed && !y.failed && text_holds(x.data, y.data);
}

/* A negation has to hold for all members, anything else for one. */
static bool value_holds(const json_t *wanted, const json_t *have)
{
	const char *text = json_string_value(wanted);
	bool all = text && *text == '!';

	if (!json_is_array(have))
		return scalar_holds(wanted, have);
	for (size_t i = 0; i < json_array_size(have); i++)
		if (scalar_holds(wanted, json_array_get(have, i)) != all)
			return !all;
	return all;
}

static bool date_holds(const char *key, const json_t *wanted, const struct rye_item *item)
{
	char day[24];

	clock_stamp(item->st.st_mtim.tv_sec, day);
	day[strlen("2026-01-02")] = 0;
	if (!json_is_string(wanted))
		return true;
	return !strcmp(key, "date_from") ? strncmp(day, json_string_value(wanted), 10) >= 0 :
					   strncmp(day, json_string_value(wanted), 10) <= 0;
}

static bool member_holds(const char *key, const json_t *wanted, const struct rye_item *item)
{
	const json_t *have;

	if (!strcmp(key, "date_from") || !strcmp(key, "date_to"))
		return date_holds(key, wanted, item);
	have = meta_get(item, key);
	if (!json_is_array(wanted))
		return value_holds(wanted, have);
	for (size_t i = 0; i < json_array_size(wanted); i++)
		if (value_holds(json_array_get(wanted, i), have))
			return true;
	return false;
}

bool filter_match(const json_t *filters, const struct rye_item *item)
{
	json_t *object = (json_t *)filters, *value;
	const char *key;

	json_object_foreach(object, key, value)
		if (!member_holds(key, value, item))
			return false;
	return true;
}
