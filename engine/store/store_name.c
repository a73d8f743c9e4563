/* SPDX-License-Identifier: MIT */
/* The names of objects, the same in every store: what stands in each file system and each URL as it is. Pure. */
#include "store/store_inner.h"

#include "str.h"

static bool part_is_good(struct rye_span part)
{
	if (!part.len || span_eq(part, ".") || span_eq(part, ".."))
		return false;
	for (size_t i = 0; i < part.len; i++)
		if (!strchr("0123456789abcdefghijklmnopqrstuvwxyz.-", part.ptr[i]))
			return false;
	return true;
}

int store_name_check(const char *name, struct rye_err *err)
{
	struct rye_span rest = span_of(name);
	bool good = rest.len <= STORE_NAME_MAX;

	while (good) {
		ssize_t slash = span_find(rest, 0, "/");
		size_t len = slash < 0 ? rest.len : (size_t)slash;

		good = part_is_good((struct rye_span){ rest.ptr, len });
		if (slash < 0)
			break;
		rest = span_skip(rest, len + 1);
	}
	if (!good)
		return rye_fail(err, RYE_INVALID,
				"'%s' names no object of a store: wanted are parts of [0-9a-z.-]",
				name);
	return 0;
}
