/* SPDX-License-Identifier: MIT */
/*
 * The list of what a veil lies over. Made by one thread, then read by the child that makes the
 * namespace. No lock, no state.
 */
#include "sandbox/sandbox_inner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Each is a mount. */
#define ROWS_MAX 4096

void veil_rows_done(struct veil_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		free(rows->v[i].path);
	free(rows->v);
	*rows = (struct veil_rows){ 0 };
}

void veil_rows_fail(struct veil_rows *rows, int sys)
{
	if (!rows->failed)
		rows->sys = sys;
	rows->failed = true;
}

bool veil_rows_has(const struct veil_rows *rows, enum veil_how how, const char *path)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->v[i].how == how && !strcmp(rows->v[i].path, path))
			return true;
	return false;
}

void veil_rows_add(struct veil_rows *rows, enum veil_how how, const char *path)
{
	char *copy;

	if (rows->failed || veil_rows_has(rows, how, path))
		return;
	if (rows->n == rows->size) {
		size_t size = rows->size ? rows->size * 2 : 32;
		struct veil_row *v = size <= ROWS_MAX ? realloc(rows->v, size * sizeof(*v)) : NULL;

		if (!v) {
			veil_rows_fail(rows, size <= ROWS_MAX ? ENOMEM : E2BIG);
			return;
		}
		rows->v = v;
		rows->size = size;
	}
	copy = strdup(path);
	rows->failed = !copy;
	if (copy)
		rows->v[rows->n++] = (struct veil_row){ how, copy };
}

void veil_rows_below(struct veil_rows *rows, enum veil_how how, const char *dir, const char *name)
{
	char *path = NULL;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		rows->failed = true;
	else
		veil_rows_add(rows, how, path);
	free(path);
}
