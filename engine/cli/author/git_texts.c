/* SPDX-License-Identifier: MIT */
/*
 * What git has of an item's file. The repository may be a stranger's: only commands that start no other
 * program are asked (cli.h). Nothing is changed.
 */
#include "cli/author/author.h"

#include "scope.h"
#include "str.h"

#include <string.h>

bool git_has(const char *path)
{
	auto_free char *dir = strndup(path, (size_t)(strrchr(path, '/') - path)), *hash = NULL;
	const char *ask[] = { GIT, dir, "hash-object", "--no-filters", "--", path, NULL };
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const char *look[] = { GIT, dir, "cat-file", "-e", NULL, NULL };

	if (!dir || outside_read(ask, &text) != 0)
		return false;
	hash = span_dup(span_trim(buf_span(&text)));
	look[ARRAY_SIZE(look) - 2] = hash;
	return hash && outside_read(look, &text) == 0;
}

/* ---- what it was before ---- */

/* Fields end in NUL. A merge shows none of its parents' changes again. */
#define GIT_LOG                                                                        \
	"-c", "log.showSignature=false", "-c", "core.quotePath=false", "-c",           \
		"diff.external=", "log", "--follow", "--no-ext-diff", "--no-textconv", \
		"--name-only", "-z", "--format=%x01%H%x00%aI%x00%an%x00%s%x00"

/* The next field of git's answer, to free; NULL: there is none. */
static char *git_field(struct rye_span *rest)
{
	const char *end = rest->len ? memchr(rest->ptr, 0, rest->len) : NULL;
	size_t n = end ? (size_t)(end - rest->ptr) : rest->len;
	char *field = rest->len ? span_dup((struct rye_span){ rest->ptr, n }) : NULL;

	if (rest->len)
		*rest = span_skip(*rest, end ? n + 1 : n);
	return field;
}

static bool git_blob(const char *dir, const char *commit, const char *path, struct rye_buf *ret)
{
	auto_free char *object = NULL;
	const char *show[] = { GIT, dir, "cat-file", "blob", NULL, NULL };

	if (asprintf(&object, "%s:%s", commit, path) < 0) {
		object = NULL;
		return false;
	}
	show[ARRAY_SIZE(show) - 2] = object;
	return outside_read(show, ret) == 0;
}

/* One commit of the answer; false: it ends here. */
static bool git_next(const char *dir, struct rye_span *rest, git_text_fn fn, void *arg)
{
	auto_buf struct rye_buf bytes = RYE_BUF_INIT;
	auto_free char *commit = git_field(rest), *at = NULL, *author = NULL, *subject = NULL;
	auto_free char *path = NULL;
	struct git_text text;

	at = git_field(rest);
	author = git_field(rest);
	subject = git_field(rest);
	/* a line end stands before the names */
	while (rest->len && strchr("\n", *rest->ptr))
		*rest = span_skip(*rest, 1);
	path = rest->len && *rest->ptr != 1 ? git_field(rest) : strdup("");
	if (!commit || *commit != 1 || !at || !author || !subject || !path)
		return false;
	while (rest->len && *rest->ptr != 1)
		*rest = span_skip(*rest, 1);
	text = (struct git_text){ commit + 1, at, author, subject, path };
	if (*path && git_blob(dir, text.commit, path, &bytes))
		text.text = buf_span(&bytes);
	return fn(arg, &text) == 0;
}

bool git_each(const char *path, size_t most, git_text_fn fn, void *arg)
{
	auto_free char *dir = strndup(path, (size_t)(strrchr(path, '/') - path));
	auto_buf struct rye_buf log = RYE_BUF_INIT;
	char limit[32];
	const char *ask[] = { GIT, dir, GIT_LOG, limit, "HEAD", "--", path, NULL };
	struct rye_span rest;

	snprintf(limit, sizeof(limit), "--max-count=%zu", most);
	if (!dir || outside_read(ask, &log) != 0 || !log.len)
		return false;
	rest = buf_span(&log);
	while (rest.len && git_next(dir, &rest, fn, arg))
		;
	return true;
}
