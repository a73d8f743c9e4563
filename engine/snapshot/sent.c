/* SPDX-License-Identifier: MIT */
/* Which files of a project are sent: its items, and by the rules what else it has. No lock. */
#include "base/io.h"
#include "snapshot/snapshot_inner.h"

#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void sent_refuse(struct sent *sent, const char *path, const char *reason)
{
	char shown[512];

	if (json_array_size(sent->refused) >= SENT_REFUSED)
		return;
	snprintf(shown, sizeof(shown), "%s", path);
	utf8_mend(shown);
	if (json_array_append_new(sent->refused,
				  json_pack("{s:s, s:s}", "path", shown, "reason", reason)))
		sent->failed = true;
}

static bool sent_grow(struct sent *sent)
{
	size_t size = sent->size ? 2 * sent->size : 256;
	char **paths;

	if (sent->n < sent->size)
		return true;
	paths = reallocarray(sent->paths, size, sizeof(*paths));
	if (!paths)
		return false;
	sent->paths = paths;
	sent->size = size;
	return true;
}

void sent_add(struct sent *sent, const char *path)
{
	const char *why = sent_never(path);
	struct rye_err err;
	char *copy;

	if (!why && manifest_path_check(path, &err))
		why = err.msg;
	if (why) {
		sent_refuse(sent, path, why);
		return;
	}
	copy = sent->n <= SENT_MAX && sent_grow(sent) ? strdup(path) : NULL;
	if (copy)
		sent->paths[sent->n++] = copy;
	else if (sent->n <= SENT_MAX)
		sent->failed = true;
}

void sent_done(struct sent *sent)
{
	for (size_t i = 0; i < sent->n; i++)
		free(sent->paths[i]);
	free(sent->paths);
	json_decref(sent->refused);
	*sent = (struct sent){ 0 };
}

/* A directory with all that is in it, a file, or a pattern of which the walk finds the files. */
static int add_rule(struct sent *sent, int root, const char *rule, struct rye_err *err)
{
	auto_sent struct sent all = { .refused = json_array() };
	char path[MANIFEST_PATH + 1];
	size_t len = strlen(rule);
	int r;

	while (len && rule[len - 1] == '/')
		len--;
	snprintf(path, sizeof(path), "%.*s", (int)MIN_OF(len, sizeof(path) - 1), rule);
	if (!strcmp(path, ".") || !*path)
		return sent_walk(sent, root, "", true, err);
	if (!strpbrk(path, "*?")) {
		r = manifest_path_check(path, err);
		return r ? rye_wrap(err, "push rule") : sent_walk(sent, root, path, true, err);
	}
	r = sent_walk(&all, root, "", true, err);
	for (size_t i = 0; !r && i < all.n; i++)
		if (glob_match(path, all.paths[i]))
			sent_add(sent, all.paths[i]);
	sent->failed = sent->failed || all.failed;
	return r;
}

static int add_others(struct sent *sent, const struct snapshot_ask *ask, int root,
		      struct rye_err *err)
{
	const json_t *rule;
	size_t i;
	int r;

	if (!ask->rules) {
		r = sent_git(sent, ask->project, err);
		return r ? MIN_OF(r, 0) : sent_walk(sent, root, "", false, err);
	}
	json_array_foreach((json_t *)ask->rules, i, rule) {
		if (!json_is_string(rule))
			return rye_fail(err, RYE_INVALID, "push: wanted is a list of texts");
		r = add_rule(sent, root, json_string_value(rule), err);
		if (r)
			return r;
	}
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_once(struct sent *sent)
{
	size_t n = 0;

	if (sent->n)
		qsort(sent->paths, sent->n, sizeof(*sent->paths), by_text);
	for (size_t i = 0; i < sent->n; i++)
		if (n && !strcmp(sent->paths[n - 1], sent->paths[i]))
			free(sent->paths[i]);
		else
			sent->paths[n++] = sent->paths[i];
	sent->n = n;
}

int sent_list(const struct snapshot_ask *ask, struct sent *ret, struct rye_err *err)
{
	static const char *const kinds[] = { ".ai/directives", ".ai/tools", ".ai/knowledge",
					     ".ai/config" };
	auto_close int root = open(ask->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_sent struct sent sent = { .refused = json_array() };
	int r = 0;

	if (root < 0)
		return rye_fail_sys(err, errno, "%s", ask->project);
	for (size_t i = 0; !r && i < ARRAY_SIZE(kinds); i++)
		r = sent_walk(&sent, root, kinds[i], true, err);
	if (!r)
		r = add_others(&sent, ask, root, err);
	if (r)
		return r;
	if (sent.failed || !sent.refused)
		return rye_fail(err, RYE_IO, "%s: out of memory", ask->project);
	if (sent.n > SENT_MAX)
		return rye_fail(
			err, RYE_TOO_BIG,
			"%s: more than %d files to send; say which: push: [DIR/] of the remote",
			ask->project, SENT_MAX);
	sort_once(&sent);
	*ret = sent;
	sent = (struct sent){ 0 };
	return 0;
}
