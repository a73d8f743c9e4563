/* SPDX-License-Identifier: MIT */
/*
 * Permissions and patterns: the first line is a text, the second a pattern, which match as a plain
 * recursive reading of the rules says; the rest is JSON, {"permissions", "parent", "limits", "risk"}.
 * A child keeps only what its parent has or covers.
 */
#include "policy/policy.h"
#include "scope.h"
#include "str.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where the set that begins the pattern closes; 0: it begins with none. */
static size_t slow_close(struct rye_span pattern)
{
	size_t at = 1;

	if (*pattern.ptr != '[')
		return 0;
	at += at < pattern.len && pattern.ptr[at] == '!';
	at += at < pattern.len && pattern.ptr[at] == ']';
	while (at < pattern.len && pattern.ptr[at] != ']')
		at++;
	return at < pattern.len ? at : 0;
}

static bool slow_set(struct rye_span set, unsigned char c)
{
	bool negated = set.len && *set.ptr == '!', found = false;

	for (size_t i = negated; i < set.len; i++) {
		bool range = i + 2 < set.len && set.ptr[i + 1] == '-';
		unsigned char low = (unsigned char)set.ptr[i];
		unsigned char high = range ? (unsigned char)set.ptr[i + 2] : low;

		found |= low <= c && c <= high;
		i += range ? 2 : 0;
	}
	return found != negated;
}

/* As the rules are written; takes for ever on long ones. */
static bool slow_match(struct rye_span text, struct rye_span pattern)
{
	size_t close, n = 1;
	bool one;

	if (!pattern.len)
		return !text.len;
	if (*pattern.ptr == '*')
		return slow_match(text, span_skip(pattern, 1)) ||
		       (text.len && slow_match(span_skip(text, 1), pattern));
	if (!text.len)
		return false;
	close = slow_close(pattern);
	if (close) {
		one = slow_set((struct rye_span){ pattern.ptr + 1, close - 1 },
			       (unsigned char)*text.ptr);
		n = close + 1;
	} else {
		one = *pattern.ptr == '?' || *pattern.ptr == *text.ptr;
	}
	return one && slow_match(span_skip(text, 1), span_skip(pattern, n));
}

static void check_children(const json_t *doc)
{
	const json_t *parent = json_object_get(doc, "parent");
	auto_json json_t *declared = NULL, *kept = NULL;
	json_t *element;
	size_t i;

	if (capabilities_of(json_object_get(doc, "permissions"), &declared, NULL))
		return;
	kept = capabilities_attenuate(declared, parent);
	json_array_foreach(kept, i, element) {
		const char *text = json_string_value(element);

		if (parent && !json_lists(parent, text) && !capabilities_cover(parent, text))
			abort();
	}
	risk_check(&(struct risk_ask){ .config = json_object_get(doc, "risk"),
				       .capabilities = kept,
				       .acknowledged = json_object_get(doc, "acknowledged") },
		   NULL, NULL);
}

static void check_limits(const json_t *doc)
{
	auto_json json_t *again = NULL;
	struct limits limits, same;

	if (limits_resolve(&(struct limits_ask){ .directive = json_object_get(doc, "limits") },
			   &limits, NULL))
		return;
	again = limits_json(&limits);
	if (limits_read(again, &same, NULL) || memcmp(limits.value, same.value, sizeof(same.value)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rye_span rest = { (const char *)data, size }, text = { "", 0 }, pattern = { "", 0 };
	auto_json json_t *doc = NULL;

	span_line(&rest, &text);
	span_line(&rest, &pattern);
	if (text.len < 12 && pattern.len < 12 &&
	    capability_match(text, pattern) != slow_match(text, pattern))
		abort();
	capability_match(text, pattern);
	doc = json_parse(rest, 0, "rest", NULL);
	if (doc) {
		check_children(doc);
		check_limits(doc);
	}
	return 0;
}
