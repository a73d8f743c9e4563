/* SPDX-License-Identifier: MIT */
/*
 * What an attempt cost: one price row for all of it, chosen by the day and by how long the whole input
 * was. Pure.
 */
#include "provider/provider_inner.h"

#include "expr/expr.h"
#include "scope.h"

#include <string.h>

static double price_of(const json_t *row, const char *key, double fallback)
{
	const json_t *value = json_object_get(row, key);

	return json_is_number(value) ? json_number_value(value) : fallback;
}

static bool is_price_row(const json_t *row, const char *day, json_int_t input)
{
	const char *until = json_str(row, "until");
	json_int_t above = json_int(row, "above_input", -1);

	return json_is_object(row) && (!*until || strncmp(day, until, 10) <= 0) && input > above;
}

/* Rows of longer inputs go before the others, those that end sooner before those that stay. */
static bool is_nearer(const json_t *row, const json_t *than)
{
	json_int_t above = json_int(row, "above_input", -1);
	json_int_t other = json_int(than, "above_input", -1);
	const char *until = json_str(row, "until"), *ends = json_str(than, "until");

	if (!than || above != other)
		return !than || above > other;
	return *until && (!*ends || strcmp(until, ends) < 0);
}

static const json_t *find_price(const json_t *pricing, const char *day, json_int_t input)
{
	const json_t *best = NULL, *row;
	size_t i;

	if (json_is_object(pricing))
		return pricing;
	json_array_foreach(pricing, i, row)
		if (is_price_row(row, day, input) && is_nearer(row, best))
			best = row;
	return best;
}

double provider_cost(const struct provider *provider, const struct provider_usage *usage,
		     const char *day)
{
	json_int_t input =
		usage->uncached + usage->cache_read + usage->cache_write + usage->cache_write_1h;
	const json_t *row = find_price(json_object_get(provider->fields, "pricing"), day, input);
	double one = price_of(row, "input", 0);

	return ((double)usage->uncached * one +
		(double)usage->cache_read * price_of(row, "cache_read", one) +
		(double)usage->cache_write * price_of(row, "cache_write", one) +
		(double)usage->cache_write_1h * price_of(row, "cache_write_1h", 2 * one) +
		(double)usage->output * price_of(row, "output", 0)) /
	       1e6;
}
