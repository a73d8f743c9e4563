/* SPDX-License-Identifier: MIT */
/*
 * What an attempt used, by the members in which the wire, or the item, says that a server tells it. Pure.
 */
#include "wire/wire_inner.h"

#include "expr/expr.h"
#include "scope.h"

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
