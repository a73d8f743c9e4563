/* SPDX-License-Identifier: MIT */
/*
 * A folder that was read, given another name, or compared with what an installer has noted of it. The
 * digest of skills-lock.json is over paths and bytes without anything between them, in the order of the
 * installer's language: it finds what has changed, and is no signature. Pure; no lock.
 */
#include "cli/skill/skill_words.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- another name ---- */

static struct folder_file *text_of(struct folder *folder)
{
	return (struct folder_file *)folder_find(folder, SKILL_TEXT);
}

/* The line of the metadata that says the name, without its line's end. */
static bool name_line(struct rye_span text, struct rye_span *ret)
{
	struct rye_span rest = text, line;

	span_line(&rest, &line);
	while (span_line(&rest, &line) && !span_starts(line, "---"))
		if (span_starts(line, "name:")) {
			if (line.len && line.ptr[line.len - 1] == '\r')
				line.len--;
			*ret = line;
			return true;
		}
	return false;
}

int folder_rename(struct folder *folder, const char *name, struct rye_err *err)
{
	struct folder_file *file = text_of(folder);
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct rye_span text, line;
	struct rye_blob *blob;

	if (!file)
		return 0;
	text = (struct rye_span){ file->blob->data, file->blob->len };
	if (!name_line(text, &line))
		return rye_fail(err, RYE_INVALID,
				SKILL_TEXT ": no line of its metadata begins with name:");
	buf_add(&out, text.ptr, (size_t)(line.ptr - text.ptr));
	buf_addf(&out, "name: %s", name);
	buf_addspan(&out, span_skip(text, (size_t)(line.ptr - text.ptr) + line.len));
	blob = buf_blob(&out);
	if (!blob)
		return memory_fail(err);
	folder->bytes += blob->len - file->blob->len;
	rye_blob_unref(file->blob);
	file->blob = blob;
	return 0;
}

/* ---- the digest of an installer ---- */

static int weight(char c)
{
	static const char order[] = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
				    "0123456789abcdefghijklmnopqrstuvwxyz";
	const char *at = c ? strchr(order, tolower((unsigned char)c)) : NULL;

	return at ? (int)(at - order) + 1 : 0;
}

/* As localeCompare of JavaScript orders ASCII: letters by the alphabet, small ones first where all else
 * is equal. */
static int by_alphabet(const void *a, const void *b)
{
	const char *x = (*(const struct folder_file *const *)a)->path;
	const char *y = (*(const struct folder_file *const *)b)->path;
	size_t i = 0;

	while (x[i] && weight(x[i]) == weight(y[i]))
		i++;
	if (x[i] || y[i])
		return weight(x[i]) - weight(y[i]);
	return -strcmp(x, y);
}

static void digest_of(const struct folder_file *const *v, size_t n, char ret[SHA_HEX])
{
	struct sha_run *run = sha_run_new();

	*ret = 0;
	for (size_t i = 0; run && i < n; i++) {
		sha_run_add(run, span_of(v[i]->path));
		sha_run_add(run, (struct rye_span){ v[i]->blob->data, v[i]->blob->len });
	}
	if (run)
		sha_run_hex(run, ret);
	sha_run_free(run);
}

bool folder_is_locked(const struct folder *folder, const char hash[SHA_HEX])
{
	auto_free const struct folder_file **v = calloc(folder->n + 1, sizeof(*v));
	char found[SHA_HEX];
	size_t n = 0;

	for (size_t i = 0; v && i < folder->n; i++)
		if (!folder->v[i].was_link && !strstr(folder->v[i].path, "node_modules/"))
			v[n++] = &folder->v[i];
	if (!v)
		return false;
	digest_of(v, n, found);
	if (!strcmp(found, hash))
		return true;
	qsort(v, n, sizeof(*v), by_alphabet);
	digest_of(v, n, found);
	return !strcmp(found, hash);
}
