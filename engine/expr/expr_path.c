/* SPDX-License-Identifier: MIT */
/*
 * Paths into JSON documents. A part names a member of an object or, as a number, an element of a
 * list; "[n]" and ".n" mean the same.
 */
#include "expr/expr.h"

#include <ctype.h>

/* Decimal with an optional '-'; false: it is no number, or of more digits than any list needs. */
static bool index_read(struct rye_span part, json_int_t *ret)
{
	bool minus = part.len && part.ptr[0] == '-';
	json_int_t n = 0;

	if (minus)
		part = span_skip(part, 1);
	if (!part.len || part.len > 9)
		return false;
	for (size_t i = 0; i < part.len; i++) {
		if (!isdigit((unsigned char)part.ptr[i]))
			return false;
		n = n * 10 + (part.ptr[i] - '0');
	}
	*ret = minus ? -n : n;
	return true;
}

static const json_t *path_step(const json_t *at, struct rye_span part)
{
	json_int_t i;

	if (json_is_object(at))
		return json_object_getn(at, part.ptr, part.len);
	if (!json_is_array(at) || !index_read(part, &i))
		return NULL;
	if (i < 0)
		i += (json_int_t)json_array_size(at);
	return i < 0 ? NULL : json_array_get(at, (size_t)i);
}

/* The next part of the path, which moves behind it; false: a bracket does not close. */
static bool path_part(struct rye_span *path, struct rye_span *ret)
{
	size_t n = 0;

	if (path->ptr[0] == '[') {
		ssize_t end = span_find(*path, 1, "]");

		if (end < 0)
			return false;
		*ret = (struct rye_span){ path->ptr + 1, (size_t)end - 1 };
		*path = span_skip(*path, (size_t)end + 1);
	} else {
		while (n < path->len && path->ptr[n] != '.' && path->ptr[n] != '[')
			n++;
		*ret = (struct rye_span){ path->ptr, n };
		*path = span_skip(*path, n);
	}
	if (path->len && path->ptr[0] == '.') {
		*path = span_skip(*path, 1);
		return path->len; /* nothing behind a dot is no path */
	}
	return true;
}

const json_t *expr_path(const json_t *doc, struct rye_span path)
{
	const json_t *at = doc;

	path = span_trim(path);
	while (at && path.len) {
		struct rye_span part;

		if (!path_part(&path, &part))
			return NULL;
		at = path_step(at, part);
	}
	return json_is_null(at) ? NULL : at;
}
