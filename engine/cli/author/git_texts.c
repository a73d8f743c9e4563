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

/* The last commit that was told, and what the file was called there. */
struct git_last {
	const struct git_past *ask;
	git_text_fn fn;
	void *arg;
	char *commit, *path;
	size_t n;
};

static int git_keep(void *arg, const struct git_text *text)
{
	struct git_last *last = arg;

	free(last->commit);
	free(last->path);
	last->commit = strdup(text->commit);
	last->path = strdup(text->path);
	last->n++;
	return last->fn(last->arg, text);
}

/* From a commit back. False: git does not have the file there. */
static bool git_history(const char *dir, const char *from, const char *path, struct git_last *last)
{
	auto_buf struct rye_buf log = RYE_BUF_INIT;
	char limit[32];
	const char *ask[] = { GIT, dir, GIT_LOG, limit, from, "--", path, NULL };
	struct rye_span rest;

	snprintf(limit, sizeof(limit), "--max-count=%zu", last->ask->most - last->n);
	if (outside_read(ask, &log) != 0 || !log.len)
		return false;
	rest = buf_span(&log);
	while (rest.len && git_next(dir, &rest, git_keep, last))
		;
	return true;
}

/* "x/hello.yaml" of "x/hello/SKILL.md", and the other way round; NULL: it is neither. */
static char *git_swap(const char *path, const char *end, const char *other)
{
	auto_buf struct rye_buf ret = RYE_BUF_INIT;

	if (!str_ends(path, end))
		return NULL;
	buf_add(&ret, path, strlen(path) - strlen(end));
	buf_adds(&ret, other);
	return buf_steal(&ret);
}

/* What the file was called before that commit, by the one beside it, to free; NULL: it was made there. */
static char *git_before(const char *dir, const struct git_last *last)
{
	const struct git_past *ask = last->ask;
	const char *look[] = { GIT,
			       dir,
			       "diff-tree",
			       "--no-ext-diff",
			       "--no-textconv",
			       "--no-commit-id",
			       "--root",
			       "-r",
			       "-M",
			       "--diff-filter=R",
			       "--name-status",
			       "-z",
			       last->commit,
			       NULL };
	auto_free char *beside = git_swap(last->path, ask->end, ask->beside);
	auto_buf struct rye_buf moves = RYE_BUF_INIT;
	struct rye_span rest;

	if (!beside || outside_read(look, &moves) != 0)
		return NULL;
	for (rest = buf_span(&moves); rest.len;) {
		auto_free char *kind = git_field(&rest), *from = git_field(&rest);
		auto_free char *to = git_field(&rest);

		if (kind && from && to && !strcmp(to, beside))
			return git_swap(from, ask->beside, ask->end);
	}
	return NULL;
}

#define GIT_MOVES_MAX 100

bool git_each(const struct git_past *ask, git_text_fn fn, void *arg)
{
	auto_free char *dir = strndup(ask->path, (size_t)(strrchr(ask->path, '/') - ask->path));
	struct git_last last = { .ask = ask, .fn = fn, .arg = arg };
	bool has = dir && git_history(dir, "HEAD", ask->path, &last);

	for (int i = 0; has && ask->beside && last.n < ask->most && i < GIT_MOVES_MAX; i++) {
		auto_free char *before = git_before(dir, &last);
		auto_buf struct rye_buf from = RYE_BUF_INIT, path = RYE_BUF_INIT;

		buf_addf(&from, "%s^", last.commit);
		buf_addf(&path, ":(top,literal)%s", before ? before : "");
		if (!before || from.failed || path.failed ||
		    !git_history(dir, from.data, path.data, &last))
			break;
	}
	free(last.commit);
	free(last.path);
	return has;
}
