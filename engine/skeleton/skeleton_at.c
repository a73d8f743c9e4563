/* SPDX-License-Identifier: MIT */
/*
 * Skeletons by the path of a file that is to be, as a mount shows them. Pure.
 */
#include "skeleton/skeleton.h"

#include "base/id.h"
#include "err.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <string.h>

/* The row of a file's name, and its id without the end; NULL: the name is no such file's. */
static const struct skeleton *row_at(const char *kind, const char *name, char **ret_id)
{
	size_t n_rows;
	const struct skeleton *rows = skeleton_rows(&n_rows);

	for (size_t i = 0; i < n_rows; i++) {
		size_t n = strlen(name), end = strlen(rows[i].ext);

		if (strcmp(rows[i].kind, kind) != 0 || n <= end ||
		    strcmp(name + n - end, rows[i].ext) != 0)
			continue;
		*ret_id = strndup(name, n - end);
		return *ret_id ? &rows[i] : NULL;
	}
	return NULL;
}

static bool is_kind(const char *word)
{
	return skeleton_find(word, NULL) != NULL;
}

int skeleton_at(const char *path, struct rye_blob **ret, struct rye_err *err)
{
	const char *slash = strchr(path, '/');
	auto_free char *kind = strndup(path, slash ? (size_t)(slash - path) : strlen(path));
	auto_free char *id = NULL, *fit = NULL, *text = NULL;
	const struct skeleton *row;

	*ret = NULL;
	if (!kind)
		return memory_fail(err);
	if (!is_kind(kind))
		return rye_fail(err, RYE_NOT_FOUND, "%s is nothing that can be begun", kind);
	row = slash ? row_at(kind, slash + 1, &id) : NULL;
	/* a directory; its name has no dot, so that a file of a language that there is not is none */
	if (!row && (!slash || (!id_check(span_of(slash + 1), NULL) && !strchr(slash, '.'))))
		return 0;
	if (!row)
		return rye_fail(err, RYE_NOT_FOUND, "there is no such skeleton: %s", path);
	fit = skeleton_id(row, id);
	if (!fit || strcmp(fit, id) != 0)
		return rye_fail(err, RYE_INVALID, "%s is no good name: %s; %s is one", id,
				skeleton_wanted(row), fit ? fit : "another");
	text = skeleton_fill(row->text, id);
	*ret = text ? rye_blob_new(text, strlen(text)) : NULL;
	return *ret ? 0 : memory_fail(err);
}
