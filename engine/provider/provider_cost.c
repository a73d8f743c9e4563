/* SPDX-License-Identifier: MIT */
/*
 * What an attempt used, where the item says in which members a server tells it; and what it cost: one
 * price row for all of it, chosen by the day and by how long the whole input was. Pure.
 */
#include "provider/provider_inner.h"

#include "expr/expr.h"
#include "scope.h"

#include <string.h>

/* More tokens than this are no count, and sums of them no numbers. */
#define COUNT_MOST 1e15

bool usage_count(const json_t *doc, const char *path, json_int_t *count)
{
	const json_t *value = path && *path ? expr_path(doc, span_of(path)) : NULL;

	if (!json_is_number(value) || json_number_value(value) < 0 ||
	    json_number_value(value) > COUNT_MOST)
		return false;
	*count = (json_int_t)json_number_value(value);
	return true;
}

static bool take_counts(const json_t *doc, const struct usage_paths *paths,
			struct provider_usage *use)
{
	json_int_t cached = paths->cached_apart ? 0 : use->cache_read + use->cache_write;
	json_int_t input = use->uncached + cached, more = 0;
	json_int_t output = use->output - (paths->reasoning_apart ? use->reasoning : 0);
	json_int_t written = use->cache_write + use->cache_write_1h;
	bool any = false;

	any |= usage_count(doc, paths->input, &input);
	any |= usage_count(doc, paths->more_input, &more);
	any |= usage_count(doc, paths->cached, &use->cache_read);
	any |= usage_count(doc, paths->cached_too, &use->cache_read);
	any |= usage_count(doc, paths->cache_write, &written);
	any |= usage_count(doc, paths->cache_write_1h, &use->cache_write_1h);
	any |= usage_count(doc, paths->output, &output);
	any |= usage_count(doc, paths->reasoning, &use->reasoning);
	use->cache_write = MAX_OF(written - use->cache_write_1h, 0);
	cached = paths->cached_apart ? 0 : use->cache_read + use->cache_write;
	use->uncached = MAX_OF(input + more - cached, 0);
	use->output = output + (paths->reasoning_apart ? use->reasoning : 0);
	return any;
}

void usage_take(const json_t *usage, const struct usage_paths *paths, struct provider_usage *use)
{
	if (!json_object_size(usage))
		return;
	use->known = true;
	take_counts(usage, paths, use);
}

void usage_by_item(const json_t *item, const json_t *doc, struct provider_usage *use)
{
	const json_t *own = json_object_get(item, "usage");
	struct usage_paths paths = {
		.input = json_str(own, "input"),
		.cached = json_str(own, "cached"),
		.cache_write = json_str(own, "cache_write"),
		.output = json_str(own, "output"),
		.reasoning = json_str(own, "reasoning"),
		.cached_apart = !json_flag(own, "cached_included", true),
		.reasoning_apart = !json_flag(own, "reasoning_included", true),
	};

	if (json_is_object(own) && take_counts(doc, &paths, use))
		use->known = true;
}

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
